"""Keys and values against the option table of the file's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import Claim, Written, choose, fits, is_among, is_known, met, resolved
from fsdplint.document import Scalar, dotted, plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {"y", "yes", "n", "no", "on", "off", "true", "false", "~", "null", ""}


def _close(word: str, names: list[str]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.75)), None)


class UnknownKey(Rule):
    """## What it does
    Finds keys that no release in the target knows.

    ## Why it matters
    Most frameworks drop an unknown key without a word: `fsdp_offload_param: true` offloads nothing. Others refuse the whole file.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_offload_param: true
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_offload_params: true
    ```

    ## Versions and evidence
    Each option table holds the keys of every release that was read or run; see the framework's page.
    """

    code, name, severity = "FSD003", "unknown-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            if item.option is not None or home_of(context, item):
                continue
            claim = _unknown(context, item)
            if claim:
                yield self.claimed(claim, context.at(item.path, "key"), f"unknown key `{item.path[-1]}`", help=_suggestion(item))


class MisplacedKey(Rule):
    """## What it does
    Finds real keys that stand at the wrong level, and keys in another framework's spelling.

    ## Why it matters
    A key at the wrong place is dropped or refused like an unknown one, though each line for itself looks right.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_version: 2
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
    ```

    ## Versions and evidence
    Each option table; see the framework's page.
    """

    code, name, severity = "FSD006", "misplaced-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            place = context.at(item.path, "key")
            fault = f"`{item.path[-1]}` has no meaning here"
            if item.option is not None and item.option.schema.get("x-elsewhere"):
                claim = choose(item.option.schema["x-elsewhere"], context.versions, context.plan, plain(item.entry.value))
                if claim:
                    yield self.claimed(claim, place, fault)
            elif item.option is None and (home := home_of(context, item)):
                claim = _unknown(context, item)
                if claim:
                    yield self.claimed(claim, place, fault, help=f"write it as `{home}`")


def home_of(context: Context, item: Written) -> str | None:
    """Where a key that is unknown at its place belongs, as a dotted path; None for a key that the table has nowhere else, or at several places."""
    key = str(item.path[-1])
    places = [
        path
        for path, option in context.table.options.items()
        if path[-1] == key and path[:-1] != item.owner_path and option.schema.get("x-known") != "never"
    ]
    return dotted(places[0]) if len(places) == 1 else None


def _unknown(context: Context, item: Written) -> Claim | None:
    return choose(item.owner.get("x-unknown", []), context.versions, context.plan, plain(item.entry.value))


def _suggestion(item: Written) -> str | None:
    names = [name for name, schema in item.owner.get("properties", {}).items() if schema.get("x-known") != "never"]
    prefix = item.owner.get("x-prefix", "")
    key = str(item.path[-1])
    close = _close(key, names) or _close(prefix + key.removeprefix(prefix).replace("-", "_"), names)
    return f"did you mean `{close}`?" if close else None


def _judged(context: Context) -> Iterator[tuple[Written, object, dict[str, Any]]]:
    """Every written value that the releases at hand read: (key, plain value, schema)."""
    for item in context.written:
        option = item.option
        if option is None or not is_known(option, context.versions) or option.schema.get("x-elsewhere"):
            continue
        if not met(option.schema.get("x-only-if"), context.plan) or not met(item.owner.get("x-only-if"), context.plan):
            continue
        value = plain(item.entry.value)
        if not is_placeholder(value):
            yield item, value, resolved(option.schema, context.versions)


def _wrong(context: Context) -> Iterator[tuple[Written, object, dict[str, Any], Claim]]:
    for item, value, schema in _judged(context):
        if _is_fit(schema, value):
            continue
        claims = schema.get("x-refusal")
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


def is_surprising(item: Written, value: object, schema: dict[str, Any]) -> bool:
    """Whether YAML read a scalar as another type than it looks like: `no` as false, `1e8` and quoted numbers and booleans as text."""
    node = item.entry.value
    if not isinstance(node, Scalar):
        return False
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, str):
        return (value.lower() in _WORDS and "boolean" in kinds) or (_is_number(value) and bool({"integer", "number"} & set(kinds)))
    return node.style == "plain" and (value is None or isinstance(value, bool)) and node.raw.lower() in _WORDS and "string" in kinds


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _wanted(schema: dict[str, Any]) -> str | None:
    if "enum" in schema:
        names = [f"`{'null' if v is None else str(v).lower() if isinstance(v, bool) else v}`" for v in schema["enum"]]
        return "write " + (" or ".join(names) if len(names) < 3 else "one of " + ", ".join(names))
    kinds = schema.get("type")
    if kinds:
        kinds = [kinds] if isinstance(kinds, str) else [k for k in kinds if k != "null"]
        return "write " + " or ".join({"array": "a list", "object": "a mapping", "integer": "an integer"}.get(k, f"a {k}") for k in kinds)
    return None


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
    """

    code, name, severity = "FSD004", "invalid-value", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, value, schema, claim in _wrong(context):
            if not is_surprising(item, value, schema):
                fault = f"`{item.path[-1]}` cannot be {_shown(value)}"
                yield self.claimed(claim, context.at(item.path), fault, help=_wanted(schema))


class SurprisingScalar(Rule):
    """## What it does
    Finds YAML 1.1 scalars that read as something else than they look like, where the framework cares: `no` is false, `1e8` and `"true"` are text.

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
    """

    code, name, severity = "FSD005", "surprising-scalar", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, value, schema, claim in _wrong(context):
            if is_surprising(item, value, schema):
                node = item.entry.value
                raw = node.raw if isinstance(node, Scalar) else ""
                fault = f"YAML reads `{item.path[-1]}: {raw}` as {_shown(value)}"
                yield self.claimed(claim, context.at(item.path), fault, help=_rewritten(value, raw, schema))


def _rewritten(value: object, raw: str, schema: dict[str, Any]) -> str | None:
    kinds = schema.get("type", [])
    if not isinstance(value, str):
        return f"quote it: `'{raw}'`"
    if "boolean" in kinds and value.lower() in _WORDS:
        return f"write `{value.lower()}` without quotes"
    number = float(value)
    return (
        f"write `{int(number)}`"
        if number.is_integer() and "integer" in kinds
        else f"write `{number!r}`"
        if "e" not in repr(number)
        else f"write `{number:.1e}`"
    )


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f'the text "{value}"'
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else f"`{value}`"


class VersionTooOld(Rule):
    """## What it does
    Finds keys that are newer than the package versions in the target.

    ## Why it matters
    An older release does not know the key: at best it stops, at worst it trains without it.

    ## Example
    With `--target accelerate==1.5.2`:
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
    ```

    ## Use instead
    A newer package, or the older release's own way of writing it.

    ## Versions and evidence
    The first release with each key stands in the option tables.
    """

    code, name, severity = "FSD401", "version-too-old", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, known in _outside(context):
            if _is_before(context, known):
                claim = _absent(context, item)
                if claim:
                    fault = f"`{item.path[-1]}` needs {known}{_learned(context, known)}"
                    yield self.claimed(claim, context.at(item.path, "key"), fault, help=f"require {known}, or remove the key")
        if context.file is context.launch.main:
            yield from self._floors(context)

    def _floors(self, context: Context) -> Iterator[Finding]:
        """The floors of FSDP itself (``x-floors``), whatever keys are written."""
        for floor in context.table.schema.get("x-floors", []):
            needs = floor["needs"]
            if not met(floor.get("if"), context.plan) or ("when" in floor and not context.versions.has(floor["when"])):
                continue
            if context.versions.is_older(needs):
                claim = Claim(floor["outcome"], floor["says"], f"require {needs}", tuple(floor["facts"]), floor.get("when"))
                at = context.home(floor.get("at", "fsdp"))
                yield self.claimed(claim, at, f"FSDP{context.plan.fsdp_version.value or ''} needs {needs}{_learned(context, needs)}")


class RemovedKey(Rule):
    """## What it does
    Finds keys that the packages in the target no longer know and that have no successor.

    ## Why it matters
    A removed key is refused, or silently without effect.

    ## Example
    With `--target transformers==5.24.0`:
    ```yaml
    output_dir: out
    no_cuda: false
    ```

    ## Use instead
    Remove the key; the release notes of the package say what replaces it.

    ## Versions and evidence
    The last release with each key stands in the option tables.
    """

    code, name, severity = "FSD403", "removed-key", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item, known in _outside(context):
            if not _is_before(context, known) and not _successor(context, item):
                claim = _absent(context, item)
                if claim:
                    yield self.claimed(
                        claim,
                        context.at(item.path, "key"),
                        f"`{item.path[-1]}` was removed (known to {known})",
                        help="remove the key",
                    )


class RenamedKey(Rule):
    """## What it does
    Finds keys that were renamed: gone or going, with a successor of the same meaning.

    ## Why it matters
    The old name is refused, or silently without effect, while the file still looks right.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_backward_prefetch_policy: BACKWARD_PRE
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_backward_prefetch: BACKWARD_PRE
    ```

    ## Versions and evidence
    The releases that renamed each key stand in the option tables.
    """

    code, name, severity = "FSD404", "renamed-key", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        outside = {item.path for item, known in _outside(context) if not _is_before(context, known)}
        for item in context.written:
            successor = _successor(context, item)
            if not successor:
                continue
            gone = item.path in outside
            claim = _absent(context, item) if gone else _deprecation(context, item)
            if claim:
                verb = "was renamed" if gone else "is being renamed"
                yield self.claimed(
                    claim,
                    context.at(item.path, "key"),
                    f"`{item.path[-1]}` {verb} to `{successor}`",
                    help=f"write `{successor}`",
                )


class DeprecatedKey(Rule):
    """## What it does
    Finds keys and values that still work and are announced to go.

    ## Why it matters
    The next upgrade turns the log line into an error.

    ## Example
    ```yaml
    output_dir: out
    gradient_checkpointing: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    activation_checkpointing: true
    ```

    ## Versions and evidence
    The deprecations of each release stand in the option tables.
    """

    code, name, severity = "FSD402", "deprecated-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            if item.option is None or not is_known(item.option, context.versions) or _successor(context, item):
                continue
            claim = _deprecation(context, item)
            if claim:
                yield self.claimed(claim, context.at(item.path, "key"), f"`{item.path[-1]}` is deprecated")


def _deprecation(context: Context, item: Written) -> Claim | None:
    value = plain(item.entry.value)
    if item.option is None or value is None:
        return None
    return choose(item.option.schema.get("x-deprecated", []), context.versions, context.plan, value)


def _outside(context: Context) -> Iterator[tuple[Written, str]]:
    """Keys that some release knows and those at hand do not, with the requirement that knows them."""
    for item in context.written:
        option = item.option
        if (
            option is not None
            and "x-known" in option.schema
            and option.schema["x-known"] != "never"
            and not is_known(option, context.versions)
        ):
            yield item, option.schema["x-known"]


def _is_before(context: Context, known: str) -> bool:
    """Whether the releases at hand are older than every release that knows a key."""
    return all(context.versions.is_older(part) for part in known.split("|"))


def _learned(context: Context, known: str) -> str:
    learned = context.target.learned(known.split("|")[0])
    return f" (here: {learned})" if learned else ""


def _successor(context: Context, item: Written) -> str | None:
    renamed = item.option.schema.get("x-renamed") if item.option else None
    return str(renamed["to"]) if renamed and ("when" not in renamed or context.versions.has(renamed["when"])) else None


def _absent(context: Context, item: Written) -> Claim | None:
    assert item.option is not None
    claims = item.option.schema.get("x-absent", item.owner.get("x-unknown", []))
    return choose(claims, context.versions, context.plan, plain(item.entry.value))


class Fsdp1KeyInFsdp2(Rule):
    """## What it does
    Finds keys that only FSDP1 reads, with FSDP2 in force and a value that asks for something.

    ## Why it matters
    FSDP2 has no such knob: the key is dropped, mostly without a word.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
      fsdp_backward_prefetch: BACKWARD_PRE
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
    ```

    ## Versions and evidence
    Which keys each FSDP version reads stands in the option tables.
    """

    code, name, severity = "FSD406", "fsdp1-key-in-fsdp2", Severity.WARNING
    scope = "file"
    reads, runs = 1, 2

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True or context.plan.fsdp_version.value != self.runs:
            return
        for item in context.written:
            option = item.option
            if option is None or option.schema.get("x-applies") != self.reads or not is_known(option, context.versions):
                continue
            value = plain(item.entry.value)
            if is_placeholder(value) or value is None or is_among(value, option.schema.get("x-idle", [])):
                continue
            claim = choose(option.schema.get("x-otherwise", []), context.versions, context.plan, value)
            if claim:
                related = noted(context.plan.fsdp_version, f"FSDP{self.runs} is in force")
                yield self.claimed(
                    claim,
                    context.at(item.path, "entry"),
                    f"`{item.path[-1]}` is an FSDP{self.reads} option and FSDP{self.runs} runs",
                    related=related,
                )


class Fsdp2KeyInFsdp1(Fsdp1KeyInFsdp2):
    """## What it does
    Finds keys that only FSDP2 reads, with FSDP1 in force and a value that asks for something.

    ## Why it matters
    FSDP1 ignores the key, or stops on its value: a boolean `reshard_after_forward` is no sharding strategy.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 1
      fsdp_reshard_after_forward: SHARD_GRAD_OP
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 1
      fsdp_sharding_strategy: SHARD_GRAD_OP
    ```

    ## Versions and evidence
    Which keys each FSDP version reads stands in the option tables.
    """

    code, name = "FSD407", "fsdp2-key-in-fsdp1"
    reads, runs = 2, 1


RULES = (
    UnknownKey(),
    InvalidValue(),
    SurprisingScalar(),
    MisplacedKey(),
    VersionTooOld(),
    DeprecatedKey(),
    RemovedKey(),
    RenamedKey(),
    Fsdp1KeyInFsdp2(),
    Fsdp2KeyInFsdp1(),
)
