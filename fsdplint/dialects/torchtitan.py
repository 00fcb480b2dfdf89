"""The TOML of torchtitan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Precision, Sharding, StateDict, Wrap

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

READS = "torchtitan<0.3.0"
"""The releases that read TOML; later ones take Python config registries alone."""

_SECTIONS = frozenset(
    {
        "job",
        "model",
        "profiling",
        "metrics",
        "optimizer",
        "lr_scheduler",
        "training",
        "parallelism",
        "checkpoint",
        "activation_checkpoint",
        "compile",
        "float8",
        "quantize",
        "comm",
        "experimental",
        "fault_tolerance",
        "validation",
    }
)
_OWN = frozenset({"activation_checkpoint", "fault_tolerance", "quantize"})
_TELLING = frozenset(
    {
        "flavor",
        "converters",
        "hf_assets_path",
        "dump_folder",
        "custom_config_module",
        "use_for_integration_test",
        "save_traces_folder",
        "save_tb_folder",
        "local_batch_size",
        "enable_cpu_offload",
        "mixed_precision_param",
        "data_parallel_degree",
        "data_parallel_shard_degree",
        "data_parallel_replicate_degree",
        "tensor_parallel_degree",
        "context_parallel_degree",
        "pipeline_parallel_degree",
        "expert_parallel_degree",
        "sequence_parallel_degree",
        "fsdp_reshard_after_forward",
        "enable_checkpoint",
        "selective_ac_option",
        "enable_fsdp_float8_all_gather",
    }
)
_PRECISIONS = {"bfloat16": Precision.BF16, "float16": Precision.FP16, "float32": Precision.NONE}
_HYBRIDS = {Sharding.FULL_SHARD: Sharding.HYBRID_SHARD, Sharding.SHARD_GRAD_OP: Sharding.HYBRID_SHARD_ZERO2}
_RESHARD = ("parallelism", "fsdp_reshard_after_forward")
_OFFLOAD = ("training", "enable_cpu_offload")


class Torchtitan(Dialect):
    """The job config of torchtitan 0.1.0 to 0.2.2 (config_manager.py, config/manager.py), which FSDP2 shards.

    Flags of the command line beat the file, key by key.
    """

    name = "torchtitan"
    package = "torchtitan"
    title = "torchtitan config"
    formats = ("toml",)

    def recognise(self, document: Document) -> int:
        """By three or more of its sections, a `[model]` with a name or a flavor among them, and sections and keys that nobody else has."""
        root = document.root
        if not isinstance(root, Mapping):
            return 0
        sections = {name: section for name in _SECTIONS if isinstance(section := root.get(name), Mapping)}
        model = sections.get("model")
        if model is None or len(sections) < 3 or not ("name" in model or "flavor" in model):
            return 0
        evidence = len(_OWN & sections.keys()) + sum(key in _TELLING for section in sections.values() for key in section.keys())  # noqa: SIM118 -- a Mapping is no dict
        return 95 if evidence > 1 else 60 * evidence

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """What turns FSDP on, what it shards, and the precision in the plan's words."""
        if not versions.has(READS):
            return
        plan.fsdp_version = Fact(2, source="torchtitan shards with fully_shard")
        _switch(plan, document)
        _options(plan, document)
        _sharding(plan, document)
        _precision(plan, document)
        plan.activation_checkpointing = _checkpointing(document)
        plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="torchtitan shards every transformer block")
        plan.state_dict = Fact(StateDict.SHARDED, source="torchtitan saves with torch.distributed.checkpoint")


def _number(document: Document, key: str) -> int:
    """A degree of [parallelism]; 1 where it is absent or no number."""
    value = document.value(("parallelism", key))
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def _switch(plan: Plan, document: Document) -> None:
    """FSDP is on when the shard degree is above 1, or takes the ranks that are left (-1), or when context parallelism is on.

    Under expert parallelism some models shard all the same (llama4, deepseek_v3, gpt_oss): nothing is concluded then.
    """
    shard, context = plan.dp_shard, plan.cp
    if shard.unknown:
        plan.fsdp = Fact(None, shard.place, unknown=True)
    elif shard.value is not None and (shard.value == -1 or shard.value > 1):
        plan.fsdp = Fact(True, shard.place, source=shard.source)
    elif context.value is not None and context.value > 1:
        plan.fsdp = Fact(True, context.place)
    elif shard.value == 1 and _number(document, "expert_parallel_degree") <= 1 and not context.unknown:
        plan.fsdp = Fact(False, shard.place)


def _options(plan: Plan, document: Document) -> None:
    """What only FSDP does: offloading, and a choice of resharding."""
    if plan.offload.value is True and plan.offload.is_written:
        plan.fsdp_options = Fact(True, plan.offload.place)
    elif document.value(_RESHARD) in ("always", "never"):
        plan.fsdp_options = Fact(True, Place(document, _RESHARD))


def _sharding(plan: Plan, document: Document) -> None:
    """`always` frees parameters after the forward pass, `never` keeps them, `default` keeps them under pipeline parallelism."""
    if plan.fsdp.value is not True:
        return
    written = document.value(_RESHARD)
    place = Place(document, _RESHARD) if written is not None else None
    if written not in (None, "default", "always", "never"):
        return
    keeps = written == "never" or (written != "always" and (plan.pp.value or 1) > 1)
    sharding = Sharding.SHARD_GRAD_OP if keeps else Sharding.FULL_SHARD
    if plan.dp_replicate.value is not None and plan.dp_replicate.value > 1:
        sharding = _HYBRIDS[sharding]
    plan.sharding = Fact(sharding, place, source="" if place else "torchtitan's default")


def _precision(plan: Plan, document: Document) -> None:
    written = document.value(("training", "mixed_precision_param"))
    fact = plan.precision
    if written is None:
        plan.precision = Fact(Precision.BF16, source="torchtitan's default")
    elif not fact.unknown:
        plan.precision = Fact(_PRECISIONS.get(str(written)), fact.place)


def _checkpointing(document: Document) -> Fact[bool]:
    path = ("activation_checkpoint", "mode")
    mode = document.value(path)
    if mode is None:
        return Fact(True, source="torchtitan's default (selective)")
    return Fact(mode != "none", Place(document, path))
