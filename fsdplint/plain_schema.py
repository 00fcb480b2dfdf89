"""An option table as plain JSON Schema, for editors: what holds in one set of releases, without the words of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.dialects import Option, choose, default, is_known, resolved
from fsdplint.dialects.formats import FORMATS

if TYPE_CHECKING:
    from fsdplint.dialects import Dialect
    from fsdplint.dialects.table import Schema
    from fsdplint.target import Versions

_OWN = ("$schema", "$defs", "title", "default", "when", "if")

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The draft that editors understand best."""


def plain_schema(of: Dialect, versions: Versions) -> dict[str, Any]:
    """The option table of a dialect for the releases at hand: without keys that they do not know, with all spellings and their values."""
    return {"$schema": DRAFT, "title": of.title, **_plain(of.table.schema, versions)}


def _plain(schema: Schema, versions: Versions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word, value in resolved(schema, versions).items():
        if word.startswith("x-") or word in _OWN or (word == "format" and value in FORMATS):
            continue
        if word == "properties":
            found[word] = _properties(schema, versions)
        elif word in ("items", "additionalProperties") and isinstance(value, dict):
            found[word] = _plain(value, versions)
        elif word in ("anyOf", "oneOf", "allOf"):
            found[word] = [_plain(part, versions) for part in value]
        else:
            found[word] = value
    _annotate(found, schema, versions)
    return found


def _annotate(found: dict[str, Any], schema: Schema, versions: Versions) -> None:
    if "description" in schema:
        found.setdefault("description", schema["description"])
    if schema.get("x-lax") and "type" in found:
        found["type"] = sorted({"string", *([found["type"]] if isinstance(found["type"], str) else found["type"])})
    if "properties" in schema and not schema.get("x-open") and choose(schema.get("x-unknown", []), versions) is not None:
        found["additionalProperties"] = False
    if schema.get("x-case") == "any" and "enum" in found:
        found["anyOf"] = [{"enum": found.pop("enum")}, {"pattern": "^(" + "|".join(map(_any_case, schema["enum"])) + ")$"}]
    value = default(schema, versions)
    if value is not None:
        found["default"] = value
    renamed = schema.get("x-renamed", {})
    if choose(schema.get("x-deprecated", []), versions) or (renamed and versions.has(renamed.get("when", ""))):
        found["deprecated"] = True


def _properties(owner: Schema, versions: Versions) -> dict[str, Any]:
    """The keys that these releases know, in every spelling."""
    found = {}
    for name, schema in owner["properties"].items():
        if is_known(Option((name,), schema, owner), versions):
            plain = _plain(schema, versions)
            found.update(dict.fromkeys(_spellings(name, owner), plain))
    return found


def _spellings(name: str, owner: Schema) -> list[str]:
    prefix = owner.get("x-prefix")
    other = [name.removeprefix(prefix) if name.startswith(prefix) else prefix + name] if prefix else []
    return [name, *other, *(alias for alias, meant in owner.get("x-aliases", {}).items() if meant == name)]


def _any_case(value: object) -> str:
    """A pattern for a word in any case, as far as ECMA regular expressions go."""
    from re import escape

    return "".join(f"[{char.upper()}{char.lower()}]" if char.isascii() and char.isalpha() else escape(char) for char in str(value))
