"""The place that an operation's path leads to, and whether it can be edited without changing something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .nodes import Entry, Mapping, Node, Path, Scalar, Sequence, Span
from .operations import Refused
from .paths import dotted

if TYPE_CHECKING:
    from .document import Document


class Site(NamedTuple):
    """A path as far as it exists. `chain` are the nodes from the root on, empty where the text holds none.

    `keys` are the path's parts as the loader has them, `missing` the parts that do not exist.
    """

    path: Path
    keys: tuple[object, ...]
    chain: tuple[Node, ...]
    entry: Entry | None
    alias: Span | None
    missing: Path

    @property
    def node(self) -> Node:
        """The deepest node of the path that exists."""
        return self.chain[-1]

    @property
    def owner(self) -> Mapping | Sequence:
        """What holds the node. Raises Refused for the root."""
        owner = self.chain[-2] if len(self.chain) > 1 else None
        if isinstance(owner, (Mapping, Sequence)):
            return owner
        raise Refused("the whole document cannot be edited at once")

    @property
    def span(self) -> Span:
        """Where the value is written; an alias, not what it stands for."""
        return self.alias or self.node.span

    @property
    def start(self) -> int:
        """Where the key starts, or the item of a list."""
        return self.span.start if self.entry is None else self.entry.key_span.start

    @property
    def inherited(self) -> bool:
        """Whether the entry comes by a merge."""
        return self.entry is not None and self.entry.inherited

    @property
    def place(self) -> int:
        """The index among the owner's items."""
        part = self.path[-1]
        return part if isinstance(part, int) else -1

    @property
    def in_flow(self) -> bool:
        """Whether the node is written inside of brackets or braces."""
        return any(isinstance(node, (Mapping, Sequence)) and node.flow for node in self.chain[:-1])


def find(document: Document, path: Path) -> Site:
    """The site of a path. Raises Refused where the way leads through something that is shared, tagged or ambiguous."""
    chain: list[Node] = [] if document.root is None else [document.root]
    keys: list[object] = []
    entry: Entry | None = None
    alias: Span | None = None
    for depth, part in enumerate(path):
        if not chain:
            return Site((), (), (), None, None, path)
        _check_way(chain[-1], entry, alias, path[:depth], document.text)
        below = _below(chain[-1], part, path[: depth + 1])
        if below is None:
            return Site(path[:depth], tuple(keys), tuple(chain), entry, alias, path[depth:])
        key, node, entry, alias = below
        keys.append(key)
        chain.append(node)
    return Site(path, tuple(keys), tuple(chain), entry, alias, ())


def _check_way(node: Node, entry: Entry | None, alias: Span | None, path: Path, text: str) -> None:
    if entry is not None and entry.inherited:
        raise Refused(f"'{dotted(path)}' is merged from elsewhere")
    if alias is not None:
        raise Refused(f"'{dotted(path)}' is an alias: an edit would change what it stands for")
    check_own(node, path, text)


def check_own(node: Node, path: Path, text: str | None = None) -> None:
    """Raise Refused for a node whose value others may share or whose tag gives it another meaning.

    ``text``: of the document, where the node itself stays: an anchor that is nowhere used is shared with nobody.
    """
    where = f"'{dotted(path)}'" if path else "the document"
    if node.anchor is not None and (text is None or f"*{node.anchor}" in text):
        raise Refused(f"{where} has the anchor '&{node.anchor}': an edit would change every alias of it")
    if node.tag is not None:
        raise Refused(f"{where} has the tag '{node.tag}'")


def is_unique(node: Mapping, entry: Entry) -> bool:
    """Whether no other own entry has the same name, nor a key that Python takes for the same, as 1 and true."""
    return not any(
        other is not entry and not other.inherited and (other.name == entry.name or other.key == entry.key) for other in node.entries
    )


def check_unmerged(site: Site) -> None:
    """Raise Refused for a key that a merge brings in, or would bring in without the own one."""
    if site.inherited:
        raise Refused(f"'{dotted(site.path)}' is merged from elsewhere")
    for merge in site.owner.merges if isinstance(site.owner, Mapping) else ():
        for merged in merge.value.items if isinstance(merge.value, Sequence) else [merge.value]:
            if isinstance(merged, Mapping) and site.path[-1] in merged:
                raise Refused(f"'{dotted(site.path)}' would then be merged from elsewhere")


def _below(node: Node, part: str | int, path: Path) -> tuple[object, Node, Entry | None, Span | None] | None:
    if isinstance(node, Scalar):
        return None
    if isinstance(node, Sequence):
        if isinstance(part, int) and 0 <= part < len(node.items):
            return part, node.items[part], None, node.aliases.get(part)
        return None
    entry = node.entry(part) if isinstance(part, str) else None
    if entry is None:
        return None
    if not is_unique(node, entry):
        raise Refused(f"'{dotted(path)}' is written twice")
    return entry.key, entry.value, entry, entry.at
