"""Whatever is generated, the tree's values are the upstream loaders' own."""

from __future__ import annotations

import json
from typing import Any

import tomli
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdplint.document import Document, Mapping, Scalar, Sequence, parse

MODEST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LITERALS = ["no", "on", "~", "1e-4", "1.5", "012", "12:30", "2024-01-02", "=", "<<", "a#b", "${x}", "", " ", "'", '"', "é😀"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(LITERALS) | st.text(max_size=8)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def exact(value: Any) -> Any:
    """A value with its types, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return type(value).__name__, repr(value)


def loads_each_place(document: Document) -> None:
    """Each scalar's own text, loaded alone, gives the scalar's value; each collection's place holds its children's."""
    stack = [root for root in document.roots if root is not None]
    while stack:
        node = stack.pop()
        inner: list[Any] = []
        if isinstance(node, Mapping):
            inner = [entry.value for entry in node.entries]
        elif isinstance(node, Sequence):
            inner = node.items
        elif isinstance(node, Scalar):
            assert document.text[node.span.start : node.span.end].endswith(node.raw)
            if node.style in ("single", "double") and node.tag is None and "\n" not in node.raw:
                assert yaml.safe_load(node.raw) == node.value
        for child in inner:
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end
        stack.extend(inner)


@MODEST
@given(TREES, st.booleans() | st.none(), st.integers(1, 6), st.sampled_from([None, "'", '"', "|", ">"]))
def test_dumped_yaml_is_read_as_safe_load_reads_it(tree: Any, flow: bool | None, indent: int, style: str | None) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, indent=indent, default_style=style, allow_unicode=True)
    document = parse(text.encode(), "x.yaml")
    assert [problem for problem in document.problems if problem.fatal] == []
    assert exact(document.value(())) == exact(yaml.safe_load(text))
    loads_each_place(document)


LINES = st.sampled_from(
    [
        "a: 1",
        "b:",
        "  c: [x, y]",
        "  - d",
        "- e",
        "f: |",
        "    text",
        "",
        "# note",
        "g: 'h'",
        "i: &j {k: l}",
        "m: *j",
        "n: !t o",
        "p: {q: r",
        "\ts: 1",
        "? u",
        "<<: *j",
        "v: w: x",
        "---",
        'y: "z',
        "a: {{ b }}",
        "c: no",
    ]
)


@MODEST
@given(st.lists(LINES, max_size=8).map("\n".join))
def test_any_yaml_is_refused_or_read_as_safe_load_does(text: str) -> None:
    document = parse(text, "x.yaml")
    try:
        expected = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        assert document.problems != ()
    else:
        assert document.problems == ()
        assert exact(document.value(())) == exact(expected)


@MODEST
@given(TREES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_dumped_json_is_read_as_json_does(tree: Any, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    document = parse(text, "x.json")
    assert document.problems == ()
    assert exact(document.value(())) == exact(json.loads(text))


PIECES = st.sampled_from([*'{}[],:" \n\t\\0', "1", "-", ".5", "e3", "true", "null", "NaN", '"a"', "\\u00e9", "-Infinity", "\x01", "é"])


@MODEST
@given(st.lists(PIECES, max_size=10).map("".join))
def test_any_json_is_refused_or_read_as_json_does(text: str) -> None:
    document = parse(text, "x.json")
    try:
        expected = json.loads(text)
    except ValueError:
        assert document.problems != ()
    else:
        assert document.problems == ()
        assert exact(document.value(())) == exact(expected)


STATEMENTS = st.sampled_from(
    [
        "a = 1",
        "b.c = 'x'",
        "b.d = [1, {e = 2}]",
        "[t]",
        "[t.u]",
        "[[r]]",
        "[r.s]",
        "'q.w' = true",
        "f = {g.h = 1, i = []}",
        "# note",
        "",
        'j = """\nk\\\n  l"""',
        "m = 1979-05-27",
        "a = ",
        "[b]",
        "n = [\n  1, # x\n]",
        "o = '''\n'''''",
        "p = inf # [x]",
    ]
)


@MODEST
@given(st.lists(STATEMENTS, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_toml_is_refused_or_read_as_tomli_does(statements: list[str], newline: str) -> None:
    text = "\n".join(statements).replace("\n", newline)
    document = parse(text, "x.toml")
    try:
        expected = tomli.loads(text)
    except tomli.TOMLDecodeError:
        assert [problem for problem in document.problems if problem.fatal] != []
        return
    assert document.problems == ()
    assert exact(document.value(())) == exact(expected)
    assert expected == {} or document.value_span(()) != (0, 0)
