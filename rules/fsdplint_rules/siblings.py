"""What other keys of the same file come to, for keys that are read only beside them (``x-while``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.dialects import default, is_known
from fsdplint.plan import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsdplint.dialects import Option
    from fsdplint.rule import Context


def setting(context: Context, key: str) -> object:
    """The value of a dotted key of this file, else the default of the release at hand.

    None for a key that the release does not know, for one that has no default, and for a placeholder.
    """
    path = tuple(key.split("."))
    option = context.table.options.get(path)
    if option is not None and not is_known(option, context.versions):
        return None
    value = context.value(*path)
    if value is None and option is not None and not context.document.has(path):
        return default(option.schema, context.versions)
    return None if is_placeholder(value) else value


def is_running(context: Context, alternatives: Iterable[Mapping[str, Any]] | None) -> bool:
    """Whether the keys of one of some alternatives have the values that it wants; true where there are none.

    ``true`` wants anything that counts as true, ``""`` and ``false`` anything that does not, ``{"above": n}`` a greater number, and
    any other value itself, or a list that holds it.
    """
    return alternatives is None or any(all(_is(setting(context, key), wanted) for key, wanted in keys.items()) for keys in alternatives)


def _is(value: object, wanted: object) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value > wanted["above"]
    if isinstance(wanted, bool) or wanted == "":
        return bool(value) == bool(wanted)
    return value == wanted or (isinstance(value, list) and wanted in value)


def is_plugged(context: Context, option: Option) -> bool:
    """Whether an option is the framework's own, or of a plugin that the file lists (``x-plugin``): nobody reads it without."""
    plugin, listed = option.schema.get("x-plugin"), context.value("plugins")
    names = listed if isinstance(listed, list) else [listed]
    return plugin is None or any(isinstance(name, str) and f".{plugin}" in name for name in names)
