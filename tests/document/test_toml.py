"""TOML: tomli's values, with places of our own, and broken TOML told at its cause."""

from __future__ import annotations

import datetime
import sys

import pytest
import tomli

from fsdplint.document import Document, Mapping, Scalar, Sequence, parse, parse_dotted

try:
    TOML_11 = bool(tomli.loads("a = 07:32"))  # tomli 2.4 reads TOML 1.1, older releases do not
except tomli.TOMLDecodeError:
    TOML_11 = False


def read(text: str, **options: int) -> Document:
    return parse(text.encode(), "train.toml", **options)  # type: ignore[arg-type]


def places(document: Document, path: str) -> tuple[str, str]:
    """The texts at the places of a key and of its value."""
    key, value = document.key_span(parse_dotted(path)), document.value_span(parse_dotted(path))
    assert key is not None
    assert value is not None
    return document.text[slice(*key)], document.text[slice(*value)]


EXAMPLE = """\
# head
title = "t"   # trailing
"quoted.key" = 1
dotted . a."b" = true
[train]
lr = 1e-4
when = 1979-05-27 07:32:00Z
inline = { fsdp = "full # no", nest.k = [1, 2] }
list = [
  1,  # one
  [2],
]
text = \"\"\"
[not.table] # no comment
x = \\"y\\"\"\"\"\"
raw = '''a
'b''''
[train.parallelism]
shard = -1
[[layers]]
name = "a"
[[layers]]
name = "b"
[layers.sub]
x = 'é'
"""


def test_values_are_those_of_tomli() -> None:
    document = read(EXAMPLE)
    assert document.problems == ()
    assert document.value(()) == {
        "title": "t",
        "quoted.key": 1,
        "dotted": {"a": {"b": True}},
        "train": {
            "lr": 0.0001,
            "when": datetime.datetime(1979, 5, 27, 7, 32, tzinfo=datetime.timezone.utc),
            "inline": {"fsdp": "full # no", "nest": {"k": [1, 2]}},
            "list": [1, [2]],
            "text": '[not.table] # no comment\nx = "y""',
            "raw": "a\n'b'",
            "parallelism": {"shard": -1},
        },
        "layers": [{"name": "a"}, {"name": "b", "sub": {"x": "é"}}],
    }


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("title", "title", '"t"'),
        ('["quoted.key"]', '"quoted.key"', "1"),
        ("dotted.a.b", '"b"', "true"),
        ("dotted.a", "a", 'a."b" = true'),
        ("train.lr", "lr", "1e-4"),
        ("train.when", "when", "1979-05-27 07:32:00Z"),
        ("train.inline", "inline", '{ fsdp = "full # no", nest.k = [1, 2] }'),
        ("train.inline.nest.k[1]", "2", "2"),
        ("train.list", "list", "[\n  1,  # one\n  [2],\n]"),
        ("train.raw", "raw", "'''a\n'b''''"),
        ("train.parallelism", "parallelism", "[train.parallelism]\nshard = -1"),
        ("layers[0]", '[[layers]]\nname = "a"', '[[layers]]\nname = "a"'),
        ("layers[1].sub.x", "x", "'é'"),
    ],
)
def test_keys_and_values_have_their_places(path: str, key: str, value: str) -> None:
    assert places(read(EXAMPLE), path) == (key, value)


def test_tables_know_their_headers() -> None:
    document = read("[a.b]\nx = 1\n[c]\ny = 1\n[a]\nz = 1\n")
    assert document.value(()) == {"a": {"b": {"x": 1}, "z": 1}, "c": {"y": 1}}
    outer, inner = document.node(("a",)), document.node(("a", "b"))
    assert isinstance(outer, Mapping)
    assert isinstance(inner, Mapping)
    assert (outer.header, inner.header, outer.flow) == ((22, 25), (0, 5), False)
    assert document.key_span(("a",)) == (23, 24)
    rows = read("[[r]]\n").node(("r",))
    assert isinstance(rows, Sequence)
    assert not rows.flow


def test_strings_tell_their_quotes() -> None:
    document = read("a = \"x\"\nb = 'x'\nc = 1\n")
    nodes = [document.node((name,)) for name in "abc"]
    assert [(n.raw, n.style) for n in nodes if isinstance(n, Scalar)] == [
        ('"x"', "double"),
        ("'x'", "single"),
        ("1", "plain"),
    ]


@pytest.mark.parametrize("text", ["", "# only\n", "\n"])
def test_an_empty_text_is_an_empty_table(text: str) -> None:
    document = read(text)
    assert (document.value(()), document.problems) == ({}, ())


def test_carriage_returns_stay() -> None:
    document = read('a = 1\r\n[t]\r\nb = """x\r\ny"""\r\nc = 2\r\n')
    assert document.value(()) == {"a": 1, "t": {"b": "x\ny", "c": 2}}
    assert places(document, "t.b") == ("b", '"""x\r\ny"""')
    assert document.newline == "\r\n"


FAULTS = [
    ("a = 1\nb = 2\na = 3\n", "a", (3, 1), "duplicate-key", "'a' is written twice"),
    ("[t]\na = 1\n[t]\n", "[t]", (3, 1), "duplicate-key", "'t' is written twice"),
    ("a = {x = 1, x = 2}\n", "x", (1, 13), "duplicate-key", "'x' is written twice"),
    ("a = {x = 1}\na.y = 2\n", "y", (2, 3), "duplicate-key", "'a.y'"),
    ("a = 1\r\nb = 2\r\na = 3\r\n", "a", (3, 1), "duplicate-key", "'a' is written twice"),
    ("a = 1\nb =\n", "", (2, 4), "syntax", "expected a value, found the end of the line"),
    ("a = True\n", "True", (1, 5), "syntax", "found 'True'"),
    ("a = bf16\n", "bf16", (1, 5), "syntax", "found 'bf16'"),
    ("a: 1\n", ":", (1, 2), "syntax", "expected '=' after the key"),
    ("a = 01\n", "01", (1, 5), "syntax", "cannot start with 0"),
    ("a = 1 b = 2\n", "b", (1, 7), "syntax", "expected the end of the line, found 'b'"),
    ('a = "x\nb = 1\n', '"x', (1, 5), "syntax", "never closed"),
    ("a = 'x\n", "'x", (1, 5), "syntax", "never closed"),
    ('a = """x\n', '"""x', (1, 5), "syntax", "never closed"),
    ('a = "C:\\Users"\n', "\\U", (1, 8), "syntax", "no escape"),
    ('a = "C:\\dir"\n', "\\d", (1, 8), "syntax", "no escape"),
    ("a = [1, 2\nb = 1\n", "[", (1, 5), "syntax", "'[' is never closed"),
    ("a = [1 2]\n", "2", (1, 8), "syntax", "expected a comma"),
    ("a = {x = 1\n", "{", (1, 5), "syntax", "'{' is never closed"),
    ("[a\nb = 1\n", "", (1, 3), "syntax", "']'"),
    ("= 1\n", "=", (1, 1), "syntax", "expected a key, found '='"),
    ("a = 1\n{% if x %}\n", "{", (2, 1), "syntax", "expected a key"),
    ("a = 1 # \x01\n", "\x01", (1, 9), "control", "U+0001"),
    ('a = "\x07"\n', "\x07", (1, 6), "control", "U+0007"),
    ("a = 2024-13-45\n", "2024-13-45", (1, 5), "syntax", "'2024-13-45' is no value"),
    ("a = 1.2.3\n", "1.2.3", (1, 5), "syntax", "'1.2.3' is no value"),
    ('a = "\\u12"\n', "\\u", (1, 6), "syntax", "no escape"),
]


@pytest.mark.parametrize(("text", "place", "position", "kind", "message"), FAULTS)
def test_a_fault_is_told_at_its_cause(text: str, place: str, position: tuple[int, int], kind: str, message: str) -> None:
    document = read(text)
    (problem,) = document.problems
    assert problem.kind == kind
    assert message in problem.message
    assert document.text[slice(*problem.span)] == place
    assert document.position(problem.span.start) == position


@pytest.mark.parametrize(
    ("text", "first"),
    [("a.b = 1\n[a]\nb = 2\n", (0, 1)), ("a = 1\na = 2\n", (0, 1)), ("[t]\n[t]\n", (0, 3)), ("a = 1\n[a.b]\n", (0, 1))],
)
def test_a_second_key_names_the_first(text: str, first: tuple[int, int]) -> None:
    (problem,) = read(text).problems
    assert problem.related == (("first written here", first),)


def test_what_stands_before_a_fault_is_kept() -> None:
    document = read('[train]\nlr = 1e-4\nfsdp = "full"\nlr = 2\n[other]\n')
    assert document.value(()) == {"train": {"lr": 0.0001, "fsdp": "full"}}
    assert read("a = 1\nb = [1, {c = 2\n").value(()) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = {\n x = 1 }\n", "{"),
        ("a = {x = 1,}\n", ","),
        ('a = "\\e"\n', '"\\e"'),
        ("a = 07:32\n", "07:32"),
        ("a = 1979-05-27T07:32\n", "1979-05-27T07:32"),
    ],
)
def test_toml_11_is_told(text: str, place: str) -> None:
    document = read(text)
    (problem,) = document.problems
    if not TOML_11:
        assert problem.kind == "syntax"
        return
    assert document.text[slice(*problem.span)] == place
    assert (problem.kind, problem.fatal) == ("toml-1.1", False)
    assert document.has(("a",))
    assert "tomllib" in problem.message


@pytest.mark.parametrize("text", ['a = "\\\\e"\n', "a = '\\e'\n", "a = 07:32:10\n", "a = [\n1,\n]\n", "a = 1979-05-27T07:32:00+01:00\n"])
def test_what_looks_like_toml_11_is_none(text: str) -> None:
    assert read(text).problems == ()


def test_a_byte_order_mark_is_refused_but_read_over() -> None:
    document = parse(b"\xef\xbb\xbfa = 1\n", "x.toml")
    assert [(problem.kind, problem.span) for problem in document.problems] == [("encoding", (0, 0))]
    assert document.value(("a",)) == 1


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "{b = " * 5000, ".".join(["a"] * 5000) + " = 1"])
def test_any_depth_is_survived(text: str) -> None:
    document = read("first = 1\n" + text)
    assert [problem.kind for problem in document.problems] == ["depth"]
    assert document.value(()) == {"first": 1}


def test_tomli_is_imported_for_toml_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomli", None)
    assert parse("a: 1\n", "x.yaml").problems == ()
    assert parse("{}", "x.json").problems == ()
    with pytest.raises(ImportError):
        read("a = 1\n")
