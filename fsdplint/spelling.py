"""What a misspelt word was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` where a known word comes near, else nothing.

    Short words and codes must come nearer: with another number, a code is another code.
    """
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    cutoff = 0.85 if len(word) < 4 or any(map(str.isdigit, word)) else 0.6
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""
