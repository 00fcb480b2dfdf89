"""Writes docs/ledger.md and fsdplint/ledger.json: what serves each known fact about upstream, or why nothing does.

    python tools/ledger.py

The ids of the facts stand in ``fact_ids.txt``. A fact is served by a rule that names it (``facts``, or the evidence section of its
page) or by an entry of an option table that does (``"facts"`` of a claim). ``ledger_reasons.toml`` says why the others are not.
Run it after changing a rule or a table; a test compares.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

from fsdplint.rule import load_pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.rule import Rule

ROOT = Path(__file__).parents[1]
IDS = ROOT / "tools" / "fact_ids.txt"
REASONS = ROOT / "tools" / "ledger_reasons.toml"
PAGE = ROOT / "docs" / "ledger.md"
DATA = ROOT / "fsdplint" / "ledger.json"
TABLES = ROOT / "fsdplint" / "dialects"

_SHAPE = re.compile(r"\b(?:(?:acc|axo|lf1?|sw|soup)-(?!cli\b)[\w.-]*\w|(?:LT|LG|NM|TT|TN|CO)\d{3}(?:-[\w./-]*\w)?|TRF-[A-Z]+-\d+|US-\d+)")
_EVIDENCE = "## Versions and evidence"


class Served(NamedTuple):
    """What serves a fact: codes of rules, and entries of option tables (``accelerate: fsdp_config.fsdp_version``)."""

    rules: list[str]
    entries: list[str]


def fact_ids() -> dict[str, str]:
    """Every known id and the framework that it is about."""
    found: dict[str, str] = {}
    framework = ""
    for line in IDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            framework = line[2:]
        elif line:
            found[line] = framework
    return found


def reasons() -> dict[str, str]:
    """Why nothing serves a fact, by id."""
    tables = tomli.loads(REASONS.read_text(encoding="utf-8"))
    return {fact: reason for name, table in tables.items() if name != "as" for fact, reason in table.items()}


def twins() -> dict[str, str]:
    """Facts of one and the same fault: the id that nothing names, and the one that something does."""
    found: dict[str, str] = tomli.loads(REASONS.read_text(encoding="utf-8")).get("as", {})
    return found


def named_by(rule: Rule, known: dict[str, str]) -> list[str]:
    """The ids that a rule names; ``LT013`` on its page stands for the one id that begins so."""
    _, _, evidence = inspect.cleandoc(rule.__doc__ or "").partition(_EVIDENCE)
    return list(dict.fromkeys([*rule.facts, *(_whole(word, known) for word in _SHAPE.findall(evidence.partition("\n## ")[0]))]))


def _whole(word: str, known: dict[str, str]) -> str:
    begun = [fact for fact in known if fact.startswith(f"{word}-")]
    return begun[0] if word not in known and len(begun) == 1 else word


def entries(table: Any, path: tuple[str, ...] = (), inside: str = "") -> Iterator[tuple[str, str]]:
    """Every (fact id, entry) of an option table.

    An entry is a key's dotted path, the code of the rule to which ``x-consequences`` answers, or another word of the root.
    """
    if isinstance(table, list):
        for item in table:
            yield from entries(item, path, inside)
    if not isinstance(table, dict):
        return
    for fact in (*table.get("facts", []), *table.get("x-facts", [])):
        yield fact, ".".join(path) or inside or "the table"
    for word, value in table.items():
        if word == "properties":
            for name, schema in value.items():
                yield from entries(schema, (*path, name), inside)
        elif word == "x-consequences":
            for code, claims in value.items():
                yield from entries(claims, (*path, code))
        elif word == "$defs":
            for name, schema in value.items():
                yield from entries(schema, (*path, f"<{name}>"))
        elif word not in ("facts", "x-facts"):
            yield from entries(value, path, inside or (word if word.startswith("x-") else ""))


def served(known: dict[str, str]) -> dict[str, Served]:
    """Everything that names a fact, by id, unknown ids included."""
    found: dict[str, Served] = {}
    rules = load_pack().rules
    codes = {rule.code for rule in rules}
    for rule in rules:
        for fact in named_by(rule, known):
            _add(found.setdefault(fact, Served([], [])).rules, rule.code)
    for path in sorted(TABLES.glob("*.schema.json")):
        name = path.name.removesuffix(".schema.json").replace("_", "-")
        for fact, entry in entries(json.loads(path.read_text(encoding="utf-8"))):
            serving = found.setdefault(fact, Served([], []))
            code = entry.rpartition(".")[2]
            _add(serving.entries, f"{name}: {entry}")
            if code in codes:
                _add(serving.rules, code)
    found.update({fact: found[twin] for fact, twin in twins().items() if twin in found and fact not in found})
    return found


def _add(listed: list[str], item: str) -> None:
    if item not in listed:
        listed.append(item)


def data(known: dict[str, str], by: dict[str, Served], why: dict[str, str]) -> str:
    """The content of fsdplint/ledger.json."""
    lines = []
    for fact in known:
        serving = by.get(fact, Served([], []))
        entry: dict[str, Any] = {"id": fact, "rules": serving.rules, "entries": serving.entries}
        entry["reason"] = None if serving.rules or serving.entries else why.get(fact)
        lines.append(" " + json.dumps(entry))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def page(known: dict[str, str], by: dict[str, Served], why: dict[str, str]) -> str:
    """The content of docs/ledger.md."""
    lines = [
        "# Ledger of facts",
        "",
        "What serves each fact about upstream: a rule, an entry of an option table, or the reason why nothing does.",
        "",
    ]
    for framework in dict.fromkeys(known.values()):
        facts = [fact for fact in known if known[fact] == framework]
        count = sum(fact in by for fact in facts)
        lines += [f"## {framework}", "", f"{count} of {len(facts)} served.", "", "| fact | served by |", "|---|---|"]
        lines += [f"| {fact} | {_told(by.get(fact), why.get(fact))} |" for fact in facts] + [""]
    return "\n".join(lines)


def _told(serving: Served | None, reason: str | None) -> str:
    if serving is None:
        return f"nothing: {reason}"
    rules = [f"[{code}](rules/{code}.md)" for code in serving.rules]
    return ", ".join([*rules, *(f"`{entry}`" for entry in serving.entries)]).replace("|", "\\|")


def main() -> None:
    """Write both files anew."""
    known = fact_ids()
    by, why = served(known), reasons()
    PAGE.write_text(page(known, by, why), encoding="utf-8", newline="\n")
    DATA.write_text(data(known, by, why), encoding="utf-8", newline="\n")
    for fact in sorted(set(by) - set(known)):
        print(f"not in {IDS.name}: {fact} ({by[fact]})")
    for fact in known:
        if fact not in by and fact not in why:
            print(f"neither served nor explained: {fact}")


if __name__ == "__main__":
    main()
