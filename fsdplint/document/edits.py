"""Exact edits of a document: symbolic operations in, the very characters to change out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .operations import Delete, Insert, Operation, Refused, Rename, Replace, Set, TextEdit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .document import Document

__all__ = ["Delete", "Edited", "Insert", "Operation", "Refused", "Rename", "Replace", "Set", "TextEdit", "apply", "encoded"]


class Edited(NamedTuple):
    """An edited text without byte order mark, the edits that lead to it in order, and the text read again."""

    text: str
    edits: tuple[TextEdit, ...]
    document: Document


def apply(document: Document, operations: Sequence[Operation]) -> Edited:
    """Do operations one after the other, each on what the one before has left.

    Each result is read again and must differ from what was there before in the intended value only, types and the
    order of keys included; no comment may go but those on what is deleted or replaced. What is done already is left
    alone. Raises Refused, with no change at all, where that does not hold or cannot be told.
    """
    from .patchwork import Patchwork, spliced
    from .steps import step

    patchwork = Patchwork(len(document.text))
    current = document
    for operation in operations:
        done = step(current, operation)
        if done is not None:
            current, edits = done
            patchwork.splice(edits)
    edits_made = patchwork.edits(document.text)
    if spliced(document.text, edits_made) != current.text:
        raise Refused("the edits do not add up")
    return Edited(current.text, edits_made, current)


def encoded(document: Document, text: str) -> bytes:
    """The bytes of an edited text as the file has them: UTF-8, with the byte order mark if there was one."""
    return (b"\xef\xbb\xbf" if document.bom else b"") + text.encode("utf-8")
