"""Text and tree of a configuration file: YAML, TOML and JSON with the exact place of every key and value."""

from __future__ import annotations

from .document import Document, parse
from .nodes import Entry, Mapping, Node, Path, Problem, Scalar, Sequence, Span
from .paths import dotted, parse_dotted
from .values import plain

__all__ = [
    "Document",
    "Entry",
    "Mapping",
    "Node",
    "Path",
    "Problem",
    "Scalar",
    "Sequence",
    "Span",
    "dotted",
    "parse",
    "parse_dotted",
    "plain",
]
