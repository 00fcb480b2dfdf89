"""What a format's editor answers: the edits of one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .intended import LAST
from .nodes import Mapping, Sequence, Span
from .operations import Refused

if TYPE_CHECKING:
    from .nodes import Node
    from .operations import TextEdit
    from .sites import Site


class Change(NamedTuple):
    """Edits of one operation. Comments inside `owned` may go; a new key stands behind the sibling `after`."""

    edits: list[TextEdit]
    owned: tuple[Span, ...] = ()
    after: Any = LAST


class Editor(Protocol):
    """Turns operations on sites into edits; every method raises Refused."""

    def set(self, site: Site, value: object) -> Change:
        """Write another value; a flow collection stays one."""

    def replace(self, site: Site, value: object) -> Change:
        """Write another collection, as a block where that can be."""

    def rename(self, site: Site, key: str) -> Change:
        """Write another key."""

    def insert(self, site: Site, part: str | int, value: object, after: str | None) -> Change:
        """Write a new key or item into the collection at the site, or into an empty text."""

    def delete(self, site: Site) -> Change:
        """Take a key or item away."""


def deletion(edits: list[TextEdit]) -> Change:
    """A change whose edits take away what they take away, comments included."""
    return Change(edits, tuple(Span(edit.start, edit.end) for edit in edits))


def collection(node: Node) -> Mapping | Sequence:
    """A node that can get items. Raises Refused."""
    if isinstance(node, (Mapping, Sequence)):
        return node
    raise Refused(f"{node.raw[:40]!r} stands where a mapping is needed")


def quote_of(written: str) -> str | None:
    """The quote that a written key or value starts with."""
    return written[:1] if written[:1] in ("'", '"') else None
