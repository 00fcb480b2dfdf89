"""Colours for terminals, and text that does them no harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsdplint.diagnostics import Severity

_CODES = {"bold": "1", "red": "1;31", "yellow": "1;33", "cyan": "1;36", "blue": "1;34", "green": "1;32", "dim": "2"}
_SEVERITIES = {"error": "red", "warning": "yellow", "info": "cyan"}


class Style:
    """Paints text where colours are on."""

    __slots__ = ("_on",)

    def __init__(self, on: bool) -> None:
        self._on = on

    def paint(self, color: str, text: str) -> str:
        """Text in one of the colours of this module."""
        return f"\x1b[{_CODES[color]}m{text}\x1b[0m" if self._on and text else text

    def severity(self, severity: Severity, text: str) -> str:
        """Text in the colour of a severity."""
        return self.paint(_SEVERITIES[severity.word], text)


def printable(text: str) -> str:
    """Text whose control characters, which could steer a terminal, are replaced; tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "�" for char in text)


def one_line(text: str) -> str:
    """Text with every run of blanks and line breaks as one blank."""
    return printable(" ".join(text.split()))
