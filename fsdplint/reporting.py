"""The check command: a request in, a report on stdout and an exit code out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.check import check
from fsdplint.diagnostics import Severity
from fsdplint.errors import UsageError
from fsdplint.reporters import FOR_PEOPLE, FORMATS, render
from fsdplint.terminal import say, wants_color, write

if TYPE_CHECKING:
    from fsdplint.check import Outcome
    from fsdplint.diagnostics import Report
    from fsdplint.request import Request


def run(request: Request, given: dict[str, Any]) -> int:
    """Check, write the report, and give the exit code; ``given`` are the command's options. Raises FsdplintError and TargetError."""
    format, fail_on = _format(given["format_name"]), _level(given["fail_on"])
    outcome = check(request, fail_on)
    _tell(outcome, given["verbose"] - given["quiet"])
    if given["show_files"]:
        text = _files(outcome.report)
    elif given["statistics"]:
        text = _statistics(outcome.report, format)
    else:
        colored = format in FOR_PEOPLE and not given["output"] and wants_color(given["no_color"])
        text = render(format, outcome.report, color=colored, quiet=given["quiet"] > 0)
    if given["quiet"] < 2 or given["output"]:
        write(text, given["output"])
    return _exit_code(outcome, given)


def _exit_code(outcome: Outcome, given: dict[str, Any]) -> int:
    code = outcome.exit_code
    return 0 if code == 1 and (given["exit_zero"] or given["show_files"]) else code


def _format(name: str) -> str:
    if name in FORMATS:
        return name
    from fsdplint.spelling import did_you_mean

    raise UsageError(f"unknown format {name!r}{did_you_mean(name, FORMATS) or ', use one of ' + ', '.join(FORMATS)}")


def _level(word: str | None) -> Severity | None:
    if word is None:
        return None
    try:
        return Severity.of(word)
    except ValueError:
        raise UsageError(f"--fail-on {word}: use error, warning or info") from None


def _tell(outcome: Outcome, verbose: int) -> None:
    """What stderr says: inputs that could not be read; with ``-v`` what was skipped and what was assumed of the target."""
    report = outcome.report
    for file in report.files:
        if file.status == "failed":
            say(f"fsdplint: {file.path}: {file.reason}")
        elif file.status == "skipped" and verbose > 0:
            say(f"skipped {file.path}: {file.reason}")
    for remark in outcome.remarks if verbose >= 0 else ():
        say(f"note: {remark}")
    if verbose > 0:
        for note in report.notes:
            say(f"note: {note}")
        for name, info in report.target.items():
            say(f"target {name}{info.specifier} ({info.source})")


def _files(report: Report) -> str:
    return "".join(f"{file.path} {file.dialect}\n" for file in report.files if file.status == "checked")


def _statistics(report: Report, format: str) -> str:
    counts: dict[str, int] = {}
    for diagnostic in report.diagnostics:
        counts[diagnostic.code] = counts.get(diagnostic.code, 0) + 1
    rows = [(count, report.rules[code]) for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    if format not in FOR_PEOPLE:
        import json

        return json.dumps([{"code": info.code, "name": info.name, "count": count} for count, info in rows], indent=2) + "\n"
    return "".join(f"{count:5d} {info.code} {info.name}\n" for count, info in rows)
