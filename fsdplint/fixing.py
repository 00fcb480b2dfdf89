"""The fixes of all launches of a request, and the files that they change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.check import inputs_of, kept_of, outcome_of, remarks_on
from fsdplint.grouping import groups
from fsdplint.linter import plans_of
from fsdplint.mending import Trial, fixable, mend
from fsdplint.parallel import verdicts
from fsdplint.session import Session
from fsdplint.writing import WriteError, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsdplint.check import Outcome
    from fsdplint.diagnostics import Diagnostic, FileStatus, Fix, Severity
    from fsdplint.discovery import Input
    from fsdplint.document import Document
    from fsdplint.grouping import Group
    from fsdplint.request import Request
    from fsdplint.session import Job, Verdict


class Change(NamedTuple):
    """Old and new content of one file; ``is_stdin``: it is standard input, which is never written."""

    path: str
    location: str
    old: bytes
    new: bytes
    is_stdin: bool = False


class Fixed(NamedTuple):
    """What fixing a request came to: the outcome of a check of what remains (its report names what was fixed), and the changes."""

    outcome: Outcome
    changes: tuple[Change, ...]


def fix(request: Request, fail_on: Severity | None = None, *, unsafe: bool = False, dry: bool = False) -> Fixed:
    """Apply the fixes of a request's launches and write the files, unless ``dry``. Raises what ``fsdplint.check.check`` raises.

    A file that cannot be written stays as it is and has status failed in the report.
    """
    session = Session(request)
    inputs = inputs_of(session)
    launches = groups(request, inputs, session.settings_of)
    found = verdicts(session, launches)
    fixed, changes, rejected = _mended(session, inputs, _wanting(launches, found), unsafe)
    failed = {} if dry else written(changes)
    changes = tuple(change for change in changes if change.path not in failed)
    session.contents = {change.path: change.new for change in changes}
    touched = {change.path for change in changes}
    found = [session.verdict(group) if touched & one.given else one for group, one in zip(launches, found, strict=True)]
    outcome = outcome_of(inputs, found, fail_on)
    files = tuple(_failed(file, failed) for file in outcome.report.files)
    done = tuple(diagnostic for diagnostic in fixed if diagnostic.path not in failed)
    left = tuple(_without(diagnostic, rejected) for diagnostic in outcome.report.diagnostics)
    report = outcome.report._replace(files=files, diagnostics=left, fixed=done, is_dry=dry)
    return Fixed(outcome._replace(report=report, remarks=remarks_on(request, launches)), changes)


def written(changes: Iterable[Change]) -> dict[str, str]:
    """Write changed files, each whole or not at all; returns why some could not be written, by path."""
    failed: dict[str, str] = {}
    for change in changes:
        if change.is_stdin:
            continue
        try:
            write(change.location, change.new, expected=change.old)
        except WriteError as error:
            failed[change.path] = str(error).removeprefix(f"{change.location}: ")
    return failed


def _failed(file: FileStatus, failed: dict[str, str]) -> FileStatus:
    return file._replace(status="failed", reason=failed[file.path]) if file.path in failed else file


def _wanting(launches: Sequence[Group], found: Sequence[Verdict]) -> list[tuple[Group, Verdict]]:
    """The launches whose diagnostics count, with their verdicts."""
    counting = {id(verdict) for verdict in kept_of(found)}
    return [(group, verdict) for group, verdict in zip(launches, found, strict=True) if id(verdict) in counting]


def _mended(
    session: Session, inputs: Iterable[Input], launches: Sequence[tuple[Group, Verdict]], unsafe: bool
) -> tuple[list[Diagnostic], tuple[Change, ...], dict[Fix, str]]:
    """What is fixed, launch by launch: a file of several launches must come out better in each."""
    fixed: list[Diagnostic] = []
    changes: dict[str, tuple[bytes, bytes]] = {}
    rejected: dict[Fix, str] = {}
    for _, verdict in launches:
        if not fixable((*verdict.diagnostics, *verdict.faults), unsafe=unsafe):
            continue
        sharing = [group for group, other in launches if other.given & verdict.given]
        settled = {path: new for path, (_, new) in changes.items()}
        mended = mend(partial(trial, session, sharing, settled), unsafe=unsafe)
        fixed += mended.fixed
        rejected |= mended.rejected
        for path, (old, new) in mended.changes.items():
            changes[path] = (changes[path][0] if path in changes else old, new)
    places = {item.path: item for item in inputs}
    changed = tuple(_change(places[path], *texts) for path, texts in changes.items() if texts[0] != texts[1])
    return fixed, changed, rejected


def _without(diagnostic: Diagnostic, rejected: dict[Fix, str]) -> Diagnostic:
    """A diagnostic without the fix that was tried in vain, and with the reason."""
    why = rejected.get(diagnostic.fix) if diagnostic.fix is not None else None
    if why is None:
        return diagnostic
    says = f"no automatic fix: {why}"
    return diagnostic._replace(fix=None, help=f"{diagnostic.help}\n{says}" if diagnostic.help else says)


def _change(item: Input, old: bytes, new: bytes) -> Change:
    return Change(item.path, item.location, old, new, item.data is not None)


def trial(session: Session, launches: Sequence[Group], settled: dict[str, bytes], contents: dict[str, bytes]) -> Trial:
    """What is found in some launches when files have other contents; ``settled``: those that earlier launches left."""
    session.contents = settled | contents
    diagnostics: dict[Diagnostic, None] = {}
    documents: dict[str, Document] = {}
    engines: set[str] = set()
    for group in launches:
        job, statuses = session.job(group)
        if job is not None:
            verdict = session.judged(job, group, statuses)
            diagnostics.update(dict.fromkeys((*verdict.diagnostics, *verdict.faults)))
            documents.update({file.document.path: file.document for file in job.launch.files if file.document.path in job.given})
            engines |= _engines(job)
    return Trial(tuple(diagnostics), documents, frozenset(engines))


def _engines(job: Job) -> set[str]:
    """The engines that a launch has on, on the newest release of its target; FSDP with its version."""
    plan = plans_of(job.launch, job.target, job.target.at_newest)[0]
    return {
        name for name, fact in ((f"FSDP{plan.fsdp_version.value or ''}", plan.fsdp), ("DeepSpeed", plan.deepspeed)) if fact.value is True
    }
