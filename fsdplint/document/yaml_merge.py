"""YAML 1.1 merge keys (`<<`), as PyYAML's flatten_mapping has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import Entry, Mapping, Problem, Sequence, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from .nodes import Node

_LIMIT = 1_000_000


class Merger:
    """Adds the inherited entries to mappings that have `<<` keys.

    Own keys win. Among the mappings of one list the first wins and a later `<<` beats an earlier one: so PyYAML up to
    6.0.3 and OmegaConf; PyYAML 6.0.4 takes the last of a list.
    """

    def __init__(self, problems: list[Problem], is_open: Callable[[Node], bool]) -> None:
        self._problems = problems
        self._is_open = is_open
        self._budget = _LIMIT

    def merge(self, node: Mapping) -> None:
        """Add what the `<<` entries of a finished mapping bring in."""
        parents: list[tuple[Mapping, Span | None]] = []
        for merge in reversed(node.merges):
            parents.extend(self._parents(merge))
        for parent, at in parents:
            self._inherit(node, parent, at)

    def _parents(self, merge: Entry) -> list[tuple[Mapping, Span | None]]:
        value = merge.value
        place = merge.at or value.span
        if isinstance(value, Mapping):
            return [(value, merge.at)] if self._finished(value, place) else []
        if not isinstance(value, Sequence):
            self._refuse("only a mapping or a list of mappings can be merged with '<<'", place)
            return []
        found: list[tuple[Mapping, Span | None]] = []
        for index, item in enumerate(value.items):
            at = merge.at or value.aliases.get(index)
            if not isinstance(item, Mapping):
                self._refuse("only mappings can be merged with '<<'", at or item.span)
            elif self._finished(item, at or item.span):
                found.append((item, at))
        return found

    def _finished(self, node: Mapping, place: Span) -> bool:
        if self._is_open(node):
            self._refuse("this mapping is merged into itself", place)
            return False
        return True

    def _inherit(self, node: Mapping, parent: Mapping, at: Span | None) -> None:
        if self._budget < 0:
            return
        self._budget -= len(parent.entries)
        if self._budget < 0:
            self._refuse("merges bring in too many keys", at or parent.span)
            return
        for _, entry in parent.loaded():
            node.inherit(Entry(entry.key, entry.name, entry.key_span, entry.value, True, at or entry.at))

    def _refuse(self, message: str, span: Span) -> None:
        self._problems.append(Problem("merge", message, span))
