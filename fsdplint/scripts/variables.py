"""What the variables of a script hold where that is certain, and what words come to with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsdplint.document import Span
    from fsdplint.scripts.shell import Simple
    from fsdplint.scripts.words import Piece, Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
UNKNOWN = re.compile(r"\$\{\w+\}")
"""How a part of a word is written that only a run tells."""

_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_SETTING = frozenset({"read", "unset", "getopts", "mapfile", "readarray", "let", "printf", "for", "select"})
_HARMLESS = ("activate", ".bashrc", "conda.sh", "profile", "modules.sh", "lmod.sh", "/bash", "modules/init/sh")
"""How the names of files end that scripts read for their environments, not for settings."""


class Text(NamedTuple):
    """A word as a command gets it; unknown parts are written ``${name}``. ``is_loose``: it may be any number of words."""

    text: str
    span: Span
    is_loose: bool = False

    @property
    def is_known(self) -> bool:
        """Whether nothing of it is left to the run."""
        return UNKNOWN.search(self.text) is None


class Variables:
    """The variables of a script, filled in as its commands go by.

    Only a variable that the script sets once, surely and to a plain value is known; of one that it does not set at all the default of
    ``${name:-default}`` is taken.
    """

    def __init__(self, script: Iterable[Simple]) -> None:
        self._values: dict[str, str | list[str]] = {}
        self._counts: dict[str, int] = {}
        for command in script:
            for name, _, is_plain in _settings(command):
                self._counts[name] = self._counts.get(name, 0) + (1 if is_plain and command.is_sure else 2)

    def learn(self, command: Simple) -> None:
        """Take in what a command sets."""
        for name, word, _ in _settings(command):
            if word is not None and self._counts.get(name) == 1:
                self._values[name] = self._assigned(word)
        if _name(command, 0) in ("source", ".") and not str(_name(command, 1) or _last(command)).endswith(_HARMLESS):
            self._values.clear()

    def _assigned(self, word: Word) -> str | list[str]:
        if word.items is not None:
            return [text.text for item in word.items for text in self.texts(item)]
        return "".join(self._one(piece) for piece in word.pieces).partition("=")[2]

    def texts(self, word: Word) -> Iterator[Text]:
        """The words that a word comes to: none or several where a variable stands outside of quotes."""
        if len(word.pieces) == 1 and word.pieces[0].is_array:
            value = self._values.get(word.pieces[0].name)
            items = value if isinstance(value, list) else ["${_}"]
            yield from (Text(item, word.span, is_loose=not isinstance(value, list)) for item in items)
            return
        is_array = [piece for piece in word.pieces if piece.is_array]
        if len(word.pieces) == 2 and is_array and word.literal is None and not word.pieces[0].text:  # "${items[@]}"
            yield from self.texts(word._replace(pieces=(is_array[0],)))
            return
        yield from self._split(word)

    def _split(self, word: Word) -> Iterator[Text]:
        field, is_there, is_loose = "", False, True
        for piece in word.pieces:
            text = self._one(piece)
            is_loose = is_loose and bool(piece.name) and not piece.quoted
            if piece.quoted or not piece.name:
                field, is_there = field + text, True
                continue
            parts = re.split(r"[ \t\n]+", text)
            for part in parts[:-1]:
                if field + part:
                    yield _text(field + part, word.span, piece)
                field = ""
            field += parts[-1]
        if field or is_there:
            yield Text(field, word.span, is_loose and UNKNOWN.sub("", field) == "")

    def _one(self, piece: Piece) -> str:
        if not piece.name:
            return piece.text
        value = self._values.get(piece.name)
        if isinstance(value, str):
            return value if value or piece.default is None else piece.default
        if value is None and piece.default is not None and piece.name not in self._counts:
            return piece.default
        is_itself = piece.default is not None and self._counts.get(piece.name) == 1 and piece.name not in self._values
        return piece.default if is_itself and piece.default is not None else f"${{{piece.name}}}"


def _text(field: str, span: Span, piece: Piece) -> Text:
    return Text(field, span, not piece.quoted and UNKNOWN.sub("", field) == "")


def _settings(command: Simple) -> Iterator[tuple[str, Word | None, bool]]:
    """The variables that a command sets: name, the word that assigns, and whether that is a plain assignment."""
    first = _name(command, 0)
    words: Sequence[Word] = command.words
    if first in _SETTING:
        for index in range(1, len(words)):
            name = _name(command, index)
            if name and re.fullmatch(r"[A-Za-z_]\w*", name):
                yield name, None, False
        return
    if first in _DECLARING:
        words = words[1:]
    elif not all(_assigns(word) for word in words):
        return
    for word in words:
        found = _assigns(word)
        if found:
            yield found[1], word, not found[2]


def _assigns(word: Word) -> re.Match[str] | None:
    """The name before ``=``, which must not be quoted or expanded."""
    plain = ""
    for piece in word.pieces:
        if piece.name or piece.quoted:
            break
        plain += piece.text
    return ASSIGNMENT.match(plain)


def _name(command: Simple, index: int) -> str | None:
    return command.words[index].literal if index < len(command.words) else None


def _last(command: Simple) -> str:
    return "".join(piece.text for piece in command.words[-1].pieces)
