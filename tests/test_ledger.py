"""The ledger: every fact about upstream is served by a rule or a table, or has a reason; docs/ledger.md and its data are fresh."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from console import run

from fsdplint.rule import Rule, load_pack

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "facts"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ledger", ROOT / "tools" / "ledger.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LEDGER = _tool()
KNOWN: dict[str, str] = LEDGER.fact_ids()


def test_rules_and_tables_name_known_facts_only() -> None:
    assert sorted(set(LEDGER.served(KNOWN)) - set(KNOWN)) == []


def test_every_fact_is_served_or_has_a_reason() -> None:
    served, reasons = LEDGER.served(KNOWN), LEDGER.reasons()
    assert [fact for fact in KNOWN if fact not in served and not reasons.get(fact)] == []


def test_reasons_are_of_known_facts_that_nothing_serves() -> None:
    served, reasons, twins = LEDGER.served(KNOWN), LEDGER.reasons(), LEDGER.twins()
    assert [fact for fact in (*reasons, *twins, *twins.values()) if fact not in KNOWN] == []
    assert [fact for fact in reasons if fact in served] == []
    assert [twin for twin in twins.values() if twin not in served] == []


def test_page_and_data_are_fresh() -> None:
    served, reasons = LEDGER.served(KNOWN), LEDGER.reasons()
    hint = "run tools/ledger.py"
    assert LEDGER.PAGE.read_text(encoding="utf-8") == LEDGER.page(KNOWN, served, reasons), hint
    assert LEDGER.DATA.read_text(encoding="utf-8") == LEDGER.data(KNOWN, served, reasons), hint


@pytest.mark.skipif(not SHARED.is_dir(), reason="the facts are not here")
def test_known_facts_are_all_facts() -> None:
    found = [json.loads(line)["id"] for path in SHARED.glob("*/facts.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(set(found) - set(KNOWN)) == []
    assert len(found) == len(set(found))


def test_ids_are_unique() -> None:
    lines = [line for line in LEDGER.IDS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("# ")]
    assert len(lines) == len(set(lines)) == len(KNOWN)


class Evident(Rule):
    """## What it does
    Nothing, unlike acc-quoted-bool.

    ## Versions and evidence
    acc-null-bool (run with accelerate 1.15.0), LT001, TRF-FSDP-04. Not of soup-cli, and acc-nowhere is no fact.
    """

    code, name, facts = "XXX001", "evident", ("US-01",)


def test_a_rule_names_facts_in_its_class_and_its_evidence() -> None:
    named = LEDGER.named_by(Evident(), KNOWN)
    assert named == ["US-01", "acc-null-bool", "LT001-fsdp-needs-cuda", "TRF-FSDP-04", "acc-nowhere"]


def test_entries_of_a_table_are_paths_codes_and_words() -> None:
    table = {
        "x-consequences": {"FSD101": [{"outcome": "refused", "facts": ["a"]}]},
        "x-floors": [{"needs": "torch>=2", "facts": ["b"]}],
        "$defs": {"flag": {"x-refusal": [{"facts": ["c"]}]}},
        "properties": {"top": {"x-facts": ["d"], "properties": {"inner": {"x-values": [{"x-refusal": [{"facts": ["e"]}]}]}}}},
    }
    assert list(LEDGER.entries(table)) == [("a", "FSD101"), ("b", "x-floors"), ("c", "<flag>"), ("d", "top"), ("e", "top.inner")]


def test_rules_as_json_carry_the_ledger() -> None:
    found = run("rules", "--format", "json").json
    assert [fact["id"] for fact in found["facts"]] == list(KNOWN)
    facts = {fact["id"]: fact for fact in found["facts"]}
    assert "FSD604" in facts["acc-cpu-ram-needs-sync"]["rules"]
    assert "accelerate: FSD604" in facts["acc-cpu-ram-needs-sync"]["entries"]
    assert facts["acc-cpu-ram-needs-sync"]["reason"] is None
    assert (facts["TRF-FSDP-41"]["rules"], facts["TRF-FSDP-41"]["entries"], facts["TRF-FSDP-41"]["reason"]) == ([], [], "upstream fine")
    by_code = {rule["code"]: rule["facts"] for rule in found["rules"]}
    assert set(by_code) == {rule.code for rule in load_pack().rules}
    assert "acc-cpu-ram-needs-sync" in by_code["FSD604"]
