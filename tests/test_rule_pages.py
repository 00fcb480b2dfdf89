"""Every rule is its own page, and the page's examples are run: the example must be reported, the better text must not."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

import pytest

import fsdplint
from fsdplint.rule import Rule, load_pack

HEADINGS = ["What it does", "Why it matters", "Example", "Use instead", "Versions and evidence"]
RULES = load_pack().rules


class Example(NamedTuple):
    """A text of a rule's page, and how it is to be linted."""

    rule: Rule
    text: str
    options: dict[str, object]


def sections(rule: Rule) -> dict[str, str]:
    page = inspect.cleandoc(rule.__doc__ or "")
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return {title.strip(): body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def example(rule: Rule, heading: str, launch_of: str = "") -> Example | None:
    """The YAML block of a section; options stand in its prose: ``--target X``, ``--device X``, a launch line in backticks."""
    body = sections(rule).get(heading, "")
    block = re.search(r"```(?:yaml|json|toml)\n(.*?)```", body, re.DOTALL)
    prose = body + "\n" + launch_of
    launch = re.search(r"`((?:soup|accelerate|trl) [^`]+)`", prose)
    if block is None:
        return None
    words = re.findall(r"--(target|device|dialect)[ =]([^\s`]+)", re.sub(r"`(?:soup|accelerate|trl) [^`]+`", "", prose))
    options: dict[str, object] = {"target": [value for name, value in words if name == "target"]}
    options.update({name: value for name, value in words if name != "target"})
    if launch:
        options["launch"] = launch[1]
    return Example(rule, block[1], options)


BAD = [found for rule in RULES if (found := example(rule, "Example"))]
GOOD = [
    found
    for rule in RULES
    if (found := example(rule, "Use instead", re.sub(r"```.*?```", "", sections(rule).get("Example", ""), flags=re.DOTALL)))
]


def path_of(text: str, options: dict[str, object]) -> str:
    is_toml = re.match(r"\[[a-z_.]+\]\n", text)
    return "config.toml" if is_toml else "soup.yaml" if "soup" in str(options.get("launch")) else "config.yaml"


def codes(text: str, options: dict[str, object]) -> list[str]:
    return [d.code for d in fsdplint.check_text(text, path=path_of(text, options), isolated=True, **options)]  # type: ignore[arg-type]


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_is_whole(rule: Rule) -> None:
    assert re.fullmatch(r"(FSD|ACC|HFT|TRL|AXO|LLF|SWF|SOU|LIT|TTN|TUN|CMP|DSP|NEM|VRL)\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    titles = list(sections(rule))
    assert [title for title in titles if title in HEADINGS] == HEADINGS
    assert all(sections(rule)[title] for title in HEADINGS)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.rule.code)
def test_example_is_reported(bad: Example) -> None:
    assert bad.rule.code in codes(bad.text, bad.options)


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.rule.code)
def test_better_text_is_not_reported(good: Example) -> None:
    assert good.rule.code not in codes(good.text, good.options)


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.rule.code)
def test_better_text_has_no_errors(good: Example) -> None:
    found = fsdplint.check_text(good.text, path=path_of(good.text, good.options), isolated=True, **good.options)  # type: ignore[arg-type]
    assert [(d.code, d.message) for d in found if d.severity.word == "error"] == []


def test_modules_of_one_dialect_speak_of_no_other() -> None:
    from importlib import import_module

    from fsdplint_rules import FAMILIES

    for module, dialects in FAMILIES.items():
        for rule in import_module(f"fsdplint_rules.{module}").RULES:
            assert not dialects or set(rule.dialects) <= set(dialects), rule.code
            assert not dialects or rule.dialects, f"{rule.code} would run only where {module} is imported"
