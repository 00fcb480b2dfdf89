"""Files in which a script's own argument classes share the top level with the framework's (``x-open`` tables).

Or every level, where the file names a module that extends it (``x-open-by``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import OUTCOMES, Severity

if TYPE_CHECKING:
    from fsdplint.dialects import Claim, Written
    from fsdplint.rule import Context

_SHORTEST = 6


def is_open(context: Context, item: Written) -> bool:
    """Whether a key stands where the script's own argument classes may take keys that the table lacks."""
    if "x-open-by" in context.table.schema:
        return _is_open_throughout(context)
    return not item.owner_path and context.dialect.is_open(context.document)


def is_brought(context: Context, item: Written) -> bool:
    """Whether a key that has left the framework may well come back by what an open file names (``x-brought``)."""
    return item.option is not None and bool(item.option.schema.get("x-brought")) and is_open(context, item)


def _is_open_throughout(context: Context) -> bool:
    """Whether the file names a module that the releases at hand let extend every section (``x-open-by``)."""
    by: dict[str, str] = context.table.schema.get("x-open-by", {})
    return any(context.versions.has(when) and bool(context.value(*key.split("."))) for key, when in by.items())


def misspelt(item: Written) -> str | None:
    """The known key of which an unknown one is almost certainly a misspelling.

    Own keys may well resemble known ones (``fp32``, ``num_epochs``), so only long words that differ in a letter or two count.
    """
    from difflib import get_close_matches

    word = str(item.path[-1]).lower().replace("-", "_")
    properties = item.owner.get("properties", {})
    names = [
        name
        for name, schema in properties.items()
        if len(name) >= _SHORTEST and schema.get("x-known") != "never" and not schema.get("x-script")
    ]
    return next(iter(get_close_matches(word, names, n=1, cutoff=0.88)), None) if len(word) >= _SHORTEST - 1 else None


def hedged(context: Context, item: Written, claim: Claim | None) -> Claim | None:
    """A claim about an unknown key as a warning where the file has keys of the script's own, whose class may take this one, too.

    ``x-unless`` on the root says who may, in the framework's own words. Nothing is left of a claim about a key that is brought back.
    """
    if claim is None or is_brought(context, item):
        return None
    mild = OUTCOMES[claim.outcome] is not Severity.ERROR
    if mild or not is_open(context, item) or not (_is_open_throughout(context) or _has_own_keys(context)):
        return claim
    unless = context.table.schema.get("x-unless", "an argument class of the script takes it")
    return claim._replace(outcome="ignored", says=f"{claim.says}, unless {unless}")


def _has_own_keys(context: Context) -> bool:
    return any(item.option is None and misspelt(item) is None for item in context.written if not item.owner_path)
