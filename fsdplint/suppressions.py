"""``# fsdplint: ignore[FSD101] reason``: comments that silence diagnostics, and those of them that are wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Diagnostic, Place, resolve
from fsdplint.selection import hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.launch import ConfigFile
    from fsdplint.rule import Pack, Rule

CODE = "FSD008"
"""The rule that speaks of suppressions."""

_PRAGMA = re.compile(r"#\s*fsdplint:\s*(?P<verb>[\w-]*)\s*(?:\[(?P<words>[^\]]*)\])?")
_WORD = re.compile(r"[^\s,]+")


class Suppression(NamedTuple):
    """A rule that a comment names. ``line``: the one it speaks of, 0 for the whole file; ``code``: None where no rule has that name."""

    word: str
    code: str | None
    line: int
    span: tuple[int, int]


class Suppressions:
    """The suppressions of one document, and which of them were of use."""

    def __init__(self, file: ConfigFile, pack: Pack) -> None:
        document = self._document = file.document
        self._dialect = file.dialect.name
        self._used: set[Suppression] = set()
        self._found: list[Suppression] = []
        self._malformed: list[tuple[tuple[int, int], str]] = []
        comments = document.comments()
        alone = {line for line, start, _ in comments if not document.line(line)[: document.position(start)[1] - 1].strip()}
        for line, start, text in comments:
            for match in _PRAGMA.finditer(text):
                self._read(match, start, _governed(line, alone), pack)

    def _read(self, match: re.Match[str], start: int, line: int, pack: Pack) -> None:
        verb, words = match["verb"], match["words"]
        if verb not in ("ignore", "ignore-file"):
            message = f"`fsdplint: {verb}` means nothing: write ignore[CODE] or ignore-file[CODE]"
            self._malformed.append((_shifted(match.span(), start), message))
            return
        named = list(_WORD.finditer(words or ""))
        if not named:
            self._malformed.append((_shifted(match.span(), start), f"`{verb}` names no rule: write {verb}[CODE]"))
        offset = start + (match.start("words") if words is not None else 0)
        for word in named:
            rule = pack.named(word[0])
            span = _shifted(word.span(), offset)
            self._found.append(Suppression(word[0], rule.code if rule else None, 0 if verb == "ignore-file" else line, span))

    def silences(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment silences a diagnostic of this document; what does is of use from then on."""
        hits = [s for s in self._found if s.code == diagnostic.code and s.line in (0, diagnostic.range.start.line)]
        self._used.update(hits)
        return bool(hits)

    def faults(self, rules: Sequence[Rule], pack: Pack) -> list[Diagnostic]:
        """What is wrong with the suppressions after ``rules`` spoke, found in the name of FSD008 if it is among them.

        The suppression of a rule that does not run, or cannot on a broken file, is left alone.
        """
        own = next((rule for rule in rules if rule.code == CODE), None)
        if own is None:
            return []
        ran = {rule.code for rule in rules if rule.code != CODE and not (self._document.problems and rule.needs_tree)}
        found = [self._fault(own, span, message) for span, message in self._malformed]
        for suppression in self._found:
            word, code, _, span = suppression
            if code is None:
                found.append(self._fault(own, span, f"no rule is called {word!r}{hint(pack, word)}"))
            elif code in ran and suppression not in self._used:
                found.append(self._fault(own, span, f"{word} silences nothing here", "remove it"))
        return [fault for fault in found if not self.silences(fault)]

    def _fault(self, rule: Rule, span: tuple[int, int], message: str, help: str | None = None) -> Diagnostic:
        _, where, snippet = resolve(Place(self._document, (), span))
        return Diagnostic(rule.code, rule.name, rule.severity, message, help, self._document.path, self._dialect, None, where, snippet)


def _governed(line: int, alone: set[int]) -> int:
    """The line that a comment speaks of: its own; of a comment on a line of its own, the next line that is no such comment."""
    while line in alone:
        line += 1
    return line


def _shifted(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
