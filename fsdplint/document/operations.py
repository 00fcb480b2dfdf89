"""What can be done to a document, told by key paths and values, and what that comes to in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .nodes import Path


class Set(NamedTuple):
    """Give an existing key or list item another value; a flow list or mapping stays one."""

    path: Path
    value: object


class Rename(NamedTuple):
    """Give the last key of a path another name."""

    path: Path
    key: str


class Insert(NamedTuple):
    """Write a new key, behind the sibling `after` where that can be, else as the last; missing parents are created.

    A path that ends in a list's length appends to the list.
    """

    path: Path
    value: object
    after: str | None = None


class Delete(NamedTuple):
    """Take away a key or a list item with all that is below it and the comments on it."""

    path: Path


class Replace(NamedTuple):
    """Replace a whole list or mapping; a flow one is written anew as a block where that can be."""

    path: Path
    value: object


class TextEdit(NamedTuple):
    """Replace `[start, end)` by `text`; code points of the text without byte order mark."""

    start: int
    end: int
    text: str


Operation = Set | Rename | Insert | Delete | Replace


class Refused(Exception):
    """An operation whose outcome is not certain; `reason` says in one line why. Nothing has been changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
