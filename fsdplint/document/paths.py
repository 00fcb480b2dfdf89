"""Dotted paths: `fsdp_config.layers[0]`, `a["b.c"]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nodes import Path

# Compiled when first used: a clean check writes no path.
_BARE = r'[^\s.\[\]"]+'
_PART = r'\[(?P<index>-?\d+)\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|(?P<dot>\.?)(?P<bare>[^\s.\[\]"]+)'
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {escape[1]: char for char, escape in _ESCAPES.items()}


def dotted(path: Path) -> str:
    """Write a path as text; a key with a dot, a bracket, a quote or a blank is quoted."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(_BARE, part):
            text += f".{part}" if text else part
        else:
            text += '["' + "".join(_ESCAPES.get(char, char) for char in part) + '"]'
    return text


def parse_dotted(text: str) -> Path:
    """Read what `dotted` writes. Raises ValueError for any other text."""
    parts: list[str | int] = []
    pattern = re.compile(_PART, re.S)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None or (match["bare"] is not None and bool(match["dot"]) != bool(parts)):
            raise ValueError(f"not a dotted path: {text!r}")
        if match["index"] is not None:
            parts.append(int(match["index"]))
        elif match["quoted"] is not None:
            parts.append(re.sub(r"\\(.)", lambda m: _UNESCAPES.get(m[1], m[1]), match["quoted"], flags=re.S))
        else:
            parts.append(match["bare"])
        position = match.end()
    return tuple(parts)
