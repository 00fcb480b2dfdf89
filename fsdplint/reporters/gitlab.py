"""GitLab's Code Quality report (docs.gitlab.com, Code Quality report format)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fsdplint.reporters.places import relative

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic, Report

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """Fingerprints rest on path, rule and key, and on which of equal ones it is, so that they outlive edits elsewhere in the file."""
    seen: dict[tuple[str, ...], int] = {}
    return json.dumps([_entry(diagnostic, seen) for diagnostic in report.diagnostics], indent=2) + "\n"


def _entry(diagnostic: Diagnostic, seen: dict[tuple[str, ...], int]) -> dict[str, Any]:
    path = relative(diagnostic.path, "CI_PROJECT_DIR")
    identity = (path, diagnostic.code, diagnostic.key or "")
    seen[identity] = seen.get(identity, 0) + 1
    start, end = diagnostic.range
    return {
        "description": diagnostic.message,
        "check_name": f"{diagnostic.code} {diagnostic.name}",
        "fingerprint": _fingerprint(*identity, str(seen[identity])),
        "severity": _SEVERITIES[diagnostic.severity.word],
        "location": {
            "path": path,
            "positions": {"begin": {"line": start.line, "column": start.column}, "end": {"line": end.line, "column": end.column}},
        },
    }


def _fingerprint(*parts: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
