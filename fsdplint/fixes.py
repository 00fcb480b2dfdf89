"""Fixes: what a rule proposes by key paths, and what that comes to in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.diagnostics import Edit, Fix, text_range
from fsdplint.document import Delete, Insert, Refused, Rename, Set, apply, parse_dotted

if TYPE_CHECKING:
    from fsdplint.diagnostics import Place
    from fsdplint.document import Document, Operation, Path

__all__ = ["SymbolicFix", "described", "stated_fix", "summed", "text_fix"]


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
    """The fix as edits of the document's text; None where nothing is to be done, and in a launch line. Raises Refused."""
    if fix.document.format == "command":
        return None
    if any(fix.document.elsewhere(operation.path) for operation in fix.operations):
        raise Refused("the launch line overrides it")
    edited = apply(fix.document.original, fix.operations)
    if not edited.edits:
        return None
    if _keeps_all(fix.operations) and len(edited.document.comments()) < len(fix.document.comments()):
        raise Refused("a comment would be lost")
    edits = edited.edits
    path = fix.document.path
    places = tuple(text_range(fix.document, edit.start, edit.end) for edit in edits)
    return Fix(fix.message, "safe" if fix.is_safe else "unsafe", tuple(Edit(path, *edit) for edit in edits), places)


def _keeps_all(operations: tuple[Operation, ...]) -> bool:
    """Whether nothing goes, or what is taken away is written elsewhere, so that no comment has become pointless."""
    kinds = {type(operation) for operation in operations}
    return Delete not in kinds or Insert in kinds


def stated_fix(stated: dict[str, Any], at: Place) -> SymbolicFix | None:
    """The fix that a claim of an option table states for a finding at a place; None where that is no key, or a new name is taken.

    The words of ``stated`` are explained in fsdplint.dialects.table.
    """
    if not at.path:
        return None
    planned = [operation for one in stated["do"] for operation in _operations(one, at)]
    operations = tuple(one for one in planned if not _is_done(one, at.document))
    if any(at.document.has(path) for path in map(_fresh, operations) if path):
        return None
    says = stated.get("says") or summed(operations)
    if "says" not in stated and stated["do"][0]["op"] == "move":
        says = f"move `{at.path[-1]}` to `{stated['do'][0]['to']}`"
    return SymbolicFix(says, bool(stated.get("safe")), at.document, operations)


def _fresh(operation: Operation) -> Path:
    """The path that an operation is to make, empty if there is none."""
    if isinstance(operation, Rename):
        return (*operation.path[:-1], operation.key)
    return operation.path if isinstance(operation, Insert) else ()


def _is_done(operation: Operation, document: Document) -> bool:
    if not isinstance(operation, Set):
        return False
    value = document.value(operation.path)
    return type(value) is type(operation.value) and value == operation.value


def _operations(stated: dict[str, Any], at: Place) -> list[Operation]:
    if stated["op"] != "move":
        return [_operation(stated, at.path, at.document)]
    return [Insert(parse_dotted(stated["to"]), at.document.value(at.path)), Delete(at.path)]


def _operation(stated: dict[str, Any], path: Path, document: Document) -> Operation:
    named = parse_dotted(stated["at"]) if "at" in stated else None
    if stated["op"] == "insert":
        owner = path[:-1] if named is None else named
        after = str(path[-1]) if named is None else None
        return Insert((*owner, stated["key"]), stated["value"], stated.get("after", after))
    target = path if named is None else named
    if stated["op"] == "join":
        items = document.value(target)
        assert isinstance(items, list), "a claim about another value"
        return Set(target, ",".join(map(str, items)))
    if stated["op"] == "rename":
        return Rename(target, stated["to"])
    return Set(target, stated["value"]) if stated["op"] == "set" else Delete(target)


def summed(operations: tuple[Operation, ...]) -> str:
    """Operations as one imperative; a new value under a new name is one thing."""
    if (
        len(operations) == 2
        and isinstance(operations[0], Set)
        and isinstance(operations[1], Rename)
        and operations[0].path == operations[1].path
    ):
        return f"write `{operations[1].key}: {_shown(operations[0].value)}` in its place"
    return " and ".join(map(described, operations))


def described(operation: Operation) -> str:
    """An operation as an imperative."""
    key = operation.path[-1] if operation.path else ""
    if isinstance(operation, Rename):
        return f"rename `{key}` to `{operation.key}`"
    if isinstance(operation, Delete):
        return f"remove `{key}`"
    verb = "add" if isinstance(operation, Insert) else "write"
    return f"{verb} `{key}: {_shown(operation.value)}`"


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, (dict, list)):
        return "{...}" if isinstance(value, dict) else ", ".join(map(_shown, value)).join("[]")
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")
    return str(value)
