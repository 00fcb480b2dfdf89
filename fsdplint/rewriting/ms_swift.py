"""Wishes in ms-swift's files: ``fsdp`` is a preset's name or the JSON itself (swift/arguments of 3.12.0 to 4.6.0; inline JSON run)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.document import Refused
from fsdplint.plan import Sharding, StateDict
from fsdplint.rewriting.trainers import OPTIMIZERS
from fsdplint.rewriting.writer import Writer, replaced, too_old_for_fsdp2

if TYPE_CHECKING:
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft

PRESET = "fsdp2"
"""ms-swift's own preset: full sharding, sharded state dicts, FSDP's activation checkpointing."""


class MsSwift(Writer):
    """``fsdp``; its own activation checkpointing takes the place of the Trainer's."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if draft.versions.has("ms-swift<3.12.0"):
            return f"ms-swift {draft.versions.text('ms-swift')} has no `fsdp` of its own: it begins with 3.12.0"
        if wish.version != 2:
            return "ms-swift shards with FSDP2 alone: leave --fsdp-version out"
        if wish.replicas > 1:
            return "ms-swift has no hybrid sharding"
        return too_old_for_fsdp2(draft.versions)

    def write(self, draft: Draft, wish: Wish) -> None:
        if draft.plan.backend.value == "unsloth":
            raise Refused("unsloth does not train with FSDP: take it away first")
        plan = draft.plan
        is_there = plan.fsdp.value is True and plan.fsdp_version.value == 2
        if not (is_there and plan.sharding.value is wish.sharding and plan.offload.value is wish.offload):
            draft.put(("fsdp",), _text(draft, wish), "deepspeed")
        draft.drop(("deepspeed",), ("fsdp_config",))
        if draft.value("gradient_checkpointing") is True:
            draft.put(("gradient_checkpointing",), False)
        replaced(draft, "optim", OPTIMIZERS)


def _text(draft: Draft, wish: Wish) -> str:
    saves_models = draft.value("save_only_model") is True
    if wish.sharding is Sharding.FULL_SHARD and not wish.offload and not saves_models:
        return PRESET
    import json

    words = [wish.sharding.value.lower(), "auto_wrap", *(["offload"] if wish.offload else [])]
    options = {
        "fsdp_version": 2,
        "reshard_after_forward": wish.sharding is Sharding.FULL_SHARD,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "cpu_ram_efficient_loading": True,
        "state_dict_type": (StateDict.FULL if saves_models else StateDict.SHARDED).value,
        "activation_checkpointing": True,
    }
    return json.dumps({"fsdp": " ".join(words), "fsdp_config": options})
