"""Paths and columns as the tools of others count them."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsdplint.diagnostics import Position, Range, Snippet


def is_file(path: str) -> bool:
    """Whether a diagnostic's path names a file, and not ``<launch>`` or ``<stdin>``."""
    return not path.startswith("<")


def relative(path: str, *variables: str) -> str:
    """A path relative to the folder that the first set environment variable names, else to the current folder, with ``/``.

    A path that does not lie below stays whole.
    """
    root = next((os.environ[name] for name in variables if os.environ.get(name)), os.getcwd())
    whole = os.path.normpath(os.path.join(os.getcwd(), path))
    base = os.path.join(os.path.normpath(root), "")
    shown = whole[len(base) :] if whole.startswith(base) else whole if os.path.isabs(path) else os.path.normpath(path)
    return shown.replace(os.path.sep, "/")


def utf16_column(position: Position, snippet: Snippet) -> int | None:
    """A 1-based column in UTF-16 code units; None for a line that the snippet does not show."""
    before = _before(position, snippet)
    return None if before is None else len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


def utf8_column(position: Position, snippet: Snippet) -> int | None:
    """A 1-based column in bytes of UTF-8; None for a line that the snippet does not show."""
    before = _before(position, snippet)
    return None if before is None else len(before.encode("utf-8", "surrogatepass")) + 1


def _before(position: Position, snippet: Snippet) -> str | None:
    index = position.line - snippet.first_line
    if not 0 <= index < len(snippet.lines):
        return None
    return snippet.lines[index][: position.column - 1]


def is_one_line(place: Range) -> bool:
    """Whether a range starts and ends on one line."""
    return place.start.line == place.end.line
