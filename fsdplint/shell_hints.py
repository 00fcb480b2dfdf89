"""Which files may hold command lines that start a training run: a look at their text, before anything is parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.discovery import SCRIPTS

if TYPE_CHECKING:
    from fsdplint.discovery import Input

LIMIT = 500_000
"""Bytes of a file with command lines; nobody writes a larger one."""

HINTS = (
    *(b"accelerate", b"torchrun", b"deepspeed", b"torch.distributed", b"trl", b"axolotl"),
    *(b"llamafactory", b"swift", b"soup", b"tune run", b"composer", b"litgpt"),
)
"""Pieces of words of which every script that starts a training run has one."""

_KEYS = rb"(?m)^[ \t-]*(?:run|setup|script|before_script|commands|command|args)[ \t]*:"


def is_script(item: Input) -> bool:
    """Whether a file is a shell script by its name."""
    return item.path.lower().endswith(SCRIPTS)


def may_hold_commands(item: Input) -> bool:
    """Whether a YAML file has keys under which shell commands stand, and something like the name of a launcher."""
    if item.error is not None or not item.path.lower().endswith((".yaml", ".yml")):
        return False
    data = content(item)
    return any(hint in data for hint in HINTS) and re.search(_KEYS, data) is not None


def content(item: Input) -> bytes:
    """What a file holds; nothing of one that cannot be read or is too large."""
    if item.data is not None:
        return item.data if len(item.data) <= LIMIT else b""
    try:
        with open(item.location, "rb") as file:
            data = file.read(LIMIT + 1)
    except OSError:
        return b""
    return data if len(data) <= LIMIT else b""
