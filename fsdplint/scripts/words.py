"""The words of a shell script: what each consists of, before anything is expanded."""

from __future__ import annotations

import re
from typing import NamedTuple

from fsdplint.document import Span

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:(?P<array>\[[@*]\])|:?[-=](?P<default>.*))?", re.DOTALL)
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_OWN_FOLDER = re.compile(r'\$\((cd [^&;]*)?"?(\$\()?\s*dirname\b[^;|]*(BASH_SOURCE|\$0|\$\{0\})[^;|]*\)')
BLANK = " \t"
ENDS = "\n;&|()<>"
"""What ends a word, blanks aside."""


class Unreadable(Exception):
    """A script, or a part of one, that cannot be understood."""


class Piece(NamedTuple):
    """A part of a word: literal ``text``, or (``name`` not empty) an expansion of a variable, ``_`` for all else that only a run tells.

    ``quoted``: it is one word, whatever it comes to. ``default``: of ``${name:-default}``. ``is_array``: all items (``${name[@]}``,
    ``$@``).
    """

    text: str
    name: str = ""
    quoted: bool = False
    default: str | None = None
    is_array: bool = False


class Word(NamedTuple):
    """A word of a script and its place; ``items`` are those of an array that it assigns. ``is_plain``: it is written as it is meant."""

    pieces: tuple[Piece, ...]
    span: Span
    items: tuple[Word, ...] | None = None
    is_plain: bool = False

    @property
    def literal(self) -> str | None:
        """The text of a word without expansions."""
        return None if any(piece.name for piece in self.pieces) else "".join(piece.text for piece in self.pieces)


class Reader:
    """Reads words from a text; ``place`` is where the next one is looked for. Raises Unreadable where a quote or bracket stays open."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def skip_blanks(self) -> None:
        """Go on to the next word, operator or line break: over blanks, continued lines and comments."""
        text = self.text
        while self.place < len(text):
            if text[self.place] in BLANK or text.startswith("\r\n", self.place):
                self.place += 1
            elif text.startswith("\\\n", self.place):
                self.place += 2
            elif text.startswith("\\\r\n", self.place):
                self.place += 3
            elif text[self.place] == "#":
                self.place = _or_end(text.find("\n", self.place), text)
            else:
                return

    def word(self) -> Word:
        """The word that starts here."""
        text, start = self.text, self.place
        pieces: list[Piece] = []
        while self.place < len(text) and text[self.place] not in BLANK and text[self.place] not in ENDS:
            if text.startswith(("\\\n", "\\\r\n", "\r\n"), self.place):
                break
            pieces += self._pieces()
        written = text[start : self.place]
        if text.startswith("(", self.place) and _ARRAY.fullmatch(written):
            self.place += 1
            items = self._items()
            return Word(tuple(pieces), Span(start, self.place), items)
        return Word(tuple(pieces), Span(start, self.place), None, len(pieces) > 0 and "".join(piece.text for piece in pieces) == written)

    def _items(self) -> tuple[Word, ...]:
        items: list[Word] = []
        while True:
            self.skip_blanks()
            if self.place >= len(self.text):
                raise Unreadable
            char = self.text[self.place]
            if char == ")":
                self.place += 1
                return tuple(items)
            if char == "\n":
                self.place += 1
            elif char in ENDS:
                raise Unreadable
            else:
                items.append(self.word())

    def _pieces(self) -> list[Piece]:
        """What stands at this place outside of quotes."""
        text, char = self.text, self.text[self.place]
        if char == "'":
            end = text.find("'", self.place + 1)
            if end < 0:
                raise Unreadable
            found = Piece(text[self.place + 1 : end], quoted=True)
            self.place = end + 1
            return [found]
        if char == '"':
            self.place += 1
            return self._double()
        if char == "\\":
            if self.place + 1 == len(text):
                raise Unreadable
            found = Piece(text[self.place + 1 : self.place + 2], quoted=True)
            self.place += 2
            return [found]
        if char in "$`":
            return [self._expansion(quoted=False)]
        self.place += 1
        if char in "*?[]{}~":
            return [Piece(char, name="" if char in "]}" else "_")]
        return [Piece(char)]

    def _double(self) -> list[Piece]:
        """What stands between double quotes; at least an empty text."""
        text = self.text
        found = [Piece("", quoted=True)]
        while self.place < len(text) and text[self.place] != '"':
            char = text[self.place]
            if char in "$`":
                found.append(self._expansion(quoted=True))
            elif char == "\\" and text[self.place + 1 : self.place + 2] in ("$", "`", '"', "\\", "\n"):
                escaped = text[self.place + 1]
                found.append(Piece("" if escaped == "\n" else escaped, quoted=True))
                self.place += 2
            else:
                found.append(Piece(char, quoted=True))
                self.place += 1
        if self.place >= len(text):
            raise Unreadable
        self.place += 1
        return found

    def _expansion(self, *, quoted: bool) -> Piece:
        text, start = self.text, self.place
        if text[start] == "`":
            self.place = self._after(text.find("`", start + 1))
            return Piece("", "_", quoted)
        if text.startswith("$(", start):
            self.place = self.closing(start + 2, ")")
            source = text[start : self.place]
            return Piece(".", "", True) if _OWN_FOLDER.fullmatch(source) and ".." not in source else Piece("", "_", quoted)
        if text.startswith("${", start):
            self.place = self.closing(start + 2, "}")
            return _parameter(text[start + 2 : self.place - 1], quoted)
        name = _NAME.match(text, start + 1)
        if name is not None:
            self.place = name.end()
            return Piece("", name.group(), quoted)
        special = text[start + 1 : start + 2]
        if special in ("'", '"') and not quoted:  # text in C's notation, or to be translated
            self.place = self.closing(start + 2, special)
            return Piece("", "_", True)
        if special and (special in "@*#?$!-" or special.isdigit()):
            self.place += 2
            return Piece("", "_", quoted, None, special in "@*")
        self.place += 1
        return Piece("$", quoted=True)

    def closing(self, place: int, bracket: str) -> int:
        """The place after the bracket that closes what is open at a place."""
        text = self.text
        while place < len(text):
            char = text[place]
            if char == bracket:
                return place + 1
            if char == "\\":
                place += 2
            elif char == "'" and bracket not in ("'", '"'):
                place = self._after(text.find("'", place + 1))
            elif char == '"' and bracket != "'":
                place = self.closing(place + 1, '"')
            elif char == "(" and bracket == ")":
                place = self.closing(place + 1, ")")
            elif text.startswith(("$(", "${"), place) and bracket != "'":
                place = self.closing(place + 2, ")" if text[place + 1] == "(" else "}")
            else:
                place += 1
        raise Unreadable

    def _after(self, place: int) -> int:
        if place < 0:
            raise Unreadable
        return place + 1


def _parameter(source: str, quoted: bool) -> Piece:
    """``${source}``: a variable, all items of an array, or a variable with a default; ``_`` for whatever else a shell can do with one."""
    found = _PARAMETER.fullmatch(source)
    if found is None:
        return Piece("", "_", quoted, None, source[-3:] in ("[@]", "[*]"))
    default = found["default"]
    if default is not None and default[:1] in ("'", '"') and default[-1:] == default[:1] and len(default) > 1:
        default = default[1:-1]
    if default is not None and any(char in "$`\"'\\" for char in default):
        return Piece("", "_", quoted)
    return Piece("", found["name"], quoted, default, found["array"] is not None)


def _or_end(place: int, text: str) -> int:
    return len(text) if place < 0 else place
