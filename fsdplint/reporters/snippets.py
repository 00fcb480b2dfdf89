"""Source lines with the range marked under them, whatever the width of their characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fsdplint.diagnostics import Range, Snippet

TAB = 4
WIDTH = 120
"""Cells that a source line may take; of a longer one the part around the range is shown."""


class Marked(NamedTuple):
    """A source line as shown: its number, the text in which all is one to one with cells, and the marks below it."""

    number: int
    text: str
    marks: str


def marked(place: Range, snippet: Snippet) -> list[Marked]:
    """The lines of a snippet, each with carets under what the range covers of it; a range without width gets one caret."""
    lines = []
    for index, line in enumerate(snippet.lines):
        number = snippet.first_line + index
        if number < place.start.line or number > place.end.line:
            continue
        start = place.start.column - 1 if number == place.start.line else len(line) - len(line.lstrip())
        end = place.end.column - 1 if number == place.end.line else len(line)
        if start < end or number == place.start.line:
            lines.append(_marked(number, line, start, max(end, start + 1)))
    return lines


def _marked(number: int, line: str, start: int, end: int) -> Marked:
    cells = [_cell(char, position) for position, char in _positions(line)]
    text, first = "".join(cells), _width("".join(cells[:start]))
    marks = " " * first + "^" * max(_width("".join(cells[start:end])), 1)
    return Marked(number, *_clipped(text.rstrip(), marks, first)) if _width(text) > WIDTH else Marked(number, text.rstrip(), marks)


def _positions(line: str) -> list[tuple[int, str]]:
    position = 0
    found = []
    for char in line:
        found.append((position, char))
        position += TAB - position % TAB if char == "\t" else _width(char)
    return found


def _cell(char: str, position: int) -> str:
    if char == "\t":
        return " " * (TAB - position % TAB)
    return char if char.isprintable() or _width(char) == 0 else "�"


def _width(text: str) -> int:
    """The cells that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _clipped(text: str, marks: str, first: int) -> tuple[str, str]:
    """The part of a long line around its marks, with dots for what is left out."""
    begin = max(0, min(first - WIDTH // 4, _width(text) - WIDTH))
    kept, position = "", 0
    for char in text:
        if begin <= position and position + _width(char) <= begin + WIDTH:
            kept += char
        position += _width(char)
    left = "…" if begin else ""
    return left + kept + ("…" if position > begin + WIDTH else ""), " " * len(left) + marks[begin : begin + WIDTH]
