"""Files that ``HfArgumentParser`` reads into transformers' ``TrainingArguments``."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.reading import read_options
from fsdplint.dialects.table import NEVER, Table, spelled
from fsdplint.dialects.training_arguments import settle_arguments, settle_fsdp
from fsdplint.document import Mapping
from fsdplint.plan import FSDP_OPTIONS, Fact, Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.document import Document
    from fsdplint.launch import ConfigFile
    from fsdplint.target import Versions

FOREIGN = frozenset(
    """
    compute_environment main_training_function base_model micro_batch_size sequence_len val_set_size datasets
    stage finetuning_type cutoff_len template dataset_dir tuner_type train_type tuner_backend rlhf_type swift_version base data
    training trainer strategy job metrics activation_checkpoint parallelism zero_optimization train_micro_batch_size_per_gpu
    train_loader algorithms loggers variables checkpointer metric_logger defaults actor_rollout_ref hydra class_path apiVersion
    kind jobs steps services
    """.split()  # noqa: SIM905
)
"""Top-level keys that only other frameworks' files have."""

COMMON = frozenset(
    """
    output_dir seed debug project log_level optim run_name use_cache local_rank weight_decay do_eval do_train learning_rate
    max_steps eval_steps save_steps max_grad_norm fp16 bf16 tf32 deepspeed gradient_accumulation_steps gradient_checkpointing
    activation_checkpointing resume_from_checkpoint warmup_steps
    """.split()  # noqa: SIM905
)
"""Keys of TrainingArguments that many other files have as well."""

_PATH_KEYS = ("deepspeed", "fsdp_config")


class HfTrainer(Dialect):
    """A file of TrainingArguments, mostly with keys of the script's own argument classes beside them."""

    name = "hf-trainer"
    package = "transformers"
    title = "the Hugging Face Trainer"
    formats = ("yaml", "json")

    def recognise(self, document: Document) -> int:
        """By the keys that nobody but TrainingArguments has; a file of ``fsdp_config`` alone by its vocabulary."""
        if not isinstance(document.root, Mapping):
            return 0
        keys = top_level(document)
        if not FOREIGN.isdisjoint(keys):
            return 0
        if _is_fragment(keys, self.table):
            return 55
        return self._certainty(document, keys)

    def _certainty(self, document: Document, keys: list[str]) -> int:
        known = own_options(self.table)
        mine = [key for key in keys if key in known]
        telling = sum(key not in COMMON for key in mine)
        if has_fsdp_words(document):
            return 70 if telling > 2 else 60
        if telling >= 2 or (telling and len(mine) >= 3) or ("output_dir" in mine and len(mine) == len(keys) > 1):
            return 0 if _has_components(document) else 58
        return 0

    def for_document(self, document: Document) -> Dialect:
        return _fragment(self.name) if _is_fragment(top_level(document), self.table) else self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        settle_arguments(plan, document, versions)
        settle_fsdp(plan, self.table, document, versions)

    def completed(self, plan: Plan, document: Document, others: Iterable[ConfigFile], versions: Versions) -> Plan:
        """With the options of the file that ``fsdp_config`` names."""
        options = next((file for file in others if isinstance(file.dialect, FsdpConfigFile)), None)
        if options is None or plan.fsdp.value is not True or not isinstance(document.value(("fsdp_config",)), str):
            return plan
        table, whole, block = options.dialect.table, plan.copy(), Plan()
        read_options(block, table, options.document, versions)
        for decision in FSDP_OPTIONS:
            whole.set(decision, block.fact(decision))
        settle_fsdp(whole, table, options.document, versions, base=(), switch=document)
        return whole

    def form_of(self, key: str) -> Dialect | None:
        return _fragment(self.name) if key == "fsdp_config" else None

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """The JSON files of DeepSpeed and of ``fsdp_config``; a text that begins with a brace is the JSON itself."""
        values = ((key, document.value((key,))) for key in _PATH_KEYS)
        return [(key, value) for key, value in values if isinstance(value, str) and value.strip() and not value.lstrip().startswith("{")]


_TOP_LEVEL = ("x-open", "x-unknown", "x-absent", "x-extends")
"""Words of the table's root that say nothing of ``fsdp_config``."""


class FsdpConfigFile(HfTrainer):
    """The JSON (or YAML) file that ``fsdp_config`` names: its options alone, at the top level."""

    is_companion = True

    @cached_property
    def table(self) -> Table:
        whole = Table.load(self.name).schema
        words: dict[str, Any] = {word: value for word, value in whole.items() if word.startswith("x-") and word not in _TOP_LEVEL}
        words.update(whole["properties"]["fsdp_config"])
        del words["x-prefix-known"]
        return Table(words)

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """FSDP is on: nobody writes such a file for a run without."""
        plan.fsdp = Fact(True, source="a file of `fsdp_config`")
        plan.fsdp_options = Fact(True, Place(document, ()))
        settle_fsdp(plan, self.table, document, versions, base=())

    def companions(self, document: Document) -> list[tuple[str, str]]:  # noqa: ARG002
        return []


@cache
def _fragment(name: str) -> FsdpConfigFile:
    fragment = FsdpConfigFile()
    fragment.name = name
    return fragment


def top_level(document: Document) -> list[str]:
    """The top-level keys of a document that are text; none where it is no mapping."""
    names = document.root.keys() if isinstance(document.root, Mapping) else ()
    return [name for name in names if isinstance(name, str)]


@cache
def own_options(table: Table) -> frozenset[str]:
    """The top-level keys that some release of the argument classes takes."""
    properties = table.schema["properties"].items()
    return frozenset(key for key, schema in properties if schema.get("x-known") != NEVER and not schema.get("x-script"))


def has_fsdp_words(document: Document) -> bool:
    """Whether ``fsdp`` holds words of TrainingArguments, or is a boolean beside a mapping of options."""
    value, options = document.value(("fsdp",)), document.value(("fsdp_config",))
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    known = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap"}
    return (bool(words) and all(str(word).lower() in known for word in words)) or (value is True and isinstance(options, dict))


def _has_components(document: Document) -> bool:
    """Whether a value names a class to build, as the files of torchtune, hydra and Lightning do."""
    values = (entry.value for _, entry in document.root.items()) if isinstance(document.root, Mapping) else ()
    return any(isinstance(value, Mapping) and not {"_component_", "_target_", "class_path"}.isdisjoint(value.keys()) for value in values)


_TELLING = frozenset(
    """
    transformer_layer_cls_to_wrap backward_prefetch forward_prefetch reshard_after_forward cpu_ram_efficient_loading
    sync_module_states use_orig_params auto_wrap_policy state_dict_type limit_all_gathers min_num_params xla_fsdp_v2
    xla_fsdp_grad_ckpt xla_fsdp_settings
    """.split()  # noqa: SIM905
)


def _is_fragment(keys: Iterable[str], table: Table) -> bool:
    block = table.schema["properties"].get("fsdp_config") or table.schema
    names = {spelled(block, key) for key in keys}
    return bool(names) and None not in names and (not _TELLING.isdisjoint(names) or ("version" in names and len(names) > 1))
