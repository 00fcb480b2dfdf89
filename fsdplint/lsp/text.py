"""A text as an editor holds it: offsets of ours to lines and characters of the protocol, and back."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_BREAK = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


class Point(NamedTuple):
    """0-based line, and 0-based character in code units of the negotiated encoding."""

    line: int
    character: int


class Text:
    """The text of an open document. Offsets count code points behind a byte order mark, as everywhere in fsdplint.

    ``encoding``: what a character is to the client: ``utf-16`` (the protocol's default), ``utf-8`` or ``utf-32``.
    """

    __slots__ = ("_bom", "_starts", "encoding", "source")

    def __init__(self, source: str, encoding: str = "utf-16") -> None:
        self.source = source
        self.encoding = encoding
        self._bom = int(source.startswith(BOM))
        self._starts = [0, *(match.end() for match in _BREAK.finditer(source))]

    @property
    def body(self) -> str:
        """The text behind a byte order mark."""
        return self.source[self._bom :]

    def point(self, offset: int) -> Point:
        """Where an offset is; one beyond the text is its end."""
        index = min(max(offset, 0) + self._bom, len(self.source))
        line = bisect_right(self._starts, index) - 1
        return Point(line, self._units(self.source[self._starts[line] : index]))

    def offset(self, line: int, character: int) -> int:
        """The offset of a point; one beyond its line is the line's end, one within a character that character's start."""
        if line >= len(self._starts):
            return len(self.source) - self._bom
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.source)
        content = self.source[start:end].rstrip("\r\n")
        return max(start + self._index(content, character) - self._bom, 0)

    def _units(self, text: str) -> int:
        if self.encoding == "utf-32" or text.isascii():
            return len(text)
        return sum(map(self._width, text))

    def _index(self, line: str, character: int) -> int:
        if self.encoding == "utf-32" or line.isascii():
            return min(character, len(line))
        units = 0
        for index, char in enumerate(line):
            units += self._width(char)
            if units > character:
                return index
        return len(line)

    def _width(self, char: str) -> int:
        code = ord(char)
        if self.encoding == "utf-8":
            return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
        return 1 + (code > 0xFFFF)
