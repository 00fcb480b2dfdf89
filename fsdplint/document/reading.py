"""What a reader of one format hands back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .nodes import Entry, Mapping, Node, Problem, Span


class Reading(NamedTuple):
    """Roots, problems and duplicate keys of a text.

    `opaque` are the places, in order, in which a '#' starts no comment; beyond `reached` nothing was read.
    """

    roots: tuple[Node, ...] = ()
    problems: tuple[Problem, ...] = ()
    duplicates: tuple[tuple[Mapping, Entry, Entry], ...] = ()
    opaque: tuple[Span, ...] = ()
    reached: int = 0
