"""Finds the comments of a text whose scalars are known."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_REST_OF_LINE = re.compile(r"[^\r\n]*")


def find_comments(text: str, opaque: Sequence[tuple[Any, ...]], reached: int) -> list[tuple[int, int]]:
    """Start and end of each comment: a '#' in none of the `opaque` spans.

    Beyond `reached`, where no scalar is known, a '#' must start a line or follow a blank.
    """
    starts = [span[0] for span in opaque]
    found: list[tuple[int, int]] = []
    place = text.find("#")
    while place >= 0:
        index = bisect_right(starts, place) - 1
        after = place + 1
        if index >= 0 and opaque[index][1] > place:
            after = opaque[index][1]
        elif place < reached or place == 0 or text[place - 1] in " \t\r\n":
            match = _REST_OF_LINE.match(text, place)
            after = match.end() if match is not None else len(text)
            found.append((place, after))
        place = text.find("#", after)
    return found
