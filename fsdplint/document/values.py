"""Plain Python values of a tree, built without recursion and without expanding what aliases share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import Mapping, Scalar

if TYPE_CHECKING:
    from .nodes import Node, Sequence

_PAIR_TAGS = ("tag:yaml.org,2002:omap", "tag:yaml.org,2002:pairs")
_SET_TAG = "tag:yaml.org,2002:set"


def plain(node: Node) -> object:
    """The plain Python value of a node, as its loader returns it.

    A node that several aliases share is built once and shared; where a node contains itself, the inner one is None.
    """
    if isinstance(node, Scalar):
        return node.value
    built: dict[int, object] = {}
    entered: set[int] = set()
    stack: list[tuple[Mapping | Sequence, bool]] = [(node, False)]
    while stack:
        current, leaving = stack.pop()
        if leaving:
            built[id(current)] = _assemble(current, built)
        elif id(current) not in entered:
            entered.add(id(current))
            stack.append((current, True))
            stack.extend((child, False) for child in children(current) if not isinstance(child, Scalar))
    return built[id(node)]


def children(node: Mapping | Sequence) -> list[Node]:
    """The nodes directly below a collection that count for its value."""
    if isinstance(node, Mapping):
        return [entry.value for _, entry in node.loaded()]
    return node.items


def _assemble(node: Mapping | Sequence, built: dict[int, object]) -> object:
    if isinstance(node, Mapping):
        if node.tag == _SET_TAG:
            return {key for key, _ in node.loaded()}
        return {key: _value(entry.value, built) for key, entry in node.loaded()}
    if node.tag in _PAIR_TAGS:
        singles = [item for item in node.items if isinstance(item, Mapping)]
        return [(key, _value(entry.value, built)) for item in singles for key, entry in item.loaded()]
    return [_value(item, built) for item in node.items]


def _value(node: Node, built: dict[int, object]) -> object:
    return node.value if isinstance(node, Scalar) else built.get(id(node))
