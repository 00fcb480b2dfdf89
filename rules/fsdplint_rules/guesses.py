"""Which known key an unknown one was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects import Option, is_known

if TYPE_CHECKING:
    from fsdplint.dialects import Written
    from fsdplint.rule import Context


_MANY = 2000
"""Keys of a file from which no guess is made: no config that people write has so many, and each guess costs."""


def guess(context: Context, item: Written) -> str | None:
    """The nearest key that the releases at hand know in the same object; None where none comes near."""
    if len(context.written) > _MANY:
        return None
    options = (Option((*item.owner_path, name), schema, item.owner) for name, schema in item.owner.get("properties", {}).items())
    names = [option.name for option in options if is_known(option, context.versions)]
    prefix = item.owner.get("x-prefix", "")
    key = str(item.path[-1])
    return _close(key, names) or _close(prefix + key.removeprefix(prefix).replace("-", "_"), names)


def is_near(word: str, name: str) -> bool:
    """Whether a word is so like a name that it is this one misspelt, and no other key of a similar name."""
    import difflib

    return difflib.SequenceMatcher(None, word, name).ratio() >= 0.9


def _close(word: str, names: list[str]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.75)), None)
