"""Fixes: what a rule proposes by key paths, and what that comes to in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Edit, Fix
from fsdplint.document import Refused, apply

if TYPE_CHECKING:
    from fsdplint.document import Document, Operation

__all__ = ["SymbolicFix", "text_fix"]


class SymbolicFix(NamedTuple):
    """Operations that mend a finding in one document.

    ``message``: what they do, in the imperative. ``is_safe``: the training that results is the one that the file asks for; a fix that
    changes what runs is unsafe.
    """

    message: str
    is_safe: bool
    document: Document
    operations: tuple[Operation, ...]


def text_fix(fix: SymbolicFix) -> Fix | None:
    """The fix as edits of the document's text; None where nothing is to be done. Raises Refused."""
    if fix.document.path.startswith("<launch"):
        raise Refused("it stands in the launch line")
    edits = apply(fix.document, fix.operations).edits
    if not edits:
        return None
    path = fix.document.path
    return Fix(fix.message, "safe" if fix.is_safe else "unsafe", tuple(Edit(path, *edit) for edit in edits))
