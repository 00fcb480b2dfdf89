"""What a value that a framework does not take was meant to be."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fsdplint.dialects import fits

_WORDS = re.compile(r"[\w, -]+")
_CLOSE = 0.7
_SHORTEST = 3


class Meaning(NamedTuple):
    """``is_certain``: the same value in another spelling, and not just a similar one."""

    value: object
    is_certain: bool


def meant(schema: dict[str, Any], value: object, raw: str = "") -> Meaning | None:
    """The value that a wrong one stands for; ``raw``: as it is written. None where nobody can tell."""
    if isinstance(value, str):
        respelt = _respelt(schema, value)
        if respelt is not None:
            return Meaning(respelt, True)
        similar = _similar(value, [word for word in schema.get("enum", ()) if isinstance(word, str)])
        return Meaning(similar, False) if similar is not None else None
    if isinstance(value, float) and value.is_integer() and fits(schema, int(value)):
        return Meaning(int(value), True)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Meaning(raw, True) if is_number and raw and _takes_texts_alone(schema) and fits(schema, raw) else None


def _takes_texts_alone(schema: dict[str, Any]) -> bool:
    """Whether a number is wrong because it is one, and not because of what it is."""
    kinds = schema.get("type", ())
    return not {"integer", "number"} & {*([kinds] if isinstance(kinds, str) else kinds)} and "string" in kinds


def _respelt(schema: dict[str, Any], text: str) -> str | None:
    """The text in another case, with underscores or blanks for what separates its words; never a file's name."""
    plain = text.strip()
    if not _WORDS.fullmatch(plain):
        return None
    for separated in (plain, plain.replace("-", "_").replace(" ", "_"), " ".join(plain.replace(",", " ").split())):
        for form in (separated, separated.lower(), separated.upper()):
            if form and form != text and fits(schema, form):
                return form
    return None


def _similar(text: str, words: list[str]) -> str | None:
    """The word that a text resembles, or the only one of which it is a part (`FULL` of `FULL_STATE_DICT`)."""
    import difflib

    close = difflib.get_close_matches(text, words, n=1, cutoff=_CLOSE)
    if close:
        return close[0]
    holding = [word for word in words if len(text) >= _SHORTEST and text.upper() in word.upper()]
    return holding[0] if len(holding) == 1 else None
