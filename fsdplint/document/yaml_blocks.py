"""Lines, columns and customs of block collections in a YAML text."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from .changes import quote_of
from .lines import column, indent_of, line_above, line_end, line_start, next_line
from .nodes import Mapping, Scalar, Sequence
from .operations import Refused
from .rendering import YamlNotation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document import Document
    from .nodes import Entry, Node

_TO_DASH = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*-")
_TO_COLON = re.compile(r"[ \t]*:")
_TO_FAR_COLON = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*:")
_COMMENT_LINE = re.compile(r"([ \t]*)#")


class Element(NamedTuple):
    """An entry or item of a block collection: from its key, `?` or dash to the end of its value."""

    start: int
    end: int


class Blocks:
    """What can be told about the blocks of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text

    def elements(self, node: Mapping | Sequence) -> list[Element]:
        """The elements of a block collection in the order of the text."""
        if isinstance(node, Mapping):
            own = [entry for entry in (*node.entries, *node.merges) if not entry.inherited]
            return sorted(Element(self.key_start(entry), (entry.at or entry.value.span).end) for entry in own)
        found: list[Element] = []
        place = node.span.start
        for index, item in enumerate(node.items):
            dash = _TO_DASH.match(self.text, place)
            if dash is None:
                raise Refused("the list's dashes cannot be told")
            place = max((node.aliases.get(index) or item.span).end, dash.end())
            found.append(Element(dash.end() - 1, place))
        return found

    def key_start(self, entry: Entry) -> int:
        """Where an entry starts: at its key, or at the `?` before that."""
        place = entry.key_span.start
        while place > 0 and self.text[place - 1] in " \t":
            place -= 1
        return place - 1 if place > 0 and self.text[place - 1] == "?" else entry.key_span.start

    def is_explicit(self, entry: Entry) -> bool:
        """Whether the key is written with a `?`."""
        return self.key_start(entry) != entry.key_span.start

    def colon(self, entry: Entry) -> int | None:
        """Behind the colon of an entry, None where it has none."""
        pattern = _TO_FAR_COLON if self.is_explicit(entry) else _TO_COLON
        found = pattern.match(self.text, entry.key_span.end)
        return None if found is None else found.end()

    def last_line_end(self, end: int) -> int:
        """The end of the line on which a value ends, a comment behind it included."""
        if end > 0 and self.text[end - 1] in "\r\n":
            return line_above(self.text, end)
        return line_end(self.text, end)

    def with_deeper_comments(self, end: int, limit: int) -> int:
        """The end of the last of the comment lines below that are indented deeper than the limit."""
        place = next_line(self.text, end)
        while place > end and place < len(self.text):
            stop = line_end(self.text, place)
            comment = _COMMENT_LINE.match(self.text, place)
            if comment is not None and len(comment[1]) > limit:
                end = stop
            elif self.text[place:stop].strip(" \t"):
                break
            following = next_line(self.text, place)
            if following == place:
                break
            place = following
        return end

    def column(self, offset: int) -> int:
        """0-based column of an offset."""
        return column(self.text, offset)

    def is_first(self, element: Element) -> bool:
        """Whether nothing but blanks stands before the element on its line."""
        return indent_of(self.text, element.start) is not None

    def line_start(self, offset: int) -> int:
        """Where the line of an offset starts."""
        return line_start(self.text, offset)

    @cached_property
    def step(self) -> int:
        """By how many columns the file indents a mapping below a mapping."""
        for entry, owner in self._entries():
            if isinstance(entry.value, Mapping) and not entry.value.flow and entry.at is None and entry.value.entries:
                found = self.column(self.elements(entry.value)[0].start) - self.column(self.key_start(entry))
                if found > 0 and not owner.flow:
                    return found
        return 2

    @cached_property
    def dash_step(self) -> int:
        """By how many columns the file indents the dashes of a list below its key."""
        for entry, owner in self._entries():
            if isinstance(entry.value, Sequence) and not entry.value.flow and entry.at is None and entry.value.tag is None:
                found = self.column(self.elements(entry.value)[0].start) - self.column(self.key_start(entry))
                if found >= 0 and not owner.flow and entry.value.anchor is None:
                    return found
        return self.step

    @cached_property
    def notation(self) -> YamlNotation:
        """The notation with the quote that the file uses more, single ones where it uses none."""
        count = {"'": 0, '"': 0}
        for written in self._written():
            quote = quote_of(written)
            if quote is not None:
                count[quote] += 1
        return YamlNotation('"' if count['"'] > count["'"] else "'")

    def _written(self) -> Iterator[str]:
        for node in self._nodes():
            if isinstance(node, Scalar):
                yield node.raw
            elif isinstance(node, Mapping):
                for entry in node.entries:
                    yield self.text[entry.key_span.start : entry.key_span.start + 1]

    def _entries(self) -> Iterator[tuple[Entry, Mapping]]:
        for node in self._nodes():
            if isinstance(node, Mapping):
                for entry in node.entries:
                    if not entry.inherited:
                        yield entry, node

    def _nodes(self) -> Iterator[Node]:
        """All nodes in the order of the text, each once."""
        stack = [] if self.document.root is None else [self.document.root]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            if isinstance(node, Mapping):
                stack += [entry.value for entry in reversed(node.entries)]
            elif isinstance(node, Sequence):
                stack += reversed(node.items)
