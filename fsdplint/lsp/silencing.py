"""Comments that silence a rule on one line: where they may be written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.document.lines import line_above, line_break, line_end, line_start

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRAGMA = re.compile(r"#\s*fsdplint:\s*ignore\[[^\]\r\n]*(?=\])")


class Insertion(NamedTuple):
    """Text to be inserted at an offset."""

    offset: int
    text: str

    def applied(self, text: str) -> str:
        """A text with it."""
        return text[: self.offset] + self.text + text[self.offset :]


def silencing(text: str, offset: int, code: str, newline: str) -> Iterator[Insertion]:
    """The ways to silence a rule on the line of an offset, the best first.

    Whether one works, and leaves all values alone, is to be tried: a line may end within a text.
    """
    start, end = line_start(text, offset), line_end(text, offset)
    above = line_above(text, start)
    for first, last in ((start, end), (line_start(text, above), above)):
        for match in _PRAGMA.finditer(text, first, last):
            if first == start or not text[first : match.start()].strip():
                yield Insertion(match.end(), f", {code}" if not match[0].endswith("[") else code)
    comment = f"# fsdplint: ignore[{code}]"
    yield Insertion(end, f"  {comment}")
    indent = re.compile(r"[ \t]*").match(text, start)
    yield Insertion(start, f"{indent[0] if indent else ''}{comment}{line_break(text, start, newline)}")
