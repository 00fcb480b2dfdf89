"""JUnit XML: a test suite for each file, a failed test for each diagnostic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.diagnostics import Diagnostic, Report

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
_FORBIDDEN = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_SPECIAL = re.compile('[&<>"\\n\\t\\r]')


def render(report: Report) -> str:
    """A checked file without diagnostics has one test, which passed, so that no suite looks empty; a file that failed is an error."""
    found: dict[str, list[Diagnostic]] = {file.path: [] for file in report.files if file.status == "checked"}
    for diagnostic in report.diagnostics:
        found.setdefault(diagnostic.path, []).append(diagnostic)
    failed = [file for file in report.files if file.status == "failed"]
    total = sum(max(len(diagnostics), 1) for diagnostics in found.values()) + len(failed)
    head = f'<testsuites name="fsdplint" tests="{total}" failures="{len(report.diagnostics)}" errors="{len(failed)}">'
    suites = [_suite(path, diagnostics) for path, diagnostics in found.items()]
    errors = [
        f'  <testsuite name="{_xml(file.path)}" tests="1" failures="0" errors="1">\n'
        f'    <testcase classname="{_xml(file.path)}" name="read"><error message="{_xml(file.reason or "")}"/></testcase>\n  </testsuite>'
        for file in failed
    ]
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *suites, *errors, "</testsuites>", ""])


def _suite(path: str, diagnostics: Sequence[Diagnostic]) -> str:
    cases = [_case(diagnostic) for diagnostic in diagnostics] or [f'    <testcase classname="{_xml(path)}" name="fsdplint"/>']
    head = f'  <testsuite name="{_xml(path)}" tests="{len(cases)}" failures="{len(diagnostics)}" errors="0">'
    return "\n".join([head, *cases, "  </testsuite>"])


def _case(diagnostic: Diagnostic) -> str:
    start = diagnostic.range.start
    name = _xml(f"{diagnostic.code} {diagnostic.name}")
    help = f"\nhelp: {diagnostic.help}" if diagnostic.help else ""
    body = f"{diagnostic.path}:{start.line}:{start.column}: {diagnostic.message}{help}"
    return (
        f'    <testcase classname="{_xml(diagnostic.path)}" name="{name}" line="{start.line}" column="{start.column}">'
        f'<failure type="{diagnostic.severity.word}" message="{_xml(diagnostic.message)}">{_xml(body)}</failure></testcase>'
    )


def _xml(text: str) -> str:
    return _SPECIAL.sub(lambda match: _ENTITIES[match[0]], _FORBIDDEN.sub("�", text))
