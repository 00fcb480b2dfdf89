"""What a reader of one format hands back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .nodes import Entry, Mapping, Node, Problem


class Reading(NamedTuple):
    """Roots, problems and duplicate keys of a text.

    `opaque` are the places (start, end and more), in order, in which a '#' starts no comment; beyond `reached` nothing
    was read.
    """

    roots: tuple[Node, ...] = ()
    problems: tuple[Problem, ...] = ()
    duplicates: tuple[tuple[Mapping, Entry, Entry], ...] = ()
    opaque: Sequence[tuple[Any, ...]] = ()
    reached: int = 0
