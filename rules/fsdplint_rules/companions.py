"""Files that another file names and that are not there: a DeepSpeed JSON, an accelerate file, a file of ``fsdp_config``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.rule import Context, Finding, Rule


def missing_files(rule: Rule, context: Context) -> Iterator[Finding]:
    """A finding for each; only a hint until a launch line settles the folder in which the run starts.

    TRF-DS-07 (run with transformers 5.24.0).
    """
    command = context.launch.command
    # A line that calls the file by the very path that was given is run in the current folder.
    settled = command is not None and (context.file is command or context.document.path in command.document.text)
    for place, name in context.launch.missing:
        if place.document is context.document:
            says = f"`{name}` is not there" if settled else f"`{name}` was not found near this file"
            help = "name a file that exists" if settled else "the path is read from the folder in which the run starts"
            yield rule.finding(place, says, outcome="refused" if settled else "advice", help=help)
