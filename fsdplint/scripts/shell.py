"""The simple commands of a shell script, each with how surely it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.document import Span
from fsdplint.scripts.words import ENDS, Piece, Reader, Unreadable, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENING = frozenset({"if", "for", "while", "until", "select", "case", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_BEFORE = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "{", "time", *_CLOSING})
"""Reserved words after which a command may start."""

_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([^\s'\"<>|&;()]+)\2")
_REDIRECTION = re.compile(r"&>>?|[<>]&-?|<<<|>>|>\||<>|[<>]")


class Simple(NamedTuple):
    """A simple command. ``is_sure``: it runs once, whatever comes before it; not within a branch, loop, function or subshell."""

    words: tuple[Word, ...]
    is_sure: bool


def commands(text: str) -> Iterator[Simple]:
    """The simple commands of a script, in their order, without redirections. Raises Unreadable where a quote or bracket stays open."""
    return _Script(text).commands()


class _Script:
    def __init__(self, text: str) -> None:
        self.text = text
        self.reader = Reader(text)
        self.open: list[str] = []
        self.words: list[Word] = []
        self.heredocs: list[tuple[str, bool]] = []
        self.is_chained = False

    def commands(self) -> Iterator[Simple]:
        reader, text = self.reader, self.text
        while True:
            reader.skip_blanks()
            if reader.place >= len(text):
                yield from self._end()
                return
            if text[reader.place] not in ENDS:
                self._word()
            elif text[reader.place] in "<>" or text.startswith("&>", reader.place):
                self._redirection()
            else:
                yield from self._operator()

    def _word(self) -> None:
        word = self.reader.word()
        name = self.text[slice(*word.span)]
        is_first = not self.words
        if name == "{" and self._written()[:1] == ["function"]:
            self.words = []
            self.open.append(name)
        elif is_first and name in _OPENING:
            self.open.append(name)
        elif is_first and name in _CLOSING and self.open:
            self.open.pop()
        is_number = name.isdigit() and self.text[word.span.end : word.span.end + 1] in ("<", ">")
        if not is_number and not (not self.words and name in _BEFORE):
            self.words.append(word)

    def _written(self) -> list[str]:
        return [self.text[slice(*word.span)] for word in self.words]

    def _redirection(self) -> None:
        """Skip an operator and the word after it; the text that ``<<`` announces is skipped at the end of the line."""
        reader, text = self.reader, self.text
        if text.startswith(("<(", ">("), reader.place):
            start, reader.place = reader.place, reader.closing(reader.place + 2, ")")
            self.words.append(Word((Piece("", "_", True),), Span(start, reader.place)))
            return
        heredoc = None if text.startswith("<<<", reader.place) else _HEREDOC.match(text, reader.place)
        if heredoc is not None:
            self.heredocs.append((heredoc[3], heredoc[1] == "-"))
            reader.place = heredoc.end()
            return
        found = _REDIRECTION.match(text, reader.place)
        if found is None:
            raise Unreadable
        reader.place = found.end()
        reader.skip_blanks()
        if found.group()[-1] != "-" and reader.place < len(text) and text[reader.place] not in ENDS:
            reader.word()

    def _operator(self) -> Iterator[Simple]:
        reader = self.reader
        char, pair = self.text[reader.place], self.text[reader.place : reader.place + 2]
        is_going_on = char == "|" or (char == "\n" and not self.words)
        yield from self._end()
        self.is_chained = pair in ("&&", "||") or (self.is_chained and is_going_on)
        reader.place += 2 if pair in ("&&", "||", ";;", "|&") else 1
        if char == "(":
            self.open.append("(")
        elif char == ")" and self.open and self.open[-1] == "(":
            self.open.pop()
        elif char == "\n":
            self._skip_heredocs()

    def _end(self) -> Iterator[Simple]:
        if self.words:
            yield Simple(tuple(self.words), not self.open and not self.is_chained)
        self.words = []

    def _skip_heredocs(self) -> None:
        for name, is_indented in self.heredocs:
            exact, indented = (rf"^{blanks}{re.escape(name)}\r?$" for blanks in ("\\t*" if is_indented else "", "[ \\t]*"))
            text, place = self.text, self.reader.place
            # Within YAML the whole script is indented.
            end = re.compile(exact, re.MULTILINE).search(text, place) or re.compile(indented, re.MULTILINE).search(text, place)
            if end is None:
                raise Unreadable
            self.reader.place = end.end()
        self.heredocs = []
