"""Edits on plain Python values, and when two plain values are the same: types, order of keys and all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .nodes import Path

LAST: Any = object()
"""As a sibling: behind all others."""
FIRST: Any = object()
"""As a sibling: before all others."""
ANYWHERE: Any = object()
"""As a sibling: the order of the text tells, the order of all others stays."""


def same(one: object, other: object) -> bool:
    """Whether two plain values are equal in type, value and order of keys; NaN equals NaN, -0.0 is not 0.0."""
    return difference(one, other) is None


def difference(one: object, other: object) -> Path | None:
    """The path of a place where two plain values differ, None if they are the same."""
    stack: list[tuple[Path, object, object]] = [((), one, other)]
    seen: set[tuple[int, int]] = set()
    while stack:
        path, left, right = stack.pop()
        if type(left) is not type(right):
            return path
        if isinstance(left, dict) and isinstance(right, dict):
            if not _same_keys(left, right):
                return path
            below = [((*path, str(key)), value, right[key]) for key, value in left.items()]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return path
            below = [((*path, index), value, right[index]) for index, value in enumerate(left)]
        elif repr(left) == repr(right) if isinstance(left, float) else left == right:
            continue
        else:
            return path
        if (id(left), id(right)) not in seen:
            seen.add((id(left), id(right)))
            stack += reversed(below)
    return None


def _same_keys(left: dict[object, object], right: dict[object, object]) -> bool:
    return [(type(key), key) for key in left] == [(type(key), key) for key in right]


def put(root: Any, keys: tuple[Any, ...], value: object) -> object:
    """The value with another one at a place that exists."""
    if not keys:
        return value
    _at(root, keys[:-1])[keys[-1]] = value
    return root


def renamed(root: Any, keys: tuple[Any, ...], key: str) -> object:
    """The value with another key in the same place of the order."""
    owner = _at(root, keys[:-1])
    pairs = [(key if one == keys[-1] else one, value) for one, value in owner.items()]
    owner.clear()
    owner.update(pairs)
    return root


def inserted(root: Any, keys: tuple[Any, ...], value: object, after: object) -> object:
    """The value with a new key behind a sibling: LAST is the end, FIRST the start; to a list the value is appended."""
    if root is None:
        return {keys[0]: value}
    owner = _at(root, keys[:-1])
    if isinstance(owner, list):
        owner.append(value)
        return root
    owner.pop(keys[-1], None)
    pairs = list(owner.items())
    place = len(pairs) if after is LAST else [FIRST, *owner].index(after)
    pairs.insert(place, (keys[-1], value))
    owner.clear()
    owner.update(pairs)
    return root


def sibling_in(root: Any, keys: tuple[Any, ...]) -> object:
    """The key before the last of `keys`, FIRST if there is none before it; LAST where there is no such key."""
    try:
        names = list(_at(root, keys[:-1]))
        return [FIRST, *names][names.index(keys[-1])]
    except (LookupError, TypeError, ValueError):
        return LAST


def removed(root: Any, keys: tuple[Any, ...]) -> object:
    """The value without a key or list item."""
    del _at(root, keys[:-1])[keys[-1]]
    return root


def _at(root: Any, keys: tuple[Any, ...]) -> Any:
    for key in keys:
        root = root[key]
    return root
