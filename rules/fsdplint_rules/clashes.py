"""Options of one file that a framework refuses or drops together, as its option table states them (``x-clashes``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects import choose, default, is_among
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsdplint.dialects import Claim
    from fsdplint.document import Path
    from fsdplint.plan import Plan

NOTHING: tuple[object, ...] = (None, False, "", [], {})
"""What asks for nothing."""


class Clash(NamedTuple):
    """Options that clash: what is wrong in words, where to say it, where the other options stand, and what happens."""

    fault: str
    at: Path
    others: tuple[Path, ...]
    claim: Claim


class OptionsClash(Rule):
    """A rule that says what the ``x-clashes`` of its dialects' tables state, at the option or where it is written."""

    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for clash in clashes(context, context.plan):
            related = [(context.at(path, "entry"), "the other option") for path in clash.others]
            yield self.claimed(clash.claim, context.at(clash.at, "entry"), clash.fault, related=related)


def split(dotted: str) -> Path:
    """A dotted key of the option table as the path at which a flat file has it."""
    return tuple(dotted.split("."))


def clashes(context: Context, plan: Plan, locate: Callable[[str], Path] = split) -> Iterator[Clash]:
    """Every clash of the table that the file has under a plan; ``locate`` tells where the file has (or would have) a dotted key."""
    for clash in context.table.schema.get("x-clashes", []):
        paths = {key: locate(key) for key in (*clash["keys"], *clash.get("unless", {}))}
        at = paths[clash["at"]]
        if clash.get("written") and not context.document.has(at):
            continue
        if not all(is_so(context, key, paths[key], wanted) for key, wanted in clash["keys"].items()):
            continue
        if any(is_so(context, key, paths[key], wanted) for key, wanted in clash.get("unless", {}).items()):
            continue
        claim = choose(clash["claims"], context.versions, plan)
        if claim:
            others = tuple(path for path in paths.values() if path != at and context.document.has(path))
            yield Clash(clash["fault"], at, others, claim)


def is_so(context: Context, key: str, path: Path, wanted: str | list[Any]) -> bool:
    """Whether a key is as a clash wants it.

    ``on``: written, and asks for something; ``no``: written, and asks for nothing; ``true`` and ``off``: the same, the default counting;
    ``set`` and ``absent``: not null and null; ``>1``: a greater number; a list: one of its values, the default counting.
    A placeholder is nothing of all that, unless a list names it.
    """
    value, written = context.document.value(path), context.document.has(path)
    if isinstance(wanted, str) and is_placeholder(value):
        return False
    option = context.table.options.get(tuple(key.split(".")))
    used = value if written or option is None else default(option.schema, context.versions)
    if wanted in ("on", "no", "true", "off"):
        asks = used not in NOTHING
        return (written or wanted in ("true", "off")) and asks is (wanted in ("on", "true"))
    if wanted in ("set", "absent"):
        return (value is None) is (wanted == "absent")
    if wanted == ">1":
        return isinstance(used, int) and not isinstance(used, bool) and used > 1
    return isinstance(wanted, list) and is_among(used, wanted)
