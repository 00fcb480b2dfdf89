"""Keys that are newer or older than the packages in the target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import Claim, Written, choose, is_known, met
from fsdplint.document import Mapping, plain
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.generations import is_before, spoken_for
from fsdplint_rules.open_files import hedged
from fsdplint_rules.repairs import moved, renamed, sibling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.fixes import SymbolicFix


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
            if is_before(context, known):
                claim = _absent(context, item)
                if claim:
                    fault = f"`{item.path[-1]}` needs {known}{_learned(context, known)}"
                    help = _instead(item) or f"require {known}, or remove the key"
                    yield self.claimed(claim, context.at(item.path, "key"), fault, help=help)
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
                fault = f"FSDP{context.plan.fsdp_version.value or ''} needs {needs}{_learned(context, needs)}"
                related = noted(context.plan.fsdp, "FSDP is switched on here") if at != context.plan.fsdp.place else []
                yield self.claimed(claim, at, fault, related=related)


class DeprecatedKey(Rule):
    """## What it does
    Finds keys and values that still work and are announced to go.

    ## Why it matters
    The next upgrade turns the log line into an error.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 1
    fsdp: full_shard auto_wrap
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 1
    fsdp: true
    fsdp_config:
      version: 2
      reshard_after_forward: true
    ```

    ## Versions and evidence
    The deprecations of each release stand in the option tables.

    ## Fix
    Where upstream itself turns a key into another one (axolotl's attention switches, keys that moved into `fsdp_config`), that one is
    written. Safe, unless the releases are merely assumed and older ones would not know it.
    """

    code, name, severity = "FSD402", "deprecated-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        covered = spoken_for(context)
        for item in context.written:
            if item.option is None or not is_known(item.option, context.versions) or _successor(context, item) or item.path in covered:
                continue
            claim = _deprecation(context, item)
            if claim:
                yield self.claimed(_with_safety(context, claim), context.at(item.path, "key"), f"`{item.path[-1]}` is deprecated")


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
            if not is_before(context, known) and not _successor(context, item):
                claim = _absent(context, item)
                if claim:
                    yield self.claimed(
                        _with_safety(context, claim),
                        context.at(item.path, "key"),
                        f"`{item.path[-1]}` was removed (known to {known})",
                        help=_instead(item) or "remove the key",
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

    ## Fix
    The key is renamed, or moved to its new place: safe. While the old name still works and the packages are not declared, it is unsafe:
    releases that are older than the newest may not know the new name.
    """

    code, name, severity = "FSD404", "renamed-key", Severity.ERROR
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        outside = {item.path for item, known in _outside(context) if not is_before(context, known)}
        covered = spoken_for(context)
        for item in context.written:
            successor = _successor(context, item)
            if not successor or item.path in covered:
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
                    fix=_rewritten(context, item, successor, is_safe=gone or _is_settled(context, item, successor)),
                )


def _rewritten(context: Context, item: Written, successor: str, *, is_safe: bool) -> SymbolicFix | None:
    """The key under the name, or at the place, that takes over its meaning."""
    if "." in successor:
        return moved(context, item, tuple(successor.split(".")), is_safe=is_safe)
    return renamed(context, item, successor, is_safe=is_safe)


def _is_settled(context: Context, item: Written, successor: str) -> bool:
    """Whether a successor is known to the releases that the file is meant for: to all, or these are declared and not just assumed."""
    option = sibling(item, successor)
    known = option.schema.get("x-known") if option else None
    if known is None:
        return option is not None
    return _is_declared(context, known)


def _is_declared(context: Context, requirement: str) -> bool:
    """Whether the releases of a requirement's package are declared and not just assumed."""
    pin = context.target.pins.get(re.split("[<>=!]", requirement)[0])
    return pin is not None and pin.declared


def _with_safety(context: Context, claim: Claim) -> Claim:
    """A claim whose fix is safe or not: what is safe in declared releases only is unsafe in assumed ones."""
    if claim.fix is None or claim.fix.get("safe") != "declared":
        return claim
    return claim._replace(fix={**claim.fix, "safe": _is_declared(context, claim.versions or context.table.package)})


def _deprecation(context: Context, item: Written) -> Claim | None:
    value = plain(item.entry.value)
    if item.option is None or value is None:
        return None
    return choose(item.option.schema.get("x-deprecated", []), context.versions, context.plan, value)


def _outside(context: Context) -> Iterator[tuple[Written, str]]:
    """Keys that some release knows and those at hand do not, with the requirement that knows them; not those of an older generation."""
    covered = spoken_for(context)
    for item in context.written:
        option = item.option
        if (
            option is not None
            and item.path not in covered
            and "x-known" in option.schema
            and option.schema["x-known"] != "never"
            and not is_known(option, context.versions)
            and not _speaks_through_keys(item)
        ):
            yield item, option.schema["x-known"]


def _speaks_through_keys(item: Written) -> bool:
    """Whether a section holds keys each of which has releases of its own."""
    is_filled = isinstance(item.entry.value, Mapping) and bool(item.entry.value)
    properties: dict[str, Any] = (item.option.schema.get("properties") or {}) if item.option is not None else {}
    return is_filled and bool(properties) and _are_dated(properties)


def _are_dated(properties: dict[str, Any]) -> bool:
    return all("x-known" in schema or ("properties" in schema and _are_dated(schema["properties"])) for schema in properties.values())


def _instead(item: Written) -> str | None:
    return item.option.schema.get("x-instead") if item.option else None


def _learned(context: Context, known: str) -> str:
    learned = context.target.learned(known.split("|")[0])
    return f" (here: {learned})" if learned else ""


def _successor(context: Context, item: Written) -> str | None:
    renamed = item.option.schema.get("x-renamed") if item.option else None
    return str(renamed["to"]) if renamed and ("when" not in renamed or context.versions.has(renamed["when"])) else None


def _absent(context: Context, item: Written) -> Claim | None:
    assert item.option is not None
    stated = (words["x-absent"] for words in (item.option.schema, item.owner) if "x-absent" in words)
    claims: list[dict[str, Any]] = next(stated, item.owner.get("x-unknown", []))
    return hedged(context, item, choose(claims, context.versions, context.plan, plain(item.entry.value)))


RULES = (VersionTooOld(), DeprecatedKey(), RemovedKey(), RenamedKey())
