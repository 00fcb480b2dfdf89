"""Launch lines as documents of flags: ``accelerate launch --config_file a.yaml train.py b.yaml``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Place
from fsdplint.dialects.launcher_names import launcher
from fsdplint.document import Document, Entry, Mapping, Scalar, Span
from fsdplint.document.reading import Reading
from fsdplint.document.source import decode
from fsdplint.launch import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.launchers import Launcher

PATH = "<launch>"
"""The path of the launch line in diagnostics."""

SUFFIXES = (".yaml", ".yml", ".json", ".toml")
"""What tells a config file among the words of a launch line."""

_ENDS = frozenset({";", "&", "&&", "|", "||", ">", ">>", "<", "2>", "2>&1"})
_BLANK = " \t\r\n"


class Word(NamedTuple):
    """A word of a command line as a shell reads it: ``text`` without quotes and escapes, and the place of what is written."""

    text: str
    span: Span


class Command(ConfigFile):
    """A launch line: its flags as a document, the dialect of its launcher, and the config files that it mentions (place,
    name as written). ``script``: the words that the program which it starts gets.
    """

    __slots__ = ("mentions", "script")

    def __init__(
        self, document: Document, dialect: Launcher, mentions: tuple[tuple[Place, str], ...], script: tuple[Word, ...] = ()
    ) -> None:
        super().__init__(document, dialect)
        self.mentions = mentions
        self.script = script


def read_command(text: str) -> Command | None:
    """The launch line as a document of flags; None for a blank line.

    Only launchers give flags (``accelerate launch``, ``soup train``, ``trl``, ``torchrun`` and the like), and only where they decide
    nothing else do the variables before them count, as keys of their own. Text that a shell would refuse is read as far as it goes.
    """
    words = list(_command(split(text)))
    if not words:
        return None
    found, start, own = launcher([word.text for word in words])
    root = Mapping(Span(0, len(text)))
    for variable in () if found.starts else _environment(words):
        root.add(variable)
    end = len(words)
    for flag, place in _flags(words[start:], found):
        if flag is not None:
            root.add(flag)
        end = start + place
    reading = Reading(roots=(root,), opaque=(Span(0, len(text)),), reached=len(text))
    document = Document(PATH, "command", "command", decode(text, len(text) * 4 + 1), reading, 1)
    mentions = tuple((Place(document, (), span), name) for span, name in _mentions(words))
    return Command(document, found, mentions, tuple(words[slice(*own)] if own else _script(words, found, start, end)))


def _script(words: list[Word], found: Launcher, start: int, end: int) -> list[Word]:
    """The words of the program that a launcher starts; of a plain command, those behind its script or its own name."""
    if found.ends_at_script:
        return words[end:]
    if found.starts or start:
        return words[start:]
    for place, word in enumerate(words):
        if word.text.endswith(".py"):
            return words[place + 1 :]
        if word.text == "-m" and place and "python" in words[place - 1].text:
            return words[place + 2 :]
    own = next((place for place, word in enumerate(words) if "=" not in word.text), len(words))
    return words[own + 1 :]


def _environment(words: list[Word]) -> Iterator[Entry]:
    """The variables that are set before the program."""
    for word in words:
        match = re.match(r"[A-Za-z_]\w*(?==)", word.text)
        if match is not None:
            key = Span(word.span.start, word.span.start + match.end())
            yield _entry(match[0], key, word.text[match.end() + 1 :], Span(key.end + 1, word.span.end))
        elif not word.text.startswith("-") and word.text != "env":
            return


def _command(words: Iterator[Word]) -> Iterator[Word]:
    """The words of the command that starts the run: the last of a chain (``cd x && accelerate launch ...``), without redirections.

    A separator that nothing follows ends the command before it.
    """
    last: list[Word] = []
    part: list[Word] = []
    for word in words:
        if word.text in ("&&", ";", "||"):
            last, part = part or last, []
        elif word.text in _ENDS:
            break
        else:
            part.append(word)
    yield from part or last


def split(text: str) -> Iterator[Word]:
    """The words of a command line with their places, by the rules of ``shlex`` in POSIX mode; an open quote reaches to the end."""
    place = 0
    while place < len(text):
        if text[place] in _BLANK:
            place += 1
        elif text.startswith(("\\\n", "\\\r\n"), place):
            place += 2 + (text[place + 1] == "\r")
        else:
            word = _word(text, place)
            yield word
            place = word.span.end


def _word(text: str, start: int) -> Word:
    found: list[str] = []
    place, quote = start, ""
    while place < len(text):
        char = text[place]
        if quote == "'" and char != "'":
            found.append(char)
        elif char == "\\" and place + 1 < len(text) and (not quote or text[place + 1] in '"\\'):
            place += 1
            if text[place] != "\n":
                found.append(text[place])
        elif char == quote:
            quote = ""
        elif quote:
            found.append(char)
        elif char in "'\"":
            quote = char
        elif char in _BLANK:
            break
        else:
            found.append(char)
        place += 1
    return Word("".join(found), Span(start, place))


def _flags(words: list[Word], found: Launcher) -> Iterator[tuple[Entry | None, int]]:
    """Every flag of the launcher with its value: the text, True for a switch, None where the line ends before the value.

    Beside each the index of the word behind it; last of all, with no flag, where the program's own words begin.
    """
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.text == "--" or (not _is_flag(word.text) and found.ends_at_script):
            yield None, place
            return
        if not _is_flag(word.text):
            continue
        name, equals, inline = word.text.partition("=")
        key = Span(word.span.start, word.span.start + len(name))
        if equals:
            yield _entry(name, key, inline, Span(key.end + 1, word.span.end)), place
        elif found.takes_value(name) and place < len(words) and not _is_flag(words[place].text):
            yield _entry(name, key, words[place].text, words[place].span), place + 1
            place += 1
        else:
            yield _entry(name, key, None if found.takes_value(name) else True, Span(key.end, key.end)), place


def _is_flag(text: str) -> bool:
    return len(text) > 1 and text[0] == "-" and not text[1].isdigit()


def _entry(name: str, key: Span, value: object, place: Span) -> Entry:
    return Entry(name, name, key, Scalar(place, value, str(value) if isinstance(value, str) else "", "double"))


def _mentions(words: list[Word]) -> Iterator[tuple[Span, str]]:
    """The config files among the words, also as ``--flag=path`` and ``key=path``."""
    for word in words:
        name = word.text.rpartition("=")[2]
        if name.lower().endswith(SUFFIXES):
            yield (word.span if name == word.text else Span(word.span.end - len(name), word.span.end)), name
