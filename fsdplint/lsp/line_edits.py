"""What changed between two texts, as edits of whole lines: an editor keeps its cursor and folds where nothing changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def line_edits(path: str, old: str, new: str) -> Iterator[Edit]:
    """The edits of the old text, in its order, that make it the new one."""
    from difflib import SequenceMatcher

    before, after = _LINES.findall(old), _LINES.findall(new)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    for tag, first, last, other_first, other_last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(path, offsets[first], offsets[last], "".join(after[other_first:other_last]))
