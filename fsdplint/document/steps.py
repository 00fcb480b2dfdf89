"""One operation on one document: what it asks for, the edits, and the proof that they do just that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import intended
from .document import Document, parse
from .nodes import Mapping, Scalar, Sequence
from .operations import Delete, Insert, Operation, Refused, Rename, Replace, Set, TextEdit
from .patchwork import ordered, spliced
from .paths import dotted
from .sites import Site, check_own, check_unmerged, find, is_unique
from .values import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from .changes import Change, Editor
    from .nodes import Path

_BOM = "\ufeff"


class _Step(NamedTuple):
    """A change, and the plain value that the document is to have then, told from the one it has and the one it got."""

    change: Change
    outcome: Callable[[object, object], object]


def step(document: Document, operation: Operation) -> tuple[Document, list[TextEdit]] | None:
    """The document with an operation done and the edits for it; None if nothing is to be done. Raises Refused."""
    if any(problem.fatal for problem in document.problems):
        raise Refused(f"the file has a fault: {next(p.message for p in document.problems if p.fatal)}")
    planned = _planned(document, operation)
    if planned is None:
        return None
    edits = ordered(planned.change.edits)
    edited = _reparsed(document, spliced(document.text, edits))
    _check(document, edited, planned)
    return edited, edits


def _planned(document: Document, operation: Operation) -> _Step | None:
    if isinstance(operation, (Set, Replace)):
        return _set(document, operation)
    if isinstance(operation, Rename):
        return _rename(document, operation)
    if isinstance(operation, Insert):
        return _insert(document, operation)
    return _delete(document, operation)


def _reparsed(document: Document, text: str) -> Document:
    data = _BOM + text if document.bom else text
    return parse(data, document.path, format=document.format, loader=document.loader, max_depth=document._depth)


def _check(document: Document, edited: Document, planned: _Step) -> None:
    faults = [problem.message for problem in edited.problems if problem.fatal]
    if faults:
        raise Refused(f"the result could not be read: {faults[0]}")
    if len(edited.problems) > len(document.problems):
        raise Refused(f"the result would have a fault: {edited.problems[-1].message}")
    before, after = _plain(document), _plain(edited)
    place = intended.difference(planned.outcome(before, after), after)
    if place is not None:
        raise Refused(f"'{dotted(place)}' would change with it" if place else "the file's other keys would change with it")
    if _lost_comments(document, edited, planned.change):
        raise Refused("a comment would be lost")


def _plain(document: Document) -> object:
    return None if document.root is None else plain(document.root)


def _lost_comments(document: Document, edited: Document, change: Change) -> bool:
    kept = [(start, text) for _, start, text in document.comments() if not _is_owned(start, change)]
    return sorted(text for _, text in kept) != sorted(text for _, _, text in edited.comments())


def _is_owned(start: int, change: Change) -> bool:
    return any(span.start <= start < span.end for span in change.owned)


def _editor(document: Document) -> Editor:
    """Only the editor of the format at hand is imported."""
    if document.format == "json":
        from .edits_json import JsonEditor

        return JsonEditor(document)
    if document.format == "toml":
        from .edits_toml import TomlEditor

        return TomlEditor(document)
    from .edits_yaml import YamlEditor

    return YamlEditor(document)


def _existing(document: Document, path: Path) -> Site:
    site = find(document, path)
    if site.missing or not site.chain:
        raise Refused(f"there is no '{dotted(path)}'")
    if len(site.chain) == 1:
        raise Refused("the whole document cannot be edited at once")
    return site


def _set(document: Document, operation: Set | Replace) -> _Step | None:
    site = _existing(document, operation.path)
    if intended.same(plain(site.node), operation.value):
        return None
    if site.inherited:
        return _insert_at(document, find(document, operation.path[:-1]), operation.path[-1:], operation.value, None)
    return _set_at(document, site, operation.value, whole=isinstance(operation, Replace))


def _set_at(document: Document, site: Site, value: object, *, whole: bool = False) -> _Step:
    if site.alias is None:
        check_own(site.node, site.path)
    editor = _editor(document)
    change = editor.replace(site, value) if whole else editor.set(site, value)
    return _Step(change, lambda before, _: intended.put(before, site.keys, value))


def _rename(document: Document, operation: Rename) -> _Step | None:
    path, key = operation
    site = find(document, path)
    owner = site.node if site.chain else None
    if len(site.missing) == 1 and isinstance(owner, Mapping) and owner.entry(key) is not None:
        return None
    site = _existing(document, path)
    check_unmerged(site)
    if not isinstance(site.owner, Mapping):
        raise Refused(f"'{dotted(path)}' is an item of a list")
    if key == path[-1]:
        return None
    if site.owner.entry(key) is not None:
        raise Refused(f"'{dotted((*path[:-1], key))}' is there already")
    return _Step(_editor(document).rename(site, key), lambda before, _: intended.renamed(before, site.keys, key))


def _insert(document: Document, operation: Insert) -> _Step | None:
    site = find(document, operation.path)
    if not operation.path:
        raise Refused("the whole document cannot be inserted")
    if site.missing:
        return _insert_at(document, site, site.missing, operation.value, operation.after)
    if intended.same(plain(site.node), operation.value):
        return None
    if not site.inherited:
        raise Refused(f"'{dotted(operation.path)}' is there already")
    return _insert_at(document, find(document, operation.path[:-1]), operation.path[-1:], operation.value, operation.after)


def _insert_at(document: Document, site: Site, missing: Path, value: object, after: str | None) -> _Step:
    """Insert the first missing part, with all further ones as its value."""
    part = missing[0]
    for inner in reversed(missing[1:]):
        if isinstance(inner, int) and inner != 0:
            raise Refused(f"there is no '{dotted((*site.path, *missing))}' to append to")
        value = {inner: value} if isinstance(inner, str) else [value]
    if site.chain and isinstance(site.node, Scalar) and site.node.value is None and len(site.chain) > 1:
        return _set_at(document, site, {part: value} if isinstance(part, str) else [value])
    key = _key_for(site, part)
    change = _editor(document).insert(site, part, value, _sibling(site, after if len(missing) == 1 else None))
    keys = (*site.keys, key)

    def outcome(before: object, edited: object) -> object:
        sibling = change.after
        if sibling is intended.ANYWHERE:
            sibling = intended.sibling_in(edited, keys)
        return intended.inserted(before, keys, value, sibling)

    return _Step(change, outcome)


def _sibling(site: Site, after: str | None) -> str | None:
    """The sibling to stand behind, if it is an own key that is written once."""
    node = site.node if site.chain else None
    entry = node.entry(after) if after is not None and isinstance(node, Mapping) else None
    if entry is None or entry.inherited or not isinstance(node, Mapping):
        return None
    return after if is_unique(node, entry) else None


def _key_for(site: Site, part: str | int) -> object:
    """The key as the loader will have it; a list takes its length only."""
    node = site.node if site.chain else None
    if isinstance(node, Sequence):
        if part != len(node.items):
            raise Refused(f"'{dotted(site.path)}' has {len(node.items)} items: [{part}] is not the next one")
    elif not isinstance(part, str):
        raise Refused(f"'{dotted(site.path)}' is no list")
    elif isinstance(node, Mapping):
        inherited = node.entry(part)
        return part if inherited is None else inherited.key
    return part


def _delete(document: Document, operation: Delete) -> _Step | None:
    site = find(document, operation.path)
    if site.missing:
        return None
    site = _existing(document, operation.path)
    check_unmerged(site)
    return _Step(_editor(document).delete(site), lambda before, _: intended.removed(before, site.keys))
