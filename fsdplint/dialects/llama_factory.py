"""LLaMA-Factory's files: one flat mapping for its classic trainer, and the nested plugins of its v1 trainer."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import word_bool
from fsdplint.dialects.hf_trainer import HfTrainer
from fsdplint.dialects.table import Table
from fsdplint.document import Mapping
from fsdplint.plan import NOWHERE, Fact, Plan, Precision, Sharding, StateDict, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.dialects.dialect import Dialect
    from fsdplint.document import Document
    from fsdplint.target import Versions

_STAGES = ("pt", "sft", "rm", "ppo", "dpo", "kto")
_METHODS = ("lora", "oft", "freeze", "full")

_TELLING = frozenset(
    """
    template cutoff_len lora_target plot_loss pref_loss pref_beta quantization_bit use_unsloth use_unsloth_gc infer_backend export_dir
    disable_gradient_checkpointing enable_liger_kernel adapter_name_or_path infer_dtype export_size export_device export_legacy_format
    freeze_trainable_layers pissa_init use_galore use_badam use_apollo image_max_pixels video_max_pixels visual_inputs kt_optimize_rule
    use_kt neat_packing train_on_prompt mask_history double_quantization tokenized_path
    """.split()  # noqa: SIM905
)
"""Keys that beside ``model_name_or_path`` tell a file of LLaMA-Factory."""

_COMMON = frozenset(
    """
    dataset_dir lora_rank overwrite_cache preprocessing_num_workers max_samples val_size eval_dataset flash_attn quantization_method
    """.split()  # noqa: SIM905
)
"""Keys of LLaMA-Factory that scripts of others have as well."""

_MEGATRON = frozenset(
    """
    tensor_model_parallel_size pipeline_model_parallel_size expert_model_parallel_size context_parallel_size use_distributed_optimizer
    """.split()  # noqa: SIM905
)
"""Keys of mcore_adapter's own argument class, which USE_MCA=1 or USE_MEGATRON_BRIDGE=1 puts in the place of TrainingArguments."""

_PLUGINS = ("dist_config", "peft_config", "kernel_config", "quant_config", "init_config", "optim_config", "lr_scheduler_config")
_V1 = frozenset(
    """
    train_dataset eval_dataset template micro_batch_size batching_strategy sample_backend cutoff_len trust_remote_code output_dir
    """.split()  # noqa: SIM905
)


class LlamaFactory(HfTrainer):
    """A file of ``llamafactory-cli train`` (0.8.3 to 0.9.5, and 0.9.6.dev0 at ff6d4d12); OmegaConf reads it since 0.9.4."""

    name = "llama-factory"
    package = "llamafactory"
    title = "LLaMA-Factory"
    loader = "omegaconf"

    def recognise(self, document: Document) -> int:
        """By the model beside keys that only LLaMA-Factory has; the v1 form by its plugins, which each carry a name."""
        keys = _keys(document)
        stage, method = root_value(document, "stage"), root_value(document, "finetuning_type")
        told = len(keys & _TELLING) + (method in _METHODS) + (stage in _STAGES)
        if "model_name_or_path" in keys and told:
            return 95 if told >= 2 or not keys.isdisjoint(_COMMON) else 65
        if method in _METHODS and told >= 2:
            return 85
        return 92 if _is_v1(document, keys) else 0

    def for_document(self, document: Document) -> Dialect:
        """Which form it is: v1, a file for Megatron's argument class, inference or export, else training."""
        keys = _keys(document)
        if _is_v1(document, keys):
            return _form(V1)
        if not _MEGATRON.isdisjoint(keys) or document.value(("use_mca",)) is True:
            return _form(Megatron)
        if not {"infer_backend", "export_dir"}.isdisjoint(keys) and not {"do_train", "do_eval", "do_predict", "stage"} & keys:
            return _form(Inference)
        return self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """TrainingArguments, and what LLaMA-Factory's own classes add: quantization, adapters, unsloth, fp8, checkpointing by default."""
        super().settle(plan, document, versions)
        settle_own(plan, document, versions)


def settle_own(plan: Plan, document: Document, versions: Versions) -> None:
    """What the model and finetuning arguments decide (hparams/*.py and model/model_utils of 0.9.5)."""
    plan.quantization = _quantization(document, versions)
    method = document.value(("finetuning_type",))
    if method in (None, "lora", "oft"):
        kind = "qlora" if plan.quantization.value else "lora"
        place = Place(document, ("finetuning_type",)) if method else None
        plan.adapter = Fact(kind, place, source="" if place else "LLaMA-Factory's default")
    if is_on(document, "use_unsloth"):
        plan.backend = Fact("unsloth", Place(document, ("use_unsloth",)))
    if is_on(document, "fp8"):
        plan.precision = Fact(Precision.FP8, Place(document, ("fp8",)))
    checkpoints = plan.gradient_checkpointing
    if not checkpoints.value and not checkpoints.unknown and not is_on(document, "disable_gradient_checkpointing"):
        plan.gradient_checkpointing = Fact(True, source="LLaMA-Factory's default")


def _quantization(document: Document, versions: Versions) -> Fact[str]:
    """``quantization_bit`` by the method's word, which was renamed in 0.9.3; any other word quantizes nothing."""
    bits, place = document.value(("quantization_bit",)), Place(document, ("quantization_bit",))
    own = "bitsandbytes" if versions.has("llamafactory<0.9.3") else "bnb"
    method = document.value(("quantization_method",)) or own
    if bits is None:
        return NOWHERE
    if is_placeholder(bits) or is_placeholder(method):
        return Fact(None, place, unknown=True)
    if method == own or (method == "bitsandbytes" and versions.has("llamafactory>=0.9.6")):
        return Fact(f"{bits}bit", place)
    return Fact(str(method) if method in ("hqq", "eetq") else None, Place(document, ("quantization_method",)))


class Inference(LlamaFactory):
    """A file of ``llamafactory-cli chat``, ``api`` or ``export``: one process, nothing is sharded."""

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Nothing is trained, so nothing is decided but the quantization."""
        quantization = _quantization(document, versions)
        for decision, _ in Plan():
            if decision not in ("model", "task"):
                plan.set(decision, NOWHERE)
        plan.quantization = quantization


class Megatron(LlamaFactory):
    """A file of training on Megatron (USE_MCA=1, USE_MEGATRON_BRIDGE=1), whose argument class is another package's."""

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def is_open(self, document: Document) -> bool:  # noqa: ARG002
        return True


class V1(LlamaFactory):
    """A file of the v1 trainer (USE_V1=1; v1/ of 0.9.4 and 0.9.5, keys of ff6d4d12)."""

    @cached_property
    def table(self) -> Table:
        return Table.load("llama-factory-v1")

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        return self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        """``dist_config`` names the engine, and holds its options; without it the processes of a launch run DDP."""
        _settle_engine(plan, document)
        if plan.fsdp.value is True:
            _settle_fsdp2(plan, document)
        precise = document.value(("bf16",)) is not False
        plan.precision = Fact(Precision.BF16 if precise else Precision.NONE, plan.precision.place, source=plan.precision.source)
        bits = document.value(("quant_config", "quantization_bit"))
        if bits is not None:
            plan.quantization = Fact(f"{bits}bit", Place(document, ("quant_config", "quantization_bit")), unknown=is_placeholder(bits))
        if isinstance(document.value(("peft_config", "name")), str):
            kind = document.value(("peft_config", "name"))
            plan.adapter = Fact("qlora" if bits and kind == "lora" else str(kind), Place(document, ("peft_config", "name")))

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """DeepSpeed's JSON."""
        value = document.value(("dist_config", "config_file"))
        return [("dist_config.config_file", value)] if isinstance(value, str) and value.strip() else []


def _settle_engine(plan: Plan, document: Document) -> None:
    block = document.value(("dist_config",))
    if not isinstance(block, dict) or is_placeholder(block.get("name")):
        plan.fsdp = Fact(None, Place(document, ("dist_config",)), unknown=True) if block else NOWHERE
        return
    name, here = block.get("name"), Place(document, ("dist_config", "name"))
    plan.fsdp = Fact(name in ("fsdp2", "fsdpturbo"), here)
    plan.fsdp_options = Fact(True, Place(document, ("dist_config",))) if plan.fsdp.value else NOWHERE
    plan.deepspeed = Fact(name == "deepspeed", here)
    if name == "deepspeed":
        plan.deepspeed_config = Fact(block.get("config_file"), Place(document, ("dist_config", "config_file")))


def _settle_fsdp2(plan: Plan, document: Document) -> None:
    """FSDP2Engine: reshards by default, wraps each layer class of the model (v1/plugins/trainer_plugins/distributed/fsdp2.py of 0.9.5)."""
    plan.fsdp_version = Fact(2, Place(document, ("dist_config", "name")))
    plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="the v1 trainer wraps every layer of the model")
    plan.state_dict = Fact(StateDict.FULL, source="the v1 trainer saves whole weights")
    path = ("dist_config", "reshard_after_forward")
    value = document.value(path)
    if value is None:
        plan.sharding = Fact(Sharding.FULL_SHARD, source="LLaMA-Factory's default")
    elif is_placeholder(value):
        plan.sharding = Fact(None, Place(document, path), unknown=True)
    else:
        frees = word_bool(value) if isinstance(value, str) else bool(value)
        plan.sharding = Fact(Sharding.SHARD_GRAD_OP if frees is False else Sharding.FULL_SHARD, Place(document, path))


def _is_v1(document: Document, keys: set[str]) -> bool:
    """Whether a file is written for the v1 trainer: a plugin of its names, or the model's class, beside other keys of its own."""
    if "model_name_or_path" in keys or "finetuning_type" in keys:
        return False
    named = any(key in keys and _names_plugin(document.value((key,))) for key in _PLUGINS)
    classed = document.value(("model_class",)) in ("llm", "cls", "other")
    return (named or classed) and len(keys & (_V1 | {"model"})) >= (1 if named and classed else 2)


def _keys(document: Document) -> set[str]:
    root = document.root
    return {key for key in root.keys() if isinstance(key, str)} if isinstance(root, Mapping) else set()  # noqa: SIM118 -- no dict


def _names_plugin(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def is_on(document: Document, key: str) -> bool:
    """Whether a switch of the argument classes is on: nothing converts it, so that every text is."""
    value = document.value((key,))
    return bool(value) and not is_placeholder(value)


def root_value(document: Document, key: str) -> object:
    """A plain value of the top level that can be looked up in a tuple of words."""
    value = document.value((key,))
    return value if isinstance(value, str) else None


@cache
def _form(kind: type[LlamaFactory]) -> LlamaFactory:
    return kind()
