"""Broken YAML: one problem, in plain words, at the cause."""

from __future__ import annotations

import pytest

from fsdplint.document import Document, parse


def read(text: str, **options: int) -> Document:
    return parse(text.encode(), "train.yaml", **options)  # type: ignore[arg-type]


# text, the characters that are pointed at, line and column, words of the message and of the hint
FAULTS = [
    ("a:\n\tb: 1\n", "\t", (2, 1), "a tab as indentation", "spaces"),
    ("a: %foo\n", "%", (1, 4), "cannot start with '%'", "quote"),
    ("a: @foo\n", "@", (1, 4), "cannot start with '@'", "quote"),
    ("a: *.py\n", "*.py", (1, 4), "cannot start with '*'", "quote"),
    ("a: 1\n{% if x %}\nb: 2\n", "{%", (2, 1), "template statement", "render"),
    ("a: {{ x }}/y\n", "{{ x }}", (1, 4), "'{{ … }}' template", "quote"),
    ('a: {{ x["k"] }}\n', '{{ x["k"] }}', (1, 4), "'{{ … }}' template", "quote"),
    ("{{- if .Values.x }}\na: 1\n", "{{- if .Values.x }}", (1, 1), "'{{ … }}' template", "quote"),
    ("a: 1\nfsdp:full\nb: 2\n", "fsdp:full", (2, 1), "a space is missing after 'fsdp:'", "'fsdp: full'"),
    ("fsdp:full\nb: 2\n", "fsdp:full", (1, 1), "a space is missing after 'fsdp:'", "'fsdp: full'"),
    ("a:\n  b:1\n  c: 2\n", "b:1", (2, 3), "a space is missing after 'b:'", "'b: 1'"),
    ("a:\u00a01\nb: 2\n", "\u00a0", (1, 3), "U+00A0", "space"),
    ("a:\n  - x\n  -y\n", "-", (3, 3), "a space is missing after '-'", None),
    ("a: 1\nhello\nb: 2\n", "hello", (2, 1), "expected 'key: value', found 'hello'", None),
    ('a: 1\nb: "open\nc: 3\n', '"', (2, 4), "never closed", 'closing "'),
    ("b: 'open\nc: 3\n", "'", (1, 4), "never closed", "closing '"),
    ('a: "x\nb: "y"\nc: 1\n', '"', (1, 4), "closed on another line", 'closing "'),
    ("a: 'it's'\n", "s'", (1, 8), "after a closing quote", "apostrophe"),
    ('a: "C:\\Users"\n', "\\U", (1, 7), "no escape", "single quotes"),
    ("a: {b: 1\nc: 2\n", "{", (1, 4), "'{' is never closed", "add '}'"),
    ("a: [1, 2\n", "[", (1, 4), "'[' is never closed", "add ']'"),
    ("a: [1, 2}\n", "}", (1, 9), "'[' is closed by '}'", None),
    ("a: [1]]\n", "]", (1, 7), "closes nothing", None),
    ("a: {b: 1 c: 2}\n", ":", (1, 11), "expected ',' or '}'", "comma"),
    ("a: [${oc.env:X}, b]\n", "${oc.env:X}", (1, 5), "unquoted '${…}'", '"${oc.env:X}"'),
    ("a: {p: ${x}/y}\n", "${x}", (1, 8), "unquoted '${…}'", "quote"),
    ("a:\n  b: 1\n c: 2\n", "c:", (3, 2), "the indentation of 'c:'", None),
    ("a: 1\n  b: 2\n", "b", (2, 3), "'b' is indented deeper", "line above"),
    ("a: b: c\n", ":", (1, 5), "a second ':'", "quote"),
    ("a: 1\n: e\n", ":", (2, 1), "a ':' without a key", None),
    ("a: 1\n- b\n", "-", (2, 1), "a list item where a key is expected", "align"),
    ("- a\nb: 1\n", "b:", (2, 1), "a key where a list item is expected", "'- '"),
    ("a: - b\n", "-", (1, 4), "a list item cannot stand behind a key", "next line"),
    ("a: | text\n", "text", (1, 6), "must start on the next line", None),
    ("a: ]\n", "]", (1, 4), "expected a value, found ']'", "quote"),
    ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\n", "<<<<<<<", (2, 1), "merge conflict", "one side"),
    ('a: "\\UFFFFFFFF"\n', "\\UFFFFFFFF", (1, 5), "beyond the last Unicode character", None),
    ("%YAML 1.1\na: 1\n", "a:", (2, 1), "expected '---'", None),
]


@pytest.mark.parametrize(("text", "place", "position", "message", "hint"), FAULTS)
def test_a_syntax_error_is_told_at_its_cause(text: str, place: str, position: tuple[int, int], message: str, hint: str | None) -> None:
    document = read(text)
    (problem,) = document.problems
    assert problem.kind == "syntax"
    assert problem.fatal
    assert document.text[problem.span.start : problem.span.end] == place
    assert document.position(problem.span.start) == position
    assert message in problem.message
    assert (problem.hint is None) if hint is None else (hint in (problem.hint or ""))


def test_the_tree_before_an_error_is_kept() -> None:
    document = read("fsdp: full_shard\nfsdp_config:\n  version: 2\n  list: [a, b\nnext: 1\n")
    assert document.value(("fsdp",)) == "full_shard"
    assert document.value(("fsdp_config", "version")) == 2
    assert document.has(("fsdp_config", "list", 0))


def test_a_whole_unquoted_template_is_a_text_that_nobody_knows() -> None:
    document = read("a: {{ name }}\nb: 1\n")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("key", (3, 13))
    assert problem.hint == "if it is a template, quote it: '{{ name }}'"
    assert document.value(()) == {"a": "{{ name }}", "b": 1}


@pytest.mark.parametrize(("text", "kind"), [("[a, b]: 1\nc: 2\n", "list"), ("? {a: 1}\n: 1\n? c\n: 2\n", "mapping")])
def test_a_collection_cannot_be_a_key(text: str, kind: str) -> None:
    document = read(text)
    (problem,) = document.problems
    assert (problem.kind, problem.message) == ("key", f"a {kind} cannot be a key")
    assert document.value(()) == {"c": 2}


def test_problems_come_in_the_order_of_the_text() -> None:
    document = read("a: !x 1\nb: *y\nc: [\n")
    assert [problem.kind for problem in document.problems] == ["tag", "alias", "syntax"]


@pytest.mark.parametrize(
    ("text", "position"),
    [("a: " + "[" * 30, (1, 14)), ("\n".join(" " * i + "k:" for i in range(30)) + " 1", (12, 12))],
)
def test_too_deep_a_nesting_is_one_problem_where_it_goes_too_far(text: str, position: tuple[int, int]) -> None:
    document = read(text, max_depth=11)
    (problem,) = document.problems
    assert problem.kind == "depth"
    assert problem.message == "the nesting is deeper than 11 levels"
    assert document.position(problem.span.start) == position
    assert document.root is not None


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "a: " + "{a: " * 5000, "- " * 5000, "? " * 5000])
def test_any_depth_is_survived(text: str) -> None:
    assert [problem.kind for problem in read(text).problems] == ["depth"]


def test_the_allowed_depth_is_fine() -> None:
    document = read("a: " + "[" * 199 + "]" * 199)
    assert document.problems == ()
    assert str(document.value(("a",))) == "[" * 199 + "]" * 199


@pytest.mark.parametrize(("char", "code"), [("\x07", "U+0007"), ("\x7f", "U+007F"), ("\x00", "NUL"), ("\ufffe", "U+FFFE")])
def test_control_characters_are_refused(char: str, code: str) -> None:
    document = read(f"a: 1\nb: x{char}y\nc: 3\n")
    (problem,) = document.problems
    assert (problem.kind, document.position(problem.span.start)) == ("control", (2, 5))
    assert code in problem.message
    assert document.value(("a",)) == 1


@pytest.mark.parametrize("text", ["a: [", "a: {b: [1, 2", "b: 1\na: [1,"])
def test_a_bracket_that_is_never_closed_is_told_at_its_opening(text: str) -> None:
    (problem,) = parse(text, "x.yaml").problems
    assert (problem.message, problem.span.start) == ("'[' is never closed", text.index("["))
