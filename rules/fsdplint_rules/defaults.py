"""Defaults that changed inside the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, default
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Option
    from fsdplint.target import Versions


class DefaultChanged(Rule):
    """## What it does
    Finds keys that are not written and whose default is another one in other releases of the target.

    ## Why it matters
    The same file trains differently after an upgrade: in transformers 5.10 `fsdp` became FSDP2.

    ## Example
    With `--target transformers>=5.4,<=5.24`:
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: full_shard auto_wrap
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: full_shard auto_wrap
    fsdp_config:
      version: 2
    ```

    ## Versions and evidence
    TRF-FSDP-22, TRF-FSDP-30: the same files were run with transformers 5.9.0, 5.10.4 and 5.24.0.
    """

    code, name, severity = "FSD405", "default-changed", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        points = context.target.points()
        if len(points) < 2:
            return
        written = {item.option.path for item in context.written if item.option}
        for option in context.table.options.values():
            claims = option.schema.get("x-default-changed")
            values = _by_value(option, points) if claims and option.path not in written else {}
            claim = choose(claims, context.versions, context.own) if claims and len(values) > 1 else None
            if claim:
                told = ", ".join(f"{value} with {context.target.runs(held)}" for value, held in values.items())
                at = context.home(option.schema["x-decision"])
                yield self.claimed(claim, at, f"`{option.name}` is not written, and its default is {told}")


def _by_value(option: Option, points: tuple[Versions, ...]) -> dict[object, list[Versions]]:
    """The points of a target by the default that holds there, oldest default first."""
    found: dict[object, list[Versions]] = {}
    for versions in reversed(points):
        found.setdefault(default(option.schema, versions), []).append(versions)
    return found


RULES = (DefaultChanged(),)
