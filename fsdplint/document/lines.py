"""Lines of a text by offset; a line ends at CRLF, LF or CR."""

from __future__ import annotations

import re

_REST = re.compile(r"[^\r\n]*")
_BREAK = re.compile(r"\r\n|\n|\r")


def line_start(text: str, offset: int) -> int:
    """Where the line of an offset starts."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line of an offset ends, before its line break."""
    match = _REST.match(text, offset)
    return match.end() if match is not None else offset


def next_line(text: str, offset: int) -> int:
    """Where the line below starts; the end of the text on the last line."""
    end = line_end(text, offset)
    match = _BREAK.match(text, end)
    return match.end() if match is not None else end


def line_above(text: str, start: int) -> int:
    """Where the line above one that starts here ends, before its line break."""
    return start - (2 if text.startswith("\r\n", start - 2) else 1) if start > 0 else 0


def line_break(text: str, offset: int, default: str) -> str:
    """The line break of an offset's line, the default on the last line."""
    return text[line_end(text, offset) : next_line(text, offset)] or default


def indent_of(text: str, offset: int) -> str | None:
    """The blanks before an offset that is the first on its line, else None."""
    before = text[line_start(text, offset) : offset]
    return before if not before.strip(" \t") else None


def column(text: str, offset: int) -> int:
    """0-based column of an offset in code points."""
    return offset - line_start(text, offset)
