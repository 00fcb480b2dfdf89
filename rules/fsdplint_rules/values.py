"""Values against the option table of the file's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import Claim, Written, choose, fits, is_read, met, resolved
from fsdplint.document import Scalar, plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.generations import spoken_for_by_value
from fsdplint_rules.repairs import rewritten
from fsdplint_rules.siblings import is_plugged, is_running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsdplint.fixes import SymbolicFix

_WORDS = {"y", "yes", "n", "no", "on", "off", "true", "false", "~", "null", ""}
_BOOLEANS = {"y": True, "yes": True, "on": True, "true": True, "n": False, "no": False, "off": False, "false": False}


class InvalidValue(Rule):
    """## What it does
    Finds values of the wrong type, and values that are not among the allowed ones, by the case rules of the releases in the target.

    ## Why it matters
    Launchers pass values on as text; a wrong one surfaces as a bare KeyError in every rank, after the nodes were allocated.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_offload_params: cpu
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_offload_params: true
    ```

    ## Versions and evidence
    Each option table; see the framework's page.

    ## Fix
    A value in another spelling (`fsdp` for `FSDP`, `2.0` for `2`, a list for a text with commas) is written as the framework wants it: safe
    where it is refused today. A misspelt word is replaced by the one that was probably meant: unsafe.
    """

    code, name, severity = "FSD004", "invalid-value", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, value, schema, claim in _wrong(context):
            looks_else = is_surprising(item, value, schema)
            if not looks_else or not _is_yaml_reading(context):
                fault = f"`{item.path[-1]}` cannot be {_shown(value, schema)}"
                help = _rewritten(value, "", schema) if looks_else else _wanted(schema, value)
                fix = _mended(context, item, value, schema, claim) if looks_else else _guessed(context, item, value, schema, claim)
                yield self.claimed(claim, context.at(item.path), fault, help=help, fix=fix)


class SurprisingScalar(Rule):
    """## What it does
    Finds YAML 1.1 scalars that read as something else than they look like, where the framework cares: `no` is false, `1e8` and `"true"`
    are text.

    ## Why it matters
    `mixed_precision: no` is not the word no, and `bf16: "false"` is a text that counts as true.

    ## Example
    ```yaml
    distributed_type: FSDP
    mixed_precision: no
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    mixed_precision: 'no'
    ```

    ## Versions and evidence
    PyYAML's SafeLoader resolves YAML 1.1 (all releases); what each framework does with the result stands in its option table.

    ## Fix
    The value is written so that it reads as what it looks like: safe, but for a quoted boolean that counts as something today.
    """

    code, name, severity = "FSD005", "surprising-scalar", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, value, schema, claim in _wrong(context):
            if _is_yaml_reading(context) and is_surprising(item, value, schema):
                node = item.entry.value
                raw = node.raw if isinstance(node, Scalar) else ""
                reads = f"YAML reads `{item.path[-1]}: {raw}` as" if context.document.format == "yaml" else f"`{item.path[-1]}` is"
                fault = f"{reads} {_shown(value)}"
                fix = _mended(context, item, value, schema, claim)
                yield self.claimed(claim, context.at(item.path), fault, help=_rewritten(value, raw, schema), fix=fix)


def _judged(context: Context) -> Iterator[tuple[Written, object, dict[str, Any]]]:
    """Every written value that the releases at hand read: (key, plain value, schema)."""
    covered = spoken_for_by_value(context)
    for item in context.written:
        option = item.option
        if option is None or item.path in covered or not is_read(item, context.versions) or option.schema.get("x-elsewhere"):
            continue
        if not met(option.schema.get("x-only-if"), context.plan) or not met(item.owner.get("x-only-if"), context.plan):
            continue
        if not is_running(context, option.schema.get("x-while", item.owner.get("x-while"))) or not is_plugged(context, option):
            continue
        value = plain(item.entry.value)
        if not is_placeholder(value) or (value == "auto" and context.table.schema.get("x-auto") is False):
            yield item, value, resolved(option.schema, context.versions, context.plan)


def _wrong(context: Context) -> Iterator[tuple[Written, object, dict[str, Any], Claim]]:
    for item, value, schema in _judged(context):
        if _is_fit(schema, value):
            continue
        claims = schema.get("x-refusal", item.option.schema.get("x-refusal") if item.option else None)
        claim = choose(claims, context.versions, context.plan, value) if claims else Claim("refused", "", None, (), None)
        if claim:
            yield item, value, schema, claim


def _is_fit(schema: dict[str, Any], value: object) -> bool:
    """The cheap check first; jsonschema has the last word on what that does not accept, since it knows all of the vocabulary."""
    if fits(schema, value):
        return True
    if not (schema.keys() & {"oneOf", "allOf", "not", "if", "maximum", "exclusiveMinimum", "multipleOf", "patternProperties"}):
        return False
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema).is_valid(value)


def _is_yaml_reading(context: Context) -> bool:
    """Whether a value may surprise by the way it is read; in TOML quotes mean what they say."""
    return context.document.format != "toml"


def is_surprising(item: Written, value: object, schema: dict[str, Any]) -> bool:
    """Whether YAML read a scalar as another type than it looks like: `no` as false, `1e8` and quoted numbers and booleans as text."""
    node = item.entry.value
    if not isinstance(node, Scalar):
        return False
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, str):
        return (value.lower() in _WORDS and "boolean" in kinds) or (_is_number(value) and bool({"integer", "number"} & set(kinds)))
    misread = node.style == "plain" and (value is None or isinstance(value, bool)) and node.raw.lower() in _WORDS
    return misread and "string" in kinds and fits(schema, node.raw)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _wanted(schema: dict[str, Any], value: object) -> str | None:
    from fsdplint_rules.meanings import meant

    found = meant(schema, value)
    if found is not None:
        return f"write `{found.value}`" if found.is_certain else f"did you mean `{found.value}`?"
    if "anyOf" in schema and "enum" not in schema:
        schema = schema["anyOf"][0]
    if "enum" in schema:
        names = [f"`{'null' if v is None else str(v).lower() if isinstance(v, bool) else v}`" for v in schema["enum"]]
        return "write " + (" or ".join(names) if len(names) < 3 else "one of " + ", ".join(names))
    kinds = schema.get("type")
    if kinds:
        kinds = [kinds] if isinstance(kinds, str) else [k for k in kinds if k != "null"]
        bounds = f" from {schema['minimum']}" if "minimum" in schema else ""
        bounds += f" to {schema['maximum']}" if "maximum" in schema else ""
        words = {"array": "a list", "object": "a mapping", "integer": "an integer", "boolean": "true or false"}
        return "write " + " or ".join(words.get(k, f"a {k}") for k in kinds) + bounds
    return None


def _rewritten(value: object, raw: str, schema: dict[str, Any]) -> str | None:
    kinds = schema.get("type", [])
    if not isinstance(value, str):
        return f"quote it: `'{raw}'`"
    if "boolean" in kinds and value.lower() in _WORDS:
        meant = _BOOLEANS.get(value.lower())
        return f"write `{'null' if meant is None else str(meant).lower()}` without quotes"
    number = _number(value, kinds)
    return f"write `{number!r}`" if "e" not in repr(number) else f"write `{number:.1e}`"


def _number(text: str, kinds: Sequence[str]) -> int | float:
    """The number that a text is: whole where it is written so, or where only whole ones are wanted."""
    if text.strip().lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    return int(number) if number.is_integer() and "integer" in kinds else number


def _mended(context: Context, item: Written, value: object, schema: dict[str, Any], claim: Claim) -> SymbolicFix | None:
    """The value that a scalar looks like. It is what the file asks for; but where a text counts as something, a boolean changes that."""
    node = item.entry.value
    meant = _looks_like(value, node.raw if isinstance(node, Scalar) else "", schema)
    if meant is None or not fits(schema, meant):
        return None
    is_safe = not isinstance(meant, bool) or claim.outcome in ("refused", "crashes")
    says = f"quote it: `{item.path[-1]}: '{meant}'`" if isinstance(meant, str) else None
    return rewritten(context.document, item.path, meant, is_safe=is_safe, says=says)


def _looks_like(value: object, raw: str, schema: dict[str, Any]) -> object:
    kinds = schema.get("type", [])
    if not isinstance(value, str):
        return raw if isinstance(value, bool) else None
    if "boolean" in kinds and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    if not _is_number(value):
        return None
    number = _number(value, kinds)
    return number if isinstance(number, int) or "number" in kinds else None


def _guessed(context: Context, item: Written, value: object, schema: dict[str, Any], claim: Claim) -> SymbolicFix | None:
    """The value that a wrong one is meant to be: safe where it is the same word in another spelling and nothing runs as it is."""
    from fsdplint_rules.meanings import meant

    node = item.entry.value
    found = meant(schema, value, node.raw if isinstance(node, Scalar) else "")
    if found is None:
        return None
    is_safe = found.is_certain and claim.outcome in ("refused", "crashes")
    return rewritten(context.document, item.path, found.value, is_safe=is_safe)


def _shown(value: object, schema: dict[str, Any] | None = None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f'the text "{value}"'
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of that size"
    if isinstance(value, list) and "array" in (schema or {}).get("type", ()):
        return f"the list {value}"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else f"`{value}`"


RULES = (InvalidValue(), SurprisingScalar())
