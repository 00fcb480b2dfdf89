"""Files that are written for an older generation of their framework (``x-generations``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule

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
        oldest, items = found[0][0], [item for _, items in found for item in items]
        names = ", ".join(f"`{item.path[-1]}`" for item in items[:_SHOWN]) + (" and more" if len(items) > _SHOWN else "")
        yield self.finding(
            context.at(items[0].path, "key"),
            f"written for {oldest['written-for']} ({names}): {oldest['says']}",
            outcome=oldest.get("outcome") if _is_declared(context) else None,
            help=f"say which release is meant (--target {context.table.package}==...), or bring the file up to date",
            related=[(context.at(item.path, "key"), "so is this") for item in items[1:]],
        )


def _generations(context: Context) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = context.table.schema.get("x-generations", [])
    return found


def spoken_for(context: Context) -> set[Path]:
    """The keys that older-generation covers, which other rules then leave alone."""
    return {item.path for generation in _generations(context) for item in _speaking(context, generation)}


def _speaking(context: Context, generation: dict[str, Any]) -> list[Written]:
    """The keys of a generation that the file uses, where the rule speaks about it."""
    if not context.versions.has(generation.get("when", "")) or (_is_declared(context) and "outcome" not in generation):
        return []
    return [item for item in context.written if _name(item) in generation["keys"] and _asks(plain(item.entry.value))]


def _asks(value: object) -> bool:
    return value is not None and value is not False and not is_placeholder(value)


def _name(item: Written) -> str:
    return ".".join(item.option.path if item.option else (*item.owner_path, str(item.path[-1])))


def _is_declared(context: Context) -> bool:
    pin = context.target.pins.get(context.table.package)
    return pin is not None and pin.declared


RULES = (OlderGeneration(),)
