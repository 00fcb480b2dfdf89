"""From paths to a report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint import __version__
from fsdplint.diagnostics import Report, Severity, ordered
from fsdplint.discovery import Input, find, is_excluded
from fsdplint.errors import InputError
from fsdplint.grouping import groups
from fsdplint.parallel import verdicts
from fsdplint.request import Request
from fsdplint.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsdplint.diagnostics import Diagnostic, TargetInfo
    from fsdplint.grouping import Group
    from fsdplint.session import Job, Verdict

STDIN = "<stdin>"
"""The path of standard input that has no name."""


class Outcome(NamedTuple):
    """A report, whether anything in it reaches the level that fails the run, and what the user should know of the request itself."""

    report: Report
    fails: bool
    remarks: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """2 where an input could not be read, 1 for findings at or above the level that fails, else 0."""
        return 2 if any(file.status == "failed" for file in self.report.files) else int(self.fails)


def check_text(
    text: str | bytes,
    *,
    path: str = "config.yaml",
    dialect: str | None = None,
    launch: str | None = None,
    target: Sequence[str] = (),
    device: str | None = None,
    gpus: int | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    isolated: bool = False,
) -> tuple[Diagnostic, ...]:
    """The diagnostics of a config given as text.

    ``path`` names it and tells its format; settings and requirement files are looked for beside it, unless ``isolated``. ``dialect``:
    recognised by default. ``launch``: the command line that starts the run. ``target``: requirements such as ``accelerate==1.15.0``.
    ``select`` and ``ignore``: rules, as in the settings.
    Raises FsdplintError for names that do not exist.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    request = Request(
        paths=("-",),
        stdin=data,
        stdin_filename=path,
        dialect=dialect,
        launch=launch,
        targets=tuple(target),
        device=device,
        gpus=gpus,
        select=None if select is None else tuple(select),
        ignore=tuple(ignore),
        isolated=isolated,
    )
    return check(request).report.diagnostics


def check_paths(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] = (".",),
    *,
    dialect: str | None = None,
    launch: str | None = None,
    together: bool = False,
    target: Sequence[str] = (),
    device: str | None = None,
    gpus: int | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    isolated: bool = False,
) -> tuple[Diagnostic, ...]:
    """The diagnostics of files and of all files below folders, as ``check_text`` gives them; ``together``: all of them start one run."""
    several = (paths,) if isinstance(paths, str | os.PathLike) else paths
    request = Request(
        paths=tuple(os.fspath(path) for path in several),
        dialect=dialect,
        launch=launch,
        together=together,
        targets=tuple(target),
        device=device,
        gpus=gpus,
        select=None if select is None else tuple(select),
        ignore=tuple(ignore),
        isolated=isolated,
    )
    return check(request).report.diagnostics


def check(request: Request, fail_on: Severity | None = None) -> Outcome:
    """Do what is asked. Raises FsdplintError and TargetError for what makes no sense.

    ``fail_on``: the lowest level that fails the run; None for what settings say, else warnings.
    """
    session = Session(request)
    inputs = inputs_of(session)
    found = groups(request, inputs, session.settings_of)
    outcome = outcome_of(inputs, verdicts(session, found), fail_on)
    return outcome._replace(remarks=remarks_on(request, found))


def remarks_on(request: Request, found: Sequence[Group]) -> tuple[str, ...]:
    """What the user should know of a request itself, given the launches that it came to."""
    if request.launch and found and not any(group.command for group in found):
        return ("--launch names none of the given files, so nothing is known of it; --together takes them all",)
    return ()


def jobs(session: Session) -> Iterator[Job]:
    """The launches of a session's request, ready to be judged. Raises InputError where a file is no training config."""
    for group in groups(session.request, inputs_of(session), session.settings_of):
        job, statuses = session.job(group)
        for status in statuses:
            if status.status != "checked":
                raise InputError(f"{status.path}: {status.reason}")
        if job is not None:
            yield job


def inputs_of(session: Session) -> list[Input]:
    """The inputs of a session's request: given files, files below given folders, standard input; the session learns of them."""
    request = session.request
    found: list[Input] = []
    named = tuple(path for path in request.paths if path != "-")
    if "-" in request.paths:
        name = request.stdin_filename or STDIN
        location = os.path.abspath(request.stdin_filename or "stdin")
        if not (request.force_exclude and is_excluded(location, session.settings_of)):
            found.append(Input(name.replace(os.path.sep, "/"), location, data=request.stdin or b""))
    found += find(named, session.settings_of, request.force_exclude)
    session.given = {os.path.realpath(item.location): item.path for item in found}
    return found


def outcome_of(inputs: Sequence[Input], verdicts: Sequence[Verdict], fail_on: Severity | None) -> Outcome:
    """The report on some inputs that the verdicts on their launches come to."""
    every = [status for verdict in verdicts for status in verdict.statuses]
    statuses = {status.path: status for status in sorted(every, key=lambda status: status.status == "checked")}
    kept = kept_of(verdicts)
    diagnostics: dict[Diagnostic, None] = {}
    fails = False
    for verdict in kept:
        found = [*verdict.diagnostics, *(fault for fault in verdict.faults if _holds(fault, kept))]
        level = fail_on or Severity.of(verdict.fail_on or "warning")
        fails = fails or any(diagnostic.severity >= level for diagnostic in found)
        diagnostics.update(dict.fromkeys(found))
    target, differing = _target(kept)
    report = Report(
        __version__,
        tuple(ordered(diagnostics)),
        tuple(statuses[item.path] for item in inputs if item.path in statuses),
        target,
        len({diagnostic for verdict in kept for diagnostic in verdict.silenced}),
        {info.code: info for verdict in kept for info in verdict.rules},
        tuple(dict.fromkeys([*(note for verdict in kept for note in verdict.notes), *differing])),
        next((verdict.device for verdict in kept if verdict.device), None),
    )
    return Outcome(report, fails)


def _target(verdicts: Sequence[Verdict]) -> tuple[dict[str, TargetInfo], list[str]]:
    """What most launches take each package for, and remarks on what others take it for."""
    counts: dict[str, dict[TargetInfo, int]] = {}
    for verdict in verdicts:
        for name, info in verdict.target:
            counts.setdefault(name, {})[info] = counts.get(name, {}).get(info, 0) + 1
    most = {name: max(found, key=lambda info: found[info]) for name, found in counts.items()}
    others = [(name, info) for name, found in counts.items() for info in found if info != most[name]]
    return most, [f"for other files, {name} is {info.specifier} ({info.source})" for name, info in others]


def kept_of(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts but those on a file alone that another launch takes in as well."""
    joining = [verdict for verdict in verdicts if verdict.joined]
    kept: list[Verdict] = []
    for verdict in verdicts:
        if verdict.alone is not None and any(verdict.alone in other.joined for other in joining):
            joining = [other for other in joining if other is not verdict]
        else:
            kept.append(verdict)
    return kept


def _holds(fault: Diagnostic, verdicts: Iterable[Verdict]) -> bool:
    """Whether every launch that a file belongs to finds the same fault with a suppression in it."""
    return all(fault in verdict.faults for verdict in verdicts if fault.path in verdict.given)
