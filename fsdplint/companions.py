"""Files that a config names and that start the same run: where they are."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Place
from fsdplint.dialects import DIALECTS
from fsdplint.discovery import Input
from fsdplint.document import parse_dotted
from fsdplint.folders import folders_above, shown
from fsdplint.plan import is_placeholder

if TYPE_CHECKING:
    from fsdplint.dialects import Dialect
    from fsdplint.launch import ConfigFile


class Companions(NamedTuple):
    """``found``: inputs with the name of the dialect that the naming key settles, None where their own keys tell it, and with the form of a
    dialect that it settles.

    ``missing``: where each is named, and its path as written.
    """

    found: tuple[tuple[Input, str | None, Dialect | None], ...]
    missing: tuple[tuple[Place, str], ...]


def companions(file: ConfigFile, location: str) -> Companions:
    """The files that a config (at an absolute path) names, looked up in its folder and those above: up to the root of its repository, else
    to the current folder, where that is one of them.
    """
    found: list[tuple[Input, str | None, Dialect | None]] = []
    missing: list[tuple[Place, str]] = []
    for key, written in file.dialect.companions(file.document):
        if is_placeholder(written):
            continue
        place = _place(written, os.path.dirname(location))
        if place is None:
            missing.append((Place(file.document, parse_dotted(key)), written))
        else:
            found.append((Input(shown(place), place), _settled(key), file.dialect.form_of(key)))
    return Companions(tuple(found), tuple(missing))


def _settled(key: str) -> str | None:
    """The dialect of the files that a key names, where their own keys do not tell it for sure: a DeepSpeed JSON may hold
    almost anything, and ms-swift reads every JSON that its ``fsdp`` names as its own.
    """
    last = key.rpartition(".")[2]
    name = "deepspeed" if last.startswith("deepspeed") or last == "config_file" else "ms-swift" if key == "fsdp" else None
    return name if name in DIALECTS else None


def _place(written: str, folder: str) -> str | None:
    written = os.path.expanduser(written)
    for above in (folder,) if os.path.isabs(written) else folders_above(folder):
        place = os.path.normpath(os.path.join(above, written))
        if os.path.isfile(place):
            return place
    return None
