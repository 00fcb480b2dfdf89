"""Fixes by key paths, those that option tables state, and what they come to in the text."""

from __future__ import annotations

from typing import Any

import pytest

from fsdplint.commands import read_command
from fsdplint.diagnostics import Edit, Place
from fsdplint.document import Delete, Insert, Refused, Rename, Set, parse
from fsdplint.fixes import SymbolicFix, described, stated_fix, text_fix

TEXT = "a: 1\nb:\n  c: x # note\n  d: y\n"
DOCUMENT = parse(TEXT, "a.yaml")


def after(stated: dict[str, Any], *path: str, text: str = TEXT) -> str:
    """The text that a stated fix of a key leaves."""
    document = parse(text, "a.yaml")
    found = stated_fix(stated, Place(document, path))
    assert found is not None
    fix = text_fix(found)
    assert fix is not None
    for edit in sorted(fix.edits, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ({"op": "delete"}, ("b", "d"), "a: 1\nb:\n  c: x # note\n"),
        ({"op": "rename", "to": "e"}, ("b", "c"), "a: 1\nb:\n  e: x # note\n  d: y\n"),
        ({"op": "set", "value": True}, ("b", "c"), "a: 1\nb:\n  c: true # note\n  d: y\n"),
        ({"op": "insert", "key": "e", "value": 2}, ("b", "c"), "a: 1\nb:\n  c: x # note\n  e: 2\n  d: y\n"),
        ({"op": "insert", "at": "b", "key": "e", "value": 2}, ("a",), "a: 1\nb:\n  c: x # note\n  d: y\n  e: 2\n"),
        ({"op": "delete", "at": "b.d"}, ("a",), "a: 1\nb:\n  c: x # note\n"),
        ({"op": "move", "to": "b.a"}, ("a",), "b:\n  c: x # note\n  d: y\n  a: 1\n"),
    ],
)
def test_operations(operation: dict[str, Any], path: tuple[str, ...], expected: str) -> None:
    assert after({"do": [operation]}, *path) == expected


def test_several_operations_follow_each_other() -> None:
    stated = {"do": [{"op": "set", "value": "z"}, {"op": "rename", "to": "e"}], "safe": True}
    assert after(stated, "b", "c") == "a: 1\nb:\n  e: z # note\n  d: y\n"
    found = stated_fix(stated, Place(DOCUMENT, ("b", "c")))
    assert found is not None
    assert (found.message, found.is_safe) == ("write `e: z` in its place", True)


def test_what_is_so_already_is_not_spoken_of() -> None:
    found = stated_fix({"do": [{"op": "set", "value": 1}, {"op": "rename", "to": "e"}]}, Place(DOCUMENT, ("a",)))
    assert found is not None
    assert found.message == "rename `a` to `e`"
    boolean = stated_fix({"do": [{"op": "set", "value": True}], "says": "switch it on"}, Place(DOCUMENT, ("a",)))
    assert boolean is not None
    assert (boolean.message, boolean.operations) == ("switch it on", (Set(("a",), True),))


@pytest.mark.parametrize("operation", [{"op": "rename", "to": "d"}, {"op": "insert", "key": "d", "value": 1}, {"op": "move", "to": "a"}])
def test_a_name_that_is_taken_gives_no_fix(operation: dict[str, Any]) -> None:
    assert stated_fix({"do": [operation]}, Place(DOCUMENT, ("b", "c"))) is None


def test_a_finding_about_the_whole_document_has_no_stated_fix() -> None:
    assert stated_fix({"do": [{"op": "delete"}]}, Place(DOCUMENT, ())) is None


def test_edits_know_their_places() -> None:
    fix = text_fix(SymbolicFix("m", True, DOCUMENT, (Rename(("b", "c"), "e"),)))
    assert fix is not None
    assert (fix.message, fix.applicability, fix.edits) == ("m", "safe", (Edit("a.yaml", 10, 11, "e"),))
    ((place, snippet),) = fix.places
    assert (place.start.line, place.start.column, snippet.lines) == (3, 3, ("  c: x # note",))


def test_flags_of_a_launch_line_are_not_edited() -> None:
    document = read_command("accelerate launch --use_fsdp --fsdp_offload_params true train.py").document
    assert text_fix(SymbolicFix("m", True, document, (Set(("--fsdp_offload_params",), "false"),))) is None


def test_nothing_to_do_is_no_fix() -> None:
    assert text_fix(SymbolicFix("m", False, DOCUMENT, (Delete(("z",)),))) is None


@pytest.mark.parametrize(
    ("text", "path", "operations", "reason"),
    [
        ("b: &x 1\nc: *x\n", "a.yaml", (Set(("b",), 2),), "anchor"),
        (TEXT, "a.yaml", (Insert(("c",), "x"), Delete(("b", "c"))), "a comment would be lost"),
    ],
)
def test_refusals_say_why(text: str, path: str, operations: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        text_fix(SymbolicFix("m", True, parse(text, path), operations))


def test_descriptions() -> None:
    assert [
        described(operation)
        for operation in (
            Delete(("b", "c")),
            Set(("a",), False),
            Insert(("a",), None),
            Set(("a",), 1e-05),
            Set(("a",), ["x", 1]),
            Insert(("a",), {"b": 1}),
        )
    ] == ["remove `c`", "write `a: false`", "add `a: null`", "write `a: 1.0e-05`", "write `a: [x, 1]`", "add `a: {...}`"]
