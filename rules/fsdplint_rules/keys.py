"""Keys that nothing knows, and keys at the wrong place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, is_known
from fsdplint.document import dotted, parse_dotted, plain
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.generations import spoken_for
from fsdplint_rules.guesses import guess, is_near
from fsdplint_rules.open_files import hedged, is_open, misspelt
from fsdplint_rules.repairs import moved, renamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Claim, Written


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

    ## Fix
    A key that differs from a known one by a letter or two is renamed: unsafe, since training changes. It is never deleted: that would hide
    what the file asks for.
    """

    code, name, severity = "FSD003", "unknown-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        covered = spoken_for(context)
        for item in context.written:
            if item.option is not None or item.path in covered or home_of(context, item):
                continue
            close = misspelt(item) if is_open(context, item) else None
            claim = _unknown(context, item) if close or not is_open(context, item) else None
            if claim:
                meant = close or guess(context, item)
                help = f"did you mean `{meant}`?" if meant else None
                fix = renamed(context, item, meant, is_safe=False) if meant and is_near(str(item.path[-1]), meant) else None
                yield self.claimed(claim, context.at(item.path, "key"), f"unknown key `{item.path[-1]}`", help=help, fix=fix)


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

    ## Fix
    A key that has one place in the table is moved there: unsafe, since training changes. What the framework always does is removed: safe.
    """

    code, name, severity = "FSD006", "misplaced-key", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        covered = spoken_for(context)
        strangers: dict[tuple[object, ...], list[tuple[Written, Claim]]] = {}
        for item in context.written:
            if item.path in covered:
                continue
            if item.option is not None and item.option.schema.get("x-elsewhere"):
                claim = choose(item.option.schema["x-elsewhere"], context.versions, context.plan, plain(item.entry.value))
                claim = hedged(context, item, claim)
                if claim:
                    strangers.setdefault((item.path[:-1], claim.outcome, claim.says), []).append((item, claim))
            elif item.option is None and (home := home_of(context, item)):
                claim = _unknown(context, item)
                if claim:
                    help = f"write it as `{home}`" if "." in home else "write it at the top level"
                    fix = moved(context, item, parse_dotted(home), is_safe=False)  # type: ignore[arg-type]
                    yield self.claimed(claim, context.at(item.path, "key"), _no_meaning(item), help=help, fix=fix)
        for (first, claim), *others in strangers.values():
            related = [(context.at(item.path, "key"), "nor has this one") for item, _ in others]
            yield self.claimed(claim, context.at(first.path, "key"), _no_meaning(first), related=related)


def _no_meaning(item: Written) -> str:
    return f"`{item.path[-1]}` has no meaning here"


def home_of(context: Context, item: Written) -> str | None:
    """Where a key that is unknown at its place belongs, as a dotted path; None for a key that the table has nowhere else, or at several
    places.
    """
    key = str(item.path[-1])
    if is_open(context, item):
        return None
    places = [
        option
        for path, option in context.table.options.items()
        if path[-1] == key and path[:-1] != item.owner_path and option.schema.get("x-known") != "never"
    ]
    places = [option for option in places if is_known(option, context.versions)] or places
    return dotted(places[0].path) if len(places) == 1 else None


def _unknown(context: Context, item: Written) -> Claim | None:
    claims = item.owner["x-misspelt"] if "x-misspelt" in item.owner and guess(context, item) else None
    claim = choose(claims or item.owner.get("x-unknown", []), context.versions, context.plan, plain(item.entry.value))
    return hedged(context, item, claim)


RULES = (UnknownKey(), MisplacedKey())
