"""JSON as json.load reads it, and broken JSON told at its cause."""

from __future__ import annotations

import math

import pytest

from fsdplint.document import Document, Mapping, Scalar, parse


def read(text: str, **options: int) -> Document:
    return parse(text.encode("utf-8", "surrogatepass"), "ds.json", **options)  # type: ignore[arg-type]


def test_values_and_places() -> None:
    document = read('{\n\t"zero": {"stage": 3},\n\t"lr": 1e-4, "auto": [true, null, "a\\"b"]\n}\n')
    assert document.value(()) == {"zero": {"stage": 3}, "lr": 0.0001, "auto": [True, None, 'a"b']}
    assert document.problems == ()
    assert (document.format, document.loader) == ("json", "json")
    key, value = document.key_span(("zero", "stage")), document.value_span(("zero",))
    assert key is not None
    assert value is not None
    assert document.text[slice(*key)] == '"stage"'
    assert document.text[slice(*value)] == '{"stage": 3}'
    assert document.position(key.start) == (2, 11)
    item = document.node(("auto", 2))
    assert isinstance(item, Scalar)
    assert (item.raw, item.style, item.value) == ('"a\\"b"', "double", 'a"b')
    assert isinstance(document.root, Mapping)
    assert document.root.flow


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5e8", 5e8),
        ("-0", 0),
        ("-0.5E+2", -50.0),
        ("1e400", math.inf),
        ("-Infinity", -math.inf),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud800"', "\ud800"),
        ('"\\u00e9\\/\\b"', "é/\b"),
        ('" \u2028"', " \u2028"),
        ("[]", []),
        (" {} ", {}),
    ],
)
def test_json_is_what_python_reads(text: str, expected: object) -> None:
    document = read(text)
    found = document.value(())
    assert (type(found), found) == (type(expected), expected)
    assert document.problems == ()


def test_nan_is_a_number() -> None:
    value = read('{"a": NaN}').value(("a",))
    assert isinstance(value, float)
    assert math.isnan(value)


def test_the_last_of_two_equal_keys_counts() -> None:
    document = read('{"a": 1, "b": {"a": 2, "\\u0061": 3}, "a": 4}')
    assert document.value(()) == {"a": 4, "b": {"a": 3}}
    assert [(path, first.value, later.key_span) for path, first, later in document.duplicates] == [
        (("b", "a"), document.duplicates[0][1].value, (23, 31)),
        (("a",), document.duplicates[1][1].value, (37, 40)),
    ]
    assert document.problems == ()


FAULTS = [
    ("", (1, 1), "empty", None),
    ("\n \n", (3, 1), "empty", None),
    ('{"a": 1\n  "b": 2}', (1, 8), "a comma is missing", None),
    ("{'a': 1}", (1, 2), "expected a key in double quotes, found '''", "double quotes"),
    ('{"a": True}', (1, 7), "found 'True'", "write true"),
    ('{"a": None}', (1, 7), "found 'None'", "write null"),
    ('{"a": bf16}', (1, 7), "expected a value, found 'bf16'", "double quotes"),
    ('{"a" 1}', (1, 6), "expected ':' after the key", None),
    ('{"a": }', (1, 7), "expected a value, found '}'", None),
    ('{"a": 1', (1, 1), "'{' is never closed", "add '}'"),
    ('{"a": [1, 2', (1, 7), "'[' is never closed", "add ']'"),
    ('{"a": 1}\nx', (2, 1), "expected the end of the file, found 'x'", None),
    ('{"a": "x\ny"}', (1, 7), "never closed", "closing"),
    ('{"a": "x\ty"}', (1, 9), "a tab inside a string", "escape"),
    ('{"a": "x\x01y"}', (1, 9), "U+0001 inside a string", "escape"),
    ('{"a": "C:\\Users"}', (1, 10), "'\\U' is no escape", "backslash"),
    ('{"a": "\\u12"}', (1, 8), "'\\u' is no escape", None),
    ('{"a": 01}', (1, 8), "a comma is missing", None),
    ('{"a": {{ x }}}', (1, 8), "expected a key", "template"),
    ('{"a": \x00}', (1, 7), "found U+0000", None),
    ('{"a": 1]', (1, 8), "expected ',' or '}', found ']'", None),
]


@pytest.mark.parametrize(("text", "position", "message", "hint"), FAULTS)
def test_a_syntax_error_is_told_at_its_cause(text: str, position: tuple[int, int], message: str, hint: str | None) -> None:
    document = read(text)
    (problem,) = document.problems
    assert problem.kind == "syntax"
    assert document.position(problem.span.start) == position
    assert message in problem.message
    assert hint is None or hint in (problem.hint or "")


def test_what_stands_before_an_error_is_kept() -> None:
    document = read('{"zero": {"stage": 3, "list": [1, 2 3]}, "b": 1}')
    assert document.value(()) == {"zero": {"stage": 3, "list": [1, 2]}}


def test_comments_and_last_commas_are_told_once_and_read_over() -> None:
    document = read('{\n  // one\n  "a": 1, /* two */\n  "c": [1, 2,], # three\n}\n')
    assert document.value(()) == {"a": 1, "c": [1, 2]}
    told = [(p.message, *document.position(p.span.start)) for p in document.problems]
    assert told == [
        ("a comment; JSON has none", 2, 3),
        ("a comma before ']'; JSON allows none there", 4, 13),
        ("a comma before '}'; JSON allows none there", 4, 15),
    ]
    assert document.comments() == []


def test_a_byte_order_mark_is_refused_but_read_over() -> None:
    document = parse(b'\xef\xbb\xbf{"a": 1}', "x.json")
    (problem,) = document.problems
    assert (problem.kind, problem.span, document.bom) == ("encoding", (0, 0), True)
    assert document.value(("a",)) == 1
    assert document.key_span(("a",)) == (1, 4)


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "[[" * 2500 + "]]" * 2500])
def test_any_depth_is_survived(text: str) -> None:
    assert [problem.kind for problem in read(text).problems] == ["depth"]


def test_the_depth_is_counted_in_collections() -> None:
    assert read("[[1]]", max_depth=2).problems == ()
    (problem,) = read("[[[1]]]", max_depth=2).problems
    assert (problem.kind, problem.span) == ("depth", (2, 3))


def test_a_whole_number_beyond_pythons_limit_is_a_problem() -> None:
    (problem,) = read("[" + "9" * 5000 + "]").problems
    assert (problem.kind, problem.span) == ("syntax", (1, 5001))
