"""Bytes to text: encodings, byte order marks, sizes, formats."""

from __future__ import annotations

import pytest

from fsdplint.document import parse


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = parse(b"\xef\xbb\xbfa: 1\r\n", "x.yaml")
    assert (document.text, document.bom, document.newline) == ("a: 1\r\n", True, "\r\n")
    assert document.problems == ()
    assert document.key_span(("a",)) == (0, 1)
    assert parse("\ufeffa: 1", "x.yaml").bom


@pytest.mark.parametrize(("name", "start"), [("x.yaml", "a: 1\nb: é"), ("x.toml", "a = 1\nb = 'é"), ("x.json", '{"a": 1,\n "b": "é')])
def test_bytes_that_are_no_utf8_are_told_at_the_first(name: str, start: str) -> None:
    document = parse(start.encode() + b"\xe9\xff'\n", name)
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("encoding", (len(start), len(start) + 1))
    assert "0xe9" in problem.message
    assert "'é'" in problem.message
    assert document.value(("a",)) == 1


def test_the_place_of_a_bad_byte_does_not_count_the_byte_order_mark() -> None:
    document = parse(b"\xef\xbb\xbfa: \xe9", "x.yaml")
    assert document.problems[0].span == (3, 4)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_refused_but_read(codec: str) -> None:
    document = parse("\ufeffa: é\n".encode(codec), "x.yaml")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("encoding", (0, 0))
    assert codec[:6].upper() in problem.message
    assert document.value(("a",)) == "é"
    assert not document.bom


def test_utf16_without_a_mark_is_told_by_its_nul() -> None:
    document = parse("a: 1\n".encode("utf-16-le"), "x.yaml")
    (problem,) = document.problems
    assert (problem.kind, problem.span) == ("control", (1, 2))
    assert "UTF-16" in (problem.hint or "")


@pytest.mark.parametrize("name", ["x.yaml", "x.json", "x.toml"])
def test_a_large_file_is_one_problem_and_is_not_read(name: str) -> None:
    document = parse(b"[" * 101, name, max_bytes=100)
    (problem,) = document.problems
    assert (problem.kind, problem.span, document.root) == ("size", (0, 0), None)
    assert "101 bytes" in problem.message
    assert parse(b"[]" + b" " * 98, "x.json", max_bytes=100).problems == ()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", "{}", "yaml"),
        ("a.YML", "", "yaml"),
        ("a.toml", "", "toml"),
        ("dir.toml/a.json", "", "json"),
        ("a.jsonc", "\n {}", "json"),
        ("-", "[1]", "json"),
        ("config", "a: 1", "yaml"),
    ],
)
def test_the_format_is_told_by_the_suffix_or_the_first_character(path: str, text: str, expected: str) -> None:
    assert parse(text, path).format == expected


def test_a_format_can_be_said() -> None:
    document = parse("a = 1", "x.yaml", format="toml")
    assert (document.format, document.loader, document.value(("a",))) == ("toml", "toml", 1)
    assert document.with_loader("omegaconf") is document
