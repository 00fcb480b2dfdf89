"""The whole report as one JSON object (version 1; keys may be added, none changes)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic, Fix, Range, Report

VERSION = 1


def render(report: Report) -> str:
    """Columns and offsets count code points of the text without byte order mark; ends are exclusive."""
    content = {
        "version": VERSION,
        "fsdplint": report.version,
        "diagnostics": [as_object(diagnostic) for diagnostic in report.diagnostics],
        "files": [{"path": file.path, "dialect": file.dialect, "status": file.status} for file in report.files],
        "target": {name: {"specifier": info.specifier, "source": info.source} for name, info in report.target.items()},
        "summary": {
            "files": report.checked,
            **{severity.word: report.count(severity) for severity in reversed(Severity)},
            "suppressed": report.suppressed,
            "fixable": report.fixable,
            **({} if report.fixed is None else {"fixed": len(report.fixed)}),
        },
        **({} if report.fixed is None else {"fixed": [as_object(diagnostic) for diagnostic in report.fixed]}),
    }
    return json.dumps(content, indent=2) + "\n"


def as_object(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic as plain values."""
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.word,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "path": diagnostic.path,
        "dialect": diagnostic.dialect,
        "key": diagnostic.key,
        "range": _range(diagnostic.range),
        "related": [
            {"message": related.message, "path": related.path, "key": related.key, "range": _range(related.range)}
            for related in diagnostic.related
        ],
        "fix": _fix(diagnostic.fix),
        "versions": diagnostic.versions,
        "url": diagnostic.url,
    }


def _range(place: Range) -> dict[str, Any]:
    return {"start": place.start._asdict(), "end": place.end._asdict()}


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {"message": fix.message, "applicability": fix.applicability, "edits": [edit._asdict() for edit in fix.edits]}
