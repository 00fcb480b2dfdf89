"""What a fix does to the lines that it touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Diagnostic, Edit, Fix, Position, Range, Snippet


class Hunk(NamedTuple):
    """Some lines as they are, and as a fix leaves them."""

    old: list[str]
    new: list[str]


class _Place(NamedTuple):
    edit: Edit
    range: Range
    snippet: Snippet


def hunks(diagnostic: Diagnostic, fix: Fix) -> list[Hunk]:
    """The changed lines of a fix, in order; nothing of what reaches over more lines than are known."""
    groups: list[list[_Place]] = []
    for place in _places(diagnostic, fix):
        if groups and place.edit.path == groups[-1][-1].edit.path and place.range.start.line <= groups[-1][-1].range.end.line + 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [hunk for group in groups if (hunk := _hunk(group)) is not None]


def _places(diagnostic: Diagnostic, fix: Fix) -> list[_Place]:
    if fix.places:
        return sorted(_Place(edit, *place) for edit, place in zip(fix.edits, fix.places, strict=True))
    return sorted(_beside(diagnostic, fix))


def _beside(diagnostic: Diagnostic, fix: Fix) -> Iterator[_Place]:
    """The places of edits that lie in the first line which the diagnostic itself shows."""
    line, start = diagnostic.snippet.lines[0], diagnostic.range.start
    begin = start.offset - start.column + 1
    for edit in fix.edits:
        if edit.path == diagnostic.path and begin <= edit.start and edit.end <= begin + len(line):
            first, last = (type(start)(start.line, offset - begin + 1, offset) for offset in (edit.start, edit.end))
            yield _Place(edit, type(diagnostic.range)(first, last), diagnostic.snippet)


def _hunk(group: list[_Place]) -> Hunk | None:
    known = {place.snippet.first_line + index: line for place in group for index, line in enumerate(place.snippet.lines)}
    numbers = range(group[0].range.start.line, max(place.range.end.line for place in group) + 1)
    if not all(number in known for number in numbers):
        return None
    old = [known[number] for number in numbers]
    text = "\n".join(old)
    for place in reversed(group):
        first, last = (_index(position, old, numbers.start) for position in place.range)
        text = text[:first] + place.edit.text.replace("\r\n", "\n") + text[last:]
    return _trimmed(old, text.split("\n"))


def _index(position: Position, lines: list[str], first: int) -> int:
    before = lines[: position.line - first]
    return sum(len(line) + 1 for line in before) + min(position.column - 1, len(lines[position.line - first]))


def _trimmed(old: list[str], new: list[str]) -> Hunk:
    """Without the lines at both ends that stay as they are."""
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    return Hunk(old, new)
