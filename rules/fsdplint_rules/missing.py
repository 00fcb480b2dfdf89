"""Keys that something else in the file makes necessary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.dialects import choose, is_known
from fsdplint.document import Mapping
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.companions import missing_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Option
    from fsdplint.document import Path
    from fsdplint.launch import ConfigFile


class MissingKey(Rule):
    """## What it does
    Finds keys that the framework needs and the file lacks. What a flag of the launch line can give is a warning until that line is known.
    Finds files that the file names and that are not there: a hint until a launch line settles the folder in which the run starts.

    ## Why it matters
    The launcher stops before any training code runs.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    num_machines: 1
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_machines: 1
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
    ```

    ## Versions and evidence
    acc-distributed-type-missing, acc-num-processes-missing (run with accelerate 0.21.0 to 1.15.0);
    TRF-DS-07 (run with transformers 5.24.0).
    """

    code, name, severity = "FSD007", "missing-key", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        yield from missing_files(self, context)
        if not isinstance(context.document.root, Mapping):
            return
        homes: dict[tuple[str, ...], Path] = {(): ()}
        homes.update({item.option.path: item.path for item in context.written if item.option and isinstance(item.entry.value, Mapping)})
        for option in context.table.options.values():
            if "x-required" in option.schema and option.path[:-1] in homes and is_known(option, context.versions):
                yield from self._lacking(context, option, homes[option.path[:-1]])

    def _lacking(self, context: Context, option: Option, home: Path) -> Iterator[Finding]:
        written = next((item for item in context.written if item.option and item.option.path == option.path), None)
        if written is not None and context.value(*written.path) is not None:
            return
        if written is not None and "null" not in option.schema.get("type", ()):
            return
        flag, command = option.schema.get("x-flag"), context.launch.command
        if flag and command and not _takes(command, flag):
            return
        claim = choose(option.schema["x-required"], context.versions, context.plan)
        if claim:
            claim = claim._replace(outcome="ignored") if flag and not command else claim
            at = written.path if written else (*home, option.name)
            yield self.claimed(claim, Place(context.document, at, "key"), f"`{option.name}` is missing")


def _takes(command: ConfigFile, flag: str) -> bool:
    """Whether a launch line is of a launcher that has the flag; another one does not read the file as its own."""
    return flag in command.dialect.table.schema.get("properties", {})


RULES = (MissingKey(),)
