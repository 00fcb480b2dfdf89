"""Edits of JSON, in the file's own indentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .changes import Change, collection, deletion
from .edits_flow import Flow
from .lines import line_start
from .nodes import Mapping, Scalar, Sequence
from .operations import Refused, TextEdit
from .rendering import JsonNotation

if TYPE_CHECKING:
    from .document import Document
    from .sites import Site

_INDENT = re.compile(r"[ \t]*")


class JsonEditor:
    """The editor of one JSON document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.notation = JsonNotation(tight='":' in self.text and not re.search(r'":[ \t\r\n]', self.text))
        root = document.root
        self.spread = root is not None and any(char in self.text[root.span.start : root.span.end] for char in "\r\n")
        self.step = self._step()

    def _step(self) -> str:
        """The blanks that one level of nesting is indented by."""
        match = re.search(r"[{\[][ \t]*(?:\r\n|\n|\r)([ \t]+)\S", self.text)
        return match[1] if match is not None else "  "

    def set(self, site: Site, value: object) -> Change:
        """Write another value; a collection that stood on one line gets one line."""
        span = site.span
        spread = self.spread and (isinstance(site.node, Scalar) or any(c in self.text[span.start : span.end] for c in "\r\n"))
        return Change([TextEdit(span.start, span.end, self._written(value, self._indent(span.start), spread))], (span,))

    def replace(self, site: Site, value: object) -> Change:
        """Write another collection."""
        return self.set(site, value)

    def _indent(self, offset: int) -> str:
        match = _INDENT.match(self.text, line_start(self.text, offset))
        return match.group() if match is not None else ""

    def _written(self, value: object, indent: str, spread: bool) -> str:
        """A value that starts on a line of this indent; mappings, and lists that hold them, get a line for each item."""
        if not (value and spread and isinstance(value, (dict, list))) or (isinstance(value, list) and not _is_nested(value)):
            return self.notation.inline(value)
        below = indent + self.step
        newline = self.document.newline
        if isinstance(value, dict):
            items = [self._pair(key, item, below, spread) for key, item in value.items()]
            opener, closer = "{", "}"
        else:
            items = [self._written(item, below, spread) for item in value]
            opener, closer = "[", "]"
        return opener + newline + f",{newline}".join(below + item for item in items) + newline + indent + closer

    def _pair(self, key: object, value: object, indent: str, spread: bool) -> str:
        return f"{self.notation.name(key)}{self.notation.assign}{self._written(value, indent, spread)}"

    def rename(self, site: Site, key: str) -> Change:
        """Write another key."""
        assert site.entry is not None
        span = site.entry.key_span
        return Change([TextEdit(span.start, span.end, self.notation.key(key))])

    def insert(self, site: Site, part: str | int, value: object, after: str | None) -> Change:
        """Write a new key or item."""
        if not site.chain:
            raise Refused("the file is empty")
        node = collection(site.node)
        flow = Flow(self.document, node)
        if not flow.items:
            return Change(self._fill(flow, node, part, value))
        found = node.entry(after) if isinstance(node, Mapping) and after is not None else None
        index = len(flow.items) - 1 if found is None else flow.index(found.key_span.start)
        written = self._item(part, value, self._indent(flow.items[index].start), flow.is_spread)
        return Change(flow.insert(written, index)) if found is None else Change(flow.insert(written, index), (), found.key)

    def _item(self, part: str | int, value: object, indent: str, spread: bool) -> str:
        return self._pair(part, value, indent, spread) if isinstance(part, str) else self._written(value, indent, spread)

    def _fill(self, flow: Flow, node: Mapping | Sequence, part: str | int, value: object) -> list[TextEdit]:
        if isinstance(node, Sequence) or not (self.spread or node is self.document.root):
            return flow.fill(self._item(part, value, "", False))
        indent = self._indent(node.span.start)
        below = indent + self.step
        item = self._item(part, value, below, True)
        return flow.fill(item, self.document.newline + below, self.document.newline + indent)

    def delete(self, site: Site) -> Change:
        """Take a key or item away."""
        flow = Flow(self.document, site.owner)
        return deletion(flow.remove(flow.index(site.start)))


def _is_nested(value: list[object]) -> bool:
    return any(item and isinstance(item, (dict, list)) for item in value)
