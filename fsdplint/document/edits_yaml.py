"""Edits of YAML: block collections here, flow collections by `edits_flow`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .changes import Change, collection, deletion, quote_of
from .edits_flow import Flow
from .intended import LAST
from .lines import line_above, line_break, line_end, next_line
from .nodes import Mapping, Scalar, Sequence, Span
from .operations import Refused, TextEdit
from .rendering import JsonNotation, Notation
from .yaml_blocks import Blocks, Element
from .yaml_layout import block_lines, dashed

if TYPE_CHECKING:
    from .document import Document
    from .sites import Site

_BLANK_REST = re.compile(r"[ \t]*(?=[\r\n]|\Z)")
_HEADER = re.compile(r"[|>][-+0-9]*")
_SEPARATED = re.compile(r"[ \t]*:[ \t]")


class YamlEditor:
    """The editor of one YAML document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.blocks = Blocks(document)

    def set(self, site: Site, value: object) -> Change:
        """Write another value; a flow collection stays one."""
        return self._write(site, value, whole=False)

    def replace(self, site: Site, value: object) -> Change:
        """Write another collection, as a block where that can be."""
        return self._write(site, value, whole=True)

    def _write(self, site: Site, value: object, *, whole: bool) -> Change:
        node = site.node
        is_block = site.alias is None and not isinstance(node, Scalar) and not node.flow
        is_flow = site.alias is None and not isinstance(node, Scalar) and node.flow
        if site.in_flow or not (value and isinstance(value, (dict, list))) or (is_flow and not whole):
            return self._collapse(site, value) if is_block else self._set_inline(site, value)
        return self._replace_block(site, value) if is_block else self._expand(site, value)

    def _notation(self, site: Site) -> Notation:
        """JSON's, inside of braces whose keys stand in double quotes."""
        for node in reversed(site.chain):
            if isinstance(node, Mapping) and node.flow and node.entries:
                return JsonNotation() if self.text[node.entries[0].key_span.start] == '"' else self.blocks.notation
        return self.blocks.notation

    def _set_inline(self, site: Site, value: object) -> Change:
        span = site.span
        is_kept = site.alias is None and isinstance(site.node, Scalar) and isinstance(value, str)
        quote = quote_of(self.text[span.start : span.start + 1]) if is_kept else None
        written = self._notation(site).inline(value, quote)
        if span.start == span.end:
            lead = " "
            if site.entry is not None and self.blocks.colon(site.entry) != span.start:
                lead = ": "
            written = lead + written
        owned = () if isinstance(site.node, Scalar) or site.alias is not None else (span,)
        head, body = self._head_and_body(site)
        return Change([TextEdit(head.start, head.end, written), TextEdit(body.start, body.end, "")], owned)

    def _head_and_body(self, site: Site) -> tuple[Span, Span]:
        """A value as it stands on the line of its key, and the lines of a block scalar's text."""
        span = site.span
        if site.alias is not None or not isinstance(site.node, Scalar) or site.node.style not in ("literal", "folded"):
            return span, Span(span.end, span.end)
        header = _HEADER.match(self.text, span.start)
        assert header is not None
        line = line_end(self.text, span.start)
        return Span(span.start, header.end()), Span(line, max(line, self.blocks.last_line_end(span.end)))

    def _collapse(self, site: Site, value: object) -> Change:
        """Write a value of one line in place of a block: behind the colon, so that a comment there stays."""
        written = self.blocks.notation.inline(value)
        start = site.span.start
        behind = self._opener_end(site)
        limit = self.blocks.column(self._opener(site).start)
        end = self.blocks.with_deeper_comments(self.blocks.last_line_end(site.span.end), limit)
        if start <= line_end(self.text, behind):
            return Change([TextEdit(start, end, written)], (Span(start, end),))
        line = line_end(self.text, behind)
        edits = [TextEdit(behind, behind, " " + written), TextEdit(line, end, "")]
        return Change(edits, (Span(line, end),))

    def _expand(self, site: Site, value: object) -> Change:
        """Write a block in place of a scalar, an alias or a flow collection."""
        opener = self._opener(site)
        if site.entry is not None and self.blocks.is_explicit(site.entry):
            raise Refused("the key is written with a '?'")
        column = self.blocks.column(opener.start)
        in_list = site.entry is None
        if in_list and isinstance(value, list):
            return self._set_inline(site, value)
        column += 2 if in_list else self.blocks.dash_step if isinstance(value, list) else self.blocks.step
        lines = block_lines(value, column, self.blocks)
        newline = line_break(self.text, opener.start, self.document.newline)
        behind = self._opener_end(site)
        span, body = self._head_and_body(site)
        owned = () if isinstance(site.node, Scalar) or site.alias is not None else (span,)
        cut = TextEdit(body.start, body.end, "")
        rest = _BLANK_REST.match(self.text, span.end)
        if in_list and rest is not None and span.start > behind and "#" not in self.text[behind : span.start]:
            return Change([TextEdit(span.start, rest.end(), newline.join(lines).lstrip(" ")), cut], owned)
        block = newline + newline.join(lines)
        if rest is not None:
            return Change([TextEdit(behind, rest.end(), block), cut], owned)
        end = line_end(self.text, span.end)
        return Change([TextEdit(behind, span.end, ""), TextEdit(end, end, block), cut], owned)

    def _replace_block(self, site: Site, value: object) -> Change:
        elements = self.blocks.elements(collection(site.node))
        first = elements[0]
        column = self.blocks.column(first.start)
        opener = self._opener(site)
        if self.blocks.is_first(first) and isinstance(value, dict) and column <= self.blocks.column(opener.start):
            column = self.blocks.column(opener.start) + self.blocks.step
        newline = line_break(self.text, first.start, self.document.newline)
        written = newline.join(block_lines(value, column, self.blocks))
        start = self.blocks.line_start(first.start)
        if not self.blocks.is_first(first):
            start, written = first.start, written.lstrip(" ")
        end = self.blocks.last_line_end(elements[-1].end)
        return Change([TextEdit(start, end, written)], (Span(start, end),))

    def _opener(self, site: Site) -> Element:
        """The element that the site's value belongs to."""
        if site.entry is not None:
            start = self.blocks.key_start(site.entry)
            return next(one for one in self.blocks.elements(site.owner) if one.start == start)
        return self.blocks.elements(site.owner)[site.place]

    def _opener_end(self, site: Site) -> int:
        """Behind the colon or the dash before the site's value."""
        if site.entry is None:
            return self._opener(site).start + 1
        colon = self.blocks.colon(site.entry)
        if colon is None:
            raise Refused("the key has no colon")
        return colon

    def rename(self, site: Site, key: str) -> Change:
        """Write another key in the quotes of the old one."""
        assert site.entry is not None
        span = site.entry.key_span
        if self.blocks.is_explicit(site.entry):
            raise Refused("the key is written with a '?'")
        if self.text[span.start] in "&*!":
            raise Refused("the key has an anchor or a tag, or is an alias")
        quote = quote_of(self.text[span.start : span.end])
        written = self._notation(site).key(key, quote)
        if quote and _SEPARATED.match(self.text, span.end) is None and quote_of(written) is None:
            raise Refused("no blank stands behind the key")
        return Change([TextEdit(span.start, span.end, written)])

    def insert(self, site: Site, part: str | int, value: object, after: str | None) -> Change:
        """Write a new key or item."""
        if not site.chain or (len(site.chain) == 1 and isinstance(site.node, Scalar) and site.node.raw == ""):
            return self._first(str(part), value)
        node = collection(site.node)
        if node.flow:
            return self._insert_flow(site, node, part, value, after)
        elements = self.blocks.elements(node)
        element, behind = elements[-1], LAST
        found = node.entry(after) if isinstance(node, Mapping) and after is not None else None
        if found is not None:
            start = self.blocks.key_start(found)
            element, behind = next(one for one in elements if one.start == start), found.key
        column = self.blocks.column(elements[0].start)
        if isinstance(part, int):
            lines = dashed(value, column, self.blocks)
        else:
            quote = self._sibling_quote(node)
            lines = block_lines({part: value}, column, self.blocks, quote)
        return Change(self._lines_behind(element, lines), (), behind)

    def _first(self, part: str, value: object) -> Change:
        """Write the first key of a text that holds no value."""
        end = len(self.text)
        lines = block_lines({part: value}, 0, self.blocks)
        newline = self.document.newline
        if not self.text or self.text[-1] in "\r\n":
            return Change([TextEdit(end, end, newline.join((*lines, "")))])
        return Change([TextEdit(end, end, newline.join(("", *lines)))])

    def _sibling_quote(self, node: Mapping | Sequence) -> str | None:
        """The quote that all keys stand in, if they do."""
        own = [entry for entry in node.entries if not entry.inherited] if isinstance(node, Mapping) else []
        quotes = {quote_of(self.text[entry.key_span.start : entry.key_span.end]) for entry in own}
        return quotes.pop() if len(quotes) == 1 else None

    def _lines_behind(self, element: Element, lines: list[str]) -> list[TextEdit]:
        newline = line_break(self.text, element.start, self.document.newline)
        end = element.end
        if self.text[end - 1] in "\r\n":
            return [TextEdit(end, end, newline.join((*lines, "")))]
        end = line_end(self.text, end)
        return [TextEdit(end, end, newline.join(("", *lines)))]

    def _insert_flow(self, site: Site, node: Mapping | Sequence, part: str | int, value: object, after: str | None) -> Change:
        flow = Flow(self.document, node)
        notation = self._notation(site)
        written = notation.inline(value)
        if isinstance(part, str):
            written = f"{notation.key(part, self._sibling_quote(node))}: {written}"
        if not flow.items:
            return Change(flow.fill(written))
        found = node.entry(after) if isinstance(node, Mapping) and after is not None else None
        if found is None:
            return Change(flow.insert(written, len(flow.items) - 1))
        return Change(flow.insert(written, flow.index(found.key_span.start)), (), found.key)

    def delete(self, site: Site) -> Change:
        """Take a key or item away."""
        if site.owner.flow:
            flow = Flow(self.document, site.owner)
            return deletion(flow.remove(flow.index(site.start)))
        if site.entry is not None and self.blocks.is_explicit(site.entry):
            raise Refused("the key is written with a '?'")
        elements = self.blocks.elements(site.owner)
        index = elements.index(self._opener(site))
        if len(elements) == 1:
            return self._delete_only(site, elements[0])
        if not self.blocks.is_first(elements[index]):
            return self._pull_up(elements[index], elements[index + 1])
        return self._delete_lines(elements[index])

    def _delete_lines(self, element: Element) -> Change:
        start = self.blocks.line_start(element.start)
        end = self.blocks.last_line_end(element.end)
        end = self.blocks.with_deeper_comments(end, self.blocks.column(element.start))
        after = next_line(self.text, end)
        if after == end and start > 0:
            start = line_above(self.text, start)
        return deletion([TextEdit(start, after, "")])

    def _pull_up(self, element: Element, following: Element) -> Change:
        """Delete the first of several keys behind a dash: the next one takes its place."""
        own = self.blocks.last_line_end(element.end)
        if self.text[own : following.start].strip():
            raise Refused("a comment stands between the key and the next one")
        return deletion([TextEdit(element.start, following.start, "")])

    def _delete_only(self, site: Site, element: Element) -> Change:
        """Leave an empty collection, for nothing at all would be a null."""
        empty = "{}" if isinstance(site.owner, Mapping) else "[]"
        if len(site.chain) == 2:
            raise Refused("it is all that the document holds")
        end = self.blocks.last_line_end(element.end)
        if not self.blocks.is_first(element):
            return Change([TextEdit(element.start, end, empty)], (Span(element.start, end),))
        end = self.blocks.with_deeper_comments(end, self.blocks.column(element.start))
        behind = self._owner_opener_end(site)
        start = line_above(self.text, self.blocks.line_start(element.start))
        return Change([TextEdit(behind, behind, " " + empty), TextEdit(start, end, "")], (Span(start, end),))

    def _owner_opener_end(self, site: Site) -> int:
        """Behind the colon or dash that the site's owner stands behind."""
        from .sites import find

        return self._opener_end(find(self.document, site.path[:-1]))
