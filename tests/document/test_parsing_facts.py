"""The measured inputs of the parsing study: values, spans and errors of every file."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli

from fsdplint.document import Document, Mapping, Scalar, Sequence, Span, parse, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Node

INPUTS = Path(__file__).parents[2].parent / "shared" / "facts" / "parsing" / "inputs"
EXPECTED: dict[str, Any] = {}
if (INPUTS / "expected.json").exists():
    EXPECTED = json.loads((INPUTS / "expected.json").read_text("utf-8"))["files"]

pytestmark = pytest.mark.skipif(not EXPECTED, reason="the study's inputs are not here")
try:
    tomli.loads("a = 07:32")
except tomli.TOMLDecodeError:  # before 2.4, which reads TOML 1.1
    EXPECTED.pop("21d_toml11.toml", None)
FILES = sorted(EXPECTED) or ["absent"]

ARGUED = {
    "11d_bom_mid.yaml": "the pure loader keeps the byte order mark in the key, so it belongs to the key's place",
    "18b_jinja_unquoted.yaml": "a whole unquoted template is one text, for its mapping has no usable key",
    "20o_seq_key.yaml": "an entry whose key no loader takes has no path and is left out",
}


def read(name: str) -> Document:
    return parse((INPUTS / name).read_bytes(), name)


def encoded(value: object) -> object:
    """A value, or what expected.json writes for it, in one comparable form."""
    if isinstance(value, float):
        return {"$float": repr(value)}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return {f"${type(value).__name__}": str(value)}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: encoded(item) if key[:1] != "$" else item for key, item in value.items()}
        return {"$map": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, str) and any(0xD800 <= ord(char) < 0xE000 for char in value):
        return {"$surrogate": ascii(value)}
    return value


def decoded_pairs(value: Any) -> Any:
    """expected.json's `$map` with its floats in the same form as everywhere."""
    if isinstance(value, dict) and "$map" in value:
        return {"$map": [[encoded(key), encoded(item)] for key, item in value["$map"]]}
    return encoded(value)


def written(node: Node | None, every_item: bool) -> Iterator[tuple[Span | None, Span]]:
    """Key span and value span of what is written in its own place, in written order.

    Of list items, collections are left out unless `every_item` is set; so are TOML tables under a header.
    """
    if isinstance(node, Mapping):
        own = [entry for entry in (*node.entries, *node.merges) if not entry.inherited]
        for entry in sorted(own, key=lambda entry: entry.key_span):
            yield entry.key_span, entry.at or entry.value.span
            if entry.at is None:
                yield from written(entry.value, every_item)
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            alias = node.aliases.get(index)
            if every_item or alias is not None or isinstance(item, Scalar):
                yield None, alias or item.span
            if alias is None:
                yield from written(item, every_item)


def leaves(node: Node) -> Iterator[tuple[Span | None, Span]]:
    """The same for TOML: only what stands behind a '='."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            if isinstance(entry.value, Scalar) or (entry.value.flow and entry.value.span.start > entry.key_span.end):
                yield entry.key_span, entry.value.span
            yield from leaves(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Scalar):
                yield None, item.span
            yield from leaves(item)


def offsets(place: list[dict[str, int]] | None) -> Span | None:
    return None if place is None else Span(place[0]["offset"], place[1]["offset"])


@pytest.mark.parametrize("name", FILES)
def test_values(name: str) -> None:
    expected, document = EXPECTED[name], read(name)
    if "documents" in expected and name not in ARGUED:
        assert [encoded(plain(root)) for root in document.roots] == [decoded_pairs(v) for v in expected["documents"]]
    if "value" in expected:
        assert encoded(document.value(())) == decoded_pairs(expected["value"])


@pytest.mark.parametrize("name", FILES)
def test_spans(name: str) -> None:
    expected, document = EXPECTED[name], read(name)
    if "spans" not in expected or "spans_note" in expected or name in ARGUED:
        return
    wanted = [(offsets(span.get("key")), offsets(span["value"])) for span in expected["spans"]]
    if document.format != "toml":
        found = [pair for root in document.roots for pair in written(root, document.format == "json")]
        assert found == wanted
        return
    # The study spans a dotted key as a whole; here each part is a key of its own, and the last one is compared.
    pairs = [pair for root in document.roots for pair in leaves(root)]
    assert sorted((v, k and k.end) for k, v in pairs) == sorted((v, k and k.end) for k, v in wanted if v is not None)


def expected_places(expected: dict[str, Any]) -> list[int] | None:
    """The offsets that the loader names, [] for an error without a place, None for no error."""
    if "decode_error" in expected:
        return [expected["decode_error"]["offset"]]
    verdict = expected.get("pure") or expected.get("json") or expected.get("tomli") or {"ok": True}
    if verdict["ok"]:
        return None
    return [verdict[key]["offset"] for key in ("at", "context_at") if verdict.get(key)]


# Errors that the loaders do not have, or report elsewhere than at their cause.
OWN_PLACES = {
    "03_multi_document.yaml": ("documents", 2, 1),
    "11b_bom_utf8.json": ("encoding", 1, 1),
    "11d_bom_mid.yaml": ("documents", 2, 1),
    "12_utf16le_bom.yaml": ("encoding", 1, 1),
    "12b_utf16be_bom.yaml": ("encoding", 1, 1),
    "15_deep_flow_5000.yaml": ("depth", 1, 203),
    "15b_deep_block_1500.yaml": ("depth", 201, 201),
    "15c_deep_5000.json": ("depth", 1, 1001),
    "15d_deep_5000.toml": ("depth", 1, 205),
    "21b_dup_key.toml": ("duplicate-key", 3, 1),
    "21d_toml11.toml": ("toml-1.1", 1, 5),
    "21i_implicit_super_after.toml": ("duplicate-key", 2, 1),
    "22b_comments.json": ("syntax", 2, 3),
    "22g_missing_comma.json": ("syntax", 2, 9),
}


@pytest.mark.parametrize("name", FILES)
def test_errors(name: str) -> None:
    document = read(name)
    problems = document.problems
    if name in OWN_PLACES:
        kind, line, column = OWN_PLACES[name]
        assert (problems[0].kind, *document.position(problems[0].span.start)) == (kind, line, column)
        return
    places = expected_places(EXPECTED[name])
    if places is None:
        assert problems == ()
        return
    assert len(problems) >= 1
    assert any(problem.span.start <= place <= problem.span.end for problem in problems for place in places)


def test_argued_byte_order_mark() -> None:
    document = read("11d_bom_mid.yaml")
    assert [root.keys() for root in document.roots if isinstance(root, Mapping)] == [["a"], ["\ufeffb"]]
    assert list(written(document.roots[1], False)) == [(Span(9, 11), Span(13, 14))]


def test_argued_template() -> None:
    document = read("18b_jinja_unquoted.yaml")
    assert document.value(("name",)) == "{{ cookiecutter.name }}"
    assert document.value_span(("name",)) == Span(11, 34)


def test_argued_list_as_key() -> None:
    assert list(written(read("20o_seq_key.yaml").root, False)) == [(Span(0, 1), Span(3, 4))]
