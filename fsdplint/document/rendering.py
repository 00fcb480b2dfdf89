"""How YAML, JSON and TOML write plain Python values on one line, so that every reader takes them for what they are."""

from __future__ import annotations

import re
from typing import ClassVar

from .operations import Refused

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_UNSEEN = "\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_ESCAPED = re.compile(f'[\\\\"{_UNSEEN}]')
_NEEDS_ESCAPES = re.compile(f"[{_UNSEEN}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A text of these characters is a text in YAML 1.1 and 1.2 but for the words; all that may be a number or a date is not among them.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.{1,2}/)[A-Za-z0-9_./+@%()=~^-]*(?: [A-Za-z0-9_./+@%()=~^-]+)*")
_WORDS = frozenset(("null", "none", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"))
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DEPTH = 50


def double_quoted(text: str) -> str:
    """A text in double quotes with the escapes that JSON, TOML and YAML share."""
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'


def number(value: float) -> str:
    """An int or float. PyYAML 6.0 (resolver.py, YAML 1.1) takes for a float what has a point and a signed exponent: `1.0e-05`."""
    try:
        text = repr(value)
    except ValueError:
        raise Refused("the number has too many digits") from None
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text


class Notation:
    """What the formats share. `quote` is the quote for texts where nothing else tells it."""

    assign = ": "
    comma = ", "
    pad = ""
    infinite: ClassVar[dict[str, str]] = {"inf": "inf", "-inf": "-inf", "nan": "nan"}

    def __init__(self, quote: str = '"') -> None:
        self.quote = quote

    def text(self, value: str, quote: str | None) -> str:
        """A text; `quote` is the quote to keep, None where there was none."""
        raise NotImplementedError

    def key(self, name: str, quote: str | None = None) -> str:
        """A mapping's key."""
        return self.text(name, quote)

    def null(self) -> str:
        """None."""
        return "null"

    def moment(self, value: object) -> str:
        """A date, a time, or both."""
        return str(value)

    def scalar(self, value: object, quote: str | None = None) -> str:
        """A single value. Raises Refused where the format has no way to write it."""
        if value is None:
            return self.null()
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            written = number(value)
            return self.infinite.get(written, written)
        if isinstance(value, str):
            return self.text(value, quote)
        if type(value).__module__ == "datetime":
            return self.moment(value)
        raise Refused(f"a value of the type {type(value).__name__} cannot be written")

    def inline(self, value: object, quote: str | None = None, depth: int = 0) -> str:
        """Any value on one line. Raises Refused."""
        if depth > _DEPTH:
            raise Refused(f"the value is nested deeper than {_DEPTH} levels")
        if isinstance(value, list):
            return "[" + self.comma.join(self.inline(item, None, depth + 1) for item in value) + "]"
        if isinstance(value, dict):
            pairs = [f"{self.name(key)}{self.assign}{self.inline(item, None, depth + 1)}" for key, item in value.items()]
            return "{" + self.pad + self.comma.join(pairs) + self.pad + "}" if pairs else "{}"
        return self.scalar(value, quote)

    def name(self, key: object, quote: str | None = None) -> str:
        """A key of a value that is written. Raises Refused for one that is no text."""
        if not isinstance(key, str):
            raise Refused(f"the key {key!r} is no text")
        return self.key(key, quote)


class YamlNotation(Notation):
    """Texts stand unquoted only where neither YAML 1.1 nor 1.2 could take them for something else."""

    infinite: ClassVar[dict[str, str]] = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}

    def text(self, value: str, quote: str | None) -> str:
        """A text, plain where that is safe and no quote is to be kept."""
        if _SURROGATE.search(value):
            raise Refused("half a surrogate pair cannot be written in YAML")
        if quote is None and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        if (quote or self.quote) == '"' or _NEEDS_ESCAPES.search(value):
            return double_quoted(value)
        return "'" + value.replace("'", "''") + "'"


class JsonNotation(Notation):
    """JSON as Python's json writes and reads it; `tight` leaves the blanks out."""

    infinite: ClassVar[dict[str, str]] = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}

    def __init__(self, *, tight: bool = False) -> None:
        super().__init__()
        if tight:
            self.assign, self.comma = ":", ","

    def text(self, value: str, quote: str | None) -> str:  # noqa: ARG002
        """A text in double quotes."""
        return double_quoted(value)

    def moment(self, value: object) -> str:  # noqa: ARG002
        """JSON has neither dates nor times."""
        raise Refused("JSON has no dates")


class TomlNotation(Notation):
    """TOML 1.0."""

    assign = " = "
    pad = " "

    def text(self, value: str, quote: str | None) -> str:
        """A text, in single quotes where they are to be kept and it needs no escapes."""
        if _SURROGATE.search(value):
            raise Refused("half a surrogate pair cannot be written in TOML")
        if quote == "'" and "'" not in value and not _NEEDS_ESCAPES.search(value):
            return f"'{value}'"
        return double_quoted(value)

    def key(self, name: str, quote: str | None = None) -> str:
        """A key, bare where it can be and no quote is to be kept."""
        return name if quote is None and _BARE_KEY.fullmatch(name) else self.text(name, quote)

    def null(self) -> str:
        """TOML has no null."""
        raise Refused("TOML has no null")

    def moment(self, value: object) -> str:
        """A date, a time, or both as RFC 3339 has them."""
        return str(value).replace(" ", "T")

    def scalar(self, value: object, quote: str | None = None) -> str:
        """A single value; whole numbers have 64 bits."""
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise Refused("TOML has no whole numbers beyond 64 bits")
        return super().scalar(value, quote)
