"""The fixes that rules propose; the edit layer is loaded only once a rule has found something to mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects import Option, fits, is_known, resolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.dialects import Written
    from fsdplint.document import Document, Operation, Path
    from fsdplint.fixes import SymbolicFix
    from fsdplint.rule import Context


def renamed(context: Context, item: Written, key: str, *, is_safe: bool) -> SymbolicFix | None:
    """Give a key another name in the same object; None where the releases at hand do not know that one, or not with this value, or do not
    read it under the FSDP version in force.
    """
    option = sibling(item, key)
    if option is None or not _takes(context, option, item) or context.document.has((*item.path[:-1], key)):
        return None
    version = context.dialect.version_at(context.plan, context.document, item.path).value
    if version is not None and option.schema.get("x-applies", version) != version:
        return None
    from fsdplint.document import Rename

    return _fix(context.document, is_safe, Rename(item.path, key))


def moved(context: Context, item: Written, home: tuple[str, ...], *, is_safe: bool) -> SymbolicFix | None:
    """Put a key with its value to another place of the table; None where the releases at hand do not know it there, or it is there."""
    option = context.table.options.get(home)
    if option is None or not _takes(context, option, item):
        return None
    path = _spelled(context, home)
    if path is None or context.document.has(path):
        return None
    from fsdplint.document import Delete, Insert, dotted

    operations = (Insert(path, context.value(*item.path)), Delete(item.path))
    return _fix(context.document, is_safe, *operations, says=f"move `{item.path[-1]}` to `{dotted(path)}`")


def removed(document: Document, path: Path, *, is_safe: bool) -> SymbolicFix:
    """Take a key away."""
    from fsdplint.document import Delete

    return _fix(document, is_safe, Delete(path))


def rewritten(document: Document, path: Path, value: object, *, is_safe: bool, says: str | None = None) -> SymbolicFix:
    """Give a key another value."""
    from fsdplint.document import Set

    return _fix(document, is_safe, Set(path, value), says=says)


def all_renamed(document: Document, names: Sequence[tuple[Path, str]], *, is_safe: bool, says: str | None = None) -> SymbolicFix | None:
    """Give several keys other names; None where one of these is taken."""
    if any(document.has((*path[:-1], key)) for path, key in names):
        return None
    from fsdplint.document import Rename

    return _fix(document, is_safe, *(Rename(path, key) for path, key in names), says=says)


def _fix(document: Document, is_safe: bool, *operations: Operation, says: str | None = None) -> SymbolicFix:
    from fsdplint.rule import SymbolicFix, summed

    return SymbolicFix(says or summed(operations), is_safe, document, operations)


def sibling(item: Written, key: str) -> Option | None:
    """The option of that name in the object that a key stands in."""
    schema = item.owner.get("properties", {}).get(key)
    return None if schema is None else Option((*item.owner_path, key), schema, item.owner)


def _takes(context: Context, option: Option, item: Written) -> bool:
    """Whether a key is known and takes the value that another one has."""
    from fsdplint.document import plain

    return is_known(option, context.versions) and fits(resolved(option.schema, context.versions, context.plan), plain(item.entry.value))


def _spelled(context: Context, home: tuple[str, ...]) -> Path | None:
    """A canonical path with its parents spelled as the document spells them; None where the parents of that name hold no keys."""
    parents = {item.option.path: item.path for item in context.written if item.option is not None}
    for length in range(len(home) - 1, 0, -1):
        if home[:length] in parents:
            owner = context.value(*parents[home[:length]])
            return (*parents[home[:length]], *home[length:]) if owner is None or isinstance(owner, dict) else None
    return home
