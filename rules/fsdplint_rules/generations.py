"""Files that are written for an older generation of their framework (``x-generations``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, is_among, is_known
from fsdplint.document import Mapping, plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.guesses import guess
from fsdplint_rules.open_files import is_brought, is_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Written
    from fsdplint.document import Path

_SHOWN = 3


class OlderGeneration(Rule):
    """## What it does
    Finds files that are written for an older generation of the framework than the newest releases, while nobody has said which
    release is meant. Once a target is declared, each key speaks for itself.

    ## Why it matters
    An old file from a repository is not wrong, but the newest release drops or refuses the keys that have left the framework since.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    relora_steps: 150
    relora_warmup_steps: 10
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    relora: true
    jagged_restart_steps: 150
    jagged_restart_warmup_steps: 10
    ```

    ## Versions and evidence
    The keys of each generation stand in the option tables.
    """

    code, name, severity = "FSD408", "older-generation", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        found = [(generation, items) for generation in _generations(context) if (items := _speaking(context, generation))]
        if not found:
            return
        oldest, items = found[0][0], list({item.path: item for _, items in found for item in items}.values())
        outcome = oldest.get("outcome") if _is_declared(context) else None
        if oldest.get("whole"):
            fault = f"written for {oldest['written-for']}: {oldest['says']}"
            yield self.finding(context.at(()), fault, outcome=outcome, help=oldest.get("help"))
            return
        names = ", ".join(f"`{item.path[-1]}`" for item in items[:_SHOWN]) + (" and more" if len(items) > _SHOWN else "")
        yield self.finding(
            context.at(items[0].path, "key"),
            f"written for {oldest.get('written-for') or _oldest_known(items)} ({names}): {oldest['says']}",
            outcome=outcome,
            help=f"say which release is meant (--target {context.table.package}==...), or bring the file up to date"
            + _successors(context, items),
            related=[(context.at(item.path, "key"), "so is this") for item in items[1:]],
        )


def _generations(context: Context) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = context.table.schema.get("x-generations", [])
    return found


def spoken_for(context: Context) -> set[Path]:
    """The keys that older-generation covers, which other rules then leave alone."""
    return {item.path for generation in _generations(context) for item in _covered(context, generation)}


def spoken_for_by_value(context: Context) -> set[Path]:
    """The keys of which older-generation covers the value, which other rules then do not judge."""
    judging = [generation for generation in _generations(context) if "values" in generation or "from" in generation]
    return {item.path for generation in judging for item in _covered(context, generation)}


def _covered(context: Context, generation: dict[str, Any]) -> list[Written]:
    """What a generation speaks about; all keys where the file is old throughout and no release is declared to judge them by."""
    items = _speaking(context, generation)
    is_old = "from" in generation and not _is_declared(context) and len(items) >= generation["from"]
    return context.written if is_old else items


def _speaking(context: Context, generation: dict[str, Any]) -> list[Written]:
    """The keys of a generation that the file uses, where the rule speaks about it."""
    if not context.versions.has(generation.get("when", "")) or (_is_declared(context) and "outcome" not in generation):
        return []
    if generation.get("whole"):
        return context.written
    if not generation.get("gone"):
        return [item for item in context.written if _name(item) in generation["keys"] and _is_told(generation, plain(item.entry.value))]
    gone = [item for item in context.written if _is_gone(context, item)]
    if not gone or (_is_declared(context) and len(gone) < generation["from"]):
        return []
    return [*gone, *(item for item in context.written if _is_as_old(context, item))]


def _is_as_old(context: Context, item: Written) -> bool:
    """Whether a key of an old file is no fault of its own: nobody knows it, and it is like no known one, or it is on its way out."""
    if item.option is None:
        return not is_open(context, item) and guess(context, item) is None
    return is_known(item.option, context.versions) and choose(item.option.schema.get("x-deprecated", []), context.versions) is not None


def _is_gone(context: Context, item: Written) -> bool:
    """Whether a key (or an empty section) has left the framework before the releases at hand; whatever its value, the file is as old."""
    known = item.option.schema.get("x-known", "never") if item.option else "never"
    if item.option is None or known == "never" or is_known(item.option, context.versions):
        return False
    is_filled = isinstance(item.entry.value, Mapping) and bool(item.entry.value)
    return not is_filled and not is_before(context, known) and not is_brought(context, item)


def is_before(context: Context, known: str) -> bool:
    """Whether the releases at hand are older than every release that knows a key."""
    return all(context.versions.is_older(part) for part in known.split("|"))


def _oldest_known(items: list[Written]) -> str:
    """The releases that know the key which left the framework first."""
    return min((str(item.option.schema["x-known"]) for item in items if item.option), key=lambda known: _numbers(known.rpartition("<")[2]))


def _numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def _successors(context: Context, items: list[Written]) -> str:
    """What some of the keys are called today."""
    renamed = [(item, item.option.schema["x-renamed"]) for item in items if item.option and "x-renamed" in item.option.schema]
    held = [(item, to["to"]) for item, to in renamed if context.versions.has(to.get("when", ""))]
    return "".join(f"; `{item.path[-1]}` is now `{to}`" for item, to in held[:_SHOWN])


def _is_told(generation: dict[str, Any], value: object) -> bool:
    return is_among(value, generation["values"]) if "values" in generation else _asks(value)


def _asks(value: object) -> bool:
    return value is not None and value is not False and not is_placeholder(value)


def _name(item: Written) -> str:
    return ".".join(item.option.path if item.option else (*item.owner_path, str(item.path[-1])))


def _is_declared(context: Context) -> bool:
    pin = context.target.pins.get(context.table.package)
    return pin is not None and pin.declared


RULES = (OlderGeneration(),)
