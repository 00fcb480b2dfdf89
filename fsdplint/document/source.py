"""From bytes to text: byte order marks, UTF-8, line breaks."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from .nodes import Problem, Span

_BREAK = re.compile(r"\r\n|\n|\r")
_WIDE_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le", "UTF-32"),
    (b"\x00\x00\xfe\xff", "utf-32-be", "UTF-32"),
    (b"\xff\xfe", "utf-16-le", "UTF-16"),
    (b"\xfe\xff", "utf-16-be", "UTF-16"),
)
_HEAD = 65536


class Source(NamedTuple):
    """A file's text. Only `text[:readable]` can be read by a loader; beyond it stand undecodable bytes."""

    text: str
    bom: bool = False
    newline: str = "\n"
    readable: int = 0
    problems: tuple[Problem, ...] = ()


def decode(data: bytes | str, max_bytes: int) -> Source:
    """Decode a file as the frameworks do (strict UTF-8); what cannot be decoded becomes a problem, never an error."""
    if len(data) > max_bytes:
        message = f"the file is too large to be read: {len(data):,} bytes, the limit is {max_bytes:,}"
        head = data[:_HEAD]
        text = head if isinstance(head, str) else head.decode("utf-8", "replace")
        return _source(text, 0, Problem("size", message, Span(0, 0)))
    if isinstance(data, str):
        return _source(data, None)
    for mark, codec, name in _WIDE_MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(codec, "replace")
            problem = Problem("encoding", f"the file is {name}, but it is read as UTF-8", Span(0, 0), "save it as UTF-8")
            return _source(text, None, problem)
    try:
        return _source(data.decode("utf-8"), None)
    except UnicodeDecodeError as error:
        return _undecodable(data, error)


def _undecodable(data: bytes, error: UnicodeDecodeError) -> Source:
    text = data.decode("utf-8", "replace")
    offset = len(data[: error.start].decode("utf-8"))
    shift = 1 if text.startswith("\ufeff") else 0
    byte = data[error.start]
    legacy = bytes([byte]).decode("latin-1")
    guess = f"; it is {legacy!r} in Latin-1" if legacy.isalpha() else ""
    place = Span(offset - shift, offset - shift + 1)
    problem = Problem("encoding", f"the byte 0x{byte:02x} is not valid UTF-8{guess}", place, "save the file as UTF-8")
    return _source(text, offset - shift, problem)


def _source(text: str, readable: int | None, *problems: Problem) -> Source:
    bom = text.startswith("\ufeff")
    if bom:
        text = text[1:]
    found = _BREAK.search(text)
    return Source(
        text,
        bom,
        found.group() if found else "\n",
        len(text) if readable is None else readable,
        problems,
    )


class LineTable:
    """Lines of a text, broken at CRLF, LF and CR only, as editors do."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column, in code points, of an offset (clamped to the text)."""
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line without its line break; empty beyond the text."""
        if not 1 <= number <= len(self._starts):
            return ""
        end = self._starts[number] if number < len(self._starts) else len(self._text)
        return self._text[self._starts[number - 1] : end].rstrip("\r\n")
