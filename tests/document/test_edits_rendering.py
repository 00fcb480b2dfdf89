"""How values are written: every reader of YAML 1.1 and 1.2, JSON and TOML must take them for what they are."""

from __future__ import annotations

import json
import math
import re

import pytest
import tomli
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsdplint.document import parse
from fsdplint.document.operations import Refused
from fsdplint.document.rendering import JsonNotation, Notation, TomlNotation, YamlNotation

SINGLE, DOUBLE = YamlNotation("'"), YamlNotation('"')
# YAML 1.2.2, section 10.3.2: what the core schema takes for something else than a text.
CORE_SCHEMA = re.compile(
    r"null|Null|NULL|~||true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?(\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN"
)
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"[-+.0-9eE_:xo]{1,8}", fullmatch=True)


@pytest.mark.parametrize(
    "text",
    [
        "full_shard",
        "two words",
        "org/model-7b",
        "./out",
        "../out/a.b",
        "/data",
        "LlamaDecoderLayer",
        "a=b",
        "nope",
        "x1e-4",
        "FULL_STATE_DICT",
    ],
)
def test_what_is_surely_a_text_stands_plain(text: str) -> None:
    assert SINGLE.scalar(text) == DOUBLE.scalar(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("no", "No", "NO", "yes", "on", "Off", "y", "N", "true", "False", "null", "~", "None", "nan", ".nan", ".inf", "-.inf", ""),
        *("1", "-1", "+1", "1e-4", "1e5", "1.5", ".5", "012", "0o12", "0x1F", "1_000", "12:30", "1:30.5", "2024-01-02", "0b11", "1e"),
        *("=", "<<", "-", "?", "- a", "? a", "a: b", "a:", "a #b", "#a", "*a", "&a", "!a", "%a", "@a", "`a", "[a", "{a", "a,b", "|", ">"),
        *(" a", "a ", "a  b", '"a', "'a", "${x}", "{{ x }}", "---", "...", "é"),
    ],
)
def test_what_could_be_something_else_is_quoted(text: str) -> None:
    assert DOUBLE.scalar(text) == json.dumps(text, ensure_ascii=False)
    assert SINGLE.scalar(text) == "'" + text.replace("'", "''") + "'"


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(["'", '"']), st.sampled_from([None, "'", '"']))
@example("\ufeff", "'", None)
@example("\x85\u2028", "'", "'")
@example("\U0001f680", "'", None)
def test_every_text_is_read_back_from_yaml(text: str, quote: str, kept: str | None) -> None:
    notation = YamlNotation(quote)
    written = notation.text(text, kept)
    key = notation.key(text[:200])
    assert yaml.safe_load(f"- {written}  # c") == [text]
    assert yaml.safe_load(f"[{written}, {{{key}: {written}}}]") == [text, {text[:200]: text}]
    for loader in ("pyyaml", "omegaconf"):
        assert parse(f"{key}: {written}\n", "a.yaml", loader=loader).value((text[:200],)) == text
    assert written[0] in "'\"" or not CORE_SCHEMA.fullmatch(text)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_every_text_is_read_back_from_json(text: str) -> None:
    notation = JsonNotation()
    assert json.loads(f"{{{notation.key(text)}: {notation.scalar(text)}}}") == {text: text}


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from([None, "'", '"']))
def test_every_text_is_read_back_from_toml(text: str, kept: str | None) -> None:
    notation = TomlNotation()
    assert tomli.loads(f"{notation.key(text, kept)} = {notation.text(text, kept)}") == {text: text}


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1))
def test_every_number_is_read_back(value: float) -> None:
    for notation, load in ((SINGLE, yaml.safe_load), (JsonNotation(), json.loads)):
        found = load(notation.scalar(value))
        assert repr(found) == repr(value)
    assert repr(tomli.loads(f"a = {TomlNotation().scalar(value)}")["a"]) == repr(value)
    assert repr(parse(SINGLE.scalar(value), "a.yaml", loader="omegaconf").value(())) == repr(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [(1e-05, "1.0e-05"), (1.5e-7, "1.5e-07"), (1e16, "1.0e+16"), (0.1, "0.1"), (-0.0, "-0.0"), (3.0, "3.0"), (True, "true"), (7, "7")],
)
@pytest.mark.parametrize("notation", [SINGLE, JsonNotation(), TomlNotation()])
def test_numbers_are_spelt_alike(notation: Notation, value: float, written: str) -> None:
    assert notation.scalar(value) == written


def test_what_is_no_number_is_read_back() -> None:
    assert math.isnan(yaml.safe_load(SINGLE.scalar(math.nan)))
    assert math.isnan(json.loads(JsonNotation().scalar(math.nan)))
    assert math.isnan(tomli.loads(f"a = {TomlNotation().scalar(math.nan)}")["a"])


def test_collections_on_one_line() -> None:
    value = {"a": [1, None, "no"], "b c": {}, "d": []}
    assert SINGLE.inline(value) == "{a: [1, null, 'no'], b c: {}, d: []}"
    assert JsonNotation().inline(value) == '{"a": [1, null, "no"], "b c": {}, "d": []}'
    assert JsonNotation(tight=True).inline(value) == '{"a":[1,null,"no"],"b c":{},"d":[]}'
    assert TomlNotation().inline({"a": [1, "no"], "b c": {}, "d": {"e": 1}}) == '{ a = [1, "no"], "b c" = {}, d = { e = 1 } }'


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(Refused, match="nested deeper"):
        SINGLE.inline(value)


def test_a_number_with_too_many_digits_is_refused() -> None:
    with pytest.raises(Refused, match="digits"):
        SINGLE.scalar(10**5000)
