"""What a launch line tells of the config files that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects import DIALECTS

if TYPE_CHECKING:
    from fsdplint.commands import Command

LAUNCHER_FLAGS = ("--config_file", "--config-file", "--accelerate_config", "--accelerate-config")
"""The flags of ``accelerate launch`` and ``trl`` whose value is an accelerate file."""


def told(command: Command | None, name: str) -> str | None:
    """The dialect of a file that a launch line names, where the flag before it tells that."""
    if command is None:
        return None
    flags = {**dict.fromkeys(LAUNCHER_FLAGS, "accelerate"), "--config": command.dialect.name}
    return next((dialect for flag, dialect in flags.items() if dialect in DIALECTS and command.document.value((flag,)) == name), None)
