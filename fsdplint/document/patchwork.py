"""Splices of a text, and the splices that several rounds of them amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .operations import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def ordered(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """Edits in the order of the text, those that touch joined, those that change nothing dropped.

    Raises ValueError where two overlap, unless both only take text away.
    """
    found: list[TextEdit] = []
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        if edit.start == edit.end and not edit.text:
            continue
        if found and edit.start < found[-1].end:
            if edit.text or found[-1].text:
                raise ValueError("two edits overlap")
            edit = TextEdit(found[-1].end, max(edit.end, found[-1].end), "")
        if found and edit.start == found[-1].end:
            edit = TextEdit(found[-1].start, edit.end, found.pop().text + edit.text)
        found.append(edit)
    return found


def spliced(text: str, edits: Sequence[TextEdit]) -> str:
    """The text with ordered edits done."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.text)
        place = edit.end
    return "".join((*parts, text[place:]))


_Piece = tuple[int, int] | str


class Patchwork:
    """A text as pieces: stretches of the original, and new text between them."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._pieces: list[_Piece] = [(0, length)]

    def splice(self, edits: Sequence[TextEdit]) -> None:
        """Do ordered edits, whose places count in the text as it is now."""
        pieces: list[_Piece] = []
        place = 0
        for edit in edits:
            pieces += self._between(place, edit.start)
            if edit.text:
                pieces.append(edit.text)
            place = edit.end
        self._pieces = pieces + self._between(place, sum(_length(piece) for piece in self._pieces))

    def _between(self, start: int, end: int) -> list[_Piece]:
        found: list[_Piece] = []
        place = 0
        for piece in self._pieces:
            length = _length(piece)
            low, high = max(start - place, 0), min(end - place, length)
            if low < high:
                found.append(piece[low:high] if isinstance(piece, str) else (piece[0] + low, piece[0] + high))
            place += length
        return found

    def edits(self, original: str) -> tuple[TextEdit, ...]:
        """The edits that lead from the original to the text as it is now."""
        found: list[TextEdit] = []
        place = 0
        fresh = ""
        for piece in (*self._pieces, (self._length, self._length)):
            if isinstance(piece, str):
                fresh += piece
                continue
            if original[place : piece[0]] != fresh:
                found.append(TextEdit(place, piece[0], fresh))
            place, fresh = piece[1], ""
        return tuple(found)


def _length(piece: _Piece) -> int:
    return len(piece) if isinstance(piece, str) else piece[1] - piece[0]
