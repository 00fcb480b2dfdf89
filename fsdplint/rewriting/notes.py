"""What a rewriting takes away that its text cannot say: for people to put elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.plan import Wrap
from fsdplint.rewriting.aim import PRESETS
from fsdplint.rewriting.migration import UNREPLICATED
from fsdplint.rewriting.zero import zero_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.launch import Launch
    from fsdplint.plan import Plan
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft

_ENGINE = ("deepspeed", "deepspeed_config")

_SHARDING = frozenset(
    {"zero_optimization", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer", "steps_per_print", "wall_clock_breakdown"}
)
"""Keys of a DeepSpeed JSON that say how to shard, or how to report."""


def changes_of_mind(plan: Plan, wish: Wish) -> Iterator[str]:
    """Decisions of a file that its new text does not keep, other than those that were asked for."""
    sharding, wrap = plan.sharding, plan.wrap_policy
    if wish.keeps and not sharding.as_written and sharding.written is not None and sharding.value is not None:
        yield f"{sharding.written.value} is written and {sharding.value.value} runs today: the text says {wish.sharding.value} now"
    if not wish.keeps and sharding.written in UNREPLICATED:
        yield f"{sharding.written.value} kept a copy on each machine; now all machines share one"
    if wish.wrap is Wrap.TRANSFORMER and wrap.is_written and wrap.value is Wrap.SIZE:
        yield "units were cut by size (SIZE_BASED_WRAP); now they are the model's transformer layers"


def another_preset(launch: Launch, draft: Draft, wish: Wish) -> Iterator[str]:
    """The preset that would shard as DeepSpeed did, where another one was asked for."""
    zero = zero_of(launch, draft)
    if zero is not None and zero.preset and not wish.keeps and PRESETS[zero.preset] != (wish.sharding, wish.offload):
        yield f"DeepSpeed ran {zero}, which is --preset {zero.preset}"


def lost_with_deepspeed(launch: Launch, draft: Draft) -> Iterator[str]:
    """What DeepSpeed's options say beyond sharding, be they in a JSON that is read, in one that is not, or in the file itself."""
    jsons = [file for file in launch.files if file.dialect.name == "deepspeed"]
    for file in jsons:
        told = _beyond(file.document.value(()))
        yield f"nothing names {file.document.path} any more{f', which also says {told}: write that where it belongs now' if told else ''}"
    if draft.dialect.name == "accelerate":  # whose block has keys of its own
        return
    for key in _ENGINE:
        value = draft.value(key)
        if isinstance(value, dict) and _beyond(value):
            yield f"`{key}` also says {_beyond(value)}: write that where it belongs now"
        elif isinstance(value, str) and value.endswith(".json") and not jsons:
            yield f"what {value} says of optimizer, schedule, clipping, accumulation and precision has to go elsewhere"


def _beyond(block: object) -> str:
    """The keys of a DeepSpeed configuration that say more than how to shard."""
    return (
        ", ".join(str(key) for key, value in block.items() if key not in _SHARDING and value != "auto") if isinstance(block, dict) else ""
    )
