"""Builds the tree of a YAML text from PyYAML's parser events, without recursion and without expanding aliases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from .nodes import Entry, Mapping, Problem, Scalar, Sequence, Span
from .yaml_merge import Merger
from .yaml_values import MAPPING_TAGS, MERGE, MERGE_TAG, PAIR_TAGS, PREFIX, SCALAR_TAGS, SEQUENCE_TAGS, Marker

if TYPE_CHECKING:
    from collections.abc import Callable

    from .nodes import Node
    from .yaml_values import Flavour

_STYLES = {None: "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_COLON = re.compile(r"[ \t]*:")
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+(?:#.*\s+)*|\Z)){1,2}")
_REST_OF_LINE = re.compile(r"[^\r\n]*")
_NO_KEY: Any = object()
_UNUSABLE_KEY: Any = object()


class TooDeep(Exception):
    """The nesting goes beyond the limit; `offset` is where the first collection too many starts."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Frame:
    """A collection that is being filled. `end` is where its last descendant ends."""

    __slots__ = ("end", "key", "key_span", "name", "node", "template")

    def __init__(self, node: Mapping | Sequence, end: int) -> None:
        self.node = node
        self.end = end
        self.key: object = _NO_KEY
        self.name = ""
        self.key_span: Span = node.span
        self.template = False


class TreeBuilder:
    """Roots, problems and duplicates of a YAML text, filled event by event."""

    def __init__(self, text: str, flavour: Flavour, max_depth: int) -> None:
        self.text = text
        self.roots: list[Node] = []
        self.problems: list[Problem] = []
        self.duplicates: list[tuple[Mapping, Entry, Entry]] = []
        self.scalars: list[tuple[int, int, str | None]] = []
        self.flows: list[tuple[int, int]] = []
        self.reached = 0
        self._blocks = False
        self._flavour = flavour
        self._max_depth = max_depth
        self._documents = 0
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._firsts: dict[int, Entry] = {}
        self._merger = Merger(self.problems, self._is_open)
        self._handlers: dict[type, Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            AliasEvent: self._alias,
            MappingStartEvent: self._start_mapping,
            SequenceStartEvent: self._start_sequence,
            MappingEndEvent: self._end,
            SequenceEndEvent: self._end,
            DocumentStartEvent: self._start_document,
        }

    def feed(self, parser: Any) -> None:
        """Read a parser's events. Its errors and TooDeep pass through; what was read until then is kept and closed."""
        handlers = self._handlers
        next_event = parser.get_event
        last: Any = None
        try:
            while (event := next_event()) is not None:
                handler = handlers.get(event.__class__)
                if handler is not None:
                    handler(event)
                    last = event
            self.reached = len(self.text)
        finally:
            if last is not None and self.reached == 0:
                self.reached = last.end_mark.index
            known = len(self.problems)
            while self._frames:
                self._close(self._frames[-1].end)
            del self.problems[known:]

    def opaque(self) -> list[tuple[int, int, str | None]]:
        """Start, end and style of all scalars; a block scalar counts from the line below its header."""
        text = self.text
        spans = self.scalars
        if not self._blocks:
            return spans
        return [(start if style not in ("|", ">") else _line_end(text, start), end, style) for start, end, style in spans]

    def open_quote(self) -> int | None:
        """Where the last scalar starts, if it is quoted and goes over several lines."""
        if not self.scalars:
            return None
        start, end, style = self.scalars[-1]
        return start if style in ("'", '"') and _line_end(self.text, start) < end else None

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        self._anchors = {}
        if self._documents == 2:
            span = Span(event.start_mark.index, max(event.end_mark.index, event.start_mark.index))
            message = "a second document starts here, but the file is read as one"
            self.problems.append(Problem("documents", message, span, "keep one document, without '---' after it"))

    def _scalar(self, event: Any) -> None:
        start: int = event.start_mark.index
        end: int = event.end_mark.index
        text: str = event.value
        style: str | None = event.style or None
        tag: str | None = event.tag
        anchor: str | None = event.anchor
        self.scalars.append((start, end, style))
        if tag is not None or anchor is not None:
            raw_start = self._content_start(start, end)
        else:
            raw_start = start
            if start == end:
                start = end = raw_start = self._null_place(start)
        if style is not None and style in "|>":
            self._blocks = True
            end = self._block_end(raw_start, end)
        span = Span(start, end)
        value = self._value(text, tag, event.implicit[0], span)
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and frame.key is _NO_KEY and frame.node.__class__ is Mapping
        if not is_key or anchor is not None:
            if value.__class__ is Marker and not is_key:
                value = self._marker_value(value, span)
            node = Scalar(span, value, self.text[raw_start:end], _STYLES[style], tag, anchor)
            if anchor is not None:
                self._register(anchor, node)
        if frame is not None and is_key:
            self._set_key(frame, value, text, span)
        else:
            self._attach(node, span)

    def _value(self, text: str, tag: str | None, implicit: bool, span: Span) -> object:
        flavour = self._flavour
        try:
            if tag is None or tag == "!":
                if implicit:
                    return flavour.resolve(text) if text[:1] in flavour.starts else text
                if text == "" and tag == "!" and span.end - span.start == 1 and not flavour.omegaconf:
                    return None
                return text
            if tag in SCALAR_TAGS:
                return flavour.construct(tag, text)
        except ValueError as error:
            self.problems.append(Problem("value", str(error), span, "quote it if it is meant as text"))
            return text
        if tag == MERGE_TAG:
            return MERGE
        self._check_tag(tag, SCALAR_TAGS, "a single value", span)
        return text

    def _marker_value(self, marker: Any, span: Span) -> str:
        message = f"the loader has no value for a plain '{marker.text}'"
        self.problems.append(Problem("tag", message, span, f'write "{marker.text}" if it is meant as text'))
        return str(marker.text)

    def _check_tag(self, tag: str | None, allowed: frozenset[str], kind: str, span: Span) -> None:
        if tag is None or tag == "!" or tag in allowed:
            return
        shown = "!!" + tag.removeprefix(PREFIX) if tag.startswith(PREFIX) else tag
        place = Span(span.start, span.start + len(shown)) if self.text.startswith(shown, span.start) else span
        if not self._flavour.known(tag):
            self.problems.append(Problem("tag", f"the loader knows no tag '{shown}'", place))
        elif not tag.startswith(PREFIX + "python/"):
            self.problems.append(Problem("tag", f"the tag '{shown}' does not fit {kind}", place))

    def _alias(self, event: Any) -> None:
        span = Span(event.start_mark.index, event.end_mark.index)
        name: str = event.anchor
        node = self._anchors.get(name)
        if node is None:
            self.problems.append(Problem("alias", f"the alias '*{name}' has no anchor '&{name}' before it", span))
            self._attach(Scalar(span, None, self.text[span.start : span.end]), span)
            return
        if self._flavour.omegaconf and self._is_open(node):
            self.problems.append(Problem("alias", f"the alias '*{name}' contains itself", span))
        self._attach(node, span, span)

    def _start_mapping(self, event: Any) -> None:
        span = Span(event.start_mark.index, event.end_mark.index)
        node = Mapping(span, flow=bool(event.flow_style), tag=event.tag, anchor=event.anchor)
        if event.tag is not None:
            self._check_tag(event.tag, MAPPING_TAGS, "a mapping", span)
        self._start(node)

    def _start_sequence(self, event: Any) -> None:
        span = Span(event.start_mark.index, event.end_mark.index)
        node = Sequence(span, flow=bool(event.flow_style), tag=event.tag, anchor=event.anchor)
        if event.tag is not None:
            self._check_tag(event.tag, SEQUENCE_TAGS, "a list", span)
        self._start(node)

    def _start(self, node: Mapping | Sequence) -> None:
        if len(self._frames) >= self._max_depth:
            raise TooDeep(node.span.start)
        if node.anchor is not None:
            self._register(node.anchor, node)
        self._frames.append(_Frame(node, node.span.end))

    def _end(self, event: Any) -> None:
        end: int = event.end_mark.index
        if event.start_mark.index == end:
            end = self._frames[-1].end
        else:
            self.flows.append((self._frames[-1].node.span.start, end))
        self._close(end)

    def _close(self, end: int) -> None:
        frame = self._frames.pop()
        node: Node = frame.node
        start = node.span.start
        node.span = Span(start, max(start, end))
        if isinstance(node, Mapping):
            if node.merges:
                self._merger.merge(node)
            if frame.template:
                node = self._template(node)
        elif isinstance(node, Sequence) and node.tag is not None:
            self._check_pairs(node, node.tag)
        self._attach(node, node.span)

    def _check_pairs(self, node: Sequence, tag: str) -> None:
        if tag in PAIR_TAGS:
            for item in node.items:
                if not (isinstance(item, Mapping) and len(item.entries) == 1):
                    self.problems.append(Problem("tag", "an item of this list must be a single pair", item.span))

    def _template(self, node: Mapping) -> Scalar:
        """A whole unquoted `{{ template }}`, which stands for a text that is not known yet."""
        raw = self.text[node.span.start : node.span.end]
        message = "an unquoted '{{ … }}' is read as a mapping with a mapping as its key"
        self.problems.append(Problem("key", message, node.span, f"if it is a template, quote it: '{raw}'"))
        return Scalar(node.span, raw, raw)

    def _attach(self, node: Node, span: Span, alias: Span | None = None) -> None:
        if not self._frames:
            self.roots.append(node)
            return
        frame = self._frames[-1]
        frame.end = span.end
        owner = frame.node
        if isinstance(owner, Sequence):
            if alias is not None:
                owner.aliases[len(owner.items)] = alias
            owner.items.append(node)
        elif frame.key is _NO_KEY:
            self._node_as_key(frame, node, span)
        else:
            self._add_entry(frame, owner, node, alias)

    def _add_entry(self, frame: _Frame, owner: Mapping, node: Node, alias: Span | None) -> None:
        key = frame.key
        frame.key = _NO_KEY
        if key is _UNUSABLE_KEY:
            return
        entry = Entry(key, frame.name, frame.key_span, node, False, alias)
        if key is MERGE:
            entry.key = "<<"
            owner.merges.append(entry)
            return
        earlier = owner.add(entry)
        if earlier is not None:
            self._duplicate(owner, earlier, entry)

    def _duplicate(self, owner: Mapping, earlier: Entry, entry: Entry) -> None:
        first = self._firsts.get(id(earlier), earlier)
        self._firsts[id(entry)] = first
        self.duplicates.append((owner, first, entry))
        if self._flavour.omegaconf and isinstance(entry.key, str):
            related = (("first written here", first.key_span),)
            message = f"the key '{entry.name}' is written twice"
            self.problems.append(Problem("duplicate-key", message, entry.key_span, None, related))

    def _set_key(self, frame: _Frame, key: object, name: str, span: Span) -> None:
        if key.__class__ is Marker and key is not MERGE:
            key = name
        frame.key = key
        frame.name = name
        frame.key_span = span
        frame.end = span.end

    def _node_as_key(self, frame: _Frame, node: Node, span: Span) -> None:
        if isinstance(node, Scalar):
            self._set_key(frame, node.value, str(node.value) if isinstance(node.value, str) else node.raw, span)
            return
        self._set_key(frame, _UNUSABLE_KEY, "", span)
        start = frame.node.span.start
        if isinstance(node, Mapping) and node.flow and self.text.startswith("{{", start) and span.start == start + 1:
            frame.template = True
            return
        kind = "mapping" if isinstance(node, Mapping) else "list"
        self.problems.append(Problem("key", f"a {kind} cannot be a key", span, "quote it if it is meant as text"))

    def _register(self, anchor: str, node: Node) -> None:
        first = self._anchors.get(anchor)
        if first is None:
            self._anchors[anchor] = node
            return
        message = f"the anchor '&{anchor}' is set twice, which the loader refuses"
        place = Span(node.span.start, max(node.span.end, node.span.start))
        if self.text.startswith("&" + anchor, place.start):
            place = Span(place.start, place.start + len(anchor) + 1)
        self.problems.append(Problem("anchor", message, place, None, (("first set here", first.span),)))

    def _is_open(self, node: Node) -> bool:
        return any(frame.node is node for frame in self._frames)

    def _null_place(self, start: int) -> int:
        """Right after the colon (or the key, where there is none): the two parsers disagree about blanks behind it."""
        if self._frames:
            frame = self._frames[-1]
            if frame.key is not _NO_KEY and frame.key_span.end <= start:
                colon = _COLON.match(self.text, frame.key_span.end, start)
                if colon is not None:
                    return colon.end()
        return start

    def _content_start(self, start: int, end: int) -> int:
        match = _PROPERTIES.match(self.text, start, end)
        return match.end() if match is not None else start

    def _block_end(self, start: int, end: int) -> int:
        """The end of a block scalar's last content line; trailing blank lines belong to it only with `+`."""
        header = self.text[start : _line_end(self.text, start)]
        if "+" in header.split("#")[0]:
            return end
        return min(end, _line_end(self.text, start + len(self.text[start:end].rstrip())))


def _line_end(text: str, offset: int) -> int:
    match = _REST_OF_LINE.match(text, offset)
    return match.end() if match is not None else offset
