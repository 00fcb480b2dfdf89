"""What a rewriting is to come to: what the user asks for, and the decisions that the new text must state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.plan import Plan, Sharding, StateDict, Wrap

if TYPE_CHECKING:
    from collections.abc import Iterable


class Aim(NamedTuple):
    """What the user asks for: a preset (None: keep what the file says), and the FSDP version (None: the newest possible)."""

    preset: str | None = None
    version: int | None = None


class Wish(NamedTuple):
    """The decisions that a text is to state under one FSDP version.

    ``wrap`` and ``state_dict``: None where the text may keep what it has. ``keeps``: a migration, which leaves alone whatever need not
    change. ``replicas``: how often a hybrid strategy holds the shards; ``shards``: over how many processes each is spread.
    """

    version: int
    sharding: Sharding
    offload: bool
    wrap: Wrap | None = Wrap.TRANSFORMER
    state_dict: StateDict | None = None
    keeps: bool = False
    replicas: int = 1
    shards: int = 1


PRESETS: dict[str, tuple[Sharding, bool]] = {
    "full_shard": (Sharding.FULL_SHARD, False),
    "shard_grad": (Sharding.SHARD_GRAD_OP, False),
    "full_offload": (Sharding.FULL_SHARD, True),
}
"""Sharding and CPU offload of each preset; all wrap by transformer layers."""


def wish_for(preset: str, version: int) -> Wish:
    """What a preset decides. Raises KeyError for a name that does not exist."""
    sharding, offload = PRESETS[preset]
    return Wish(version, sharding, offload)


def misses(wish: Wish, plan: Plan) -> Iterable[tuple[str, str]]:
    """The decisions of a plan that are not as wished: the name of each, and half a sentence."""
    wanted: list[tuple[str, object]] = [
        ("fsdp", True),
        ("fsdp_version", wish.version),
        ("sharding", wish.sharding),
        ("offload", wish.offload),
    ]
    wanted += [("wrap_policy", wish.wrap)] if wish.wrap else []
    wanted += [("state_dict", wish.state_dict)] if wish.state_dict else []
    for decision, value in wanted:
        found = plan.fact(decision).value
        # A decision that a dialect leaves to code is silent in every file of it.
        if found != value and not (found is None and decision in ("wrap_policy", "state_dict")):
            known = f"would be {_shown(found)} instead of {_shown(value)}"
            says = f"{decision} {known}" if found is not None else f"nothing in the text would tell that {decision} is {_shown(value)}"
            yield decision, says
    if plan.deepspeed.value is True:
        yield "deepspeed", "DeepSpeed would still be on"
    if (plan.dp_replicate.value or 1) != wish.replicas:
        yield "dp_replicate", f"the mesh would hold {plan.dp_replicate.value or 1} replicas instead of {wish.replicas}"


def _shown(value: object) -> str:
    return "unknown" if value is None else str(getattr(value, "value", value))
