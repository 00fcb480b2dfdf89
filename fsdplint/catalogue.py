"""What fsdplint knows: its rules, dialects, releases and option tables, as text for people and tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fsdplint import releases
from fsdplint.dialects import DIALECTS, dialect
from fsdplint.errors import UsageError
from fsdplint.options import format_option
from fsdplint.selection import hint, selection, summary
from fsdplint.settings import settings_for
from fsdplint.spelling import did_you_mean
from fsdplint.terminal import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.rule import Pack, Rule


def all_rules() -> Pack:
    """The built-in rules, and those of the packs that the settings of the current folder name."""
    from pathlib import Path

    return selection(settings_for(str(Path.cwd())), None, (), ()).pack


def one_rule(word: str) -> str:
    """The page of the rule with that code or name. Raises UsageError where there is none."""
    pack = all_rules()
    rule = pack.named(word)
    if rule is None:
        raise UsageError(f"unknown rule {word!r}{hint(pack, word)}")
    return rule_page(rule)


def rule_page(rule: Rule) -> str:
    """A rule's page, in Markdown: a title, what it is, and its docstring."""
    from inspect import cleandoc

    spoken = f", speaks of {', '.join(rule.dialects)}" if rule.dialects else ""
    return f"# {rule.code} {rule.name}\n\nUsually {_article(rule.severity.word)}{spoken}.\n\n{cleandoc(rule.__doc__ or '')}\n"


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}" if word != "info" else "a remark (info)"


def rule_list(format: str) -> str:
    """All rules: ``text`` (aligned), ``markdown`` (a table), or ``json``, with the facts about upstream and what serves each."""
    pack = all_rules()
    rows = [(rule.code, rule.name, rule.severity.word, summary(rule)) for rule in pack.rules]
    if format == "markdown":
        return _markdown(("Code", "Name", "Severity", "What it does"), rows)
    if format == "text":
        return _aligned(rows)
    facts = ledger()
    entries = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity.word,
            "summary": summary(rule),
            "dialects": list(rule.dialects),
            "facts": [fact["id"] for fact in facts if rule.code in fact["rules"]] or list(rule.facts),
        }
        for rule in pack.rules
    ]
    return json.dumps({"rules": entries, "facts": facts}, indent=2) + "\n"


def ledger() -> list[dict[str, Any]]:
    """Every known fact about upstream: its id, the codes of the ``rules`` and the ``entries`` of option tables that serve it, and the
    ``reason`` why nothing does (None where something does). tools/ledger.py writes it.
    """
    from pathlib import Path

    found: list[dict[str, Any]] = json.loads(Path(__file__).with_name("ledger.json").read_text(encoding="utf-8"))
    return found


def dialect_list(format: str) -> str:
    """Every dialect: name, title, PyPI package and file formats, as ``text`` or ``json``."""
    found = [(one.name, one.title, one.package, ", ".join(one.formats)) for one in map(dialect, DIALECTS)]
    return _listed(("name", "title", "package", "formats"), found, format)


def release_list(format: str) -> str:
    """Every package that the tables know: its newest known release and the number of known ones, as ``text`` or ``json``."""
    found = []
    for name in sorted(releases.NEWEST):
        found.append((name, releases.NEWEST[name], len(releases.known(name))))
    return _listed(("package", "newest", "known"), found, format)


def schema_of(name: str, targets: Sequence[str]) -> str:
    """A dialect's option table as JSON Schema in the releases of a target. Raises UsageError and TargetError for what there is not."""
    from fsdplint.plain_schema import plain_schema
    from fsdplint.target import resolve_target

    if name not in DIALECTS:
        raise UsageError(f"unknown dialect {name!r}{did_you_mean(name, DIALECTS)}")
    found = dialect(name)
    versions = resolve_target(options=targets).for_dialect(found.package).at_newest
    return json.dumps(plain_schema(found, versions), indent=2) + "\n"


def _listed(names: Sequence[str], rows: Sequence[tuple[Any, ...]], format: str) -> str:
    if format == "json":
        return json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2) + "\n"
    return _aligned([names, *(tuple(map(str, row)) for row in rows)])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns with two blanks between; the last one runs free."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = ("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows)
    return "\n".join(lines) + "\n"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


@click.command("rule")
@click.argument("word", metavar="CODE|NAME")
def rule_command(word: str) -> None:
    """Show a rule's page."""
    write(one_rule(word))


@click.command("rules")
@format_option("text", "json", "markdown")
def rules_command(format_name: str) -> None:
    """List all rules, those of the packs that the settings name included."""
    write(rule_list(format_name))


@click.command("dialects")
@format_option("text", "json")
def dialects_command(format_name: str) -> None:
    """List the dialects that are recognised."""
    write(dialect_list(format_name))


@click.command("targets")
@format_option("text", "json")
def targets_command(format_name: str) -> None:
    """List the packages whose releases are known: the newest one, and how many."""
    write(release_list(format_name))


@click.command("schema")
@click.argument("dialect")
@click.option("--target", "targets", metavar="REQUIREMENT", multiple=True, help="The releases whose keys and values are shown.")
def schema_command(dialect: str, targets: tuple[str, ...]) -> None:
    """Print a dialect's option table as plain JSON Schema, for editors."""
    write(schema_of(dialect, targets))
