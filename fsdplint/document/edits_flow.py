"""Edits inside of brackets and braces: JSON, flow collections of YAML, arrays and inline tables of TOML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .lines import indent_of, line_break, line_end, line_start, next_line
from .nodes import Mapping, Sequence, Span
from .operations import Refused, TextEdit

if TYPE_CHECKING:
    from .document import Document

_COMMA = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*,")
_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


class Item(NamedTuple):
    """An item of a flow collection, its comma not included; `comma` is where that starts, None if there is none."""

    start: int
    end: int
    comma: int | None

    @property
    def after(self) -> int:
        """Behind the comma, if there is one."""
        return self.end if self.comma is None else self.comma + 1


class Flow:
    """The items of one flow collection, and the edits that add one or take one away."""

    def __init__(self, document: Document, node: Mapping | Sequence) -> None:
        self.text = document.text
        self.newline = document.newline
        self.span = node.span
        if self.text[node.span.start] not in "{[":
            raise Refused("it has no braces of its own")
        self.items = [self._item(start, end) for start, end in _places(document, node)]

    def _item(self, start: int, end: int) -> Item:
        comma = _COMMA.match(self.text, end, self.span.end - 1)
        return Item(start, end, None if comma is None else comma.end() - 1)

    @property
    def is_spread(self) -> bool:
        """Whether the items stand on lines of their own."""
        return bool(self.items) and indent_of(self.text, self.items[-1].start) is not None

    @property
    def indent(self) -> str:
        """The blanks before the items, where they stand on lines of their own."""
        return (indent_of(self.text, self.items[-1].start) if self.items else None) or ""

    @property
    def comma(self) -> str:
        """The comma between items of one line, with the blank behind it if that is the custom."""
        gaps = [self.text[one.after : two.start] for one, two in zip(self.items, self.items[1:], strict=False)]
        return "," if gaps and not gaps[-1] else ", "

    def index(self, start: int) -> int:
        """The index of the item that starts here. Raises Refused."""
        for index, item in enumerate(self.items):
            if item.start == start:
                return index
        raise Refused("the item's place cannot be told")

    def insert(self, item: str, after: int) -> list[TextEdit]:
        """Add an item behind the one of this index."""
        before = self.items[after]
        last = after == len(self.items) - 1
        if not self.is_spread:
            if last and before.comma is not None:
                return [TextEdit(before.after, before.after, f" {item},")]
            return [TextEdit(before.end, before.end, f"{self.comma}{item}")]
        ends_with_comma = not last or before.comma is not None
        fresh = f"{line_break(self.text, before.start, self.newline)}{self.indent}{item}{',' if ends_with_comma else ''}"
        end = self._line_end(before.after)
        if ends_with_comma:
            return [TextEdit(end, end, fresh)]
        return [TextEdit(before.end, before.end, ","), TextEdit(end, end, fresh)]

    def _line_end(self, offset: int) -> int:
        """The end of the line where at most a comment stands on the rest of it, else the offset itself."""
        rest = _REST.match(self.text, offset)
        return offset if rest is None else rest.end()

    def fill(self, item: str, before: str = "", behind: str = "") -> list[TextEdit]:
        """Add the first item, with these blanks around it."""
        start, end = self.span.start + 1, self.span.end - 1
        if not self.text[start:end].strip():
            return [TextEdit(start, end, f"{before}{item}{behind}")]
        indent = indent_of(self.text, end)
        if indent is None:
            raise Refused("a comment stands in the braces")
        line = line_start(self.text, end)
        return [TextEdit(line, line, f"{indent}  {item}{line_break(self.text, start, self.newline)}")]

    def remove(self, index: int) -> list[TextEdit]:
        """Take an item away; comments that go with it stand in the edits."""
        item = self.items[index]
        before = self.items[index - 1] if index else None
        after = self.items[index + 1] if index + 1 < len(self.items) else None
        lines = self._own_lines(item)
        if before is None and after is None:
            return self._remove_only(item, lines)
        if lines is not None:
            edits = [TextEdit(lines.start, lines.end, "")]
            if before is not None and before.comma is not None and after is None and item.comma is None:
                edits.insert(0, TextEdit(before.comma, before.comma + 1, ""))
            return edits
        if after is not None and (before is None or line_start(self.text, after.start) <= item.start):
            return self._remove_until(item, after)
        assert before is not None
        return self._remove_behind(before, item)

    def _own_lines(self, item: Item) -> Span | None:
        """The lines of an item that shares them with no other."""
        rest = _REST.match(self.text, item.after)
        if indent_of(self.text, item.start) is None or rest is None:
            return None
        return Span(line_start(self.text, item.start), next_line(self.text, rest.end()))

    def _remove_only(self, item: Item, lines: Span | None) -> list[TextEdit]:
        start, end = self.span.start + 1, self.span.end - 1
        around = self.text[start : item.start] + self.text[item.after : end]
        if "#" not in around:
            return [TextEdit(start, end, "")]
        if lines is None:
            raise Refused("a comment stands beside the only item")
        return [TextEdit(lines.start, lines.end, "")]

    def _remove_until(self, item: Item, after: Item) -> list[TextEdit]:
        """Take away the first of several items on a line, or one between two."""
        own = line_end(self.text, item.after)
        if "#" in self.text[min(own, after.start) : after.start]:
            raise Refused("a comment stands between this item and the next")
        return [TextEdit(item.start, after.start, "")]

    def _remove_behind(self, before: Item, item: Item) -> list[TextEdit]:
        """Take away an item that follows another: the comma before it goes, the one behind it stays."""
        if "#" not in self.text[before.end : item.start]:
            return [TextEdit(before.end, item.end, "")]
        assert before.comma is not None
        if item.comma is not None:
            return [TextEdit(item.start, item.after, "")]
        return [TextEdit(before.comma, before.comma + 1, ""), TextEdit(item.start, item.end, "")]


def _places(document: Document, node: Mapping | Sequence) -> list[tuple[int, int]]:
    """Start and end of the items in the order of the text."""
    if isinstance(node, Sequence):
        spans = [node.aliases.get(index) or item.span for index, item in enumerate(node.items)]
        return sorted((span.start, span.end) for span in spans)
    own = [entry for entry in (*node.entries, *node.merges) if not entry.inherited]
    for entry in own:
        value = entry.value
        if document.format == "toml" and isinstance(value, Mapping) and document.text[value.span.start] != "{":
            raise Refused("a key with dots stands in the braces")
    return sorted((entry.key_span.start, (entry.at or entry.value.span).end) for entry in own)
