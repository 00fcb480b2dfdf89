"""GitHub Actions workflow commands, which become annotations (docs.github.com, workflow commands; escapes as actions/toolkit has them)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.reporters.places import is_file, is_one_line, relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Diagnostic, Fix, Report

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """The worst first, since GitHub shows only the first ten of a step; columns only for ranges on one line, since it refuses others."""
    worst_first = sorted(report.diagnostics, key=lambda diagnostic: -diagnostic.severity)
    return "".join(_command(diagnostic) + "\n" for diagnostic in worst_first)


def _command(diagnostic: Diagnostic) -> str:
    start, end = diagnostic.range
    properties: dict[str, str | int] = {}
    if is_file(diagnostic.path):
        properties = {"file": relative(diagnostic.path, "GITHUB_WORKSPACE"), "line": start.line, "endLine": end.line}
        if is_one_line(diagnostic.range):
            properties.update(col=start.column, endColumn=max(end.column, start.column + 1))
    properties["title"] = f"fsdplint {diagnostic.code} {diagnostic.name}"
    fields = ",".join(f"{name}={_escaped(str(value), in_property=True)}" for name, value in properties.items())
    text = f"{diagnostic.path}:{start.line}:{start.column}: {diagnostic.code} {diagnostic.message}"
    help = f"\nhelp: {diagnostic.help}" if diagnostic.help else ""
    fix = "".join(_fix(diagnostic, diagnostic.fix)) if diagnostic.fix else ""
    return f"::{_LEVELS[diagnostic.severity.word]} {fields}::{_escaped(text + help + fix)}"


def _fix(diagnostic: Diagnostic, fix: Fix) -> Iterator[str]:
    """What a fix does, with the lines that it changes."""
    from fsdplint.reporters.mini_diff import hunks

    yield f"\nfix: {fix.message} ({fix.applicability})"
    for hunk in hunks(diagnostic, fix):
        yield from (f"\n- {line}" for line in hunk.old)
        yield from (f"\n+ {line}" for line in hunk.new)


def _escaped(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
