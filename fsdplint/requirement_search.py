"""Where requirement files are: beside a config and in the folders above it, up to the root of its repository."""

# Paths are text here: importing pathlib takes as long as importing a whole family of rules.
from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.folders import folders_above

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = frozenset({"constraints.txt", "pyproject.toml", "uv.lock", "poetry.lock", "pylock.toml", "environment.yml", "environment.yaml"})


class Told(NamedTuple):
    """What a requirement file says of one package, and where (``requirements.txt:3``)."""

    package: str
    specifier: str
    where: str


def told_from(start: str, here: str) -> tuple[list[Told], list[str]]:
    """What the requirement files for a folder say, nearest first, and remarks about files that could not be read.

    ``start``: the folder, absolute or as seen from ``here``, the current folder.
    """
    told: list[Told] = []
    remarks: list[str] = []
    base = os.path.realpath(here)
    for folder in folders_above(os.path.realpath(os.path.join(here, start)), base):
        found, unread = _found_in(folder)
        remarks += [f"{_shown(path, base)}: {reason}" for path, reason in unread]
        told += [Told(package, specifier, f"{_shown(path, base)}:{line}") for package, specifier, path, line in found]
    return told, remarks


def forget() -> None:
    """Forget what files said."""
    _found_in.cache_clear()


@cache
def _found_in(folder: str) -> tuple[Sequence[tuple[str, str, str, int]], Sequence[tuple[str, str]]]:
    """What the requirement files of one folder say, and which of them could not be read."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _is_one(entry.name.lower()) and entry.is_file()]
    except OSError:
        names = []
    if not names:
        return (), ()
    from pathlib import Path

    from fsdplint.requirement_files import read

    found, unread = read(Path(folder), names)
    return [(one.package, one.specifier, str(one.file), one.line) for one in found], [(str(path), why) for path, why in unread]


def _is_one(name: str) -> bool:
    """Whether a file name in lower case is a requirement file's."""
    if name in _NAMES or (name.startswith("requirements") and name.endswith(".txt")):
        return True
    return name.startswith("pylock.") and name.endswith(".toml") and name.count(".") == 2


def _shown(file: str, here: str) -> str:
    """A file as seen from the current folder where it lies below it or in a folder above it, else its whole path."""
    folder, name = os.path.split(file)
    inside, above = os.path.join(here, ""), os.path.join(folder, "")
    if os.path.join(folder, "").startswith(inside):
        return file[len(inside) :].replace(os.path.sep, "/")
    if inside.startswith(above):
        return "../" * inside[len(above) :].rstrip(os.path.sep).replace(os.path.sep, "/").count("/") + "../" + name
    return file.replace(os.path.sep, "/")
