"""The launch line, taken apart as its launcher does: flags of the launcher, and arguments of the script."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(.*/)?python[\d.]*$")
_SCRIPT = re.compile(r".*\.py$")


class LaunchLine(NamedTuple):
    """``launcher``: flags of ``accelerate launch``, the script last; None for another launcher. ``script``: the script's own arguments."""

    launcher: tuple[str, ...] | None
    script: tuple[str, ...]


def read_line(line: str | None) -> LaunchLine:
    """The parts of a launch line; nothing is run and no variable is expanded."""
    words = shlex.split(line or "", comments=True)
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    for index, word in enumerate(words):
        if _is_accelerate(words[: index + 1]) and words[index + 1 : index + 2] == ["launch"]:
            return LaunchLine(tuple(words[index + 2 :]), ())
        if word.endswith("accelerate.commands.launch"):
            return LaunchLine(tuple(words[index + 1 :]), ())
    after = next((i + 1 for i, word in enumerate(words) if _SCRIPT.match(word)), len(words))
    return LaunchLine(None, tuple(words[after:]))


def _is_accelerate(words: list[str]) -> bool:
    return words[-1].rpartition("/")[2] == "accelerate" and all(_PYTHON.match(word) or word in ("-m", "sudo") for word in words[:-1])
