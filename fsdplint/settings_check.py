"""Whether a settings table says only what there is to say: a cheap look first, jsonschema where that finds something."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fsdplint.errors import SettingsError
from fsdplint.spelling import did_you_mean

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str}


def check(table: Any, name: str, data: bytes, prefix: tuple[str, ...]) -> None:
    """Raise SettingsError, with the line and what was probably meant, for a table that is not clean.

    ``name``: the file as shown. ``data``: its content. ``prefix``: where the table stands in it.
    """
    if _is_clean(schema(), table):
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema()).iter_errors(table))
    if error is None:
        return
    path, message = _explained(error)
    raise SettingsError(f"{name}{_line(data, (*prefix, *path))}: {message}")


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of the settings."""
    import json
    from pathlib import Path

    read: dict[str, Any] = json.loads(Path(__file__).with_name("settings.schema.json").read_text(encoding="utf-8"))
    return read


def _is_clean(schema: dict[str, Any], value: Any) -> bool:
    """The words of the settings' own schema: type, enum, items, properties, additionalProperties."""
    if not isinstance(value, _TYPES[schema["type"]]) or ("enum" in schema and value not in schema["enum"]):
        return False
    if isinstance(value, list):
        return all(_is_clean(schema["items"], item) for item in value)
    if not isinstance(value, dict):
        return True
    known, other = schema.get("properties", {}), schema["additionalProperties"]
    return all(_is_clean(known[key], item) if key in known else other and _is_clean(other, item) for key, item in value.items())


def _explained(error: ValidationError) -> tuple[tuple[str | int, ...], str]:
    path = tuple(error.absolute_path)
    where = ".".join(map(str, path)) or "the settings"
    instance: Any = error.instance
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        known = error.schema["properties"]
        key = next(key for key in instance if key not in known)
        return (*path, key), f"unknown setting {key!r}{did_you_mean(key, known)}"
    if error.validator == "enum" and isinstance(error.schema, dict):
        words = [str(word) for word in error.schema["enum"]]
        return path, f"{where}: {instance!r} is none of {', '.join(words)}{did_you_mean(str(instance), words)}"
    wanted = {"array": "a list", "object": "a table", "string": "a text"}[str(error.validator_value)]
    return path, f"{where} must be {wanted}, not {instance!r}"


def _line(data: bytes, path: tuple[str | int, ...]) -> str:
    """``:LINE`` of a setting, nothing where it cannot be told."""
    from fsdplint.document import parse

    document = parse(data, "settings.toml")
    while path:
        span = document.key_span(path)
        if span is not None:
            return f":{document.position(span.start)[0]}"
        path = path[:-1]
    return ""
