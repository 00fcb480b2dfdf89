"""What is known of the key under the cursor: its option in the table, and why the rules that speak there do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects import choose, default, is_known, resolved
from fsdplint.dialects.table import NEVER
from fsdplint.document import dotted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsdplint.diagnostics import Diagnostic
    from fsdplint.dialects import Option, Written
    from fsdplint.document import Span
    from fsdplint.lsp.judging import Config, Judged
    from fsdplint.rule import Pack, Rule
    from fsdplint.target import Versions

MOST_VALUES = 24
"""Allowed values that are listed; nobody reads more in a tooltip."""


class Hover(NamedTuple):
    """Markdown about a key, and the place of the key."""

    text: str
    span: Span


def hover(judged: Judged, offset: int) -> Hover | None:
    """What to show for an offset of a document; None where it is in no key that the option table describes."""
    config = judged.config
    item = _written_at(config, offset) if config is not None else None
    if config is None or item is None or item.option is None:
        return None
    here = [d for d in judged.diagnostics if d.key == dotted(item.path) or d.range.start.offset <= offset <= d.range.end.offset]
    parts = [_option(item, item.option, config), *_rules(here, judged.pack)]
    return Hover("\n\n---\n\n".join(parts), item.entry.key_span)


def _written_at(config: Config, offset: int) -> Written | None:
    """The key that is written at an offset; what comes in by an alias or a merge is written elsewhere."""
    document = config.file.document.original
    for item in config.file.dialect.table.written(document.root):
        span = item.entry.key_span
        if not item.entry.inherited and span.start <= offset <= span.end and document.key_span(item.path) == span:
            return item
    return None


def _option(item: Written, option: Option, config: Config) -> str:
    dialect, versions = config.file.dialect, config.versions
    head = f"**`{'.'.join(option.path)}`** ({dialect.title})"
    facts = [*_values(option, versions), *_life(option, versions, dialect.package), *_fate(item, option, versions)]
    described = option.schema.get("description")
    return "\n\n".join([head, *([described] if described else []), "\n".join(f"- {fact}" for fact in facts)]).rstrip()


def _values(option: Option, versions: Versions) -> Iterator[str]:
    """Type, allowed values, bounds and default in the releases at hand."""
    schema = resolved(option.schema, versions)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds:
        yield f"type: {' or '.join(kinds)}"
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if values:
        shown = list(dict.fromkeys(map(_code, values)))
        yield f"values: {', '.join([*shown[:MOST_VALUES], *(['...'] if len(shown) > MOST_VALUES else [])])}"
    for word, text in (
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
    ):
        if word in schema:
            yield f"{text} {schema[word]}"
    standard = default(option.schema, versions)
    if standard is not None:
        yield f"default: {_code(standard)}"


def _life(option: Option, versions: Versions, package: str) -> Iterator[str]:
    """The releases that know the key, and its successor."""
    known = option.schema.get("x-known")
    if known == NEVER:
        yield "no release reads it here"
    elif known is not None:
        here = f"{package} {versions.text(package)}".strip()
        judged = "" if is_known(option, versions) else f"; **{here}, by which this file is judged, does not know it**"
        yield f"known to {' or '.join(f'`{part.strip()}`' for part in known.split('|'))}{judged}"
    renamed = option.schema.get("x-renamed")
    if renamed:
        since = f" (`{renamed['when']}`)" if renamed.get("when") else ""
        yield f"renamed to `{renamed['to']}`{since}"


def _fate(item: Written, option: Option, versions: Versions) -> Iterator[str]:
    """Which FSDP version reads the key, and whether it is announced to go."""
    if option.schema.get("x-applies") in (1, 2):
        yield f"read by FSDP{option.schema['x-applies']} only"
    claim = choose(option.schema.get("x-deprecated", []), versions, None, plain(item.entry.value))
    if claim is not None:
        yield f"deprecated: {claim.says}" if claim.says else "deprecated"


def _rules(diagnostics: Iterable[Diagnostic], pack: Pack) -> Iterator[str]:
    """Why each rule that speaks here does, from its page."""
    for code, url in dict.fromkeys((diagnostic.code, diagnostic.url) for diagnostic in diagnostics):
        rule = pack.named(code)
        if rule is not None:
            yield f"**[{rule.code}]({url}) {rule.name}**\n\n{section(rule, 'Why it matters')}".rstrip()


def section(rule: Rule, heading: str) -> str:
    """What stands under a heading of a rule's page; empty where there is none."""
    from inspect import cleandoc

    parts = cleandoc(rule.__doc__ or "").split("## ")
    return next((part.partition("\n")[2].strip() for part in parts if part.partition("\n")[0].strip() == heading), "")


def _code(value: Any) -> str:
    from json import dumps

    return f"`{value if isinstance(value, str) and value else dumps(value, ensure_ascii=False)}`"
