"""A training file as its program sees it: with what the launch line overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.dialects import spelled
from fsdplint.document import Document, Entry, Mapping, Path, Scalar, Sequence, Span
from fsdplint.document.reading import Reading
from fsdplint.overrides import FLAGS, HYDRA, OPEN, UNKNOWN, WORDS, Override, overrides

if TYPE_CHECKING:
    from fsdplint.commands import Command
    from fsdplint.dialects import Dialect
    from fsdplint.document import Node


class Overlaid(Document):
    """A file as its program sees it: with what the launch line overrides, whose places are in that line."""

    __slots__ = ("_file", "_line", "_moved")

    def __init__(self, file: Document, line: Document, root: Mapping, moved: dict[Path, Override]) -> None:
        source = file._source
        reading = Reading((root, *file.roots[1:]), file.problems, (), file._opaque, file._reached)
        super().__init__(file.path, file.format, file.loader, source, reading, file._depth)
        self.problems, self.duplicates = file.problems, file.duplicates
        self._file, self._line, self._moved = file, line, moved

    @property
    def original(self) -> Document:
        """The file without the launch line."""
        return self._file

    def with_loader(self, loader: str) -> Document:  # noqa: ARG002
        """Itself: a file is read by its program's loader before anything is overridden."""
        return self

    def elsewhere(self, path: Path) -> tuple[Document, Path, Span, Span] | None:
        """The place in the launch line of a key that it overrides, and of all below that key."""
        for length in range(len(path), 0, -1):
            found = self._moved.get(path[:length])
            if found is not None:
                return self._line, (found.written,), found.key_span, found.value_span
        return None


def overlaid(document: Document, dialect: Dialect, command: Command) -> Document:
    """A training file's document with what a launch line overrides; itself where that is nothing."""
    root = document.root
    if not isinstance(root, Mapping) or dialect.name not in WORDS | FLAGS:
        return document
    moved: dict[Path, Override] = {}
    for override in overrides(command.script, dialect):
        root = _with(root, override, dialect, moved)
    return Overlaid(document, command.document, root, moved) if moved else document


def _with(root: Mapping, override: Override, dialect: Dialect, moved: dict[Path, Override]) -> Mapping:
    """A tree with one more override; the same one where the file and the option table both lack the key."""
    path, made, node = _located(root, override.parts, dialect)
    if not path:
        return root
    value = override.value
    if isinstance(node, Mapping) and not isinstance(value, Mapping) and value is not None:
        if node.entry("_component_") is not None:
            path = (*path, "_component_")
        elif dialect.name in HYDRA and override.parts[-1] not in ("strategy", "logger", "callbacks"):
            value = Scalar(Span(0, 0), UNKNOWN, "", "double")
    changed = _changed(root, path, value, override)
    if isinstance(changed, Mapping):
        moved[path] = override
        moved.update({path[:length]: override for length in range(made, len(path)) if length})
        for below in [one for one in moved if len(one) > len(path) and one[: len(path)] == path]:
            del moved[below]
        return changed
    return root


def _located(root: Mapping, parts: tuple[str, ...], dialect: Dialect) -> tuple[Path, int, Node | None]:
    """The path that a key has or would have in the file, the length down to its first unwritten part, its node; () for an unknown key."""
    owner: dict[str, Any] = dialect.table.schema
    node: Node | None = root
    path: list[str | int] = []
    written = 0
    for part in parts:
        if isinstance(node, Sequence) and part.isdigit():
            path.append(int(part))
            node, owner = (node.items[int(part)] if int(part) < len(node.items) else None), owner.get("items", {})
            written = len(path)
            continue
        if isinstance(node, Mapping) and node.entry("class_path") is not None and part not in ("class_path", "init_args"):
            path.append("init_args")
            node, owner = node.get("init_args"), owner.get("properties", {}).get("init_args", {})
        twin = part.replace("-", "_")
        name = spelled(owner, part) or spelled(owner, twin)
        keys = node.keys() if isinstance(node, Mapping) else []
        own = next((key for key in keys if key in (part, twin) or (name is not None and spelled(owner, key) == name)), None)
        if own is None and name is None and dialect.name != OPEN and "init_args" not in path:
            return (), 0, None
        path.append(own or name or part)
        node = node.get(own) if own is not None and isinstance(node, Mapping) else None
        written = len(path) if own is not None else written
        owner = owner.get("properties", {}).get(name, {})
    return tuple(path), written + 1, node


def _changed(node: Node, path: Path, value: Node | None, override: Override) -> Node | None:
    """A copy of a tree with another value at a path; None where a list or a value stands in the way."""
    if not path:
        return value
    part = path[0]
    if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items) and value is not None:
        inner = _changed(node.items[part], path[1:], value, override)
        if inner is None:
            return None
        items = Sequence(node.span, flow=node.flow, tag=node.tag, anchor=node.anchor)
        items.items = [*node.items[:part], inner, *node.items[part + 1 :]]
        items.aliases = dict(node.aliases)
        return items
    if isinstance(node, Scalar) and node.value is None:
        node = Mapping(node.span)
    if not isinstance(node, Mapping) or not isinstance(part, str):
        return None
    return _entered(node, part, path, value, override)


def _entered(node: Mapping, part: str, path: Path, value: Node | None, override: Override) -> Mapping | None:
    old = node.entry(part)
    removes = value is None and len(path) == 1
    below = value if len(path) == 1 else _changed(old.value if old else Mapping(override.key_span), path[1:], value, override)
    if below is None and not removes:
        return None
    copy = Mapping(node.span, flow=node.flow, tag=node.tag, anchor=node.anchor)
    copy.merges, copy.header = node.merges, node.header
    for entry in node.entries:
        if entry is old:
            if below is not None:
                copy.add(Entry(entry.key, entry.name, entry.key_span, below, entry.inherited, entry.at))
        elif entry.name != part:
            copy.add(entry)
    if old is None and below is not None:
        copy.add(Entry(part, part, override.key_span, below))
    return copy
