"""Edits of TOML: tables, keys with dots and lists of tables here, inline tables and arrays by `edits_flow`."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from .changes import Change, collection, deletion, quote_of
from .edits_flow import Flow
from .intended import ANYWHERE
from .lines import indent_of, line_above, line_break, line_end, line_start, next_line
from .nodes import Mapping, Scalar, Sequence, Span
from .operations import Refused, TextEdit
from .rendering import TomlNotation
from .toml_sections import Line, Section, is_below, sections
from .toml_tables import Tables

if TYPE_CHECKING:
    from .document import Document
    from .nodes import Node
    from .sites import Site

_ASSIGN = re.compile(r"[ \t]*=[ \t]*")


class TomlEditor:
    """The editor of one TOML document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.notation = TomlNotation()

    @cached_property
    def sections(self) -> list[Section]:
        """The statements of the text."""
        return sections(self.document)

    @cached_property
    def tables(self) -> Tables:
        """Where tables start and end."""
        return Tables(self.document, self.sections)

    def set(self, site: Site, value: object) -> Change:
        """Write another value; a table stays one."""
        if self._is_inline(site.node):
            span = site.span
            quote = quote_of(self.text[span.start : span.end]) if isinstance(site.node, Scalar) and isinstance(value, str) else None
            owned = () if isinstance(site.node, Scalar) else (span,)
            return Change([TextEdit(span.start, span.end, self.notation.inline(value, quote))], owned)
        if not isinstance(site.node, Mapping) or not isinstance(value, dict):
            raise Refused("a table cannot become another kind of value where it stands")
        section = next((one for one in self.sections if one.header is not None and one.path == site.path), None)
        if section is None or section.header is None:
            raise Refused("the table has no header of its own")
        newline = line_break(self.text, section.header.start, self.document.newline)
        lines = self.tables.pairs(value, indent_of(self.text, section.start) or "")
        end = section.header.end if not section.pairs else line_end(self.text, section.end)
        start = line_end(self.text, section.header.end)
        edits = [TextEdit(start, max(start, end), "".join(newline + line for line in lines))]
        below = [one for one in self.sections if one is not section and is_below(one.path, site.path)]
        edits += self.tables.removal(below)
        return Change(edits, deletion(edits).owned)

    def replace(self, site: Site, value: object) -> Change:
        """Write another collection of the same kind."""
        return self.set(site, value)

    def _is_inline(self, node: Node) -> bool:
        return isinstance(node, Scalar) or (node.flow and self.text[node.span.start] in "{[")

    def rename(self, site: Site, key: str) -> Change:
        """Write another key wherever the table or value is named."""
        assert site.entry is not None
        spans = [span for section in self.sections for line in section.lines for path, span in line.parts if path == site.path]
        if not spans:
            if not self._is_inline(site.node):
                raise Refused("the key has dots and stands in braces")
            spans = [site.entry.key_span]
        return Change([TextEdit(s.start, s.end, self.notation.key(key, quote_of(self.text[s.start : s.end]))) for s in spans])

    def insert(self, site: Site, part: str | int, value: object, after: str | None) -> Change:
        """Write a new key, table, item or row."""
        if not site.chain:
            return Change(self._first(part, value), (), ANYWHERE)
        node = collection(site.node)
        if node.flow:
            return Change(self._insert_flow(node, part, value, after), (), ANYWHERE)
        if isinstance(node, Sequence):
            return Change(self.tables.new_row(site.path, len(node.items), value), (), ANYWHERE)
        assert isinstance(part, str)
        if isinstance(value, dict) and (not site.path or self.tables.has_sections(site.path)):
            return Change(self.tables.new_table(site.path, part, value), (), ANYWHERE)
        return Change(self.tables.new_pair(site.path, part, value, after), (), ANYWHERE)

    def _first(self, part: str | int, value: object) -> list[TextEdit]:
        return self.tables.new_table((), str(part), value) if isinstance(value, dict) else self.tables.new_pair((), str(part), value, None)

    def _insert_flow(self, node: Mapping | Sequence, part: str | int, value: object, after: str | None) -> list[TextEdit]:
        flow = Flow(self.document, node)
        written = self.notation.inline(value)
        is_table = isinstance(part, str)
        if isinstance(part, str):
            written = f"{self.notation.key(part)}{self._assign(node)}{written}"
        if not flow.items:
            pad = " " if is_table else ""
            return flow.fill(written, pad, pad)
        found = node.entry(after) if isinstance(node, Mapping) and after is not None else None
        if found is None:
            return flow.insert(written, len(flow.items) - 1)
        return flow.insert(written, flow.index(found.key_span.start))

    def _assign(self, node: Mapping | Sequence) -> str:
        entry = node.entries[-1] if isinstance(node, Mapping) and node.entries else None
        match = _ASSIGN.match(self.text, entry.key_span.end) if entry is not None else None
        return "=" if match is not None and match.group() == "=" else " = "

    def delete(self, site: Site) -> Change:
        """Take a key, a table, an item or a row away."""
        owner = site.owner
        if owner.flow:
            flow = Flow(self.document, owner)
            return deletion(flow.remove(flow.index(site.start)))
        if self._would_vanish(site, owner):
            raise Refused("nothing would be left of what it stands in")
        removed = [one for one in self.sections if one.header is not None and is_below(one.path, site.path)]
        edits = self.tables.removal(removed)
        pairs = [pair for section in self.sections if section not in removed for pair in section.pairs]
        edits += self._without_lines([pair for pair in pairs if is_below(pair.path, site.path)])
        if not edits:
            raise Refused("the item's place cannot be told")
        return deletion(edits)

    def _would_vanish(self, site: Site, owner: Mapping | Sequence) -> bool:
        """Whether the owner is only there as long as it holds something."""
        if len(site.chain) == 2:
            return False
        return len(owner) == 1 and (isinstance(owner, Sequence) or owner.header is None)

    def _without_lines(self, pairs: list[Line]) -> list[TextEdit]:
        """Cut the lines of pairs; the end of the text stays without a line break if it has none."""
        spans: list[Span] = []
        for pair in pairs:
            start, after = line_start(self.text, pair.start), next_line(self.text, pair.end)
            if spans and spans[-1].end == start:
                start = spans.pop().start
            if after == line_end(self.text, pair.end):
                spans.append(Span(line_above(self.text, start), after))
            else:
                spans.append(Span(start, after))
        return [TextEdit(span.start, span.end, "") for span in spans]
