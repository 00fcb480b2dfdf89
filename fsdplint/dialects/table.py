"""Option tables: the one list of a framework's keys, as annotated JSON Schema.

Beside JSON Schema's own words (``type``, ``enum``, ``const``, ``minimum``, ``pattern``, ``format`` with the names of formats.py,
``items``, ``properties``) a property may say:

``x-decision``    the Plan decision that the key carries
``x-known``       requirement in which the key exists (``accelerate>=1.6.0``); absent: always
``x-renamed``     {"to": name, "when": requirement}: the successor of the same meaning
``x-deprecated``  claims: works, announced to go
``x-applies``     1 or 2: the FSDP version that reads the key; with ``x-idle``: values that ask for nothing under the other version,
                  and ``x-otherwise``: claims about the key under the other version
``x-only-if``     conditions under which the value is read at all (else its value is not judged)
``x-values``      [{"when": requirement, ...schema...}]: the values of older releases; the first that holds replaces the property's own ones
``x-refusal``     claims: what happens to a wrong value (default: refused); an entry of ``x-values`` without its own takes the property's
``x-surprises``   claims about a YAML value that reads as something else than it looks like (``no``)
``x-default``     [{"when": requirement, "default": value}]: versioned defaults; the first that holds, else ``default``
``x-plugin``      name of the framework's own plugin that brings the key along (AXO510)
``x-elsewhere``   on an absent-minded key: claims that point to where it belongs (``"x-known": "never"``)
``x-case``        "any": enum values are compared without case
``x-lax``         true: values are converted as pydantic does (``"2"`` is an integer, ``"yes"`` a boolean) before the type counts

An object may say ``x-prefix`` (its keys may be written with or without it; ``x-prefix-known``: requirement in which it is read),
``x-unknown`` (claims about unknown keys; absent: any key is fine), ``x-aliases`` {spelling: name}, and ``x-abbreviated``
(its keys become flags of argparse, which takes the beginning of one for the whole).
The root says ``x-package`` (whose releases it follows), and
``x-consequences``  {rule code: claims}: what this framework does with a fault that a core rule finds (no claim: the rule is silent)
``x-floors``        [{"needs": requirement, "when", "if", "at": decision, "outcome", "says", "facts"}]: package floors of FSDP itself
                    (FSD401)
``x-mesh``          [{"fault": word, "when", "if", "outcome", "says", "help", "facts"}]: checks of parallel sizes (FSD107; words: product,
                    world (a product even where all sizes are 1),
                    remainder (dp_shard -1 takes what the others leave), replicas-alone, cp-and-sp, pure-replicate, no-shard-dimension;
                    "engine": "any": also without FSDP)
``x-optimizers``    [{"names": [values], "claims": claims}]: optimizers that fail under FSDP (FSD705)
``x-generations``   [{"keys": [dotted keys], "values", "when", "written-for": requirement, "says", "outcome"}]: keys that tell a file of
                    an older generation (FSD408; ``outcome``:
                    also where a target is declared, else the keys then speak for themselves). For ``keys`` stands ``"gone": true``: all
                    keys that have left the
                    framework by their ``x-known``, with a declared target from ``"from": n`` of them on; or ``"whole": true``: the file
                    as such, with ``help``
and a property ``x-needs-device`` [{"not-on": [devices], "value": [values], "when", "outcome", "says", "help", "facts"}] (FSD202),
``x-clipping`` (claims, FSD706; with ``x-clipping-with`` {sibling key: [values]}: beside which the claims hold), ``x-final-save``
(claims, FSD803).

``x-required``    claims about the key where it is absent or null (FSD007), with ``x-flag``: the flag of the launch line that may give it
                  instead
``x-unread``      claims about a written key that nothing reads beside what else is written; ``x-fp8``: claims about an fp8 setting under
                  FSDP (FSD707)

``x-staged``      claims about a key that the schema takes and nothing reads, with another value than its default (soup)
The root of the tables of soup, torchtune and composer says
``x-clashes``     [{"fault": text, "at": key, "keys": {key: values or "on"}, "unless": {key: values}, "written": true, "claims": claims}]:
                  options that the framework refuses or drops together; keys are dotted, defaults count, ``on`` is anything written that
                  asks for something (further words, not in soup's: fsdplint_rules.clashes)
torchtune's ``x-recipes`` {start of a recipe's name: its kind}, ``x-needs`` {which recipes: keys that they read without a default},
``x-sections`` [keys that must be components], ``x-moved`` [{"from": start of a dotted path, "to", "when"}]
and a property of composer's ``x-read-by`` [which of llm-foundry's scripts know the key: train, eval].

``x-absent``      claims: what happens to the key in releases that do not know it (default: the owner's ``x-absent``, else its
                  ``x-unknown``)
``x-instead``     what to write in releases that do not know the key; ``x-brought``: true where a module that an open file names may bring
                  the key back
``x-while``       [{dotted key: value}]: alternatives of other keys' values beside which the key is read, also on the object that holds it
                  (see fsdplint_rules.siblings)
``x-python``      where a framework reads its keys by jsonargparse or straight from a mapping: the words of the value in the latter case,
                  true where they are the same (see fsdplint.dialects.lightning_shapes); without it Python checks nothing
``x-misspelt``    on an object: claims about an unknown key that is nearly a known one, where they differ from ``x-unknown``

``x-extends`` names the table that this one is laid over (``null`` takes a word away); ``"$ref": "#/$defs/NAME"`` in a property stands for
the words of ``$defs``.
``x-open`` on the root: the script's own argument classes may take keys that the table lacks (see fsdplint_rules.open_files).
``x-auto`` false on the root: ``auto`` is a word like any other here, and nobody fills it in.
``x-open-by`` {dotted key: requirement}: a module that the file names there may take them, at every level; ``x-unless``: who may take
them, in words.

``x-facts``       ids of what the key's own type, values and releases rest on, where no claim says it

A **claim** is {"when": requirement, "if": {decision: value}, "value": [values], "type": type, "pattern": text, "outcome": word, "says":
text, "help": text, "facts": [ids]}; of several the first that
holds counts. ``says`` is half a sentence on what happens, ``help`` what to write instead; ``value``, ``type`` and ``pattern`` bound a
claim about a key to some of its values (text: case aside, but for patterns).
``fix`` {"do": operations, "safe": true, "says": text} is how to mend the fault. An operation is {"op": "delete"}, {"op": "rename",
"to": key} or {"op": "set", "value": value} of the key that the finding stands at; {"op": "move", "to": dotted path}, which takes its value
along; {"op": "join"}, the items of a list as one text with commas; or {"op": "insert", "key": key, "value": value} of a new key behind it
or behind the sibling ``"after"``. ``"at"`` is another key, as a dotted path from the top (``insert``: the mapping that the new key goes
into). Only ``"safe": true`` says that the training which results is the one that the file asks for (see fsdplint.fixes); ``"declared"``:
where the user has said which releases are meant, since older ones do not know what is written.
A condition's decision may end in ``.written``: what the file asks for, where that differs from what runs; in ``.key``: the key at which
it is written; or in ``.rival``: what another place asks for instead.
An entry of ``x-values`` may have an ``if``, too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects.formats import FORMATS, is_lax
from fsdplint.document import Entry, Mapping, Path, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Node
    from fsdplint.plan import Fact, Plan
    from fsdplint.target import Versions

Schema = dict[str, Any]
Claims = list[dict[str, Any]]

NEVER = "never"
"""The ``x-known`` of a key that no release ever knew: it is in the table because people write it."""


class Claim(NamedTuple):
    """What upstream does in the versions at hand: the outcome, a sentence that says so, what to write instead, and its facts."""

    outcome: str
    says: str
    help: str | None
    facts: tuple[str, ...]
    versions: str | None
    fix: Any = None


class Option(NamedTuple):
    """One key of a table: its canonical path (without list indexes), its schema, and the object that holds it."""

    path: tuple[str, ...]
    schema: Schema
    owner: Schema

    @property
    def name(self) -> str:
        """The key in its canonical spelling."""
        return self.path[-1]


class Written(NamedTuple):
    """A key of a document beside its option; ``option`` is None where the table lacks it, ``owner`` is the object it stands in."""

    path: Path
    entry: Entry
    option: Option | None
    owner: Schema
    owner_path: tuple[str, ...]


class Table:
    """The option table of one dialect, read from ``<name>.schema.json`` beside the dialect's module."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @classmethod
    def load(cls, name: str) -> Table:
        """The table of a dialect; raises FileNotFoundError where there is none."""
        schema = _extended(name)
        return cls(_referenced(schema, schema["$defs"]) if "$defs" in schema else schema)

    @property
    def package(self) -> str:
        """The PyPI name whose releases the table follows."""
        return str(self.schema["x-package"])

    def part(self, name: str) -> Schema:
        """A definition of ``$defs`` with its references resolved, for a framework whose files have several forms."""
        definitions: Schema = self.schema["$defs"]
        return _referenced(definitions[name], definitions)

    @cached_property
    def options(self) -> dict[tuple[str, ...], Option]:
        """Every option by its canonical path."""
        return {option.path: option for option in _options(self.schema, ())}

    @cached_property
    def decisions(self) -> dict[str, list[Option]]:
        """The options that carry each decision, in the table's order (the first is where it is written anew)."""
        found: dict[str, list[Option]] = {}
        for option in self.options.values():
            decision = option.schema.get("x-decision")
            if decision:
                found.setdefault(decision, []).append(option)
        return found

    def written(self, root: Node | None) -> list[Written]:
        """Every effective key of a document that stands in an object the table describes, in written order."""
        found: list[Written] = []
        if isinstance(root, Mapping):
            _walk(root, self.schema, (), (), found)
        return found

    def consequence(self, code: str, versions: Versions, plan: Plan) -> Claim | None:
        """What the framework does with a fault that rule ``code`` found; None: nothing is known, so nothing is said."""
        return choose(self.schema.get("x-consequences", {}).get(code, []), versions, plan)


def _extended(name: str) -> Schema:
    """The table of a dialect as it is written, laid over the tables that it extends."""
    import json

    with open(f"{__file__[: -len('table.py')]}{name.replace('-', '_')}.schema.json", encoding="utf-8") as file:
        schema: Schema = json.load(file)
    return _laid_over(_extended(schema["x-extends"]), schema) if "x-extends" in schema else schema


def _laid_over(base: Schema, upper: Schema) -> Schema:
    merged = dict(base)
    for word, value in upper.items():
        if value is None:
            merged.pop(word, None)
        else:
            below = merged.get(word)
            merged[word] = _laid_over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _referenced(owner: Schema, definitions: Schema) -> Schema:
    """An object with the references of its properties resolved, at every depth."""
    if "$ref" in owner:
        owner = {**definitions[owner["$ref"].rpartition("/")[2]], **owner}
        del owner["$ref"]
    if "properties" in owner:
        owner = {**owner, "properties": {name: _referenced(schema, definitions) for name, schema in owner["properties"].items()}}
    return owner


def _options(owner: Schema, path: tuple[str, ...]) -> Iterator[Option]:
    for name, schema in owner.get("properties", {}).items():
        yield Option((*path, name), schema, owner)
        inner = schema.get("items", schema) if "properties" not in schema else schema
        yield from _options(inner, (*path, name))


def spelled(owner: Schema, key: str) -> str | None:
    """The canonical name of a key as written in an object; None where the object does not have it."""
    properties = owner.get("properties", {})
    if key in properties:
        return key
    alias: str | None = owner.get("x-aliases", {}).get(key)
    if alias is not None:
        return alias
    prefix = owner.get("x-prefix")
    if prefix:
        other = key[len(prefix) :] if key.startswith(prefix) else prefix + key
        if other in properties:
            return str(other)
    return _unshortened(properties, key) if owner.get("x-abbreviated") else None


def _unshortened(properties: Schema, key: str) -> str | None:
    """The one flag that argparse takes a shortened one for."""
    found = [name for name in properties if name.startswith(key.replace("-", "_"))]
    return found[0] if len(found) == 1 else None


def _walk(mapping: Mapping, owner: Schema, path: Path, canonical: tuple[str, ...], found: list[Written]) -> None:
    for key, entry in mapping.items():
        name = spelled(owner, key)
        here = (*path, key)
        option = Option((*canonical, name), owner["properties"][name], owner) if name is not None else None
        found.append(Written(here, entry, option, owner, canonical))
        if option is not None:
            _descend(entry.value, option, here, found)


def _descend(node: Node, option: Option, path: Path, found: list[Written]) -> None:
    if isinstance(node, Mapping) and "properties" in option.schema:
        _walk(node, option.schema, path, option.path, found)
    elif isinstance(node, Sequence) and "properties" in option.schema.get("items", {}):
        for index, item in enumerate(node.items):
            if isinstance(item, Mapping):
                _walk(item, option.schema["items"], (*path, index), option.path, found)


def choose(claims: Claims, versions: Versions, plan: Plan | None = None, value: object = None) -> Claim | None:
    """The first claim whose versions, conditions and values hold; None where none does or where it says ``ok``."""
    for claim in claims:
        when = claim.get("when")
        if when and not versions.has(when):
            continue
        if not met(claim.get("if"), plan) or not ("value" not in claim or is_among(value, claim["value"])):
            continue
        bounds: Schema = {word: claim[word] for word in ("type", "pattern") if word in claim}
        if bounds and not fits({"type": "string"} | bounds, value):
            continue
        if claim["outcome"] == "ok":
            return None
        return Claim(claim["outcome"], claim.get("says", ""), claim.get("help"), tuple(claim.get("facts", ())), when, claim.get("fix"))
    return None


def met(conditions: dict[str, Any] | None, plan: Plan | None) -> bool:
    """Whether a plan meets conditions such as ``{"fsdp": true, "wrap_policy": "SIZE_BASED_WRAP"}``; a list means any of its values."""
    if not conditions:
        return True
    if plan is None:
        return False
    for decision, wanted in conditions.items():
        name, _, part = decision.partition(".")
        fact = plan.fact(name)
        value = _part(fact, part)
        if not is_among(getattr(value, "value", value), wanted if isinstance(wanted, list) else [wanted]):
            return False
    return True


def _part(fact: Fact[Any], part: str) -> object:
    """What a condition asks of a fact: its value, or the part that it names."""
    if part == "key":
        return next((key for key in reversed(fact.place.path if fact.place else ()) if isinstance(key, str)), None)
    if part == "rival":
        return fact.contradicted.written if fact.contradicted else None
    return getattr(fact, part or "value")


def is_among(value: object, wanted: list[Any]) -> bool:
    """Whether a plain value is one of some, type by type, text case aside."""
    if isinstance(value, str):
        return any(isinstance(w, str) and w.lower() == value.lower() for w in wanted)
    return any(value == w and isinstance(value, bool) == isinstance(w, bool) for w in wanted)


def resolved(schema: Schema, versions: Versions, plan: Plan | None = None) -> Schema:
    """The value schema that holds for the versions (and the plan) at hand (see ``x-values``)."""
    for variant in schema.get("x-values", ()):
        if versions.has(variant.get("when", "")) and met(variant.get("if"), plan):
            return {word: value for word, value in variant.items() if word not in ("when", "if")}
    return schema


def default(schema: Schema, versions: Versions) -> Any:
    """The default for the versions at hand; None where the table states none."""
    for variant in schema.get("x-default", ()):
        if versions.has(variant["when"]):
            return variant["default"]
    return schema.get("default")


def is_known(option: Option, versions: Versions) -> bool:
    """Whether the releases at hand know a key."""
    known = option.schema.get("x-known")
    return known is None or (known != NEVER and any(versions.has(part) for part in known.split("|")))


def is_read(item: Written, versions: Versions) -> bool:
    """Whether the releases at hand know a key, and in the spelling in which it is written (``x-prefix-known``)."""
    if item.option is None or not is_known(item.option, versions):
        return False
    since = item.owner.get("x-prefix-known")
    return since is None or item.path[-1] == item.option.name or versions.has(since)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def fits(schema: Schema, value: object) -> bool:
    """The cheap check of a value: type, enum, const, bounds, pattern, format, items and anyOf; all else is left to jsonschema."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) or ("x-lax" in schema and is_lax(value, kind)) for kind in kinds):
        return False
    if "anyOf" in schema and not any(fits(part, value) for part in schema["anyOf"]):
        return False
    if "enum" in schema and not _among(schema, value):
        return False
    if "const" in schema and not _same(schema["const"], value):
        return False
    if _is(value, "number") and not _within(schema, value):  # type: ignore[arg-type]
        return False
    if "pattern" in schema and isinstance(value, str):
        import re

        if re.search(schema["pattern"], value) is None:
            return False
    if "format" in schema and schema["format"] in FORMATS and value is not None and not FORMATS[schema["format"]](value):
        return False
    return not isinstance(value, list) or _holds(schema, value)


def _holds(schema: Schema, items: list[Any]) -> bool:
    if not schema.get("minItems", 0) <= len(items) <= schema.get("maxItems", len(items)):
        return False
    return "items" not in schema or all(fits(schema["items"], item) for item in items)


def _within(schema: Schema, number: float) -> bool:
    return (
        number >= schema.get("minimum", number)
        and number <= schema.get("maximum", number)
        and ("exclusiveMinimum" not in schema or number > schema["exclusiveMinimum"])
    )


def _is(value: object, kind: str) -> bool:
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[kind])


def _same(wanted: object, value: object) -> bool:
    return type(wanted) is type(value) and wanted == value


def _among(schema: Schema, value: object) -> bool:
    if schema.get("x-case") == "any" and isinstance(value, str):
        return any(isinstance(w, str) and w.lower() == value.lower() for w in schema["enum"])
    return any(_same(wanted, value) for wanted in schema["enum"])
