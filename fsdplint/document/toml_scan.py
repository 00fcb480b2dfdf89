"""Where the keys and values of a TOML text stand. Values and validity are tomli's business, not this scanner's."""

from __future__ import annotations

import re
from typing import NamedTuple

from .nodes import Entry, Mapping, Node, Scalar, Sequence, Span

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"')
_LITERAL = re.compile(r"'[^'\r\n]*'")
_LONG_BASIC_STEP = re.compile(r'\\[\s\S]|"""')
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9:.]+(?:[Zz]|[-+][0-9]{2}:[0-9]{2})?")
_WORD = re.compile(r"[A-Za-z0-9_.:+-]+")
_BLANKS = re.compile(r"[ \t]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))")
_SIMPLE_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_NEW_ESCAPE = re.compile(r"(?:[^\\]|\\[^ex])*\\[ex]")
_NEW_TIME = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ])?[0-9]{2}:[0-9]{2}(?![0-9:])")

Part = tuple[str, Span]


class Statement(NamedTuple):
    """A `[header]` or a `key = value`: its start, the parts of its key, the table it stands in, the header's span."""

    start: int
    parts: tuple[Part, ...]
    table: tuple[str, ...]
    header: Span | None


class Stop(Exception):
    """The scanner understands no further; `offset` is where the token starts that it does not understand."""

    def __init__(self, offset: int, *, deep: bool = False) -> None:
        super().__init__(offset)
        self.offset = offset
        self.deep = deep


class TomlScanner:
    """One pass over a text. Scalars get their value later, from tomli."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.position = 0
        self.root = Mapping(Span(0, 0))
        self.starts: list[int] = []
        self.statements: list[Statement] = []
        self.strings: list[Span] = []
        self.duplicates: list[tuple[Entry, Entry]] = []
        self.newer: dict[str, Span] = {}
        self.open: list[Mapping | Sequence] = []
        self._keys: list[tuple[Part, ...]] = []
        self._max_depth = max_depth
        self._table: list[Mapping | Sequence] = [self.root]
        self._table_path: tuple[str, ...] = ()

    def scan(self) -> None:
        """Read all statements. Raises Stop."""
        self._skip(_TRIVIA)
        while self.position < len(self.text):
            start = self.position
            self.starts.append(start)
            if len(self.starts) == 1:
                self.root.span = Span(start, start)
            if self.text.startswith("[", start):
                self._header(start)
            else:
                self._pair(start)
            self._skip(_BLANKS)
            if self.position < len(self.text) and self.text[self.position] not in "\r\n#":
                raise Stop(self.position)
            self._skip(_TRIVIA)

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.position)
        before, self.position = self.position, match.end() if match is not None else self.position
        return self.position > before

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self.position):
            raise Stop(self.position)
        self.position += len(token)

    def _header(self, start: int) -> None:
        many = self.text.startswith("[[", start)
        self.position += 2 if many else 1
        self._skip(_BLANKS)
        parts = self._key()
        closer = "]]" if many else "]"
        end = self.position + len(closer)
        span = Span(start, end)
        self.statements.append(Statement(start, parts, (), span))
        self._expect(closer)
        chain = self._descend([self.root], parts[:-1], flow=False)
        self._table = self._open_table(chain, parts[-1], span, many)
        self._table_path = tuple(name for name, _ in parts)
        _extend(self._table, end)

    def _open_table(self, chain: list[Mapping | Sequence], part: Part, span: Span, many: bool) -> list[Mapping | Sequence]:
        owner = chain[-1]
        assert isinstance(owner, Mapping)
        entry = owner.entry(part[0])
        if many:
            rows = Sequence(span) if entry is None else entry.value
            if not isinstance(rows, Sequence) or rows.flow:
                raise Stop(span.start)
            table = Mapping(span)
            rows.items.append(table)
            if entry is None:
                owner.add(Entry(part[0], part[0], part[1], rows))
            table.header = span
            return [*chain, rows, table]
        found = Mapping(span) if entry is None else entry.value
        if not isinstance(found, Mapping) or found.flow or found.header is not None:
            raise Stop(span.start)
        if entry is None:
            owner.add(Entry(part[0], part[0], part[1], found))
        else:
            entry.key_span = part[1]
        found.header = span
        return [*chain, found]

    def _descend(self, chain: list[Mapping | Sequence], parts: tuple[Part, ...], *, flow: bool) -> list[Mapping | Sequence]:
        """Follow keys downwards, into the last row of an array of tables, creating what is not there."""
        chain = list(chain)
        for name, span in parts:
            owner = chain[-1]
            assert isinstance(owner, Mapping)
            entry = owner.entry(name)
            if entry is None:
                entry = Entry(name, name, span, Mapping(span, flow=flow))
                owner.add(entry)
            node = entry.value
            if isinstance(node, Scalar):
                raise Stop(span.start)
            chain.append(node)
            if isinstance(node, Sequence):
                if not node.items or not isinstance(node.items[-1], Mapping):
                    raise Stop(span.start)
                chain.append(node.items[-1])
        return chain

    def _pair(self, start: int) -> None:
        parts = self._key()
        self.statements.append(Statement(start, parts, self._table_path, None))
        self._expect("=")
        self._skip(_BLANKS)
        self._put(self._table, parts, self._value(), flow=False)

    def _put(self, table: list[Mapping | Sequence], parts: tuple[Part, ...], node: Node, *, flow: bool) -> None:
        chain = self._descend(table, parts[:-1], flow=flow)
        owner = chain[-1]
        assert isinstance(owner, Mapping)
        name, span = parts[-1]
        entry = Entry(name, name, span, node)
        earlier = owner.add(entry)
        if earlier is not None:
            self.duplicates.append((earlier, entry))
        _extend(chain[1:] if flow else chain, node.span.end)

    def _key(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        while True:
            parts.append(self._key_part())
            self._skip(_BLANKS)
            if not self.text.startswith(".", self.position):
                return tuple(parts)
            if len(parts) >= self._max_depth:
                raise Stop(self.position, deep=True)
            self.position += 1
            self._skip(_BLANKS)

    def _key_part(self) -> Part:
        start = self.position
        char = self.text[start : start + 1]
        if char in ('"', "'"):
            raw = self._string(char)
            name = _unescape(raw[1:-1]) if char == '"' else raw[1:-1]
            return name, Span(start, self.position)
        if not self._skip(_BARE_KEY):
            raise Stop(start)
        return self.text[start : self.position], Span(start, self.position)

    def _value(self) -> Node:
        """Read one value, nested ones with an own stack."""
        base = len(self.open)
        while True:
            node: Node | None = self._leaf_or_opener()
            while node is not None:
                if len(self.open) == base:
                    return node
                self._place(node)
                node = self._after_item()

    def _leaf_or_opener(self) -> Node | None:
        """A scalar or an empty collection; None when a collection was opened and its first item is to be read."""
        start = self.position
        char = self.text[start : start + 1]
        if char == "[" or char == "{":
            if len(self.open) >= self._max_depth:
                raise Stop(start, deep=True)
            self.position += 1
            span = Span(start, start + 1)
            self.open.append(Sequence(span, flow=True) if char == "[" else Mapping(span, flow=True))
            self._skip_inside()
            closed = self._closed()
            if closed is None:
                self._next_key()
            return closed
        if char in ('"', "'"):
            raw = self._string(char)
        else:
            match = _DATE_TIME.match(self.text, start) or _WORD.match(self.text, start)
            if match is None:
                raise Stop(start)
            raw = match.group()
            self.position = match.end()
            if _NEW_TIME.match(raw):
                self.newer.setdefault("a time without seconds", Span(start, self.position))
        style = {'"': "double", "'": "single"}.get(char, "plain")
        return Scalar(Span(start, self.position), None, raw, style)

    def _next_key(self) -> None:
        if isinstance(self.open[-1], Mapping):
            parts = self._key()
            self._expect("=")
            self._skip(_BLANKS)
            self._keys.append(parts)

    def _closed(self) -> Node | None:
        """The innermost open collection, if it ends here."""
        node = self.open[-1]
        if not self.text.startswith("}" if isinstance(node, Mapping) else "]", self.position):
            return None
        self.position += 1
        node.span = Span(node.span.start, self.position)
        return self.open.pop()

    def _place(self, node: Node) -> None:
        owner = self.open[-1]
        if isinstance(owner, Sequence):
            owner.items.append(node)
        else:
            self._put([owner], self._keys.pop(), node, flow=True)

    def _after_item(self) -> Node | None:
        self._skip_inside()
        closed = self._closed()
        if closed is not None:
            return closed
        comma = self.position
        self._expect(",")
        self._skip_inside()
        inline = isinstance(self.open[-1], Mapping)
        closed = self._closed()
        if closed is None:
            self._next_key()
        elif inline:
            self.newer.setdefault("a comma at the end of an inline table", Span(comma, comma + 1))
        return closed

    def _skip_inside(self) -> None:
        start = self.position
        self._skip(_TRIVIA)
        if isinstance(self.open[-1], Mapping) and self.text.find("\n", start, self.position) >= 0:
            self.newer.setdefault("an inline table over several lines", self.open[-1].span)

    def _string(self, quote: str) -> str:
        start = self.position
        if self.text.startswith(quote * 3, start):
            self.position = self._long_string_end(start, quote)
        else:
            match = (_BASIC if quote == '"' else _LITERAL).match(self.text, start)
            if match is None:
                raise Stop(start)
            self.position = match.end()
        span = Span(start, self.position)
        self.strings.append(span)
        raw = self.text[start : self.position]
        if quote == '"' and "\\" in raw and _NEW_ESCAPE.match(raw):
            self.newer.setdefault("the escape '\\e' or '\\x'", span)
        return raw

    def _long_string_end(self, start: int, quote: str) -> int:
        """Behind the closing quotes, of which up to two more may belong to the text."""
        place = start + 3
        if quote == "'":
            place = self.text.find("'''", place)
        else:
            match = _LONG_BASIC_STEP.search(self.text, place)
            while match is not None and match.group() != '"""':
                match = _LONG_BASIC_STEP.search(self.text, match.end())
            place = match.start() if match is not None else -1
        if place < 0:
            raise Stop(start)
        place += 3
        for _ in range(2):
            place += self.text.startswith(quote, place)
        return place


def _extend(chain: list[Mapping | Sequence], end: int) -> None:
    for node in chain:
        if end > node.span.end:
            node.span = Span(node.span.start, end)


def _unescape(body: str) -> str:
    """A quoted key's text; of wrong escapes tomli tells."""
    return _ESCAPE.sub(_escaped, body) if "\\" in body else body


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return _SIMPLE_ESCAPES.get(match[4], match[4])
