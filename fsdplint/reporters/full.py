"""For people: each diagnostic with its source, related places and help; at the end, what was assumed and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.reporters.ansi import Style, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Diagnostic, Fix, Range, Report, Snippet


def render(report: Report, *, color: bool = False, quiet: bool = False) -> str:
    """The report as text; ``quiet`` leaves out the closing lines."""
    style = Style(color)
    blocks = ["\n".join(_block(diagnostic, style)) + "\n\n" for diagnostic in report.diagnostics]
    closing = [] if quiet else [*_done(report, style), *_closing(report, style)]
    return "".join(blocks) + "".join(f"{line}\n" for line in closing)


def _block(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    line, column, _ = diagnostic.range.start
    label = style.severity(diagnostic.severity, f"{diagnostic.severity.word}[{diagnostic.code}]")
    yield f"{style.paint('bold', one_line(diagnostic.path))}:{line}:{column}: {label} {diagnostic.name}"
    yield from _indented(style.paint("bold", printable(diagnostic.message)) if "\n" not in diagnostic.message else diagnostic.message)
    margin = max((len(str(s.first_line + 2)) for s in (diagnostic.snippet, *(r.snippet for r in diagnostic.related))), default=1)
    yield from _source(diagnostic.range, diagnostic.snippet, style, margin, diagnostic.severity)
    for related in diagnostic.related:
        start = related.range.start
        yield f"  {style.paint('blue', 'note:')} {one_line(related.path)}:{start.line}:{start.column}: {printable(related.message)}"
        yield from _source(related.range, related.snippet, style, margin, None)
    if diagnostic.help:
        yield f"  {style.paint('green', 'help:')} " + "\n        ".join(printable(line) for line in diagnostic.help.split("\n"))
    if diagnostic.fix:
        yield from _fix(diagnostic, diagnostic.fix, style)


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {line if chr(27) in line else printable(line)}"


def _source(place: Range, snippet: Snippet, style: Style, margin: int, severity: Severity | None) -> Iterator[str]:
    from fsdplint.reporters.snippets import marked

    bar = style.paint("blue", "|")
    for line in marked(place, snippet):
        yield f"  {style.paint('blue', str(line.number).rjust(margin))} {bar} {line.text}".rstrip()
        marks = style.severity(severity, line.marks.strip()) if severity else style.paint("blue", line.marks.strip().replace("^", "-"))
        yield f"  {' ' * margin} {bar} {' ' * (len(line.marks) - len(line.marks.lstrip()))}{marks}"


def _fix(diagnostic: Diagnostic, fix: Fix, style: Style) -> Iterator[str]:
    """What a fix does, with the lines that it changes."""
    from fsdplint.reporters.mini_diff import hunks

    yield f"  {style.paint('green', 'fix:')} {printable(fix.message)} ({fix.applicability})"
    for hunk in hunks(diagnostic, fix):
        yield from (f"  {style.paint('red', f'- {printable(line)}'.rstrip())}" for line in hunk.old)
        yield from (f"  {style.paint('green', f'+ {printable(line)}'.rstrip())}" for line in hunk.new)


def _closing(report: Report, style: Style) -> Iterator[str]:
    assumed = _assumed(report)
    if assumed:
        yield style.paint("dim", assumed)
    counts = [_many(report.count(severity), severity.word) for severity in reversed(Severity) if report.count(severity)]
    suppressed = f" ({report.suppressed} suppressed)" if report.suppressed else ""
    files = _many(report.checked, "file")
    if counts:
        yield f"{', '.join(counts)} in {files}{suppressed}"
    elif report.checked:
        yield f"{style.paint('green', 'No problems')} in {files}{suppressed}"
    elif not any(file.status == "failed" for file in report.files):
        yield "No training configs found"
    if report.fixed is not None:
        yield from _balance(report, report.fixed)
    elif report.fixable:
        safe = sum(d.fix is not None and d.fix.applicability == "safe" for d in report.diagnostics)
        held_back = f", {report.fixable - safe} more with --unsafe-fixes" if report.fixable > safe else ""
        yield f"{safe} fixable with `fsdplint fix`{held_back}"


def _done(report: Report, style: Style) -> Iterator[str]:
    """What was fixed, by the places at which it was found."""
    verb = "would fix" if report.is_dry else "fixed"
    for diagnostic in report.fixed or ():
        says = diagnostic.fix.message if diagnostic.fix else ""
        place = f"{one_line(diagnostic.path)}:{diagnostic.range.start.line}"
        yield f"{style.paint('green', verb)} {place}: {diagnostic.code} {diagnostic.name}: {printable(says)}"


def _balance(report: Report, fixed: tuple[Diagnostic, ...]) -> Iterator[str]:
    """How many were fixed, how many are left, and how many of those an option would fix."""
    unsafe = sum(d.fix is not None and d.fix.applicability == "unsafe" for d in report.diagnostics)
    more = f"; {unsafe} more with --unsafe-fixes" if unsafe else ""
    if fixed or unsafe:
        yield f"{'would fix' if report.is_dry else 'fixed'} {len(fixed)}, {len(report.diagnostics)} left{more}"


def _assumed(report: Report) -> str:
    """The versions that nobody declared, by where they come from."""
    sources: dict[str, list[str]] = {}
    for name, info in report.target.items():
        if not info.declared:
            sources.setdefault(info.source, []).append(f"{name} {info.specifier.removeprefix('==')}")
    if not report.diagnostics or not sources:
        return ""
    parts = [f"{', '.join(names)} ({source})" for source, names in sources.items()]
    return f"assumed {'; '.join(parts)}; declare others with --target"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 or noun == "info" else f"{count} {noun}s"
