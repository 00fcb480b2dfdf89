"""Asking a document: nodes, values, places, lines, comments, dotted paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdplint.document import Document, Mapping, Scalar, Span, dotted, parse, parse_dotted, plain

TEXT = "fsdp: full_shard\nconfig:\n  layers: [a, b]\n  none:\n"


@pytest.fixture
def document() -> Document:
    return parse(TEXT, "x.yaml")


def test_nodes_and_entries_are_found_by_path(document: Document) -> None:
    node = document.node(("config", "layers", 1))
    assert isinstance(node, Scalar)
    assert node.value == "b"
    entry = document.entry(("config", "layers"))
    assert entry is not None
    assert (entry.key, entry.name, entry.inherited, entry.at) == ("layers", "layers", False, None)
    assert document.entry(("config", "layers", 1)) is None
    assert document.node(()) is document.root


@pytest.mark.parametrize(
    "path", [("absent",), ("fsdp", "x"), ("config", 0), ("config", "layers", 2), ("config", "layers", -1), ("config", "layers", "0")]
)
def test_nothing_stands_at_other_paths(document: Document, path: tuple[str | int, ...]) -> None:
    assert not document.has(path)
    assert document.node(path) is None
    assert document.value(path, "default") == "default"
    assert document.key_span(path) is None
    assert document.value_span(path) is None


def test_values_are_plain_python(document: Document) -> None:
    assert document.value(()) == {"fsdp": "full_shard", "config": {"layers": ["a", "b"], "none": None}}
    assert document.value(("config", "none"), "default") is None
    root = document.root
    assert root is not None
    assert plain(root) == document.value(())


def test_the_root_has_a_value_place_but_no_key(document: Document) -> None:
    assert document.key_span(()) is None
    assert document.value_span(()) == Span(0, TEXT.rindex("\n"))


def test_a_mapping_is_asked_by_key(document: Document) -> None:
    root = document.root
    assert isinstance(root, Mapping)
    assert root.keys() == ["fsdp", "config"]
    assert [(name, entry.key_span.start) for name, entry in root.items()] == [("fsdp", 0), ("config", 17)]
    assert "fsdp" in root
    assert "x" not in root
    assert 1 not in root
    assert len(root) == 2
    assert root.get("x") is None
    empty = parse("a: {}", "x.yaml").node(("a",))
    assert isinstance(empty, Mapping)
    assert not empty
    assert bool(root)


def test_lines_break_at_crlf_lf_and_cr_only() -> None:
    document = parse('a: 1\r\nb: "é\u2028\x85"\rc: 3\n', "x.yaml")
    assert [document.line(number) for number in range(6)] == ["", "a: 1", 'b: "é\u2028\x85"', "c: 3", "", ""]
    assert document.position(0) == (1, 1)
    assert document.position(6) == (2, 1)
    assert document.position(document.text.index("c")) == (3, 1)
    assert document.position(len(document.text)) == (4, 1)
    assert document.position(9999) == (4, 1)
    assert document.newline == "\r\n"


@pytest.mark.parametrize(("text", "newline"), [("a: 1", "\n"), ("a: 1\rb: 2", "\r"), ("a: 1\nb: 2\r\n", "\n")])
def test_the_first_line_break_tells_the_style(text: str, newline: str) -> None:
    assert parse(text, "x.yaml").newline == newline


def test_comments_of_yaml_stand_outside_of_scalars() -> None:
    text = "# one\na: b#c # two\nd: '# no' # three\ne: | # four\n  # no\n\n  # no\n# five\nf: [x, # six\n  y]\ng: \"a\n  # no\"#seven\n"
    document = parse(text, "x.yaml")
    assert document.problems == ()
    assert [(line, comment) for line, _, comment in document.comments()] == [
        (1, "# one"),
        (2, "# two"),
        (3, "# three"),
        (4, "# four"),
        (8, "# five"),
        (9, "# six"),
        (12, "#seven"),
    ]
    assert all(text.startswith(comment, offset) for _, offset, comment in document.comments())


def test_comments_are_found_behind_an_error_too() -> None:
    document = parse("a: 1 # one\nb: [\n# two\nc: d#e # three\n", "x.yaml")
    assert document.problems != ()
    assert [comment for _, _, comment in document.comments()] == ["# one", "# two", "# three"]


def test_comments_of_toml_stand_outside_of_strings() -> None:
    document = parse('# one\r\na = \'# no\' # two\r\nb = [ # three\r\n 1]\r\n\'#k\' = """\r\n# no"""#four\r\n', "x.toml")
    assert document.problems == ()
    assert [(line, comment) for line, _, comment in document.comments()] == [
        (1, "# one"),
        (2, "# two"),
        (3, "# three"),
        (6, "#four"),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b.c", 0), 'a["b.c"][0]'),
        (("fsdp_config", "layers", 0, "name"), "fsdp_config.layers[0].name"),
        ((0, "a"), "[0].a"),
        (("a b",), '["a b"]'),
        (("a", ""), 'a[""]'),
        (('x"\\\n',), '["x\\"\\\\\\n"]'),
        (("a", "0"), "a.0"),
    ],
)
def test_paths_are_written_with_dots(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text
    assert parse_dotted(text) == path


@given(st.lists(st.text() | st.integers(0, 99)).map(tuple))
def test_a_written_path_is_read_again(path: tuple[str | int, ...]) -> None:
    assert parse_dotted(dotted(path)) == path


@pytest.mark.parametrize("text", ["a..b", ".a", "a[", "a[x]", "a b", "a.", '["a"]b', 'a["b]'])
def test_other_texts_are_no_paths(text: str) -> None:
    with pytest.raises(ValueError, match="not a dotted path"):
        parse_dotted(text)
