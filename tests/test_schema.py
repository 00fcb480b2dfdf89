"""schema: option tables as plain JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest
from console import run
from jsonschema import Draft7Validator

from fsdplint.dialects import DIALECTS
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.table import Table
from fsdplint.plain_schema import plain_schema
from fsdplint.target import Versions

TABLE: dict[str, Any] = {
    "x-package": "accelerate",
    "x-unknown": [{"outcome": "refused"}],
    "properties": {
        "plain": {"type": "string", "description": "A word", "x-decision": "model", "default": "a"},
        "young": {"type": "integer", "x-known": "accelerate>=2"},
        "never": {"x-known": "never"},
        "going": {"type": "boolean", "x-deprecated": [{"outcome": "deprecated", "when": "accelerate>=1"}]},
        "renamed": {"type": "boolean", "x-renamed": {"to": "plain", "when": "accelerate>=2"}},
        "valued": {"enum": ["a", "b"], "x-values": [{"when": "accelerate<1.5", "enum": ["a"]}]},
        "cased": {"enum": ["FSDP", "NO"], "x-case": "any"},
        "worded": {"format": "bool-word", "x-default": [{"when": "accelerate<2", "default": False}], "default": True},
        "block": {"type": "object", "x-prefix": "fsdp_", "x-aliases": {"old": "inner"}, "properties": {"inner": {"type": "integer"}}},
        "lax": {"type": ["integer", "null"], "x-lax": True},
        "items": {"type": "array", "items": {"type": "string", "x-decision": "wrap_classes"}},
    },
}


class Small(Dialect):
    name, package, title = "small", "accelerate", "a small dialect"
    table = Table(TABLE)  # type: ignore[assignment]


def schema(*release: int) -> dict[str, Any]:
    return plain_schema(Small(), Versions({"accelerate": release}))


def test_what_a_release_does_not_know_is_left_out() -> None:
    old, new = schema(1), schema(2)
    assert set(new["properties"]) - set(old["properties"]) == {"young"}
    assert "never" not in new["properties"]
    assert old["additionalProperties"] is False
    assert "additionalProperties" not in old["properties"]["block"]


def test_values_defaults_and_deprecations_are_those_of_the_release() -> None:
    old, new = schema(1)["properties"], schema(2)["properties"]
    assert (old["valued"], new["valued"]) == ({"enum": ["a"]}, {"enum": ["a", "b"]})
    assert (old["worded"], new["worded"]) == ({"default": False}, {"default": True})
    assert old["going"] == {"type": "boolean", "deprecated": True}
    assert ("deprecated" in old["renamed"], "deprecated" in new["renamed"]) == (False, True)
    assert old["plain"] == {"type": "string", "description": "A word", "default": "a"}


def test_every_spelling_of_a_key_is_there() -> None:
    assert set(schema(1)["properties"]["block"]["properties"]) == {"inner", "fsdp_inner", "old"}


@pytest.mark.parametrize(("value", "fits"), [("FSDP", True), ("fsdp", True), ("No", True), ("fsdp2", False), ("xfsdp", False)])
def test_case_does_not_matter_where_it_does_not_upstream(value: str, fits: bool) -> None:
    assert Draft7Validator(schema(1)).is_valid({"cased": value}) is fits


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_has_a_valid_schema_without_words_of_our_own(name: str) -> None:
    ran = run("schema", name)
    assert ran.code == 0
    Draft7Validator.check_schema(ran.json)
    assert '"x-' not in ran.out
    assert ran.json["properties"]


def test_values_that_are_converted_may_be_texts() -> None:
    assert schema(1)["properties"]["lax"] == {"type": ["integer", "null", "string"]}


def test_a_table_that_scripts_may_extend_admits_other_keys() -> None:
    class Open(Small):
        table = Table({**TABLE, "x-open": True})  # type: ignore[assignment]

    assert "additionalProperties" not in plain_schema(Open(), Versions({"accelerate": (1,)}))


def test_a_target_chooses_the_release() -> None:
    old = run("schema", "accelerate", "--target", "accelerate==1.5.2").json["properties"]["fsdp_config"]["properties"]
    new = run("schema", "accelerate", "--target", "accelerate==1.15.0").json["properties"]["fsdp_config"]["properties"]
    assert ("fsdp_version" in old, "fsdp_version" in new) == (False, True)


def test_no_such_dialect() -> None:
    assert run("schema", "axolot") == (2, "", "fsdplint: unknown dialect 'axolot'; did you mean axolotl?\n")
