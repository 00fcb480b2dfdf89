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

WITHOUT_FIXES = ("concise", "gitlab", "junit")
"""The formats that show no fix, so that none is worked out."""


def run(request: Request, given: dict[str, Any]) -> int:
    """Check, write the report, and give the exit code; ``given`` are the command's options. Raises FsdplintError and TargetError."""
    format, fail_on = format_of(given), level_of(given)
    is_showing = format not in WITHOUT_FIXES and not given["statistics"] and not given["show_files"]
    outcome = check(request if is_showing else request._replace(fixes=False), fail_on)
    tell(outcome, given)
    if given["quiet"] < 2 or given["output"]:
        write(shown(outcome.report, format, given), given["output"])
    return exit_code(outcome, given)


def shown(report: Report, format: str, given: dict[str, Any]) -> str:
    """A report in the form that the options ask for."""
    if given["show_files"]:
        return _files(report)
    if given["statistics"]:
        return _statistics(report, format)
    colored = format in FOR_PEOPLE and not given["output"] and wants_color(given["no_color"])
    return render(format, report, color=colored, quiet=given["quiet"] > 0)


def exit_code(outcome: Outcome, given: dict[str, Any]) -> int:
    """The exit code of an outcome, as the options want it."""
    code = outcome.exit_code
    return 0 if code == 1 and (given["exit_zero"] or given["show_files"]) else code


def format_of(given: dict[str, Any]) -> str:
    """The format that the options name. Raises UsageError."""
    name = str(given["format_name"])
    if name in FORMATS:
        return name
    from fsdplint.spelling import did_you_mean

    raise UsageError(f"unknown format {name!r}{did_you_mean(name, FORMATS) or ', use one of ' + ', '.join(FORMATS)}")


def level_of(given: dict[str, Any]) -> Severity | None:
    """The level of ``--fail-on``. Raises UsageError."""
    word = given["fail_on"]
    if word is None:
        return None
    try:
        return Severity.of(word)
    except ValueError:
        raise UsageError(f"--fail-on {word}: use error, warning or info") from None


def tell(outcome: Outcome, given: dict[str, Any]) -> None:
    """What stderr says: inputs that could not be read; with ``-v`` what was skipped and what was assumed of the target."""
    report, verbose = outcome.report, given["verbose"] - given["quiet"]
    for file in report.files:
        if file.status == "failed":
            say(f"fsdplint: {file.path}: {file.reason}")
        elif file.status == "skipped" and verbose > 0:
            say(f"skipped {file.path}: {file.reason}")
    for remark in outcome.remarks if verbose >= 0 else ():
        say(f"note: {remark}")
    for note in report.notes:
        if verbose > 0 or (verbose == 0 and "did you mean" in note):
            say(f"note: {note}")
    if verbose > 0:
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
