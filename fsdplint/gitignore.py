"""Patterns as git's ignore files spell them (gitignore(5)): what folder walks and the globs of settings are matched by."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

_SPECIAL = re.compile(r"\\(.)|\[([!^]?)(\]?[^\]]*)\]|(\*+)|(\?)|(.)", re.DOTALL)


class Pattern(NamedTuple):
    """One line of an ignore file; ``regex`` matches a path relative to the file's folder."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


class Ignore:
    """The patterns of one ignore file, which speak of paths relative to its folder."""

    __slots__ = ("_patterns",)

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._patterns = [pattern for line in reversed(lines) if (pattern := _pattern(line)) is not None]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True for a path that is ignored, False for one that is taken back in, None where no pattern speaks; the last one counts."""
        for regex, negated, folders_only in self._patterns:
            if (is_folder or not folders_only) and regex.fullmatch(path):
                return not negated
        return None

    def covers(self, path: str) -> bool:
        """Whether a file or one of the folders above it is ignored."""
        parts = path.split("/")
        folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
        return any(self.verdict(folder, True) for folder in folders) or bool(self.verdict(path, False))


@cache
def ignore(*lines: str) -> Ignore:
    """The same object for the same lines."""
    return Ignore(lines)


def _pattern(line: str) -> Pattern | None:
    text = _stripped(line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    text = text[1:] if text.startswith("/") else text
    if not text:
        return None
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _translated(text), re.DOTALL)
    except re.error:
        return None
    return Pattern(regex, negated, folders_only)


def _stripped(line: str) -> str:
    """A line without the blanks at its end, of which an escaped one counts."""
    bare = line.rstrip(" \t")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) : len(bare) + 1] if slashes % 2 else bare


def _translated(glob: str) -> str:
    parts = glob.split("/")
    regex = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            regex += ".+" if last else "(?:.*/)?"
        else:
            regex += "".join(map(_piece, _SPECIAL.finditer(part))) + ("" if last else "/")
    return regex


def _piece(match: re.Match[str]) -> str:
    escaped, negation, characters, stars, question, plain = match.groups()
    if stars:
        return "[^/]*"
    if question:
        return "[^/]"
    if characters is not None:
        kept = characters.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        return f"(?!/)[{'^' if negation else ''}{kept}]"
    return re.escape(escaped or plain)
