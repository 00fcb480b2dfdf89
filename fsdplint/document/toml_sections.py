"""The statements of a TOML text by the full path that each has, list indexes of `[[tables]]` included."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .toml_scan import TomlScanner

if TYPE_CHECKING:
    from .document import Document
    from .nodes import Path, Span
    from .toml_scan import Part


class Line(NamedTuple):
    """A `key = value` or a `[header]`: from its key to the end of its value.

    `parts` are the parts of its key, each with the full path that it leads to; `path` is the last one's, and of a
    `[[header]]` the row that it opens.
    """

    start: int
    end: int
    parts: tuple[tuple[Path, Span], ...]
    path: Path


class Section(NamedTuple):
    """A header, None for what stands before the first, and the pairs below it."""

    header: Line | None
    path: Path
    pairs: list[Line]

    @property
    def start(self) -> int:
        """Where the header starts, or the first pair."""
        return self.lines[0].start if self.lines else 0

    @property
    def end(self) -> int:
        """Where the last pair ends, or the header."""
        return self.lines[-1].end if self.lines else 0

    @property
    def lines(self) -> list[Line]:
        """Header and pairs."""
        return self.pairs if self.header is None else [self.header, *self.pairs]


def sections(document: Document) -> list[Section]:
    """The sections of a text that has no problems; the first one has no header."""
    text = document.text
    scanner = TomlScanner(text, 1000)
    scanner.scan()
    comments = {start + len(comment.rstrip(" \t")): start for _, start, comment in document.comments()}
    following_starts = [*(statement.start for statement in scanner.statements[1:]), len(text)]
    found = [Section(None, (), [])]
    rows: dict[Path, int] = {}
    for statement, following in zip(scanner.statements, following_starts, strict=False):
        start = statement.start
        end = statement.header.end if statement.header is not None else _value_end(text, following, comments)
        if statement.header is None:
            section = found[-1]
            parts, path = _walk(section.path, statement.parts, rows)
            section.pairs.append(Line(start, end, parts, path))
            continue
        many = text.startswith("[[", start)
        if many:
            name = _walk((), statement.parts, rows)[0][-1][0]
            rows[name] = rows.get(name, -1) + 1
        parts, path = _walk((), statement.parts, rows)
        found.append(Section(Line(start, end, parts, path), path, []))
    return found


def _walk(path: Path, parts: tuple[Part, ...], rows: dict[Path, int]) -> tuple[tuple[tuple[Path, Span], ...], Path]:
    """The path of each part; behind the name of a list of tables comes the index of its last row."""
    found: list[tuple[Path, Span]] = []
    for name, span in parts:
        path = (*path, name)
        found.append((path, span))
        if path in rows:
            path = (*path, rows[path])
    return tuple(found), path


def _value_end(text: str, following: int, comments: dict[int, int]) -> int:
    """Back from the next statement over blanks and comments."""
    end = following
    while True:
        while end > 0 and text[end - 1] in " \t\r\n":
            end -= 1
        start = comments.get(end)
        if start is None:
            return end
        end = start


def is_below(path: Path, above: Path) -> bool:
    """Whether a path leads to or through another."""
    return path[: len(above)] == above
