"""The tree of a document: scalars, mappings and sequences that know the exact place they were read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]
"""Where a node stands: keys as the text they were written with (unquoted), sequence indexes as int."""


class Span(NamedTuple):
    """A half-open range of code points in the text without its byte order mark."""

    start: int
    end: int


class Problem(NamedTuple):
    """Something that the loader which really reads the file would refuse.

    `kind` is one of syntax, encoding, control, size, depth, documents, duplicate-key, anchor, alias, tag, key,
    value, merge and toml-1.1; `related` are further places that explain it.
    """

    kind: str
    message: str
    span: Span
    hint: str | None = None
    related: tuple[tuple[str, Span], ...] = ()

    @property
    def fatal(self) -> bool:
        """Whether every release of the loader refuses the file; only TOML 1.1 syntax depends on the release."""
        return self.kind != "toml-1.1"


class Scalar:
    """A single value: `value` as the loader sees it, `raw` as it is written, without anchor and tag.

    `style` is plain, single, double, literal or folded.
    """

    __slots__ = ("anchor", "raw", "span", "style", "tag", "value")

    def __init__(
        self,
        span: Span,
        value: object,
        raw: str,
        style: str = "plain",
        tag: str | None = None,
        anchor: str | None = None,
    ) -> None:
        self.span = span
        self.value = value
        self.raw = raw
        self.style = style
        self.tag = tag
        self.anchor = anchor

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, {self.span.start}:{self.span.end})"


class Entry:
    """One key and its value in a mapping.

    `key` is the key as the loader sees it, `name` the same as written text. `at` is where the value comes in by
    an alias, and None for a value that is written in its place; `inherited` tells that it came through a merge (`<<`).
    """

    __slots__ = ("at", "inherited", "key", "key_span", "name", "value")

    def __init__(
        self,
        key: object,
        name: str,
        key_span: Span,
        value: Node,
        inherited: bool = False,
        at: Span | None = None,
    ) -> None:
        self.key = key
        self.name = name
        self.key_span = key_span
        self.value = value
        self.inherited = inherited
        self.at = at

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, {self.value!r})"


class Mapping:
    """Keys and values. `entries` are the own ones as written, duplicates included, then those that came by merges.

    `merges` are the `<<` entries themselves; `header` is a TOML table's `[name]`, None where it has none.
    """

    __slots__ = ("_effective", "_odd", "anchor", "entries", "flow", "header", "merges", "span", "tag")

    def __init__(self, span: Span, *, flow: bool = False, tag: str | None = None, anchor: str | None = None) -> None:
        self.span = span
        self.entries: list[Entry] = []
        self.merges: list[Entry] = []
        self.flow = flow
        self.tag = tag
        self.anchor = anchor
        self.header: Span | None = None
        self._effective: dict[object, Entry] = {}
        self._odd = False

    def add(self, entry: Entry) -> Entry | None:
        """Append an own entry; the entry with an equal key that it replaces is returned."""
        self.entries.append(entry)
        key = entry.key
        earlier = self._effective.get(key)
        self._effective[key] = entry
        if key.__class__ is not str:
            self._odd = True
        return earlier

    def inherit(self, entry: Entry) -> bool:
        """Append an entry that comes by a merge unless its key is there already; tell whether it was new."""
        if entry.key in self._effective:
            return False
        self.add(entry)
        return True

    def entry(self, key: str) -> Entry | None:
        """The entry that counts: the last of duplicates, own before merged; a non-text key is found by its text."""
        found = self._effective.get(key)
        if found is None and self._odd:
            return next((e for e in self._effective.values() if e.name == key), None)
        return found

    def get(self, key: str) -> Node | None:
        """The value of the entry that counts."""
        found = self.entry(key)
        return None if found is None else found.value

    def keys(self) -> list[str]:
        """The keys that count, as text, each once."""
        if not self._odd:
            return [e.name for e in self._effective.values()]
        return list(dict.fromkeys(e.name for e in self._effective.values()))

    def items(self) -> Iterator[tuple[str, Entry]]:
        """The entries that count, by the text of their key."""
        for name in self.keys():
            found = self.entry(name)
            if found is not None:
                yield name, found

    def loaded(self) -> list[tuple[object, Entry]]:
        """Keys and entries that count, as the loader fills its dict: merged ones first."""
        pairs = list(self._effective.items())
        return [pair for pair in pairs if pair[1].inherited] + [pair for pair in pairs if not pair[1].inherited]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.entry(key) is not None

    def __len__(self) -> int:
        return len(self.keys())

    def __bool__(self) -> bool:
        return bool(self._effective)

    def __repr__(self) -> str:
        return f"Mapping({self.keys()!r}, {self.span.start}:{self.span.end})"


class Sequence:
    """A list of nodes. `aliases` holds, by index, the place of those items that are written as an alias."""

    __slots__ = ("aliases", "anchor", "flow", "items", "span", "tag")

    def __init__(self, span: Span, *, flow: bool = False, tag: str | None = None, anchor: str | None = None) -> None:
        self.span = span
        self.items: list[Node] = []
        self.aliases: dict[int, Span] = {}
        self.flow = flow
        self.tag = tag
        self.anchor = anchor

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Sequence({len(self.items)} items, {self.span.start}:{self.span.end})"


Node = Scalar | Mapping | Sequence
