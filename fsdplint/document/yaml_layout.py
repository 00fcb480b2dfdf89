"""Blocks of YAML lines for plain Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .operations import Refused

if TYPE_CHECKING:
    from .yaml_blocks import Blocks

_DEPTH = 50


def block_lines(value: object, column: int, blocks: Blocks, quote: str | None = None, depth: int = 0) -> list[str]:
    """The lines of a list or mapping that starts at a column, with the file's own indentation; `quote` is for its keys."""
    if depth > _DEPTH:
        raise Refused(f"the value is nested deeper than {_DEPTH} levels")
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            lines += _pair(blocks.notation.name(key, quote), item, column, blocks, depth)
    elif isinstance(value, list):
        for item in value:
            lines += dashed(item, column, blocks, depth)
    return lines


def _pair(key: str, value: object, column: int, blocks: Blocks, depth: int) -> list[str]:
    if not (value and isinstance(value, (dict, list))):
        return [f"{' ' * column}{key}: {blocks.notation.inline(value)}"]
    below = column + (blocks.step if isinstance(value, dict) else blocks.dash_step)
    return [f"{' ' * column}{key}:", *block_lines(value, below, blocks, None, depth + 1)]


def dashed(value: object, column: int, blocks: Blocks, depth: int = 0) -> list[str]:
    """The lines of a list item; a list in a list stands on one line."""
    if not (value and isinstance(value, dict)):
        return [f"{' ' * column}- {blocks.notation.inline(value)}"]
    first, *rest = block_lines(value, column + 2, blocks, None, depth + 1)
    return [f"{' ' * column}- {first[column + 2 :]}", *rest]
