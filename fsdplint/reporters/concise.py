"""``path:line:col: error[FSD101] message``: one line for each diagnostic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.reporters.ansi import Style, one_line

if TYPE_CHECKING:
    from fsdplint.diagnostics import Report


def render(report: Report, *, color: bool = False) -> str:
    """The lines of a report; no text where there is nothing to say."""
    style = Style(color)
    lines = []
    for diagnostic in report.diagnostics:
        line, column, _ = diagnostic.range.start
        label = style.severity(diagnostic.severity, f"{diagnostic.severity.word}[{diagnostic.code}]")
        lines.append(f"{style.paint('bold', one_line(diagnostic.path))}:{line}:{column}: {label} {one_line(diagnostic.message)}\n")
    return "".join(lines)
