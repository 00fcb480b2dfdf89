"""YAML as PyYAML's safe_load reads it: values, exact places, and what makes it special."""

from __future__ import annotations

import datetime

import pytest

from fsdplint.document import Document, Mapping, Scalar, Sequence, parse, parse_dotted, plain
from fsdplint.document import yaml as reader


def read(text: str, loader: str = "pyyaml") -> Document:
    return parse(text.encode(), "train.yaml", loader=loader)


def key(document: Document, path: str) -> str:
    """The text at the place of a key."""
    span = document.key_span(parse_dotted(path))
    assert span is not None
    return document.text[span.start : span.end]


def value(document: Document, path: str) -> str:
    """The text at the place of a value."""
    span = document.value_span(parse_dotted(path))
    assert span is not None
    return document.text[span.start : span.end]


def scalar(text: str, loader: str = "pyyaml") -> object:
    return read(f"x: {text}\n", loader).value(("x",))


YAML_11 = {
    "no": False,
    "Off": False,
    "yes": True,
    "ON": True,
    "n": "n",
    "y": "y",
    "'no'": "no",
    "1e-4": "1e-4",
    "5e5": "5e5",
    "1.0e4": "1.0e4",
    "1.0e-4": 0.0001,
    "1.0e+4": 10000.0,
    "5.": 5.0,
    ".5": 0.5,
    ".inf": float("inf"),
    "012": 10,
    "0o12": "0o12",
    "089": "089",
    "0x1F": 31,
    "0b101": 5,
    "1_000": 1000,
    "12:30": 750,
    "12:30:45": 45045,
    "1:30.5": 90.5,
    "2.10": 2.1,
    "+1": 1,
    "-0": 0,
    "~": None,
    "": None,
    "null": None,
    "None": "None",
    "2024-01-02": datetime.date(2024, 1, 2),
    "2024-01-02 03:04:05": datetime.datetime(2024, 1, 2, 3, 4, 5),
    "a#b": "a#b",
    "http://host/#part": "http://host/#part",
    "${oc.env:HOME}": "${oc.env:HOME}",
    "a {{ b }}": "a {{ b }}",
    "!!str 12": "12",
    "!!int '7'": 7,
    "!!float 1": 1.0,
    "!!binary aGk=": b"hi",
    "! 12": 12,
    "!": None,
}


@pytest.mark.parametrize(("text", "expected"), YAML_11.items())
def test_a_scalar_has_the_value_of_yaml_11(text: str, expected: object) -> None:
    document = read(f"x: {text}\n")
    found = document.value(("x",))
    assert (type(found), found) == (type(expected), expected)
    assert document.problems == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-4", 1e-4),
        ("5e5", 5e5),
        ("1.0e4", 1e4),
        ("2024-01-02", "2024-01-02"),
        ("12:30", 750),
        ("no", False),
        ("012", 10),
        ("2024-13-02", "2024-13-02"),
    ],
)
def test_omegaconf_reads_exponents_as_floats_and_dates_as_text(text: str, expected: object) -> None:
    found = scalar(text, "omegaconf")
    assert (type(found), found) == (type(expected), expected)


def test_another_loader_reads_the_same_text_again() -> None:
    document = read("\ufefflr: 1e-4\r\nlr: 2e-4\r\n")
    other = document.with_loader("omegaconf")
    assert (document.value(("lr",)), document.problems) == ("2e-4", ())
    assert (other.value(("lr",)), other.loader, other.bom, other.newline) == (2e-4, "omegaconf", True, "\r\n")
    assert [problem.kind for problem in other.problems] == ["duplicate-key"]
    assert other.with_loader("omegaconf") is other


def test_scalars_tell_how_they_are_written() -> None:
    document = read("a: &x 'it''s'\nb: \"c\\n\"\nc: |-\n  text\nd: >\n  text\ne: !!str 7\n")
    found = {name: document.node((name,)) for name in "abcde"}
    written = {name: (node.raw, node.style) for name, node in found.items() if isinstance(node, Scalar)}
    assert written == {
        "a": ("'it''s'", "single"),
        "b": ('"c\\n"', "double"),
        "c": ("|-\n  text", "literal"),
        "d": (">\n  text", "folded"),
        "e": ("7", "plain"),
    }
    assert isinstance(found["a"], Scalar)
    assert (found["a"].anchor, found["a"].value) == ("x", "it's")
    assert isinstance(found["e"], Scalar)
    assert found["e"].tag == "tag:yaml.org,2002:str"


def test_a_block_collection_ends_with_its_last_descendant() -> None:
    document = read("fsdp:\n  version: 2  # two\n\n  # offload: true\n# top\nlist:\n- a\n-   b: 1\n\n\nend: 1\n")
    assert value(document, "fsdp") == "version: 2"
    assert value(document, "list") == "- a\n-   b: 1"
    assert value(document, "list[1]") == "b: 1"


def test_flow_collections_keep_their_brackets() -> None:
    document = read("a: {b: [1,\n  2], c: {}}\nd: [x, y: 1]\n")
    assert value(document, "a") == "{b: [1,\n  2], c: {}}"
    assert value(document, "a.b") == "[1,\n  2]"
    assert value(document, "d[1]") == "y: 1"
    root = document.root
    assert isinstance(root, Mapping)
    assert not root.flow
    inner = root.get("a")
    assert isinstance(inner, Mapping)
    assert inner.flow


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t: |\n  a\n  b  \n\n\nz: 1\n", "|\n  a\n  b  "),
        ("t: >-\n  a\n\n", ">-\n  a"),
        ("t: |+\n  a\n\nz: 1\n", "|+\n  a\n\n"),
        ("t: |2 # two\n    a\n", "|2 # two\n    a"),
        ("t: |\n  a", "|\n  a"),
        ("t: |\n\n\n", "|"),
        ("t: |\r\n  a\r\n\r\nz: 1\r\n", "|\r\n  a"),
    ],
)
def test_a_block_scalar_ends_with_its_last_content_line(text: str, expected: str) -> None:
    assert value(read(text), "t") == expected


@pytest.mark.parametrize(
    ("text", "path", "offset"),
    [
        ("a:\nb: 1\n", ("a",), 2),
        ("a:   # why\nb: 1\n", ("a",), 2),
        ("a :\n", ("a",), 3),
        ("{a: 1, b: }\n", ("b",), 9),
        ("{a, b}\n", ("a",), 2),
        ("- \n- x\n", (0,), 1),
        ("a:\r\n", ("a",), 2),
    ],
)
def test_an_empty_null_has_no_width_and_stands_behind_the_colon(text: str, path: tuple[str | int], offset: int) -> None:
    document = read(text)
    assert document.value_span(path) == (offset, offset)
    assert document.has(path)
    assert document.value(path, "default") is None


def test_keys_keep_their_quotes_and_their_type() -> None:
    document = read("'a b': 1\n\"\\x41\": 2\non: 3\n7: 4\n~: 5\n? b\n: 6\n")
    root = document.root
    assert isinstance(root, Mapping)
    assert [entry.key for entry in root.entries] == ["a b", "A", True, 7, None, "b"]
    assert root.keys() == ["a b", "A", "on", "7", "~", "b"]
    assert key(document, '["a b"]') == "'a b'"
    assert key(document, "A") == '"\\x41"'
    assert document.value(("on",)) == 3
    assert document.value(("7",)) == 4
    assert document.value(()) == {"a b": 1, "A": 2, True: 3, 7: 4, None: 5, "b": 6}


def test_a_text_key_is_found_before_a_number_of_the_same_text() -> None:
    document = read("1: number\n'1': text\n")
    assert document.value(("1",)) == "text"
    assert document.value(()) == {1: "number", "1": "text"}


def test_the_last_of_two_equal_keys_counts() -> None:
    document = read("a: 1\nb:\n  c: 1\n  'c': 2\n  c: 3\na: 4\n")
    assert document.problems == ()
    assert document.value(()) == {"a": 4, "b": {"c": 3}}
    found = [(path, document.position(one.key_span.start), document.position(two.key_span.start)) for path, one, two in document.duplicates]
    assert found == [(("b", "c"), (3, 3), (4, 3)), (("b", "c"), (3, 3), (5, 3)), (("a",), (1, 1), (6, 1))]
    assert document.key_span(("a",)) == document.duplicates[2][2].key_span


def test_true_and_one_are_the_same_key_for_python() -> None:
    document = read("1: a\ntrue: b\n")
    assert document.value(()) == {1: "b"}
    assert [path for path, _, _ in document.duplicates] == [("true",)]


def test_omegaconf_refuses_equal_text_keys_only() -> None:
    document = read("a: 1\n1: x\n1: y\na: 2\n", "omegaconf")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("duplicate-key", (15, 16))
    assert problem.related == (("first written here", (0, 1)),)


def test_all_documents_are_kept_but_only_one_is_loaded() -> None:
    document = read("a: 1\n--- # two\nb: &x 2\n---\nc: &x 3\n")
    assert [plain(root) for root in document.roots] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [(p.kind, document.text[p.span.start : p.span.end]) for p in document.problems] == [("documents", "---")]
    assert document.position(document.problems[0].span.start) == (2, 1)


@pytest.mark.parametrize(("text", "roots"), [("", 0), ("# only\n", 0), ("\n\n", 0), ("---\n", 1), ("--- \n...\n", 1)])
def test_an_empty_text_has_no_root(text: str, roots: int) -> None:
    document = read(text)
    assert (len(document.roots), document.problems) == (roots, ())
    assert document.value(()) is None


@pytest.mark.parametrize("text", ["just text\n", "- a\n- b\n", "12\n"])
def test_any_root_is_fine(text: str) -> None:
    assert read(text).problems == ()


def test_line_breaks_stay_as_they_are() -> None:
    document = read("a: 1\r\nb:\r\n  c: |\r\n    x\r\n    y\r\n")
    assert document.newline == "\r\n"
    assert document.value(("b", "c")) == "x\ny\n"
    assert value(document, "b.c") == "|\r\n    x\r\n    y"


def test_the_yaml_directive_changes_nothing() -> None:
    assert read("%YAML 1.2\n---\na: no\n").value(("a",)) is False


def test_without_libyaml_everything_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {b: 1}\nc:\n  <<: *x\n  d: |\n    t\n\ne: [f, ]\n"
    fast = read(text)
    monkeypatch.setattr(reader, "_C_LOADER", None)
    slow = read(text)
    assert slow.value(()) == fast.value(())
    assert [slow.value_span(p) for p in (("a",), ("c",), ("c", "d"), ("e",))] == [
        fast.value_span(p) for p in (("a",), ("c",), ("c", "d"), ("e",))
    ]
    assert read("a: %\n").problems == read("a: %\n").with_loader("omegaconf").problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a: {x: 1, y:}\n", {"x": 1, "y": None}), ("a: [b c:]\n", [{"b c": None}]), ("a: [b, c:]\n", ["b", {"c": None}])],
)
def test_what_only_the_pure_parser_accepts_is_fine_but_not_for_omegaconf(text: str, expected: object) -> None:
    assert read(text).value(("a",)) == expected
    assert read(text).problems == ()
    assert [problem.kind for problem in read(text, "omegaconf").problems] == ["syntax"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a:\t1\n", 1, 3),
        ("a: 1\t# c\nb: 2\n", 1, 5),
        ("b: x\ty\n", 1, 5),
        ("u: [http://h/p?q=1, x]\n", 1, 15),
        ("t: |#c\n  x\n", 1, 5),
        ("%YAML 1.2#\n--- a\n", 1, 10),
    ],
)
def test_what_only_libyaml_accepts_is_a_problem_but_not_for_omegaconf(text: str, line: int, column: int) -> None:
    document = read(text)
    (problem,) = document.problems
    assert (problem.kind, *document.position(problem.span.start)) == ("syntax", line, column)
    assert read(text, "omegaconf").problems == ()


def test_the_tree_goes_on_behind_what_only_the_pure_parser_refuses() -> None:
    document = read("a: 1\t# tab\nfsdp: full_shard\n")
    assert document.problems != ()
    assert document.value(("fsdp",)) == "full_shard"


@pytest.mark.parametrize(
    "text",
    ["# why?\ta\na: 1\n", "a: 'x\ty?'\n", 'a: "[?\t]"\n', "a: what? me\n", "a: |\n  x\ty?\n", "a: 1 # |#\n", "a: [1] # [?]\n"],
)
def test_harmless_tabs_and_question_marks_cost_no_second_parse(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("parsed a second time")

    monkeypatch.setattr("yaml.SafeLoader", refuse)
    assert read(text).problems == ()


def test_unicode_line_breaks_are_no_lines() -> None:
    document = read('a: "x\u2028y"\nb: "p\x85q"\nc: 1\n')
    span = document.key_span(("c",))
    assert span is not None
    assert document.position(span.start) == (3, 1)
    assert document.value(("b",)) == "p q"


def test_a_byte_order_mark_within_the_text_is_part_of_a_key() -> None:
    document = read("a: 1\n\ufeffb: 2\n")
    assert document.value(()) == {"a": 1, "\ufeffb": 2}


def test_sets_and_pairs_are_built_as_pyyaml_does() -> None:
    document = read("s: !!set {a, b}\no: !!omap [a: 1, b: 2]\np: !!pairs [a: 1, a: 2]\n")
    assert document.value(()) == {"s": {"a", "b"}, "o": [("a", 1), ("b", 2)], "p": [("a", 1), ("a", 2)]}
    assert document.problems == ()


@pytest.mark.parametrize("tag", ["!!python/tuple", "!!python/name:os.system", "!include", "!lightning", "!!omap"])
def test_other_tags_are_refused_at_their_place_and_construct_nothing(tag: str) -> None:
    document = read(f"a: 1\nb: {tag} x\n")
    (problem,) = document.problems
    assert (problem.kind, document.text[problem.span.start : problem.span.end]) == ("tag", tag)
    assert tag in problem.message
    assert document.value(("b",)) == "x"


def test_omegaconf_knows_paths() -> None:
    text = "a: !!python/object/apply:pathlib.PosixPath [x]\n"
    assert [problem.kind for problem in read(text).problems] == ["tag"]
    assert read(text, "omegaconf").problems == ()


@pytest.mark.parametrize("text", ["a: =\n", "a: <<\n", "- <<\n"])
def test_a_plain_equals_or_merge_sign_has_no_value(text: str) -> None:
    (problem,) = read(text).problems
    assert problem.kind == "tag"


@pytest.mark.parametrize("text", ["2024-13-45", "!!int x", "!!bool maybe", "!!binary ä", "0b_"])
def test_a_value_that_crashes_the_loader_is_a_problem(text: str) -> None:
    (problem,) = read(f"a: {text}\n").problems
    assert (problem.kind, problem.span) == ("value", (3, 3 + len(text)))


def test_sequences_know_their_items() -> None:
    document = read("a: [x, &k y, *k]\n")
    node = document.node(("a",))
    assert isinstance(node, Sequence)
    assert len(node) == 3
    assert [value(document, f"a[{i}]") for i in range(3)] == ["x", "&k y", "*k"]
    assert node.aliases == {2: (13, 15)}
    assert node.items[2] is node.items[1]
