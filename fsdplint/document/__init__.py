"""Text and tree of a configuration file: YAML, TOML and JSON with the exact place of every key and value."""

from __future__ import annotations

from .document import Document, parse
from .edits import Delete, Edited, Insert, Operation, Refused, Rename, Replace, Set, TextEdit, apply, encoded
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
