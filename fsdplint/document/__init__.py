"""Text and tree of a configuration file: YAML, TOML and JSON with the exact place of every key and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .document import Document, parse
from .nodes import Entry, Mapping, Node, Path, Problem, Scalar, Sequence, Span
from .paths import dotted, parse_dotted
from .values import plain

__all__ = [
    "Delete",
    "Document",
    "Edited",
    "Entry",
    "Insert",
    "Mapping",
    "Node",
    "Operation",
    "Path",
    "Problem",
    "Refused",
    "Rename",
    "Replace",
    "Scalar",
    "Sequence",
    "Set",
    "Span",
    "TextEdit",
    "apply",
    "dotted",
    "encoded",
    "parse",
    "parse_dotted",
    "plain",
]

if TYPE_CHECKING:
    from .edits import Delete, Edited, Insert, Operation, Refused, Rename, Replace, Set, TextEdit, apply, encoded


def __getattr__(name: str) -> Any:
    """The edit layer's names; a check does not load it."""
    if name in __all__:
        from . import edits

        return getattr(edits, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
