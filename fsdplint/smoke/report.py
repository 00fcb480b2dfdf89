"""A smoke test's report, as a table for people and as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint import __version__
from fsdplint.smoke.outcome import State

if TYPE_CHECKING:
    from fsdplint.smoke.outcome import Report, Verdict

VERSION = 1
"""The version of the JSON form; additions keep it."""

_MARKS = {State.PASSED: "ok", State.FAILED: "FAILED", State.SKIPPED: "skipped", State.NOT_PROVED: "not proved"}


def as_json(report: Report) -> str:
    """The report as JSON text, with every rank's facts."""
    import json

    return json.dumps(as_data(report), indent=2) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    plan = report.plan
    return {
        "version": VERSION,
        "fsdplint": __version__,
        "result": report.state.value,
        "dialect": plan.dialect,
        "files": [{"path": file.shown, "dialect": file.dialect} for file in plan.files],
        "on": plan.device,
        "processes": plan.world_size,
        "route": plan.route,
        "model": plan.model,
        "versions": report.versions,
        "seconds": round(report.seconds, 3),
        "stages": [_stage(verdict) for verdict in report.verdicts],
        "not_exercised": [{"what": item.what, "why": item.why} for item in plan.unexercised],
    }


def _stage(verdict: Verdict) -> dict[str, Any]:
    return {
        "stage": verdict.stage,
        "state": verdict.state.value,
        "reasons": list(verdict.reasons),
        "seen": verdict.seen,
        "seconds": None if verdict.seconds is None else round(verdict.seconds, 3),
        "facts": verdict.facts,
        "log": verdict.log,
    }


def as_text(report: Report) -> str:
    """The report as a table, the first dying rank's traceback below it, and what was not exercised."""
    lines = [_title(report), ""]
    for verdict in report.verdicts:
        lines += _row(verdict)
    for verdict in report.verdicts:
        if verdict.log:
            lines += ["", f"{verdict.stage}:", *(f"  {line}" for line in verdict.log.rstrip().splitlines())]
    if report.plan.unexercised:
        lines += ["", "not exercised:", *(f"  {item.what}: {item.why}" for item in report.plan.unexercised)]
    lines += ["", f"{report.state.value} in {report.seconds:.1f} s", ""]
    return "\n".join(lines)


def _title(report: Report) -> str:
    plan = report.plan
    files = ", ".join(file.shown for file in plan.files) or "no files"
    where = f"{plan.world_size} ranks on {plan.device}" if plan.world_size else "no ranks"
    torch = f", torch {report.versions['torch']}" if "torch" in report.versions else ""
    return f"smoke test of {files} ({plan.dialect}): {where}, {plan.model} model{torch}"


def _row(verdict: Verdict) -> list[str]:
    seconds = "" if verdict.seconds is None else f"{verdict.seconds:.1f} s"
    said = [*verdict.reasons, *([verdict.seen] if verdict.seen else [])] or [""]
    head = f"  {verdict.stage:<11}{_MARKS[verdict.state]:<11}{seconds:>7}  {said[0]}".rstrip()
    return [head, *(f"{'':33}{line}" for line in said[1:])]
