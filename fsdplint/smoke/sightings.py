"""What ranks saw, in one line for people."""

from __future__ import annotations

import math
from typing import Any

Facts = dict[str, Any]
Ranks = dict[int, Facts]


def is_finite(value: object) -> bool:
    """NaN and the infinities travel as text, because JSON has none."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def curve(losses: list[Any]) -> str:
    """Losses, step by step."""
    return " → ".join(f"{loss:.3f}" if is_finite(loss) else str(loss) for loss in losses)


def shown(value: object) -> str:
    """A decision's value in a sentence."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _first(ranks: Ranks) -> Facts:
    return ranks[min(ranks)] if ranks else {}


def wrap_seen(ranks: Ranks) -> str:
    """How the model is sharded."""
    facts = _first(ranks)
    if not facts:
        return ""
    held = " and ".join(str(ranks[rank]["local"]) for rank in sorted(ranks)[:2]) + (" ..." if len(ranks) > 2 else "")
    parts = [
        facts["kind"],
        *(facts["sharding"] or []),
        f"{held} of {facts['total']} elements",
        f"{facts['units']} units",
        *facts["placements"],
    ]
    return ", ".join(parts)


def steps_seen(ranks: Ranks) -> str:
    """How it trained."""
    facts = _first(ranks)
    if not facts:
        return ""
    memory = max(facts["peak_memory"] for facts in ranks.values()) / 2**20
    speed = f"{facts['step_seconds'] * 1000:.0f} ms a step, {facts['tokens_per_second']:.0f} tokens/s, at most {memory:.0f} MiB a rank"
    return f"loss {curve(facts['losses'])}; {facts['compute_dtype']}; {speed}"


def checkpoint_seen(ranks: Ranks) -> str:
    """What was saved, and the loss before, after the change, and after loading."""
    facts = _first(ranks)
    if not facts:
        return ""
    losses = curve([facts["before"], facts["shaken"], facts["after"]])
    return f"{facts['saved_as']}: {facts['held']} tensors a rank and the optimizer; loss {losses}"


def compile_seen(ranks: Ranks) -> str:
    """What was compiled."""
    facts = _first(ranks)
    return f"{facts['backend']}, {facts['graphs']} graphs; loss {curve(facts['losses'])}" if facts else ""
