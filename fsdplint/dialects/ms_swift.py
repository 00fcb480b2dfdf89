"""ms-swift's files: the arguments of ``swift sft`` and its sisters, and the JSON of FSDP that ``fsdp`` names.

The root of its table says ``x-fsdp-flag`` (``fsdp`` as ms-swift reads it; under ``properties`` is the Trainer's, which stands in the JSON),
``x-fsdp-options`` (what differs in the JSON's ``fsdp_config``) and ``x-presets`` (the JSON behind each word for ``fsdp``).
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.hf_trainer import HfTrainer
from fsdplint.dialects.table import Table
from fsdplint.dialects.training_arguments import settle_arguments, settle_fsdp
from fsdplint.document import Mapping, parse
from fsdplint.plan import Fact, Plan, Precision, Sharding, StateDict, Wrap, is_placeholder
from fsdplint.precedence import FSDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.dialects.dialect import Dialect
    from fsdplint.document import Document, Path
    from fsdplint.target import Versions

_SURE = frozenset(
    """
    tuner_type train_type sft_type tuner_backend rlhf_type split_dataset_ratio aligner_lr freeze_vit freeze_llm freeze_aligner
    template_type model_author check_dataset_strategy mcore_model mcore_adapter
    """.split()  # noqa: SIM905
)
"""Keys that only ms-swift has."""

_LIKELY = frozenset(
    """
    torch_dtype attn_impl target_modules lora_rank max_length padding_free dataset_num_proc model_name system model_type quant_bits
    quant_method val_dataset agent_template loss_scale adapters add_version load_from_cache_file truncation_strategy dataset
    """.split()  # noqa: SIM905
)
"""Keys that others have as well; a few of them tell it."""

_MODELS = frozenset({"model", "model_type", "model_id_or_path", "adapters", "ckpt_dir", "mcore_model"})

_MEGATRON = frozenset(
    """
    tensor_model_parallel_size pipeline_model_parallel_size expert_model_parallel_size context_parallel_size use_megatron_fsdp
    micro_batch_size global_batch_size no_save_optim recompute_granularity mcore_model train_iters colocate_groups
    """.split()  # noqa: SIM905
)
"""Keys of ``megatron sft`` and its sisters, which take another argument class."""

_DOCUMENTING = ("_description", "_requires", "_note", "_notes", "_comment", "_comments", "_doc", "_docs", "_usage", "_param_docs")
_FOREIGN = frozenset({"compute_environment", "distributed_type", "zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"})


class MsSwift(HfTrainer):
    """A file of ``swift sft``, ``pt``, ``rlhf`` and so on (3.3.1 to 4.6.0): every key becomes a flag, and all values text."""

    name = "ms-swift"
    package = "ms-swift"
    title = "ms-swift"

    @cached_property
    def table(self) -> Table:
        """The arguments, also with dashes, and what a mapping under ``fsdp`` may hold."""
        schema = Table.load("ms-swift").schema
        properties = schema["properties"]
        dashed = {key.replace("_", "-"): key for key in properties if "_" in key}
        flag = {**schema["x-fsdp-flag"], "x-unknown": _UNREAD, "properties": _fsdp_properties(schema)}
        idle = {"x-decision": "fsdp_options", "x-truthy": True}
        return Table({**schema, "x-aliases": dashed, "properties": {**properties, "fsdp": flag, "fsdp_config": idle}})

    def recognise(self, document: Document) -> int:
        """By the model beside keys that only ms-swift has; the JSON of FSDP by its two keys."""
        keys = _keys(document)
        if _is_documented_fsdp_file(document, keys):
            return 80
        if _is_benchmark(document, keys):
            return 85
        if keys.isdisjoint(_MODELS) or "model_name_or_path" in keys or isinstance(document.value(("model",)), dict):
            return 0
        sure, likely = len(keys & _SURE), len(keys & _LIKELY) + _samples(document)
        if sure:
            return 95 if sure + likely >= 3 else 70 if sure + likely == 2 else 0
        return 80 if likely >= 4 and "dataset" in keys and "model" in keys else 0

    def for_document(self, document: Document) -> Dialect:
        """Which form it is: the JSON of FSDP, a list of benchmarks, Megatron's arguments, else those of ``swift``."""
        keys = _keys(document)
        if keys.isdisjoint(_MODELS | _SURE | {"dataset"}) and not _is_benchmark(document, keys):
            return _form(ForeignFile if keys & _FOREIGN else FsdpFile)
        if _is_benchmark(document, keys):
            return _form(Benchmark)
        return _form(Megatron) if not _MEGATRON.isdisjoint(keys) else self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        settle_arguments(plan, document, versions)
        _settle_own(plan, document)
        if versions.has("ms-swift<3.12.0"):
            handed_on = _TRAINER.read(document, versions)
            for decision in FSDP:
                plan.set(decision, handed_on.fact(decision))
        else:
            self._settle_fsdp(plan, document, versions)
        if plan.activation_checkpointing.value is True and plan.gradient_checkpointing.value is True:
            plan.gradient_checkpointing = plan.gradient_checkpointing.overruled(False, "ms-swift turns it off beside FSDP's own")

    def _settle_fsdp(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Since 3.12.0 ``fsdp`` is a preset, a path, or the JSON itself; ``fsdp_config`` at the top level is overwritten."""
        here = Place(document, ("fsdp",))
        for decision in FSDP[1:]:
            plan.set(decision, Fact())
        value = document.value(("fsdp",))
        if not value or is_placeholder(value):
            options = Place(document, ("fsdp_config",))
            plan.fsdp_options = Fact(True, options) if document.value(("fsdp_config",)) else plan.fsdp_options
            plan.fsdp = Fact(None, here, unknown=True) if value else Fact(False, source="`fsdp` is not written")
            return
        text, moved = self._json(document, value)
        plan.fsdp = plan.fsdp_options = Fact(True, here)
        block = parse(text, "fsdp.json") if text else None
        if block is None or any(problem.fatal for problem in block.problems) or not isinstance(block.root, Mapping):
            for decision in FSDP[2:]:
                plan.set(decision, Fact(None, source="the JSON that `fsdp` names", unknown=True))
            return
        inner = _form(FsdpFile).read(block, versions)
        for decision in FSDP[2:]:
            plan.set(decision, _replaced(inner.fact(decision), moved))

    def _json(self, document: Document, value: object) -> tuple[str, Callable[[Path], Place]]:
        """The text of FSDP's JSON, empty where it lies in another file, and where in the document a path of it stands."""
        here = Place(document, ("fsdp",))
        presets = self.table.schema["x-presets"]
        if isinstance(value, dict) or (isinstance(value, str) and value in presets):
            import json

            shown = value if isinstance(value, dict) else presets[value]
            inner = isinstance(value, dict)
            return json.dumps(shown, default=str), lambda path: Place(document, ("fsdp", *path)) if inner else here
        return (value if isinstance(value, str) and value.lstrip().startswith("{") else ""), lambda _: here

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """The JSON files of FSDP and of DeepSpeed; their presets, and JSON as text, are no files."""
        values = ((key, document.value((key,))) for key in ("fsdp", "deepspeed"))
        return [
            (key, value) for key, value in values if isinstance(value, str) and any(mark in value for mark in "./\\") and "{" not in value
        ]


def _settle_own(plan: Plan, document: Document) -> None:
    """Precision, adapter, quantization and unsloth in ms-swift's own words (swift/arguments of 4.6.0)."""
    dtype = document.value(("torch_dtype",))
    precisions = {"bfloat16": Precision.BF16, "float16": Precision.FP16, "float32": Precision.FP16}
    if isinstance(dtype, str) and dtype in precisions and not plan.precision.is_written:
        plan.precision = Fact(precisions[dtype], Place(document, ("torch_dtype",)))
    bits, method = document.value(("quant_bits",)), document.value(("quant_method",))
    if method in ("bnb", "hqq", "eetq", "quanto", "fp8") and bits is not None:
        plan.quantization = Fact(f"{bits}bit" if method == "bnb" else str(method), Place(document, ("quant_bits",)))
    tuner = next((key for key in ("tuner_type", "train_type", "sft_type") if document.value((key,))), "")
    kind = document.value((tuner,)) if tuner else "lora"
    if kind != "full" and not is_placeholder(kind):
        name = "qlora" if kind == "lora" and plan.quantization.value else str(kind)
        plan.adapter = Fact(name, Place(document, (tuner,)) if tuner else None, source="" if tuner else "ms-swift's default")
    if document.value(("tuner_backend",)) == "unsloth":
        plan.backend = Fact("unsloth", Place(document, ("tuner_backend",)))


class FsdpFile(MsSwift):
    """The JSON that ``fsdp`` names: the words of TrainingArguments as ``fsdp``, and their options as ``fsdp_config``."""

    is_companion = True
    formats = ("json", "yaml")

    @cached_property
    def table(self) -> Table:
        schema = Table.load("ms-swift").schema
        words = {
            word: value
            for word, value in schema.items()
            if word.startswith("x-") and word not in ("x-unknown", "x-absent", "x-generations", "x-abbreviated")
        }
        return Table({**words, **self.root, "properties": {**_fsdp_properties(schema), **{key: {} for key in _DOCUMENTING}}})

    @property
    def root(self) -> dict[str, Any]:
        """What holds of the keys beside those two: nothing reads them."""
        return {"x-unknown": _UNREAD}

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def companions(self, document: Document) -> list[tuple[str, str]]:  # noqa: ARG002
        return []

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """What ms-swift makes of the JSON, and TrainingArguments of that (run with 4.6.0 and transformers 5.6.0)."""
        plan.fsdp = Fact(True, source="the JSON of `fsdp`")
        plan.fsdp_options = Fact(True, Place(document, ("fsdp_config",)))
        settle_fsdp(plan, self.table, document, versions)
        if not document.has(("fsdp",)) and versions.has("transformers<5.10"):
            size = bool(plan.min_num_params.value) and not plan.wrap_classes.value
            plan.wrap_policy = Fact(Wrap.SIZE if size else Wrap.TRANSFORMER, source="ms-swift adds `auto_wrap`")
        if versions.has("transformers<5.0"):
            _settle_by_environment(plan, document)


def _settle_by_environment(plan: Plan, document: Document) -> None:
    """transformers 4.x reads no version: the FSDP_VERSION counts that ms-swift exports, and accelerate's defaults with it."""
    path = ("fsdp_config", "fsdp_version")
    written = document.value(path)
    if isinstance(written, int) and not isinstance(written, bool):
        plan.fsdp_version = Fact(written, Place(document, path))
    else:
        plan.fsdp_version = Fact(2, source="FSDP_VERSION, as ms-swift exports it")
    asked = plan.sharding
    if plan.fsdp_version.value == 2:
        plan.state_dict = Fact(StateDict.SHARDED, source="accelerate's default for FSDP2")
        if asked.value is not Sharding.FULL_SHARD and asked.place:
            plan.sharding = asked.overruled(Sharding.FULL_SHARD, "transformers 4.x hands FSDP2 no `reshard_after_forward`")


class ForeignFile(FsdpFile):
    """A file of accelerate or DeepSpeed that ``fsdp`` names: ms-swift reads it as its own JSON."""

    @property
    def root(self) -> dict[str, Any]:
        return {}


class Megatron(MsSwift):
    """Arguments of ``megatron sft`` and its sisters, also in Ray's form; most belong to a class that the table does not hold."""

    @cached_property
    def table(self) -> Table:
        named = {
            "use_megatron_fsdp": {},
            "optimizer": {},
            "ENV": {"type": "object"},
            "model": {"x-decision": "model"},
            "rlhf_type": {"x-decision": "task"},
        }
        return Table({"x-package": self.package, "properties": named})

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Megatron shards by itself; torch's FSDP has no part in it."""

    def companions(self, document: Document) -> list[tuple[str, str]]:  # noqa: ARG002
        return []


class Benchmark(Megatron):
    """A list of experiments, each with arguments of its own, for ms-swift's benchmark script."""

    @cached_property
    def table(self) -> Table:
        return Table({"x-package": self.package, "properties": {}})


_UNREAD = [{"outcome": "ignored", "says": "ms-swift takes `fsdp` and `fsdp_config` out of the JSON and nothing else"}]


def _fsdp_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The two keys of FSDP's JSON, which go to TrainingArguments as they are."""
    properties = schema["properties"]
    words = {word: value for word, value in properties["fsdp"].items() if word not in ("x-decision", "x-deprecated")}
    options = dict(properties["fsdp_config"])
    own: dict[str, Any] = schema["x-fsdp-options"]
    inner = options["properties"]
    options["properties"] = {**inner, **{name: {**inner.get(name, {}), **words_of} for name, words_of in own.items()}}
    return {"fsdp": words, "fsdp_config": options}


def _replaced(fact: Fact[Any], moved: Callable[[Path], Place]) -> Fact[Any]:
    """A fact of FSDP's JSON at the place where the document has it."""
    place = moved(fact.place.path) if fact.place else None
    rivals = tuple(_replaced(rival, moved) for rival in fact.rivals if place is None or rival.written != fact.written)
    return Fact(fact.value, place, source=fact.source, written=fact.written, because=fact.because, unknown=fact.unknown, rivals=rivals)


def _keys(document: Document) -> set[str]:
    root = document.root
    return {key for key in root.keys() if isinstance(key, str)} if isinstance(root, Mapping) else set()  # noqa: SIM118 -- no dict


def _samples(document: Document) -> int:
    """1 where a dataset carries a number of samples (``org/data#500``)."""
    value = document.value(("dataset",))
    return int(any(isinstance(item, str) and "#" in item for item in (value if isinstance(value, list) else [value])))


def _is_documented_fsdp_file(document: Document, keys: set[str]) -> bool:
    """Whether a file is FSDP's JSON with remarks, as ms-swift ships it; without any it may as well be the HF Trainer's."""
    own = {key for key in keys if not key.startswith("_")}
    return len(own) < len(keys) and own == {"fsdp", "fsdp_config"} and isinstance(document.value(("fsdp_config",)), dict)


def _is_benchmark(document: Document, keys: set[str]) -> bool:
    return {"cmd", "args", "experiment"} <= keys and isinstance(document.value(("args",)), dict)


_TRAINER = HfTrainer()


@cache
def _form(kind: type[MsSwift]) -> MsSwift:
    return kind()
