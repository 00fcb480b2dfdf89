"""The resolved plan of a launch: each decision, its value, where it comes from, and what will really run."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fsdplint.assumptions import assumed
from fsdplint.check import jobs
from fsdplint.diagnostics import resolve
from fsdplint.linter import plans_of
from fsdplint.options import format_option, launch_options, request, settings_options, talk_options
from fsdplint.session import Session
from fsdplint.terminal import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Place, TargetInfo
    from fsdplint.plan import Fact
    from fsdplint.session import Job


class Decision(NamedTuple):
    """One decision of a plan, in plain values.

    ``path``, ``line`` and ``key``: where it is written, None where it is not; ``source``: then whose default it is. ``written``: what the
    file asks for, where another value runs, and ``because`` why. ``otherwise``: what runs in other releases of the target, by those
    releases. ``rivals``: where else it is stated.
    """

    name: str
    value: object
    written: object
    because: str
    unknown: bool
    path: str | None
    line: int | None
    key: str | None
    source: str
    otherwise: tuple[tuple[str, object], ...]
    rivals: tuple[tuple[str, int, object], ...]

    @property
    def where(self) -> str:
        """``path:line``, or whose default it is."""
        return f"{self.path}:{self.line}" if self.path is not None else self.source


class Explanation(NamedTuple):
    """One launch: its files with their dialects, the launch line, the versions and device it is judged by, and its decisions."""

    files: tuple[tuple[str, str], ...]
    command: str | None
    dialect: str
    target: dict[str, TargetInfo]
    device: str | None
    decisions: tuple[Decision, ...]


@click.command("explain")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@launch_options
@settings_options
@format_option("text", "json")
@talk_options
def explain_command(files: tuple[str, ...], format_name: str, **given: Any) -> None:
    """Show the resolved plan of a launch: each decision, its value, where it comes from, and what will really run."""
    session = Session(request(files, given))
    found = [explain(job) for job in jobs(session)]
    if format_name == "json":
        import json

        write(json.dumps({"version": 1, "launches": [as_object(one) for one in found]}, indent=2) + "\n")
    else:
        write("\n".join(map(as_text, found)))


def explain(job: Job) -> Explanation:
    """What a launch will do in the newest releases of its target, and where older ones do something else."""
    launch, target = job.launch, job.target
    plans = {versions: plans_of(launch, target, versions)[0] for versions in target.points()}
    newest = plans[target.at_newest]
    decisions = []
    for name, fact in newest:
        others: dict[object, list[Any]] = {}
        for versions, plan in plans.items():
            value = plain(plan.fact(name).value)
            if value != plain(fact.value):
                others.setdefault(value, []).append(versions)
        if fact.value is not None or fact.is_written or others:
            decisions.append(_decision(name, fact, tuple((target.runs(hits), value) for value, hits in others.items())))
    return Explanation(
        tuple((file.document.path, file.dialect.name) for file in launch.files),
        launch.command.document.text if launch.command else None,
        launch.main.dialect.name,
        assumed(launch, target),
        target.device,
        tuple(decisions),
    )


def _decision(name: str, fact: Fact[Any], otherwise: tuple[tuple[str, object], ...]) -> Decision:
    path, line, key = _place(fact.place) if fact.place is not None else (None, None, None)
    rivals = tuple((*_place(rival.place)[:2], plain(rival.written)) for rival in fact.rivals if rival.place is not None)
    written = None if fact.as_written else plain(fact.written)
    return Decision(name, plain(fact.value), written, fact.because, fact.unknown, path, line, key, fact.source, otherwise, rivals)


def _place(place: Place) -> tuple[str, int, str | None]:
    key, where, _ = resolve(place)
    return place.origin.document.path, where.start.line, key


def plain(value: object) -> object:
    """A decision's value as JSON knows it; hashable but for mappings and lists that a file states."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def as_object(found: Explanation) -> dict[str, Any]:
    """An explanation as plain values, for ``--format json``."""
    return {
        "files": [{"path": path, "dialect": dialect} for path, dialect in found.files],
        "command": found.command,
        "dialect": found.dialect,
        "target": {name: {"specifier": info.specifier, "source": info.source} for name, info in found.target.items()},
        "device": found.device,
        "decisions": [
            {
                **{k: v for k, v in decision._asdict().items() if k not in ("otherwise", "rivals")},
                "otherwise": [{"versions": versions, "value": value} for versions, value in decision.otherwise],
                "rivals": [{"path": path, "line": line, "value": value} for path, line, value in decision.rivals],
            }
            for decision in found.decisions
        ],
    }


def as_text(found: Explanation) -> str:
    """An explanation as a table for people."""
    head = [f"{path}: {dialect}" for path, dialect in found.files] + ([found.command] if found.command else [])
    target = ", ".join(f"{name} {info.specifier.removeprefix('==')} ({info.source})" for name, info in found.target.items())
    rows = [(decision.name, _shown(decision.value), decision) for decision in found.decisions]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    cells = ((name.ljust(widths[0]), value.ljust(widths[1]), "; ".join(_remarks(decision))) for name, value, decision in rows)
    lines = ["  ".join(row).rstrip() for row in cells]
    return "\n".join([*head, f"for {target}; device: {found.device or 'not stated'}", "", *(lines or ["no decisions"]), ""])


def _remarks(decision: Decision) -> Iterator[str]:
    if decision.where:
        yield decision.where
    if decision.unknown:
        yield "a placeholder, filled in later"
    elif decision.written is not None:
        yield f"written {_shown(decision.written)}, runs {_shown(decision.value)}" + (f": {decision.because}" if decision.because else "")
    for versions, value in decision.otherwise:
        yield f"{_shown(value)} with {versions}"
    for path, line, value in decision.rivals:
        yield f"beats {_shown(value)} at {path}:{line}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not known" if value is None else str(value)
