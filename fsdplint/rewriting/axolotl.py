"""Wishes in axolotl's files.

The block was taken through ``validate_config``, ``prepare_optim_env`` and accelerate's plugin with axolotl 0.19.0; what older releases
read was looked up in 0.8.0 to 0.18.0 (utils/schemas, utils/trainer.py, core/builders).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.document import Refused
from fsdplint.plan import Sharding, StateDict, Wrap
from fsdplint.rewriting.draft import refuse_on
from fsdplint.rewriting.trainers import OPTIMIZERS
from fsdplint.rewriting.writer import Writer, one_replica, replaced

if TYPE_CHECKING:
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft

BLOCK = ("fsdp_config",)

FSDP1_ONLY = (
    *("sharding_strategy", "backward_prefetch", "backward_prefetch_policy", "forward_prefetch", "limit_all_gathers"),
    *("sync_module_states", "use_orig_params", "cpu_offload", "mixed_precision"),
)
UNABLE = {
    "relora": "ReLoRA does not train with FSDP",
    "ple_cpu_offload": "`ple_cpu_offload` does not go with FSDP",
    **dict.fromkeys(
        ("unsloth_lora_mlp", "unsloth_lora_qkv", "unsloth_lora_o", "unsloth_cross_entropy_loss"),
        "`{key}`: unsloth's kernels train on one GPU only",
    ),
}
"""What axolotl refuses beside FSDP."""

OUTDATED = ("max_packed_sequence_len", "rope_scaling")
"""Keys at which every release since 0.5.0 stops."""

PREFERENCE = ("dpo", "ipo", "kto", "orpo")
_DDP_ONLY = ("ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers")


class Axolotl(Writer):
    """``fsdp_version`` and ``fsdp_config`` since 0.12; before, the list ``fsdp`` and prefixed options."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        release = f"axolotl {draft.versions.text('axolotl')}"
        if wish.version == 2 and draft.versions.has("axolotl<0.12.0"):
            return f"{release} reads no top-level `fsdp_version`: FSDP2 is written from axolotl 0.12.0 on"
        if wish.version == 1 and not draft.versions.has("axolotl<0.12.0"):
            return f"{release} is meant for FSDP2, with FSDP1 it loses the strategy: use --fsdp-version 2"
        return None

    def write(self, draft: Draft, wish: Wish) -> None:
        _check(draft, wish)
        if wish.version == 2:
            _second(draft, wish)
        else:
            _first(draft, wish)
        draft.drop(("deepspeed",), ("deepcompile",), *((key,) for key in (() if wish.keeps else _DDP_ONLY)))


def _check(draft: Draft, wish: Wish) -> None:
    for key, reason in UNABLE.items():
        refuse_on(draft, (key,), reason)
    if not draft.versions.is_older("axolotl>=0.5.0"):
        refuse_on(draft, OUTDATED, "the file is older than axolotl 0.5.0 (`{key}`): bring it up to date first, or name its release")
    quantized = bool(draft.value("load_in_4bit") or draft.value("load_in_8bit"))
    if wish.version == 2 and draft.value("rl") in PREFERENCE and quantized:
        raise Refused(f"axolotl refuses `rl: {draft.value('rl')}` on a quantized model with FSDP2")
    if draft.value("deepspeed"):
        refuse_on(draft, ("tensor_parallel_size",), "`{key}` means DeepSpeed's tensor parallelism here, and another one with FSDP")


LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")


def _second(draft: Draft, wish: Wish) -> None:
    _unprefixed(draft)
    anchor = next((key for key in ("fsdp", "deepspeed") if draft.has(key)), None)
    draft.put(("fsdp_version",), 2, anchor)
    body: dict[str, object] = {"reshard_after_forward": wish.sharding is Sharding.FULL_SHARD}
    if not wish.keeps:
        body = {"auto_wrap_policy": Wrap.TRANSFORMER.value, "offload_params": wish.offload, **body}
    elif draft.plan.offload.value is True:
        body["offload_params"] = True
    if not wish.keeps or draft.plan.wrap_policy.value is not None:
        body["auto_wrap_policy"] = (wish.wrap or Wrap.TRANSFORMER).value
    body["state_dict_type"] = _state_dict(draft, wish)
    draft.block(BLOCK, body, after="fsdp_version")
    if wish.replicas > 1:
        draft.put(("dp_replicate_size",), wish.replicas, "fsdp_version")
        draft.put(("dp_shard_size",), wish.shards, "dp_replicate_size")
    else:
        one_replica(draft, ("dp_replicate_size",), ("dp_shard_size",))
    _moved(draft)
    _tidy(draft, wish)
    replaced(draft, "optimizer", OPTIMIZERS)
    if draft.value(*BLOCK, "activation_checkpointing") is True and draft.value("gradient_checkpointing") not in (None, False):
        draft.put(("gradient_checkpointing",), False)


def _unprefixed(draft: Draft) -> None:
    """The options without ``fsdp_``, which 0.12 and later want; of two spellings the later one counts."""
    block = draft.document.value(BLOCK)
    names = list(block) if isinstance(block, dict) else []
    for key in names:
        if not isinstance(key, str) or not key.startswith("fsdp_") or key == "fsdp_version":
            continue
        bare = key.removeprefix("fsdp_")
        if draft.document.has((*BLOCK, bare)) and names.index(bare) > names.index(key):
            draft.drop_path((*BLOCK, key))
            continue
        if draft.document.has((*BLOCK, bare)):
            draft.drop_path((*BLOCK, bare))
        draft.rename((*BLOCK, key), bare)


def _state_dict(draft: Draft, wish: Wish) -> str:
    kept = wish.state_dict or (draft.plan.state_dict.is_written and draft.plan.state_dict.value)
    if kept is StateDict.LOCAL:
        return StateDict.SHARDED.value
    return kept.value if kept else StateDict.FULL.value


def _moved(draft: Draft) -> None:
    """Values that stand in the old place or form."""
    last = draft.value("fsdp_final_state_dict_type")
    if last is not None:
        if not draft.has(*BLOCK, "final_state_dict_type") and draft.knows(*BLOCK, "final_state_dict_type"):
            draft.put((*BLOCK, "final_state_dict_type"), last)
        draft.drop(("fsdp_final_state_dict_type",))
    classes = draft.value(*BLOCK, "transformer_layer_cls_to_wrap")
    if isinstance(classes, list) and classes:
        draft.put((*BLOCK, "transformer_layer_cls_to_wrap"), ",".join(map(str, classes)))
    if draft.value("load_in_4bit") and draft.value(*BLOCK, "cpu_ram_efficient_loading") is True:
        draft.put((*BLOCK, "cpu_ram_efficient_loading"), False)


def _tidy(draft: Draft, wish: Wish) -> None:
    keeps_orig = draft.value("optimizer") == "q_galore_adamw8bit"
    draft.drop(*((*BLOCK, key) for key in FSDP1_ONLY if not (keeps_orig and key == "use_orig_params")))
    draft.drop((*BLOCK, "fsdp_version"), ("fsdp",))
    for key in ("version",):
        if draft.document.has((*BLOCK, key)):
            draft.drop_path((*BLOCK, key))
    if not wish.keeps:
        draft.drop((*BLOCK, "min_num_params"))


def _first(draft: Draft, wish: Wish) -> None:
    refuse_on(draft, LORA_KERNELS, "`{key}`: axolotl's LoRA kernels do not train with FSDP1")
    words = [wish.sharding.value.lower(), "auto_wrap", *(["offload"] if wish.offload else [])]
    listed = draft.value("fsdp")
    if not isinstance(listed, list) or {str(word).lower() for word in listed} != set(words):
        draft.put(("fsdp",), words, "deepspeed")
    body: dict[str, object] = {
        "fsdp_auto_wrap_policy": Wrap.TRANSFORMER.value,
        "fsdp_offload_params": wish.offload,
        "fsdp_state_dict_type": _state_dict(draft, wish),
    }
    block = draft.value("fsdp_config")
    if isinstance(block, dict) and block:
        draft.block(BLOCK, {key.removeprefix("fsdp_"): value for key, value in body.items()})
    else:
        draft.put(BLOCK, body, "fsdp")
    _prefixed(draft)
    draft.drop((*BLOCK, "fsdp_version"), ("fsdp_version",), (*BLOCK, "sharding_strategy"), (*BLOCK, "reshard_after_forward"))


def _prefixed(draft: Draft) -> None:
    """Before 0.12 only keys with their prefix are read."""
    block = draft.value(*BLOCK)
    for key in block if isinstance(block, dict) else ():
        if isinstance(key, str) and not key.startswith("fsdp_") and draft.document.has((*BLOCK, key)):
            if draft.document.has((*BLOCK, f"fsdp_{key}")):
                draft.drop_path((*BLOCK, key))
            else:
                draft.rename((*BLOCK, key), f"fsdp_{key}")
