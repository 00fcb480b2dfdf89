"""Anchors, aliases and merge keys: shared, never expanded, and told at the place where they are used."""

from __future__ import annotations

import pytest

from fsdplint.document import Document, Mapping, parse, parse_dotted


def read(text: str, loader: str = "pyyaml") -> Document:
    return parse(text.encode(), "train.yaml", loader=loader)


def places(document: Document, path: str) -> tuple[str, str]:
    """The texts at the places of a key and of its value."""
    key, value = document.key_span(parse_dotted(path)), document.value_span(parse_dotted(path))
    assert key is not None
    assert value is not None
    return document.text[key.start : key.end], document.text[value.start : value.end]


MERGED = """\
base: &base
  version: 2
  offload: true
derived:
  <<: *base
  offload: false
listed:
  <<: [*base, {extra: 1}]
ref: *base
deep: [*base]
"""


def test_an_inherited_key_is_told_at_its_alias() -> None:
    document = read(MERGED)
    assert document.value(("derived",)) == {"version": 2, "offload": False}
    assert document.value(("listed",)) == {"version": 2, "offload": True, "extra": 1}
    assert places(document, "derived.version") == ("*base", "*base")
    assert places(document, "derived.offload") == ("offload", "false")
    assert places(document, "listed.extra") == ("extra", "1")


def test_an_alias_is_the_place_of_the_value_and_of_all_below_it() -> None:
    document = read(MERGED)
    assert places(document, "ref") == ("ref", "*base")
    assert places(document, "ref.version") == ("*base", "*base")
    assert places(document, "deep[0].version") == ("*base", "*base")
    assert places(document, "base") == ("base", "&base\n  version: 2\n  offload: true")


def test_entries_tell_whether_they_are_inherited() -> None:
    node = read(MERGED).node(("derived",))
    assert isinstance(node, Mapping)
    assert [(entry.name, entry.inherited) for entry in node.entries] == [("offload", False), ("version", True)]
    assert [entry.name for entry in node.merges] == ["<<"]
    assert "<<" not in node


def test_own_keys_win_wherever_they_stand() -> None:
    document = read("d: &d {x: 1, y: 2}\nm:\n  x: 9\n  <<: *d\n")
    assert document.value(("m",)) == {"x": 9, "y": 2}


def test_in_a_list_the_first_wins_and_two_merges_both_count() -> None:
    first = read("a: &a {key: 1}\nb: &b {key: 2, other: 3}\nc:\n  <<: [*a, *b]\n")
    assert first.value(("c",)) == {"key": 1, "other": 3}
    two = read("a: &a {key: 1}\nb: &b {other: 3}\nc:\n  <<: *a\n  <<: *b\n")
    assert (two.value(("c",)), two.duplicates, two.problems) == ({"key": 1, "other": 3}, (), ())


def test_merges_reach_through_merges() -> None:
    document = read("a: &a {x: 1}\nb: &b\n  <<: *a\n  y: 2\nc:\n  <<: *b\n")
    assert document.value(("c",)) == {"x": 1, "y": 2}
    assert places(document, "c.x") == ("*b", "*b")


def test_a_quoted_merge_sign_is_a_key() -> None:
    assert read("a:\n  '<<': 1\n").value(("a",)) == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: &a 1\nb: {<<: *a}\n", "*a"), ("b: {<<: 1}\n", "1"), ("a: &a {x: 1}\nb: {<<: [*a, 2]}\n", "2")],
)
def test_only_mappings_can_be_merged(text: str, place: str) -> None:
    document = read(text)
    (problem,) = document.problems
    assert (problem.kind, document.text[problem.span.start : problem.span.end]) == ("merge", place)


def test_a_mapping_cannot_be_merged_into_itself() -> None:
    (problem,) = read("a: &a\n  b: {<<: *a}\n").problems
    assert (problem.kind, problem.span) == ("merge", (16, 18))


def test_an_alias_may_be_a_key() -> None:
    document = read("k: &k name\n*k : v\n&a anchored: &b 1\nc: *b\nd: *a\n")
    assert document.value(()) == {"k": "name", "name": "v", "anchored": 1, "c": 1, "d": "anchored"}
    assert places(document, "name") == ("*k", "v")
    assert places(document, "anchored") == ("&a anchored", "&b 1")


def test_an_unknown_alias_is_a_problem() -> None:
    document = read("a: *nope\nb: 1\n")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("alias", (3, 8))
    assert document.value(()) == {"a": None, "b": 1}


def test_an_anchor_is_set_once_only() -> None:
    document = read("a: &x 1\nb: *x\nc: &x 2\n")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("anchor", (17, 19))
    assert problem.related == (("first set here", (3, 7)),)


def test_laughs_are_shared_and_never_expanded() -> None:
    lines = ["a0: &a0 [lol]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 60)]
    document = read("\n".join(lines))
    value = document.value(("a59",))
    assert isinstance(value, list)
    assert value[0] is value[8]
    assert document.value(("a2",)) == [[["lol"]] * 9] * 9
    assert document.problems == ()


def test_what_contains_itself_is_cut() -> None:
    document = read("a: &a\n  b: *a\n  c: [1, *a]\n")
    assert document.value(("a",)) == {"b": None, "c": [1, None]}
    assert document.value(("a", "b", "b", "c", 0)) == 1
    assert document.problems == ()
    assert [problem.kind for problem in document.with_loader("omegaconf").problems] == ["alias", "alias"]
