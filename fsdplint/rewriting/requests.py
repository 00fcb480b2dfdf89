"""The launches of a request rewritten, and the files that this changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.check import inputs_of, kept_of, outcome_of
from fsdplint.diagnostics import Severity
from fsdplint.document import Refused, encoded
from fsdplint.fixing import Change, Fixed, written
from fsdplint.grouping import groups
from fsdplint.mending import Trial, mend
from fsdplint.parallel import verdicts
from fsdplint.rewriting.launches import rewritings, unconverted, unproved
from fsdplint.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Diagnostic
    from fsdplint.discovery import Input
    from fsdplint.grouping import Group
    from fsdplint.request import Request
    from fsdplint.rewriting.aim import Aim
    from fsdplint.rewriting.launches import Rewriting
    from fsdplint.session import Job

REPLACED = ("deepspeed",)
"""Dialects whose files nothing names any more afterwards: passed over in silence where others are given, too."""


class Rewritten(NamedTuple):
    """What rewriting a request came to.

    ``fixed``: as fixing reports it. ``refusals`` and ``notes``: pairs of a path and a text, for people.
    """

    fixed: Fixed
    refusals: tuple[tuple[str, str], ...]
    notes: tuple[tuple[str, str], ...]


def rewrite(request: Request, aim: Aim, fail_on: Severity | None = None, *, dry: bool = False) -> Rewritten:
    """Rewrite every launch of a request and write the files, unless ``dry``. Raises what ``fsdplint.check.check`` raises.

    A launch is rewritten as a whole or not at all: the new texts must state what is asked for on every release of the target, without
    any error; else the reason is among the refusals.
    """
    session = Session(request)
    inputs = inputs_of(session)
    launches = groups(request, inputs, session.settings_of)
    found = verdicts(session, launches)
    joined = frozenset(path for verdict in found if len(verdict.given) > 1 for path in verdict.given)
    work = _Work(session, aim, joined)
    counting = {id(verdict) for verdict in kept_of(found)}
    for group, verdict in zip(launches, found, strict=True):
        if id(verdict) in counting:
            work.take(group)
    changes = tuple(_changes(inputs, work))
    failed = {} if dry else written(changes)
    changes = tuple(change for change in changes if change.path not in failed)
    session.contents = {change.path: change.new for change in changes}
    touched = {change.path for change in changes}
    left = [work.left.get(id(group), group) for group in launches]
    found = [session.verdict(group) if touched & one.given else one for group, one in zip(left, found, strict=True)]
    outcome = outcome_of(inputs, found, fail_on)
    files = tuple(
        file._replace(status="failed", reason=failed[file.path]) if file.path in failed else file for file in outcome.report.files
    )
    report = outcome.report._replace(files=files, is_dry=dry)
    unknown = [
        (file.path, f"{file.reason} (--dialect names one)") for file in files if file.status == "skipped" and file.path in request.paths
    ]
    return Rewritten(Fixed(outcome._replace(report=report), changes), (*work.refusals, *unknown), tuple(work.notes))


class _Work:
    """The launches one after the other; a later one sees what the earlier ones have written.

    ``joined``: the paths of files that some launch has beside others. ``left``: by its id, what is left of a launch afterwards.
    """

    def __init__(self, session: Session, aim: Aim, joined: frozenset[str]) -> None:
        self.session = session
        self.aim = aim
        self.joined = joined
        self.contents: dict[str, bytes] = {}
        self.refusals: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []
        self.left: dict[int, Group] = {}

    def take(self, group: Group) -> None:
        """Rewrite one launch, or note why not. A launch line of a script that names no given file has nothing to rewrite."""
        if group.script is not None and not group.given:
            return
        self.session.contents = self.contents
        job, _ = self.session.job(group)
        if job is None:
            return
        path = min(job.given, key=lambda name: name != job.launch.main.document.path)
        if job.launch.main.dialect.is_companion and self._is_done_elsewhere(path, job.launch.main.dialect.name):
            return
        try:
            self._rewrite(job, group, path)
        except Refused as refusal:
            self.refusals.append((path, refusal.reason))

    def _is_done_elsewhere(self, path: str, dialect: str) -> bool:
        return path in self.joined or (dialect in REPLACED and len(self.session.given) > 1)

    def _rewrite(self, job: Job, group: Group, path: str) -> None:
        found = rewritings(job, self.aim)
        if not found:
            self.notes.append((path, unconverted(job)))
        left = _without_replaced(group, job)
        for done in found:
            try:
                self._prove(done, job, left, path)
            except Refused:
                if len(found) == 1:
                    raise
            else:
                self.left[id(group)] = left
                return
        if found:
            raise Refused("the releases of the target need different texts: name one with --target")

    def _prove(self, done: Rewriting, job: Job, group: Group, path: str) -> None:
        """Keep a rewriting. Raises Refused where its texts do not state the wish on every release, or have errors."""
        files = {file.document.path: file.document.original for file in job.launch.files}
        texts = {name: encoded(files[name], text) for name, text in done.texts.items() if text != files[name].text}
        contents = self._without_errors(group, {**self.contents, **texts})
        self.session.contents = contents
        after, _ = self.session.job(group)
        reason = "the result would be no training config" if after is None else unproved(after, done.wish)
        if reason:
            raise Refused(reason)
        self.contents = contents
        self.notes += [(path, note) for note in done.notes] if texts else []

    def _without_errors(self, group: Group, contents: dict[str, bytes]) -> dict[str, bytes]:
        """The contents, with safe fixes where they still have errors. Raises Refused where errors remain."""
        trial = self._trial(group, contents)
        if not _errors(trial):
            return contents
        mended = mend(lambda more: self._trial(group, {**contents, **more}), unsafe=False)
        contents = {**contents, **{path: new for path, (_, new) in mended.changes.items()}}
        errors = _errors(self._trial(group, contents))
        if errors:
            first = errors[0]
            own = {(error.code, error.key) for error in _errors(self._trial(group, self.contents))}
            is_own = (first.code, first.key) in own
            what = "the file has an error that is to be mended first" if is_own else "the result would have an error"
            help = f" ({first.help})" if first.help else ""
            raise Refused(f"{what}: {first.code} {f'{first.key}: ' if first.key else ''}{first.message}{help}")
        return contents

    def _trial(self, group: Group, contents: dict[str, bytes]) -> Trial:
        self.session.contents = contents
        job, statuses = self.session.job(group)
        if job is None:
            return Trial((), {})
        verdict = self.session.judged(job, group, statuses)
        documents = {file.document.path: file.document for file in job.launch.files if file.document.path in job.given}
        return Trial(verdict.diagnostics, documents)


def _without_replaced(group: Group, job: Job) -> Group:
    """A launch without the given files that nothing names afterwards."""
    gone = {file.document.path for file in job.launch.files if file.dialect.name in REPLACED}
    kept = tuple(item for item in group.given if item.path not in gone)
    return group._replace(given=kept) if kept else group


def _errors(trial: Trial) -> list[Diagnostic]:
    return [diagnostic for diagnostic in trial.diagnostics if diagnostic.severity is Severity.ERROR]


def _changes(inputs: list[Input], work: _Work) -> Iterator[Change]:
    """The files that come out different."""
    for item in inputs:
        new = work.contents.get(item.path)
        if new is None:
            continue
        old = item.data
        if old is None:
            with open(item.location, "rb") as file:
                old = file.read()
        if old != new:
            yield Change(item.path, item.location, old, new, item.data is not None)
