"""Writes docs/rules/: one page per rule from its docstring, and the list of all. Run it after changing a rule; a test compares.

python tools/rule_pages.py
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from fsdplint.rule import load_pack

if TYPE_CHECKING:
    from fsdplint.rule import Rule

FOLDER = Path(__file__).parents[1] / "docs" / "rules"


def page(rule: Rule) -> str:
    """The Markdown page of a rule."""
    where = f"Usual severity: {rule.severity.word}."
    if rule.dialects:
        where += f" Speaks about: {', '.join(rule.dialects)}."
    return f"# {rule.code} {rule.name}\n\n{where}\n\n{inspect.cleandoc(rule.__doc__ or '')}\n"


def listing(rules: tuple[Rule, ...]) -> str:
    """The Markdown list of all rules."""
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.word} | {summary(rule)} |" for rule in rules]
    return "\n".join(["# Rules", "", "| code | name | severity | what it finds |", "|---|---|---|---|", *rows, ""])


def summary(rule: Rule) -> str:
    """The first sentence of a rule's page."""
    body = inspect.cleandoc(rule.__doc__ or "").split("\n\n")[0]
    text = " ".join(line for line in body.splitlines() if not line.startswith("## "))
    return text.split(". ")[0].rstrip(".").replace("|", "\\|")


def pages() -> dict[str, str]:
    """Every file of docs/rules/ by name."""
    rules = load_pack().rules
    return {"README.md": listing(rules), **{f"{rule.code}.md": page(rule) for rule in rules}}


def main() -> None:
    """Write the folder anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in {path.name for path in FOLDER.glob("*.md")} - set(wanted):
        (FOLDER / stale).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
