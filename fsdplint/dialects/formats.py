"""The named value formats of option tables: what upstream's own conversions accept beyond JSON Schema's types.

A format takes a plain value and tells whether upstream can read it. Each is used by name in ``<dialect>.schema.json`` (``"format":
"bool-word"``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE_WORDS = frozenset({"y", "yes", "t", "true", "on", "1"})
FALSE_WORDS = frozenset({"n", "no", "f", "false", "off", "0"})
_LARGEST_BITS, _LONGEST = 8192, 2400
_INT_TEXT = re.compile(r"\s*[+-]?\d+(_\d+)*\s*")


def word_bool(value: object) -> bool | None:
    """The boolean that accelerate's ``str_to_bool`` (accelerate 1.15 utils/environment.py) and distutils' ``strtobool`` read; None where
    they raise.
    """
    word = str(value).lower()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def is_int_text(value: object) -> bool:
    """Whether ``int(str(value))`` succeeds, as environment variables are read: 8 and ``"8"`` do, 1e8, 1.0 and true do not.

    Python refuses to write or read integers of more than 4,300 digits; no launcher gets beyond that either.
    """
    if (isinstance(value, int) and value.bit_length() > _LARGEST_BITS) or (isinstance(value, str) and len(value) > _LONGEST):
        return False
    return not isinstance(value, bool) and _INT_TEXT.fullmatch(str(value)) is not None


def is_number_text(value: object) -> bool:
    """Whether ``float(value)`` succeeds."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def is_lax_int(value: object) -> bool:
    """Whether pydantic's lax mode reads an integer: 8, ``8.0``, ``"8"`` and true, not ``"1e8"`` and 1.5 (pydantic 2)."""
    if isinstance(value, (bool, int)):
        return True
    return (
        value.is_integer()
        if isinstance(value, float)
        else isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+(_\d+)*(\.0*)?\s*", value) is not None
    )


def is_lax(value: object, kind: str) -> bool:
    """Whether pydantic 2 in its lax mode reads a value as a JSON Schema type (run with pydantic 2.12): ``"2"``, ``2.0`` and true are
    integers, ``"yes"`` is a boolean.
    """
    if kind == "boolean":
        return word_bool(value) is not None or value in (0, 1)
    if kind == "integer":
        return is_lax_int(value)
    return kind == "number" and (isinstance(value, bool) or (isinstance(value, str) and is_number_text(value)))


FORMATS: dict[str, Callable[[object], bool]] = {
    "bool-word": lambda value: word_bool(value) is not None,
    "int-text": is_int_text,
    "number-text": is_number_text,
    "not-false-text": lambda value: not isinstance(value, str) or word_bool(value) is not False,
    "lax-int": is_lax_int,
}
