"""How each format shows a fix."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reports import FULL

from fsdplint.diagnostics import Diagnostic, Place, Report, Severity, resolve
from fsdplint.document import Delete, Insert, Operation, Rename, Set, parse
from fsdplint.fixes import SymbolicFix, text_fix
from fsdplint.reporters import render
from fsdplint.reporters.mini_diff import hunks

TEXT = "a: 1\nb:\n  c: 😀 # note\n  d: y\ne: 2\n"


def diagnostic(*operations: Operation, path: tuple[str, ...] = ("b", "c"), text: str = TEXT, name: str = "a.yaml") -> Diagnostic:
    document = parse(text, name)
    key, where, snippet = resolve(Place(document, path))
    fix = text_fix(SymbolicFix("do it", True, document, operations))
    return Diagnostic("FSD404", "renamed-key", Severity.WARNING, "message", None, name, None, key, where, snippet, (), fix)


def report(*operations: Operation, name: str = "a.yaml") -> Report:
    return FULL._replace(diagnostics=(diagnostic(*operations, name=name),))


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ((Rename(("b", "d"), "x"),), [(["  d: y"], ["  x: y"])]),
        ((Delete(("b", "d")),), [(["  d: y"], [])]),
        ((Insert(("b", "x"), 1, "d"),), [([], ["  x: 1"])]),
        ((Set(("a",), 2), Rename(("e",), "f")), [(["a: 1"], ["a: 2"]), (["e: 2"], ["f: 2"])]),
        ((Rename(("a",), "x"), Rename(("b",), "z")), [(["a: 1", "b:"], ["x: 1", "z:"])]),
    ],
)
def test_hunks(operations: tuple[Operation, ...], expected: list[tuple[list[str], list[str]]]) -> None:
    found = diagnostic(*operations)
    assert found.fix is not None
    assert hunks(found, found.fix) == expected


def test_hunks_of_crlf_lines() -> None:
    found = diagnostic(Delete(("b", "d")), text=TEXT.replace("\n", "\r\n"))
    assert found.fix is not None
    assert hunks(found, found.fix) == [(["  d: y"], [])]
    found = diagnostic(Insert(("b", "x"), 1, "c"), text=TEXT.replace("\n", "\r\n"))
    assert found.fix is not None
    assert hunks(found, found.fix) == [([], ["  x: 1"])]


def test_full_and_github_show_lines() -> None:
    shown = report(Set(("b", "c"), "z"), Delete(("e",)))
    assert "  fix: do it (safe)\n  -   c: 😀 # note\n  +   c: z # note\n  - e: 2\n" in render("full", shown)
    assert "%0Afix: do it (safe)%0A-   c: 😀 # note%0A+   c: z # note%0A- e: 2\n" in render("github", shown)


def as_json(format: str, shown: Report) -> Any:
    return json.loads(render(format, shown))


def test_sarif_counts_utf_16() -> None:
    (result,) = as_json("sarif", report(Set(("b", "c"), "z")))["runs"][0]["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert fix["description"] == {"text": "do it (safe)"}
    assert change["artifactLocation"]["uri"] == "a.yaml"
    assert change["replacements"] == [
        {"deletedRegion": {"startLine": 3, "endLine": 3, "startColumn": 6, "endColumn": 8}, "insertedContent": {"text": "z"}}
    ]
    (result,) = as_json("sarif", report(Set(("b", "c"), "z"), name="<stdin>"))["runs"][0]["results"]
    assert "fixes" not in result


def test_rdjson_counts_bytes() -> None:
    (found,) = as_json("rdjson", report(Set(("b", "c"), "z")))["diagnostics"]
    assert found["suggestions"] == [{"range": {"start": {"line": 3, "column": 6}, "end": {"line": 3, "column": 10}}, "text": "z"}]


def test_what_was_fixed() -> None:
    done = report(Rename(("a",), "x"))._replace(fixed=(diagnostic(Rename(("a",), "x"), path=("a",)),))
    assert render("full", done._replace(diagnostics=())).splitlines()[0] == "fixed a.yaml:1: FSD404 renamed-key: do it"
    assert render("full", done).splitlines()[-1] == "fixed 1, 1 left"
    assert render("full", done._replace(is_dry=True)).splitlines()[-1] == "would fix 1, 1 left"
    found = as_json("json", done)
    assert (found["summary"]["fixed"], [one["key"] for one in found["fixed"]]) == (1, ["a"])
    assert "fixed" not in as_json("json", done._replace(fixed=None))["summary"]
