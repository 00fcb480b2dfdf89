"""Where a TOML text takes new pairs, tables and rows, and how whole tables leave it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .lines import indent_of, line_above, line_break, line_end, line_start, next_line
from .operations import Refused, TextEdit
from .rendering import TomlNotation
from .toml_sections import Line, is_below

if TYPE_CHECKING:
    from .document import Document
    from .nodes import Path
    from .toml_sections import Section

_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*")
_TIGHT = re.compile(r"[^=\s]=[^=\s]")


class Tables:
    """The tables of one document."""

    def __init__(self, document: Document, sections: list[Section]) -> None:
        self.document = document
        self.text = document.text
        self.sections = sections
        self.notation = TomlNotation()

    def has_sections(self, path: Path) -> bool:
        """Whether a table is written with headers, not with dots in keys."""
        return any(one.header is not None and is_below(one.path, path) for one in self.sections)

    def pairs(self, value: dict[str, object], indent: str = "") -> list[str]:
        """Lines of `key = value`; what is nested gets one line."""
        return [indent + self._pair(key, item) for key, item in value.items()]

    def _pair(self, key: object, value: object) -> str:
        return f"{self.notation.name(key)}{self._assign}{self.notation.inline(value)}"

    @property
    def _assign(self) -> str:
        """Tight where the first pair of the file is."""
        first = next((pair for section in self.sections for pair in section.pairs), None)
        if first is None:
            return " = "
        end = first.parts[-1][1].end
        return "=" if _TIGHT.match(self.text, end - 1) else " = "

    def new_pair(self, path: Path, key: str, value: object, after: str | None) -> list[TextEdit]:
        """A pair at the end of a table's own pairs, or behind a named one."""
        section = next((one for one in self.sections if one.path == path and (one.header is not None or not path)), None)
        if section is None:
            return self._new_dotted_pair(path, key, value)
        named = [pair for pair in section.pairs if after is not None and is_below(pair.path, (*path, after))]
        if named or section.lines:
            line = (named or section.lines)[-1]
            indent = indent_of(self.text, (section.pairs or section.lines)[-1].start) or ""
            return [self._behind(line, [indent + self._pair(key, value)])]
        return self._at_top(self._pair(key, value))

    def _behind(self, line: Line, fresh: list[str]) -> TextEdit:
        newline = line_break(self.text, line.start, self.document.newline)
        end = line_end(self.text, line.end)
        return TextEdit(end, end, newline.join(("", *fresh)))

    def _at_top(self, pair: str) -> list[TextEdit]:
        """The first pair outside of any table: before the first header and the comments right above that."""
        newline = self.document.newline
        if len(self.sections) == 1:
            end = len(self.text)
            is_open = bool(self.text) and self.text[-1] not in "\r\n"
            return [TextEdit(end, end, newline + pair if is_open else pair + newline)]
        start = self._with_comments_above(self.sections[1].start)
        return [TextEdit(start, start, pair + newline + newline)]

    def _with_comments_above(self, start: int) -> int:
        """The start of the comment lines that stand right above a line."""
        start = line_start(self.text, start)
        while start > 0:
            above = line_start(self.text, line_above(self.text, start))
            if not self.text[above:start].lstrip(" \t").startswith("#"):
                break
            start = above
        return start

    def _new_dotted_pair(self, path: Path, key: str, value: object) -> list[TextEdit]:
        """A pair of a table that has no header: in dots like its other keys, else below a new header."""
        pairs = [pair for section in self.sections for pair in section.pairs if is_below(pair.path, path)]
        named = [pair for pair in pairs if any(part[0] == path for part in pair.parts[:-1])]
        if named:
            line = named[-1]
            last = next(span for one, span in line.parts if one == path)
            prefix = self.text[line.start : last.end]
            indent = indent_of(self.text, line.start) or ""
            return [self._behind(line, [f"{indent}{prefix}.{self._pair(key, value)}"])]
        below = next((one for one in self.sections if one.header is not None and is_below(one.path, path)), None)
        if below is None:
            raise Refused("the table's place cannot be told")
        newline = line_break(self.text, below.start, self.document.newline)
        start = self._with_comments_above(below.start)
        lines = [f"[{self._dotted(path)}]", self._pair(key, value), "", ""]
        return [TextEdit(start, start, newline.join(lines))]

    def _dotted(self, path: Path) -> str:
        return ".".join(self.notation.key(part) for part in path if isinstance(part, str))

    def new_table(self, path: Path, key: str, value: dict[str, object]) -> list[TextEdit]:
        """A table with a header, behind the last table that lies in the same one."""
        name = (*path, key)
        while len(value) == 1 and isinstance(inner := next(iter(value.values())), dict) and inner:
            name = (*name, str(next(iter(value))))
            value = inner
        return self._new_section(path, [f"[{self._dotted(name)}]", *self.pairs(value)])

    def new_row(self, path: Path, rows: int, value: object) -> list[TextEdit]:
        """A row of a list of tables behind the last one."""
        if not isinstance(value, dict):
            raise Refused("the list holds tables only")
        return self._new_section((*path, rows - 1), [f"[[{self._dotted(path)}]]", *self.pairs(value)])

    def _new_section(self, path: Path, lines: list[str]) -> list[TextEdit]:
        below = [one for one in self.sections if one.lines and is_below(one.path, path)]
        if not below:
            end = len(self.text)
            newline = self.document.newline
            is_open = bool(self.text) and self.text[-1] not in "\r\n"
            gap = [""] if self.text.strip() else []
            return [TextEdit(end, end, (newline if is_open else "") + newline.join((*gap, *lines)) + ("" if is_open else newline))]
        return [self._behind(below[-1].lines[-1], ["", *lines])]

    def removal(self, removed: list[Section]) -> list[TextEdit]:
        """Take sections away; those that follow each other go with all that stands between them."""
        runs: list[list[Section]] = []
        for section in removed:
            if runs and self.sections.index(section) == self.sections.index(runs[-1][-1]) + 1:
                runs[-1].append(section)
            else:
                runs.append([section])
        return [self._without(run[0].start, run[-1].end) for run in runs]

    def _without(self, start: int, end: int) -> TextEdit:
        """Cut whole lines, with one of two blank lines that would then meet, and none left at the end of the text."""
        start, after = line_start(self.text, start), next_line(self.text, end)
        blanks = _BLANK_LINES.match(self.text, after)
        below = blanks.end() if blanks is not None else after
        if below == len(self.text) and start > 0:
            is_open = after == line_end(self.text, end)
            kept = self.text[:start].rstrip(" \t\r\n")
            if kept:
                last = next_line(self.text, len(kept))
                return TextEdit(line_end(self.text, len(kept)) if is_open else last, below, "")
        if start == 0 or not self.text[line_start(self.text, line_above(self.text, start)) : start].strip():
            after = below
        return TextEdit(start, after, "")
