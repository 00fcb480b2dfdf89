"""Files of TRL's commands and scripts: TrainingArguments, TRL's own argument classes, and flags of ``accelerate launch``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.hf_trainer import COMMON, FOREIGN, HfTrainer, own_options, top_level
from fsdplint.dialects.table import Table
from fsdplint.plan import Fact, Plan, Precision, Sharding, StateDict, Wrap
from fsdplint.precedence import trainer_over_launcher

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.target import Versions

TELLING = frozenset(
    """
    packing completion_only_loss assistant_only_loss dataset_text_field max_seq_length neftune_noise_alpha reward_funcs
    reward_weights num_generations max_completion_length max_prompt_length use_vllm vllm_mode vllm_gpu_memory_utilization
    loss_type beta desirable_weight undesirable_weight num_generations_eval precompute_ref_log_probs ref_model_init_kwargs
    sync_ref_model log_completions dataset_train_split dataset_test_split dataset_config ignore_bias_buffers use_peft lora_r
    lora_target_modules lora_task_type accelerate_config chat_template_path eos_token response_length dataset_num_proc
    model_revision
    """.split()  # noqa: SIM905
)
"""Keys of TRL's own classes that tell its files from other files of TrainingArguments."""

SHIPPED = ("fsdp1", "fsdp2", "multi_gpu", "single_gpu", "zero1", "zero2", "zero3")
"""The accelerate files that TRL brings along (trl 1.16.0 accelerate_configs)."""


class Trl(HfTrainer):
    """A config of ``trl sft`` and its sisters, or of a script that parses with TrlParser."""

    name = "trl"
    package = "trl"
    title = "TRL"

    @cached_property
    def table(self) -> Table:
        """TRL's table; what is no argument of a class is a flag of ``accelerate launch``, which the ``trl`` command hands on."""
        schema = Table.load("trl").schema
        properties = dict(schema["properties"])
        for flag in Table.load("accelerate_launch").schema["properties"]:
            key = flag.removeprefix("--")
            if "x-elsewhere" in properties.get(key, {"x-elsewhere": True}):
                properties[key] = schema["$defs"]["launcher"]
        return Table({**schema, "properties": properties})

    def recognise(self, document: Document) -> int:
        """A file of TrainingArguments with keys that only TRL's classes have, or with the model and the dataset that TRL files name."""
        keys = top_level(document)
        if not keys or not FOREIGN.isdisjoint(keys):
            return 0
        arguments = HfTrainer.recognise(_TRAINER, document)
        telling = len(TELLING.intersection(keys))
        named = "model_name_or_path" in keys and not {"dataset_name", "dataset_mixture", "dataset_mixer", "datasets"}.isdisjoint(keys)
        known = own_options(_TRAINER.table)
        trains = sum(key in known and (key not in COMMON or key == "learning_rate") for key in keys)
        if (telling >= 2 or named) and trains:
            return 75
        return 72 if telling and arguments > 57 else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """TRL's other defaults, its model arguments, and the accelerate file that it ships under a name."""
        _quantization(plan, document)
        super().settle(plan, document, versions)
        if versions.has("trl>=0.20") and not plan.precision.is_written:
            plan.precision = Fact(Precision.BF16, source=f"default of trl {versions.text('trl')}")
        name = document.value(("accelerate_config",))
        if isinstance(name, str) and name in SHIPPED:
            launcher = shipped(name, Place(document, ("accelerate_config",)))
            for decision, fact in trainer_over_launcher(plan, launcher, self.name, versions):
                plan.set(decision, fact)

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """With the accelerate file, where it is no shipped one."""
        value = document.value(("accelerate_config",))
        named = [("accelerate_config", value)] if isinstance(value, str) and value not in SHIPPED else []
        return [*super().companions(document), *named]


_TRAINER = HfTrainer()


def _quantization(plan: Plan, document: Document) -> None:
    for key, kind in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        if document.value((key,)) is True:
            plan.quantization = Fact(kind, Place(document, (key,)))
    if document.value(("use_peft",)) is True:
        plan.adapter = Fact("qlora" if plan.quantization.value == "4bit" else "lora", Place(document, ("use_peft",)))


def shipped(name: str, here: Place) -> Plan:
    """The plan of an accelerate file that TRL ships: full sharding with whole state dicts, or DeepSpeed."""
    plan = Plan()
    if name.startswith("zero"):
        plan.deepspeed, plan.deepspeed_config = Fact(True, here), Fact(name, here)
    elif name.startswith("fsdp"):
        plan.fsdp = plan.fsdp_options = plan.ram_efficient = Fact(True, here)
        plan.fsdp_version = Fact(int(name[-1]), here)
        plan.sharding, plan.wrap_policy = Fact(Sharding.FULL_SHARD, here), Fact(Wrap.TRANSFORMER, here)
        plan.state_dict, plan.precision = Fact(StateDict.FULL, here), Fact(Precision.BF16, here)
        plan.offload = plan.activation_checkpointing = Fact(False, here)
    return plan
