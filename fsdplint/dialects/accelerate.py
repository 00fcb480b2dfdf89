"""Config files of ``accelerate launch --config_file``.

Run with accelerate 0.21.0 to 1.15.0: commands/launch.py, utils/launch.py, utils/dataclasses.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.formats import word_bool
from fsdplint.dialects.keys import Keys
from fsdplint.dialects.reading import last_of
from fsdplint.dialects.table import resolved
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Precision, Sharding, StateDict, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_TELLING = frozenset(
    {
        *("main_training_function", "downcast_bf16", "rdzv_backend", "same_network", "tpu_use_cluster", "tpu_use_sudo"),
        *("machine_rank", "num_machines", "num_processes", "main_process_ip", "main_process_port", "gpu_ids"),
        *("mixed_precision", "use_cpu", "fsdp_config", "deepspeed_config", "megatron_lm_config", "dynamo_config"),
        *("fp8_config", "parallelism_config"),
    }
)
"""Keys beside which a file is accelerate's even where the two that tell it at once are missing or misspelt."""

_FOREIGN = frozenset(
    {
        *("base_model", "model_name_or_path", "model", "data", "datasets", "dataset_name", "trainer", "training", "output_dir"),
        *("learning_rate", "per_device_train_batch_size"),
    }
)
"""Keys of training files: one that has as many of them as of the launcher's is read by a script of its own, or by two tools."""

_LAUNCHERS = {"FSDP": "fsdp", "DEEPSPEED": "deepspeed", "MEGATRON_LM": "megatron-lm", "XLA": "xla", "TPU": "xla"}
_UNDISTRIBUTED = ("NO", "MULTI_CPU", "TP", "MPS")
_DEVICES = {
    **{"MULTI_CPU": "cpu", "MULTI_XPU": "xpu", "MULTI_NPU": "npu", "MULTI_HPU": "hpu"},
    **{"MULTI_MLU": "mlu", "MULTI_MUSA": "musa", "XLA": "tpu", "TPU": "tpu"},
}
_FSDP1_OPTIONS = ("sync_module_states", "orig_params", "backward_prefetch", "forward_prefetch")
_OPTIONS = (
    *("fsdp_version", "sharding", "offload", "wrap_policy", "wrap_classes", "min_num_params", "state_dict"),
    *("activation_checkpointing", "ram_efficient", *_FSDP1_OPTIONS),
)
_SIZES = ("dp_replicate", "dp_shard", "tp", "cp", "sp")


class Accelerate(Dialect):
    """The cluster configuration of accelerate. SageMaker files are recognised, and only what both kinds share is judged."""

    name = "accelerate"
    package = "accelerate"
    title = "accelerate launch"
    formats = ("yaml", "json")

    def recognise(self, document: Document) -> int:
        """By ``compute_environment``, by ``distributed_type`` beside another key of the launcher, or by many such keys."""
        root = document.root
        if not isinstance(root, Mapping):
            return 0
        keys = root.keys()
        telling = sum(key in _TELLING for key in keys)
        foreign = sum(key in _FOREIGN for key in keys)
        if foreign and foreign >= telling + ("distributed_type" in keys) + ("compute_environment" in keys):
            return 0
        if "distributed_type" in keys:
            return 100 if telling else 60
        if "compute_environment" in keys:
            return 95 if telling else 30
        return 70 if telling >= 5 and ("num_machines" in keys or "machine_rank" in keys) else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """What ``distributed_type`` starts, and what the launcher and the workers make of the options."""
        keys = Keys(self.table, document, versions)
        for name, fact in plan:
            if name != "backward_prefetch":
                plan.set(name, last_of(fact))
        _engine(plan, keys, versions)
        if plan.fsdp.value is True:
            _version(plan, versions)
            _sharding(plan, keys)
            _state_dict(plan)
            _launch_check(plan, keys, versions)
        _drop_defaults(plan)
        _precision(plan, keys)
        _compile(plan, keys)

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """The DeepSpeed JSON file."""
        key = ("deepspeed_config", "deepspeed_config_file")
        path = document.value(key)
        return [(".".join(key), path)] if isinstance(path, str) and path not in ("", "none") and not is_placeholder(path) else []


def _types(keys: Keys) -> list[str]:
    """The names that ``distributed_type`` takes in the releases at hand."""
    schema = resolved(keys.table.options["distributed_type",].schema, keys.versions)
    names: list[str] = schema["anyOf"][0]["enum"]
    return names


def _engine(plan: Plan, keys: Keys, versions: Versions) -> None:
    """``distributed_type`` alone decides; of any other type than text (``NO`` reads as false) accelerate starts nothing distributed."""
    block = keys.value("fsdp_config")
    plan.fsdp_options = Fact(True, keys.place("fsdp_config", part="key")) if block and isinstance(block, dict) else Fact()
    plan.fsdp = plan.deepspeed = Fact()
    if plan.deepspeed_config.value:
        plan.deepspeed_config = Fact(plan.deepspeed_config.value, keys.place("deepspeed_config", part="key"))
    if keys.value("compute_environment") == "AMAZON_SAGEMAKER":
        plan.launcher = Fact("sagemaker", keys.place("compute_environment"))
        return
    if ("distributed_type",) not in keys:
        return
    kind, here = keys.value("distributed_type"), keys.place("distributed_type")
    if isinstance(kind, str) and kind not in _types(keys):
        plan.fsdp = Fact(None, here, unknown=is_placeholder(kind))
        return
    name = kind if isinstance(kind, str) else "NO"
    plan.launcher = Fact(_LAUNCHERS.get(name, "none" if name in _UNDISTRIBUTED else "ddp"), here)
    plan.fsdp = Fact(name == "FSDP", here)
    plan.deepspeed = Fact(True, here) if name == "DEEPSPEED" else Fact()
    if name in _DEVICES:
        plan.device = Fact(_DEVICES[name], here)
    if name == "NO" and ("num_processes",) not in keys and isinstance(kind, str) and versions.has("accelerate>=0.34.0"):
        plan.processes = Fact(1, source="distributed_type NO")


def _version(plan: Plan, versions: Versions) -> None:
    if not versions.has("accelerate>=1.6.0"):
        plan.fsdp_version = Fact(1, source="FSDP2 begins with accelerate 1.6.0")


def _asked(value: object) -> Sharding | None:
    """The sharding that a value of ``fsdp_reshard_after_forward`` asks for."""
    if isinstance(value, str) and value.upper() in Sharding.__members__:
        return Sharding[value.upper()]
    freed = None if isinstance(value, float) else word_bool(value)
    return None if freed is None else Sharding.FULL_SHARD if freed else Sharding.SHARD_GRAD_OP


def _sharding(plan: Plan, keys: Keys) -> None:
    """FSDP1 reads ``fsdp_sharding_strategy`` alone (it always has a value), FSDP2 ``fsdp_reshard_after_forward`` alone."""
    path = ("fsdp_config", "fsdp_reshard_after_forward")
    raw = keys.value(*path)
    second: Fact[Sharding] = Fact()
    if raw is not None:
        second = Fact(_asked(raw), keys.place(*path), unknown=is_placeholder(raw))
    if plan.fsdp_version.value == 2:
        plan.sharding = _resharding(plan, second)
    elif plan.fsdp_version.value == 1 and second.value is not None:
        plan.sharding = _strategy(plan.sharding, second, is_name=isinstance(raw, str) and raw.upper() in Sharding.__members__)


def _strategy(first: Fact[Sharding], second: Fact[Sharding], *, is_name: bool) -> Fact[Sharding]:
    """FSDP1's sharding where ``fsdp_reshard_after_forward`` is written; true asks for nothing that FSDP1 could deny."""
    if not is_name and second.value is Sharding.FULL_SHARD:
        return first
    if first.is_written:
        return first.beating(second)
    return second.overruled(Sharding.FULL_SHARD, "FSDP1 reads `fsdp_sharding_strategy` alone") if second.value is not first.value else first


def _resharding(plan: Plan, second: Fact[Sharding]) -> Fact[Sharding]:
    """FSDP2's sharding. A hybrid strategy is true where the parallel sizes say the same."""
    first = plan.sharding
    replicas = plan.dp_replicate.value or 1
    if replicas > 1 and first.written in (Sharding.HYBRID_SHARD, Sharding.HYBRID_SHARD_ZERO2):
        return first
    if second.is_written:
        return second.beating(first) if first.is_written else second
    if not first.is_written:
        return Fact(Sharding.FULL_SHARD, source=first.source)
    return first.overruled(Sharding.FULL_SHARD, "FSDP2 reads `fsdp_reshard_after_forward` alone, which is true by default")


def _state_dict(plan: Plan) -> None:
    if not plan.state_dict.is_written:
        second = plan.fsdp_version.value == 2
        source = plan.offload.source if not plan.offload.is_written else ""
        plan.state_dict = Fact(StateDict.SHARDED if second else StateDict.FULL, source=source or f"default of FSDP{2 if second else 1}")


def _launch_check(plan: Plan, keys: Keys, versions: Versions) -> None:
    """The launcher looks at the truth of ``fsdp_sync_module_states`` as YAML read it: null and "" are false, the text 'false' is true."""
    path = ("fsdp_config", "fsdp_sync_module_states")
    if path not in keys or not versions.has("accelerate>=0.24.0"):
        return
    raw = keys.value(*path)
    if not raw:
        plan.sync_module_states = Fact(False, keys.place(*path))
    elif plan.sync_module_states.value is False and plan.ram_efficient.value is True:
        forced = plan.fsdp_version.value == 1 and versions.has("accelerate>=0.30.0")
        because = "RAM-efficient loading needs it" if forced else "the launcher's check takes the text for true"
        plan.sync_module_states = plan.sync_module_states.overruled(True if forced else None, because)


def _drop_defaults(plan: Plan) -> None:
    """An option that the engine at hand does not have has no default; a size policy's size and a mesh neither where there is none."""
    unread = [*_OPTIONS] if plan.fsdp.value is not True else [*_FSDP1_OPTIONS] if plan.fsdp_version.value == 2 else []
    unread += [] if plan.wrap_policy.value is Wrap.SIZE else ["min_num_params"]
    unread += [] if any(plan.fact(size).is_written for size in _SIZES) else _SIZES
    for decision in unread:
        if not plan.fact(decision).is_written:
            plan.set(decision, Fact())


def _precision(plan: Plan, keys: Keys) -> None:
    """The old ``fp16: true`` counts where ``mixed_precision`` is absent, and is dropped where it is written, be it null."""
    if keys.value("fp16") is not True:
        return
    old = Fact(Precision.FP16, keys.place("fp16"))
    if ("mixed_precision",) not in keys:
        plan.precision = old
    elif keys.value("mixed_precision") is None:
        plan.precision = Fact(Precision.NONE, keys.place("mixed_precision")).beating(old)
    else:
        plan.precision = plan.precision.beating(old)


def _compile(plan: Plan, keys: Keys) -> None:
    """Any backend but ``no`` compiles. The old top-level key replaces the block; 1.13.0 and older want prefixed keys."""
    path = ("dynamo_backend",) if ("dynamo_backend",) in keys else ("dynamo_config", "dynamo_backend")
    backend = keys.value(*path)
    if backend is None:
        plan.compile = Fact()
        return
    here = keys.place(*path)
    unread = here.path[-1] == "backend" and keys.versions.has("accelerate<1.14.0")
    unknown = unread or is_placeholder(backend) or not isinstance(backend, str)
    plan.compile = Fact(None, here, unknown=True) if unknown else Fact(backend.lower() != "no", here, source=backend.lower())
