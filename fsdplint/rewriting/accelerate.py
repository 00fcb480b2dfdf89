"""Wishes in files of ``accelerate launch``.

The bodies were launched with accelerate 1.15.0 and read by the loaders of 0.21.0 to 1.15.0 (commands/launch.py, utils/dataclasses.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.document import Refused
from fsdplint.plan import Sharding, StateDict, Wrap
from fsdplint.rewriting.writer import Writer, one_replica, too_old_for_fsdp2

if TYPE_CHECKING:
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft

BLOCK = ("fsdp_config",)
MESH = ("parallelism_config",)

FSDP1_ONLY = (
    *("fsdp_sharding_strategy", "fsdp_backward_prefetch", "fsdp_backward_prefetch_policy", "fsdp_forward_prefetch"),
    *("fsdp_use_orig_params", "fsdp_sync_module_states", "fsdp_limit_all_gathers"),
)
"""Options that FSDP2 does not have: it does without, or always does it."""

NEW_BLOCK: dict[int, dict[str, object]] = {
    1: {
        "fsdp_backward_prefetch": "BACKWARD_PRE",
        "fsdp_forward_prefetch": True,
        "fsdp_use_orig_params": True,
        "fsdp_sync_module_states": True,
        "fsdp_cpu_ram_efficient_loading": True,
    },
    2: {"fsdp_cpu_ram_efficient_loading": True, "fsdp_activation_checkpointing": False},
}
"""What a block that is written anew gets besides, by FSDP version."""

NUMBERS = {sharding: number for number, sharding in enumerate(Sharding, start=1)}
"""The strategies as releases before 0.26.0 want them."""

_IMPOSSIBLE = {
    "megatron-lm": "Megatron-LM has its own parallelism, which FSDP cannot take over",
    "xla": "on TPUs accelerate shards with XLA's own FSDP",
    "sagemaker": "SageMaker starts the processes itself",
}
_SIZES = ("tp_size", "cp_size", "sp_size")


class Accelerate(Writer):
    """``distributed_type`` and the block ``fsdp_config``."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if wish.version == 1:
            return None
        if wish.replicas > 1 and draft.versions.is_older("accelerate>=1.10.0"):
            return "hybrid sharding with FSDP2 needs parallelism_config, which begins with accelerate 1.10.0"
        return too_old_for_fsdp2(draft.versions)

    def write(self, draft: Draft, wish: Wish) -> None:
        _check(draft)
        _check_classes(draft, wish)
        _switch(draft)
        body = _second(draft, wish) if wish.version == 2 else _first(draft, wish)
        extras = {key: value for key, value in NEW_BLOCK[wish.version].items() if draft.knows(*BLOCK, key)}
        draft.block(BLOCK, _new(draft, wish, body), extras, after="distributed_type")
        _tidy(draft, wish)
        if wish.replicas > 1:
            _hybrid(draft, wish)
        elif not draft.knows(*MESH):
            draft.drop(MESH)
        else:
            one_replica(draft, (*MESH, "parallelism_config_dp_replicate_size"), (*MESH, "parallelism_config_dp_shard_size"), absent=1)
        _without_deepspeed(draft)


def _check(draft: Draft) -> None:
    reason = _IMPOSSIBLE.get(str(draft.plan.launcher.value))
    if reason:
        raise Refused(reason)
    if draft.value("use_cpu") is True or draft.plan.device.value == "cpu":
        raise Refused("the file trains on the CPU, where accelerate never enters FSDP: take `use_cpu` away first")
    if draft.value("megatron_lm_config"):
        raise Refused(_IMPOSSIBLE["megatron-lm"])


def _check_classes(draft: Draft, wish: Wish) -> None:
    """Refuse to wrap by classes that nobody names, where accelerate does not ask the model for them."""
    is_named = bool(draft.value(*BLOCK, "fsdp_transformer_layer_cls_to_wrap"))
    if wish.wrap is Wrap.TRANSFORMER and not is_named and draft.versions.is_older("accelerate>=0.22.0"):
        raise Refused(
            f"accelerate {draft.versions.text('accelerate')} wraps by class only: name it in `fsdp_transformer_layer_cls_to_wrap`"
        )


def _switch(draft: Draft) -> None:
    if draft.value("distributed_type") != "FSDP":
        draft.put(("distributed_type",), "FSDP", "compute_environment")


def _second(draft: Draft, wish: Wish) -> dict[str, object]:
    body: dict[str, object] = {"fsdp_version": 2, "fsdp_reshard_after_forward": wish.sharding is Sharding.FULL_SHARD}
    return {**body, **_common(draft, wish)}


def _first(draft: Draft, wish: Wish) -> dict[str, object]:
    body: dict[str, object] = {"fsdp_version": 1} if draft.knows(*BLOCK, "fsdp_version") else {}
    is_named = not draft.versions.is_older("accelerate>=0.26.0")
    body["fsdp_sharding_strategy"] = wish.sharding.value if is_named else NUMBERS[wish.sharding]
    return {**body, **_common(draft, wish)}


def _common(draft: Draft, wish: Wish) -> dict[str, object]:
    """Wrap policy, offload and state dict; a migration writes only the state dict, whose default is another one."""
    body: dict[str, object] = {}
    if not wish.keeps:
        body["fsdp_auto_wrap_policy"] = Wrap.TRANSFORMER.value
        body["fsdp_offload_params"] = wish.offload
    body["fsdp_state_dict_type"] = _state_dict(draft, wish).value
    return body


def _state_dict(draft: Draft, wish: Wish) -> StateDict:
    """What is written stays; FSDP2 has no local state dicts, which were sharded ones by another name."""
    if wish.state_dict:
        return wish.state_dict
    kept = draft.plan.state_dict
    if kept.is_written and kept.value in (StateDict.FULL, StateDict.SHARDED):
        return kept.value
    return StateDict.SHARDED if kept.is_written and kept.value is StateDict.LOCAL else StateDict.FULL


def _new(draft: Draft, wish: Wish, body: dict[str, object]) -> dict[str, object]:
    """Of a body what a block of the same FSDP version does not say already, if only by default."""
    plan = draft.plan
    if plan.fsdp.value is not True or plan.fsdp_version.value != wish.version or not draft.value(*BLOCK):
        return body
    same = {
        "fsdp_reshard_after_forward": plan.sharding.value is wish.sharding,
        "fsdp_auto_wrap_policy": plan.wrap_policy.value is Wrap.TRANSFORMER,
        "fsdp_offload_params": plan.offload.value is wish.offload,
        "fsdp_state_dict_type": wish.state_dict in (None, plan.state_dict.value),
    }
    return {key: value for key, value in body.items() if draft.has(*BLOCK, key) or not same.get(key)}


def _tidy(draft: Draft, wish: Wish) -> None:
    """Options of the other FSDP version, and those that the wrap policy has no use for."""
    if wish.version == 2:
        draft.drop(*((*BLOCK, key) for key in FSDP1_ONLY))
    else:
        draft.drop((*BLOCK, "fsdp_reshard_after_forward"), (*BLOCK, "fsdp_limit_all_gathers"))
        if draft.plan.sync_module_states.value is False and draft.plan.ram_efficient.value is not False:
            draft.put((*BLOCK, "fsdp_sync_module_states"), True)
    if not draft.knows(*BLOCK, "fsdp_version"):
        draft.drop((*BLOCK, "fsdp_version"))
    if not wish.keeps:
        draft.drop((*BLOCK, "fsdp_min_num_params"))


def _hybrid(draft: Draft, wish: Wish) -> None:
    if any((draft.value(*MESH, f"parallelism_config_{size}") or 1) != 1 for size in _SIZES):
        raise Refused("hybrid sharding beside tensor, context or sequence parallelism: the sizes are yours to choose")
    sizes = {"parallelism_config_dp_replicate_size": wish.replicas, "parallelism_config_dp_shard_size": wish.shards}
    draft.block(MESH, sizes, after="fsdp_config")


def _without_deepspeed(draft: Draft) -> None:
    block = draft.value("deepspeed_config")
    if isinstance(block, dict):
        kept = {key: value for key, value in block.items() if key in _TRAINERS_CONCERN and value not in (None, "none")}
        for key, value in kept.items():
            draft.note(f"`deepspeed_config.{key}: {value}` is gone: {_TRAINERS_CONCERN[key]}")
    draft.drop(("deepspeed_config",), *((("megatron_lm_config",),) if draft.has("megatron_lm_config") else ()))


_TRAINERS_CONCERN = {
    "gradient_accumulation_steps": "the training script or its arguments have to say it",
    "gradient_clipping": "the training script or its arguments have to clip (max_grad_norm)",
    "offload_optimizer_nvme_path": "FSDP does not offload to disks",
    "offload_param_nvme_path": "FSDP does not offload to disks",
    "deepspeed_hostfile": "the machines have to be started one by one, or by the cluster's launcher",
    "deepspeed_multinode_launcher": "the machines have to be started one by one, or by the cluster's launcher",
    "deepspeed_config_file": "what that file says of optimizer, schedule, clipping, accumulation and precision has to go elsewhere",
}
"""Keys of DeepSpeed's block that say more than how to shard."""
