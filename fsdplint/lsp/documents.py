"""Open documents: which of them are judged, as which files, and with which content."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.discovery import SCRIPTS, SUFFIXES
from fsdplint.folders import shown
from fsdplint.lsp.text import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable

LANGUAGES = {"yaml": ".yaml", "toml": ".toml", "json": ".json", "jsonc": ".json", "shellscript": ".sh", "sh": ".sh"}
"""The languages, by their identifiers in the protocol, of documents that may be training configs; the suffix of one without a name."""

_MARK = BOM.encode()


class OpenDocument(NamedTuple):
    """A document as the client has it. ``location``: the absolute path of its file, or of one beside which it is thought to lie."""

    uri: str
    location: str
    text: str
    version: int | None

    @property
    def path(self) -> str:
        """The path as diagnostics show it."""
        return shown(self.location)

    @property
    def data(self) -> bytes:
        """What saving would write: clients keep the byte order mark of a file to themselves."""
        data = self.text.encode("utf-8", "replace")
        return _MARK + data if not data.startswith(_MARK) and _has_mark(self.location) else data


def location_of(scheme: str, path: str | None, language: str | None) -> str | None:
    """Where the file of a document is, by its URI's scheme and path; None for what cannot be a training config.

    What was never saved is thought to lie in the current folder.
    """
    if scheme == "file" and path:
        is_meant = path.lower().endswith(SUFFIXES + SCRIPTS) or language in LANGUAGES
        return os.path.abspath(path) if is_meant else None
    if scheme == "untitled" and language in LANGUAGES:
        if path and os.path.isabs(path):  # a file that is yet to be made
            return path
        name = os.path.basename((path or "").replace("\\", "/")) or "untitled"
        return os.path.abspath(name if name.lower().endswith(SUFFIXES + SCRIPTS) else name + LANGUAGES[language])
    return None


def contents_of(documents: Iterable[OpenDocument]) -> dict[str, bytes]:
    """What the files of some documents are taken to hold, by every path under which a launch may know them."""
    found: dict[str, bytes] = {}
    for document in documents:
        data = document.data
        found[document.path] = data
        try:
            found[os.path.relpath(document.location).replace(os.path.sep, "/")] = data
        except ValueError:  # another drive
            continue
    return found


def _has_mark(location: str) -> bool:
    try:
        with open(location, "rb") as file:
            return file.read(len(_MARK)) == _MARK
    except (OSError, ValueError):
        return False
