"""SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as GitHub code scanning and editors read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import DOCS
from fsdplint.reporters.places import is_file, relative, utf16_column

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic, Fix, Range, Report, RuleInfo, Snippet

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """One run; paths are relative to the root of the sources, columns count UTF-16 code units."""
    codes = sorted({diagnostic.code for diagnostic in report.diagnostics})
    driver = {
        "name": "fsdplint",
        "version": report.version,
        "informationUri": "https://github.com/fsdplint/fsdplint",
        "rules": [_rule(report.rules[code]) for code in codes if code in report.rules],
    }
    order = {rule["id"]: number for number, rule in enumerate(driver["rules"])}  # type: ignore[index]
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the sources"}}},
        "invocations": [{"executionSuccessful": all(file.status != "failed" for file in report.files)}],
        "results": [_result(diagnostic, order) for diagnostic in report.diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(info: RuleInfo) -> dict[str, Any]:
    return {
        "id": info.code,
        "name": "".join(part.capitalize() for part in info.name.split("-")),
        "shortDescription": {"text": info.summary or info.name},
        "helpUri": f"{DOCS}/{info.code}.md",
    }


def _result(diagnostic: Diagnostic, order: dict[str, int]) -> dict[str, Any]:
    message = diagnostic.message + (f"\n{diagnostic.help}" if diagnostic.help else "")
    result: dict[str, Any] = {"ruleId": diagnostic.code}
    if diagnostic.code in order:
        result["ruleIndex"] = order[diagnostic.code]
    result["level"] = _LEVELS[diagnostic.severity.word]
    result["message"] = {"text": message}
    result["locations"] = [_location(diagnostic.path, diagnostic.range, diagnostic.snippet, diagnostic.key)]
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": one.message}, **_location(one.path, one.range, one.snippet, one.key)}
            for number, one in enumerate(diagnostic.related, start=1)
        ]
    if diagnostic.fix and diagnostic.fix.places and is_file(diagnostic.path):
        result["fixes"] = [_fix(diagnostic.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    """A fix as SARIF has them: what is deleted and inserted in each file; viewers apply it as a whole."""
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit, (place, snippet) in zip(fix.edits, fix.places, strict=True):
        replacement = {"deletedRegion": _region(place, snippet), "insertedContent": {"text": edit.text}}
        changes.setdefault(edit.path, []).append(replacement)
    return {
        "description": {"text": f"{fix.message} ({fix.applicability})"},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": found} for path, found in changes.items()],
    }


def _region(place: Range, snippet: Snippet) -> dict[str, Any]:
    region = {"startLine": place.start.line, "endLine": place.end.line}
    for name, position in (("startColumn", place.start), ("endColumn", place.end)):
        column = utf16_column(position, snippet)
        if column is not None:
            region[name] = column
    return region


def _location(path: str, place: Range, snippet: Snippet, key: str | None) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if is_file(path):
        location["physicalLocation"] = {"artifactLocation": _artifact(path), "region": _region(place, snippet)}
    if key is not None or not location:
        location["logicalLocations"] = [{"fullyQualifiedName": path if key is None else key}]
    return location


def _artifact(path: str) -> dict[str, str]:
    from urllib.parse import quote

    shown = relative(path, "GITHUB_WORKSPACE", "CI_PROJECT_DIR")
    if shown.startswith("/") or shown[1:2] == ":":
        return {"uri": "file:///" + quote(shown.lstrip("/"), errors="surrogateescape")}
    return {"uri": quote(shown, errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}
