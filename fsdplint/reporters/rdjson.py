"""Reviewdog's diagnostic format (reviewdog, proto/rdf/reviewdog.proto: columns count bytes of UTF-8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fsdplint.reporters.places import relative, utf8_column

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic, Position, Range, Report, Snippet

SOURCE = {"name": "fsdplint", "url": "https://github.com/fsdplint/fsdplint"}


def render(report: Report) -> str:
    """All diagnostics as one DiagnosticResult."""
    found = [_diagnostic(diagnostic) for diagnostic in report.diagnostics]
    return json.dumps({"source": SOURCE, "diagnostics": found}, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "message": diagnostic.message + (f"\nhelp: {diagnostic.help}" if diagnostic.help else ""),
        "location": {"path": relative(diagnostic.path), "range": _range(diagnostic.range, diagnostic.snippet)},
        "severity": diagnostic.severity.word.upper(),
        "code": {"value": diagnostic.code, "url": diagnostic.url},
    }
    if diagnostic.related:
        entry["relatedLocations"] = [
            {"message": one.message, "location": {"path": relative(one.path), "range": _range(one.range, one.snippet)}}
            for one in diagnostic.related
        ]
    if diagnostic.fix and diagnostic.fix.places:
        fixes = zip(diagnostic.fix.edits, diagnostic.fix.places, strict=True)
        entry["suggestions"] = [{"range": _range(*place), "text": edit.text} for edit, place in fixes]
    return entry


def _range(place: Range, snippet: Snippet) -> dict[str, Any]:
    return {"start": _position(place.start, snippet), "end": _position(place.end, snippet)}


def _position(position: Position, snippet: Snippet) -> dict[str, int]:
    column = utf8_column(position, snippet)
    return {"line": position.line} if column is None else {"line": position.line, "column": column}
