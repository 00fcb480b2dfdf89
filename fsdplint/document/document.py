"""A configuration file as text and tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .nodes import Entry, Mapping, Node, Path, Scalar, Sequence, Span
from .source import LineTable, Source, decode
from .values import plain

if TYPE_CHECKING:
    from .reading import Reading

_MOST = 100
_SUFFIXES = {".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json"}


class _Place(NamedTuple):
    """A node found by its path: the last entry on the way, the node's own alias, and the alias it lies behind."""

    node: Node
    entry: Entry | None
    alias: Span | None
    behind: Span | None


class Document:
    """A parsed file. Offsets count code points of `text`, which has no byte order mark (`bom` tells of one).

    `problems` are what the loader refuses, in the order of the text, the first hundred at most; with problems, the tree
    holds at least what stands before the first one.
    `duplicates` are (path, first entry, later entry) of keys that the loader takes twice, the last one counting.
    """

    __slots__ = (
        "_depth",
        "_lines",
        "_opaque",
        "_reached",
        "_source",
        "bom",
        "duplicates",
        "format",
        "loader",
        "newline",
        "path",
        "problems",
        "roots",
        "text",
    )

    def __init__(self, path: str, format: str, loader: str, source: Source, reading: Reading, max_depth: int) -> None:
        self.path = path
        self.format = format
        self.loader = loader
        self.text = source.text
        self.bom = source.bom
        self.newline = source.newline
        self.roots = reading.roots
        self.problems = tuple(sorted((*source.problems, *reading.problems), key=lambda problem: problem.span)[:_MOST])
        self.duplicates = _with_paths(reading)
        self._source = source
        self._depth = max_depth
        self._opaque = reading.opaque
        self._reached = reading.reached
        self._lines: LineTable | None = None

    @property
    def original(self) -> Document:
        """The document whose tree is what its text says: this one, unless a launch line overrides some of it."""
        return self

    def elsewhere(self, path: Path) -> tuple[Document, Path, Span, Span] | None:  # noqa: ARG002
        """Where a path is written if not in this text: the document, the path there, and the places of key and value."""
        return None

    @property
    def root(self) -> Node | None:
        """The first document's root, None when the text is empty or nothing could be read."""
        return self.roots[0] if self.roots else None

    def with_loader(self, loader: str) -> Document:
        """The same text as another loader reads it; a JSON or TOML document stays as it is."""
        if loader == self.loader or self.format != "yaml":
            return self
        return _parsed(self._source, self.path, self.format, loader, self._depth)

    def node(self, path: Path) -> Node | None:
        """The node at a path."""
        place = self._place(path)
        return None if place is None else place.node

    def entry(self, path: Path) -> Entry | None:
        """The entry at a path that ends in a key."""
        place = self._place(path)
        return None if place is None else place.entry

    def value(self, path: Path, default: object = None) -> object:
        """The plain Python value at a path, see `plain`; the default where nothing stands there."""
        place = self._place(path)
        return default if place is None else plain(place.node)

    def has(self, path: Path) -> bool:
        """Whether something stands at a path."""
        return self._place(path) is not None

    def key_span(self, path: Path) -> Span | None:
        """The place of a path's key, of a list's item; behind an alias or a merge, the place of that."""
        place = self._place(path)
        if place is None:
            return None
        if place.behind is not None:
            return place.behind
        if place.entry is not None:
            return (place.entry.inherited and place.entry.at) or place.entry.key_span
        return (place.alias or place.node.span) if path else None

    def value_span(self, path: Path) -> Span | None:
        """The place of a path's value; of an alias, the alias itself; of an empty null, zero width after the colon."""
        place = self._place(path)
        if place is None:
            return None
        return place.behind or place.alias or place.node.span

    def _place(self, path: Path) -> _Place | None:
        node = self.root
        entry: Entry | None = None
        alias: Span | None = None
        behind: Span | None = None
        for part in path:
            behind = behind or alias
            if isinstance(node, Mapping) and isinstance(part, str):
                entry = node.entry(part)
                if entry is None:
                    return None
                alias, node = entry.at, entry.value
            elif isinstance(node, Sequence) and isinstance(part, int) and 0 <= part < len(node.items):
                entry, alias, node = None, node.aliases.get(part), node.items[part]
            else:
                return None
        return None if node is None else _Place(node, entry, alias, behind)

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in code points) of an offset."""
        return self._line_table().position(offset)

    def line(self, number: int) -> str:
        """The text of a 1-based line without its line break."""
        return self._line_table().line(number)

    def _line_table(self) -> LineTable:
        if self._lines is None:
            self._lines = LineTable(self.text)
        return self._lines

    def comments(self) -> list[tuple[int, int, str]]:
        """Line, offset and text (from its '#') of each comment of a YAML or TOML text."""
        if self.format == "json" or "#" not in self.text:
            return []
        from .comments import find_comments

        found = find_comments(self.text, self._opaque, self._reached)
        return [(self.position(start)[0], start, self.text[start:end]) for start, end in found]


def parse(
    data: bytes | str,
    path: str,
    *,
    format: str | None = None,
    loader: str = "pyyaml",
    max_depth: int = 200,
    max_bytes: int = 2_000_000,
) -> Document:
    """Parse a file's content; faults become `problems`, nothing is raised for any content.

    `format` is "yaml", "toml" or "json", by default told by the path's suffix or else by the first character.
    `loader` is "pyyaml" or "omegaconf" for YAML; JSON is always read as json.load does, TOML as tomli.
    """
    source = decode(data, max_bytes)
    return _parsed(source, path, format or _format_of(path, source.text), loader, max_depth)


def _format_of(path: str, text: str) -> str:
    dot = path.rfind(".")
    known = _SUFFIXES.get(path[dot:].lower()) if dot >= 0 else None
    if known is not None:
        return known
    return "json" if text.lstrip().startswith(("{", "[")) else "yaml"


def _parsed(source: Source, path: str, format: str, loader: str, max_depth: int) -> Document:
    if format != "yaml":
        loader = format
    return Document(path, format, loader, source, _read(source, format, loader, max_depth), max_depth)


def _read(source: Source, format: str, loader: str, max_depth: int) -> Reading:
    """Only the reader of the format at hand is imported."""
    if source.problems and source.problems[0].kind == "size":
        from .reading import Reading

        return Reading()
    if format == "json":
        from .json import read_json

        return read_json(source.text, source.readable, source.bom, max_depth)
    if format == "toml":
        from .toml import read_toml

        return read_toml(source.text, source.readable, source.bom, max_depth)
    from .yaml import read_yaml

    return read_yaml(source.text, source.readable, loader, max_depth)


def _with_paths(reading: Reading) -> tuple[tuple[Path, Entry, Entry], ...]:
    """Duplicates with the path of each, found by a walk over the nodes that are written in their own place."""
    if not reading.duplicates:
        return ()
    paths: dict[int, Path] = {}
    stack: list[tuple[Node, Path]] = [(root, ()) for root in reversed(reading.roots)]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Scalar) or id(node) in paths:
            continue
        paths[id(node)] = path
        if isinstance(node, Mapping):
            own = [entry for entry in (*node.entries, *node.merges) if entry.at is None and not entry.inherited]
            stack.extend((entry.value, (*path, entry.name)) for entry in own)
        else:
            stack.extend((item, (*path, i)) for i, item in enumerate(node.items) if i not in node.aliases)
    return tuple(((*paths.get(id(owner), ()), later.name), first, later) for owner, first, later in reading.duplicates)
