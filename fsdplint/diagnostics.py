"""What a check says: diagnostics, their places and fixes, and the report that reporters turn into text."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.document import Document, Path, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = "https://github.com/fsdplint/fsdplint/blob/main/docs/rules"


class Severity(IntEnum):
    """How bad a diagnostic is; comparable, ERROR being the highest."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """``info``, ``warning`` or ``error``."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Severity:
        """The severity that a word names; raises ValueError for any other word."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"not a severity: {word!r} (error, warning or info)") from None


OUTCOMES = {
    "refused": Severity.ERROR,
    "crashes": Severity.ERROR,
    "misleads": Severity.ERROR,
    "ignored": Severity.WARNING,
    "deprecated": Severity.WARNING,
    "advice": Severity.INFO,
}
"""What upstream does with a fault, and how bad that is; ``ok`` is no fault and has no severity."""


class Place(NamedTuple):
    """A symbolic place: a path in a document, and which part of the entry is meant.

    ``part`` is ``key``, ``value`` or ``entry`` (key to value), or an exact stretch of the text (start, end) where keys cannot tell it.
    The path need not exist: then the nearest parent's key is shown. The empty path is the whole document.
    """

    document: Document
    path: Path
    part: str | tuple[int, int] = "value"

    @property
    def origin(self) -> Place:
        """Where the characters stand: of a key that the launch line overrides, in that line; else this very place."""
        found = self.document.elsewhere(self.path)
        if found is None:
            return self
        document, path, key, value = found
        if self.part == "key" or value.start == value.end:
            return Place(document, path, (key.start, key.end))
        return Place(document, path, (key.start if self.part == "entry" else value.start, value.end))


class Position(NamedTuple):
    """A point in a text: 1-based line and column, and the offset, all in code points of the text without BOM."""

    line: int
    column: int
    offset: int


class Range(NamedTuple):
    """A half-open stretch of a text."""

    start: Position
    end: Position


class Snippet(NamedTuple):
    """The lines of a text that a range touches, for reporters that show source."""

    first_line: int
    lines: tuple[str, ...]


class Related(NamedTuple):
    """A second place that explains a diagnostic."""

    message: str
    path: str
    key: str | None
    range: Range
    snippet: Snippet


class Edit(NamedTuple):
    """Replace ``[start, end)`` of the file's text (code points without BOM) by ``text``."""

    path: str
    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """Edits that mend a diagnostic; ``applicability`` is ``safe`` or ``unsafe``. ``places``: range and lines of each edit, if known."""

    message: str
    applicability: str
    edits: tuple[Edit, ...]
    places: tuple[tuple[Range, Snippet], ...] = ()


class Diagnostic(NamedTuple):
    """One finding of one rule at one place, ready to be shown."""

    code: str
    name: str
    severity: Severity
    message: str
    help: str | None
    path: str
    dialect: str | None
    key: str | None
    range: Range
    snippet: Snippet
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    versions: str | None = None

    @property
    def url(self) -> str:
        """The rule's page."""
        return f"{DOCS}/{self.code}.md"


class FileStatus(NamedTuple):
    """What became of one input: ``checked``, ``skipped`` (no training config) or ``failed`` (could not be read)."""

    path: str
    dialect: str | None
    status: str
    reason: str | None = None


class RuleInfo(NamedTuple):
    """What a reporter may want to know of a rule that spoke."""

    code: str
    name: str
    summary: str


class TargetInfo(NamedTuple):
    """The versions assumed for one package, and where that was learned."""

    specifier: str
    source: str
    declared: bool


class Report(NamedTuple):
    """Everything a reporter gets.

    ``target`` maps PyPI names to what was assumed; ``suppressed`` counts diagnostics silenced by comments or settings; ``notes`` are
    remarks for ``-v``; ``device`` is the device the configs are meant for, None where unknown. ``fixed``: diagnostics (of the text as it
    was) that fixes have done away with, None where nothing was to be fixed; ``is_dry``: they only would be.
    """

    version: str
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[FileStatus, ...]
    target: dict[str, TargetInfo]
    suppressed: int = 0
    rules: dict[str, RuleInfo] = {}  # noqa: RUF012 -- a NamedTuple default, never changed
    notes: tuple[str, ...] = ()
    device: str | None = None
    fixed: tuple[Diagnostic, ...] | None = None
    is_dry: bool = False

    def count(self, severity: Severity) -> int:
        """How many diagnostics have this very severity."""
        return sum(d.severity is severity for d in self.diagnostics)

    @property
    def checked(self) -> int:
        """How many files were recognised and linted."""
        return sum(f.status == "checked" for f in self.files)

    @property
    def fixable(self) -> int:
        """How many diagnostics carry a fix."""
        return sum(d.fix is not None for d in self.diagnostics)


def text_range(document: Document, start: int, end: int) -> tuple[Range, Snippet]:
    """The range and the touched lines (at most three) of a stretch of a document's text."""
    first = Position(*document.position(start), start)
    last = Position(*document.position(end), end)
    lines = tuple(document.line(n) for n in range(first.line, min(last.line, first.line + 2) + 1))
    return Range(first, last), Snippet(first.line, lines)


def resolve(place: Place) -> tuple[str | None, Range, Snippet]:
    """The dotted key, the range and the snippet of a symbolic place.

    A path that the document lacks shows the key of its nearest written parent, else the document's first key.
    """
    document, path, part = place.origin
    key = dotted(path) if path else None
    start, end = _stretch(document, path, part)
    return (key, *text_range(document, start, end))


def _stretch(document: Document, path: Path, part: str | tuple[int, int]) -> tuple[int, int]:
    if isinstance(part, tuple):
        return part
    if not path:
        return _first_key(document)
    while path:
        key, value = document.key_span(path), document.value_span(path)
        if key is not None and value is not None:
            inherited = value.start < key.start
            if part == "key" or inherited or value.start == value.end:
                return key.start, key.end
            return (value.start, value.end) if part == "value" else (key.start, value.end)
        path, part = path[:-1], "key"
    return _first_key(document)


def _first_key(document: Document) -> tuple[int, int]:
    keys = document.root.keys() if document.root is not None and hasattr(document.root, "keys") else []
    span = document.key_span((keys[0],)) if keys else None
    return (span.start, span.end) if span else (0, 0)


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics in the contract's order: by path, then offset, then code."""
    return sorted(diagnostics, key=lambda d: (d.path, d.range.start.offset, d.code, d.message))
