"""Rewriting texts in tests, without files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.request import Request
from fsdplint.rewriting import Aim, rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

NEWEST = ("torch==2.13.0", "accelerate==1.15.0", "transformers==5.24.0")


class Result(NamedTuple):
    text: str
    refusal: str | None
    notes: list[str]


def rewritten(
    text: str,
    preset: str | None = None,
    version: int | None = None,
    *,
    target: Sequence[str] = NEWEST,
    path: str = "config.yaml",
    dialect: str | None = None,
    gpus: int | None = None,
) -> Result:
    """The text as a preset or a migration leaves it; asserts that doing it again changes nothing."""

    def once(given: str) -> Result:
        request = Request(
            paths=("-",), stdin=given.encode(), stdin_filename=path, targets=tuple(target), isolated=True, dialect=dialect, gpus=gpus
        )
        done = rewrite(request, Aim(preset, version), dry=True)
        new = done.fixed.changes[0].new.decode() if done.fixed.changes else given
        return Result(new, done.refusals[0][1] if done.refusals else None, [note for _, note in done.notes])

    first = once(text)
    if first.refusal is None:
        again = once(first.text)
        assert again.text == first.text
        assert again.refusal is None
    else:
        assert first.text == text
    return first
