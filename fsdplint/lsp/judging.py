"""What there is to say about an open document: the launches that it takes part in, judged as ``check`` judges files."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from fsdplint import settings, target
from fsdplint.check import inputs_of, kept_of, outcome_of
from fsdplint.diagnostics import Related
from fsdplint.dialects import recognise
from fsdplint.document import TextEdit, encoded, parse, plain
from fsdplint.document.intended import same
from fsdplint.document.patchwork import ordered, spliced
from fsdplint.fixing import trial
from fsdplint.grouping import groups
from fsdplint.inputs import HEAD
from fsdplint.lsp.documents import contents_of
from fsdplint.lsp.silencing import silencing
from fsdplint.mending import identity, mend, objections
from fsdplint.session import Session
from fsdplint.shell_hints import is_script, may_hold_commands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.diagnostics import Diagnostic, Fix
    from fsdplint.discovery import Input
    from fsdplint.document import Document
    from fsdplint.grouping import Group
    from fsdplint.launch import ConfigFile
    from fsdplint.lsp.documents import OpenDocument
    from fsdplint.lsp.silencing import Insertion
    from fsdplint.mending import Mended, Trial
    from fsdplint.request import Request
    from fsdplint.rule import Pack
    from fsdplint.target import Versions


class Config(NamedTuple):
    """A document that is a training config, with the releases that it is read for (the newest of its target)."""

    file: ConfigFile
    versions: Versions


class Judged:
    """What was found in a document, and what can be asked about it further.

    ``diagnostics`` all stand in the document itself. ``failures``: why launches could not be judged, which is a fault of ours.
    ``reads``: the real places of the other files that it was judged with.
    """

    def __init__(self, document: OpenDocument, session: Session, inputs: list[Input]) -> None:
        launches = groups(session.request, inputs, session.settings_of)
        verdicts = [session.verdict(group) for group in launches]
        counting = {id(verdict) for verdict in kept_of(verdicts)}
        self.document = document
        self._session = session
        self._beside = dict(session.contents)
        self._launches = [group for group, verdict in zip(launches, verdicts, strict=True) if id(verdict) in counting]
        self.diagnostics = tuple(_at_home(outcome_of(inputs, verdicts, None).report.diagnostics, document.path))
        statuses = [status for verdict in verdicts for status in verdict.statuses]
        self.failures = tuple(dict.fromkeys(status.reason or "" for status in statuses if status.status == "failed"))
        self.reads = frozenset[str]().union(*(verdict.joined for verdict in verdicts), *map(_others, launches))
        self._kept: dict[Fix, bool] = {}

    @cached_property
    def config(self) -> Config | None:
        """The document as a config; None for a script, and for what is no training config."""
        self._session.contents = self._beside
        for group in self._launches:
            job, _ = self._session.job(group)
            for file in job.launch.files if job is not None else ():
                if job is not None and file.document.path == self.document.path:
                    return Config(file, job.target.at_newest)
        return None

    @property
    def pack(self) -> Pack:
        """All rules."""
        return self._session.selection_of(os.path.dirname(self.document.location)).pack

    def mended(self) -> Mended:
        """The safe fixes of the document, applied as ``fix`` applies them."""
        return mend(self._trial, unsafe=False)

    def is_kept(self, diagnostic: Diagnostic) -> bool:
        """Whether ``fix`` would keep the fix of a diagnostic: the fault is gone with it, and nothing speaks against what it leaves."""
        fix, document = diagnostic.fix, self._own
        if fix is None or document is None or any(edit.path != document.path for edit in fix.edits):
            return False
        if fix not in self._kept:
            before = self._first.diagnostics
            own = next((one for one in before if one == diagnostic), None)
            text = spliced(document.text, ordered(TextEdit(*edit[1:]) for edit in fix.edits))
            self._kept[fix] = own is not None and not objections(own, before, self._with(document, text).diagnostics)
        return self._kept[fix]

    def silenced(self, diagnostic: Diagnostic) -> Insertion | None:
        """The comment that silences a diagnostic and does nothing else; None where there can be none, as in JSON."""
        document = self._own
        if document is None or document.format == "json":
            return None
        values = [plain(root) for root in document.roots]
        before = Counter(map(identity, self._first.diagnostics))
        for insertion in silencing(document.text, diagnostic.range.start.offset, diagnostic.code, document.newline):
            outcome = self._with(document, insertion.applied(document.text))
            after = Counter(map(identity, outcome.diagnostics))
            new = outcome.documents.get(document.path)
            is_gone = after[identity(diagnostic)] < before[identity(diagnostic)] and after <= before
            if is_gone and new is not None and same(values, [plain(root) for root in new.roots]):
                return insertion
        return None

    @cached_property
    def _first(self) -> Trial:
        return self._trial({})

    @property
    def _own(self) -> Document | None:
        """The document as its dialect reads it; None for what is no training config."""
        return self._first.documents.get(self.document.path)

    def _with(self, document: Document, text: str) -> Trial:
        return self._trial({document.path: encoded(document, text)})

    def _trial(self, contents: dict[str, bytes]) -> Trial:
        """What is found when files have other contents, and the documents whose text may be changed."""
        return trial(self._session, self._launches, self._beside, contents)


def request_for(request: Request, document: OpenDocument) -> Request:
    """The request to judge a document by its text; what the settings exclude is left out, as below a folder."""
    return request._replace(paths=("-",), stdin=document.data, stdin_filename=document.path, force_exclude=True)


def judge(request: Request, document: OpenDocument, others: Iterable[OpenDocument] = ()) -> Judged:
    """Judge a document; ``others`` are further open documents, whose text counts instead of what their files hold.

    Raises FsdplintError for settings and options that make no sense.
    """
    settings.forget()
    if request.python is None:  # else an interpreter would be asked at every letter
        target.forget()
    session = Session(request_for(request, document))
    inputs = [item for item in inputs_of(session) if _is_read(item)]
    session.contents = contents_of(other for other in others if other.uri != document.uri)
    return Judged(document, session, inputs)


def _is_read(item: Input) -> bool:
    """Whether a text is read at all: of a large one the head must tell what it is, as of a large file."""
    data = item.data or b""
    if len(data) <= HEAD or is_script(item) or may_hold_commands(item):
        return True
    head = data[:HEAD].decode("utf-8", "ignore")
    return recognise(parse(head.rpartition("\n")[0] or head, item.path)) is not None


def _others(group: Group) -> set[str]:
    return {os.path.realpath(item.location) for item in group.others}


def _at_home(diagnostics: Iterable[Diagnostic], path: str) -> Iterable[Diagnostic]:
    """The diagnostics that concern a file, each at a place in it: one that stands elsewhere at the place that explains it."""
    for diagnostic in diagnostics:
        if diagnostic.path == path:
            yield diagnostic
            continue
        place = next((related for related in diagnostic.related if related.path == path), None)
        if place is not None:
            fault = Related("the fault stands here", diagnostic.path, diagnostic.key, diagnostic.range, diagnostic.snippet)
            yield diagnostic._replace(path=path, key=place.key, range=place.range, snippet=place.snippet, related=(fault,))
