"""One launch at a time: its files are loaded, judged by the rules, and what comments and settings silence is taken out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.assumptions import assumed
from fsdplint.diagnostics import FileStatus
from fsdplint.dialects import DIALECTS
from fsdplint.errors import RuleCrash, SettingsError, UsageError
from fsdplint.inputs import Loaded, load
from fsdplint.launch import Launch
from fsdplint.linter import lint, settled_target
from fsdplint.selection import Selection, selection
from fsdplint.settings import NONE, Settings, settings_for, settings_in
from fsdplint.target import resolve_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsdplint.diagnostics import Diagnostic, Place, RuleInfo, TargetInfo
    from fsdplint.dialects import Dialect
    from fsdplint.discovery import Input
    from fsdplint.grouping import Group
    from fsdplint.request import Request
    from fsdplint.suppressions import Suppressions
    from fsdplint.target import Target

LAUNCHERS = ("accelerate", "deepspeed")
"""Dialects of files that stand beside a training file; among several files a forced dialect is not theirs."""


class Job(NamedTuple):
    """A launch that is ready to be judged.

    ``given``: the paths (as shown) whose own diagnostics are wanted. ``locations``: the absolute path of each member, by its path as shown.
    ``target`` is settled: what the dialects' packages pin is in it.
    """

    launch: Launch
    target: Target
    selection: Selection
    settings: Settings
    given: frozenset[str]
    locations: dict[str, str]


class Verdict(NamedTuple):
    """What became of one launch, in plain values that another process can send.

    ``given``: the paths of the given files. ``alone``: the real place of a file that is a launch of its own, else None; ``joined``: the
    places of members that were not given.
    ``faults``: diagnostics about suppressions, which hold only if no other launch of the same file has a use for them.
    ``silenced``: what comments and settings took out. ``fail_on``: what the settings say. ``rules``: those that spoke.
    """

    statuses: tuple[FileStatus, ...]
    given: frozenset[str] = frozenset()
    alone: str | None = None
    joined: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()
    faults: tuple[Diagnostic, ...] = ()
    silenced: tuple[Diagnostic, ...] = ()
    fail_on: str | None = None
    target: tuple[tuple[str, TargetInfo], ...] = ()
    device: str | None = None
    notes: tuple[str, ...] = ()
    rules: tuple[RuleInfo, ...] = ()


class Session:
    """Everything that is the same for all launches of one request; raises UsageError and SettingsError for what does not exist.

    ``given``: the path as shown of every given file, by its real place; to be filled in by who finds them. ``contents``: what files are
    taken to hold, by their paths as shown, instead of what they hold.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.given: Mapping[str, str] = {}
        self.contents: Mapping[str, bytes] = {}
        if request.dialect is not None and request.dialect not in DIALECTS:
            from fsdplint.spelling import did_you_mean

            raise UsageError(f"unknown dialect {request.dialect!r}{did_you_mean(request.dialect, DIALECTS)}")
        self._only = settings_in(request.config) if request.config is not None else NONE if request.isolated else None
        # What the command line says must make sense even where there is nothing to check.
        if request.select is not None or request.extend_select or request.ignore:
            self.selection_of(os.getcwd())
        if request.targets or request.device or request.gpus is not None or request.python:
            self.target_of(os.getcwd())

    def settings_of(self, folder: str) -> Settings:
        """The settings that hold in a folder (absolute path)."""
        return settings_for(folder) if self._only is None else self._only

    def selection_of(self, folder: str) -> Selection:
        """The rules that run on files of a folder."""
        request = self.request
        return selection(self.settings_of(folder), request.select, request.extend_select, request.ignore)

    def target_of(self, folder: str) -> Target:
        """The target of files of a folder. Raises TargetError."""
        request, settings = self.request, self.settings_of(folder)
        return resolve_target(
            options=request.targets,
            settings=dict(settings.target),
            start=None if request.isolated else folder,
            device=request.device or settings.device,
            gpus=request.gpus,
            python=request.python,
            settings_source=settings.source,
            device_source="--device" if request.device else f"{settings.source}: device",
        )

    def verdict(self, group: Group) -> Verdict:
        """Judge one launch. One on which something of ours raises has failed, and says so; the others are still judged.

        Raises UsageError, SettingsError and TargetError, which concern every launch, and whatever is raised where ``request.is_debugged``.
        """
        try:
            job, statuses = self.job(group)
            return Verdict(statuses) if job is None else self.judged(job, group, statuses)
        except (UsageError, SettingsError):
            raise
        except Exception as error:
            if self.request.is_debugged:
                raise
            reason = str(error) if isinstance(error, RuleCrash) else f"internal error: {type(error).__name__}: {error} (-vv shows where)"
            return Verdict(tuple(FileStatus(item.path, None, "failed", reason) for item in group.given))

    def judged(self, job: Job, group: Group, statuses: tuple[FileStatus, ...]) -> Verdict:
        """What there is to say about a launch. Raises RuleCrash when a rule raises."""
        rules = job.selection.rules_for(frozenset(member.dialect.name for member in job.launch.members))
        wanted = [d for d in lint(job.launch, job.target, rules, fixes=self.request.fixes) if _is_wanted(d, job.given)]
        if group.script is not None:
            wanted = [group.script.placed(diagnostic) for diagnostic in wanted]
        return _sifted(job, group, statuses, [job.selection.levelled(d) for d in wanted])

    def job(self, group: Group) -> tuple[Job | None, tuple[FileStatus, ...]]:
        """A launch of the files of a group that are training configs, with what became of each given file; None where there are none."""
        loaded = [self._load(item, group) for item in (*group.given, *group.others)]
        members = [one for one in loaded if one.file is not None]
        own = loaded[: len(group.given)]
        if not any(one.file is not None for one in own) and not _has_flags(group):
            return None, (*(one.status for one in own), *_status_of_script(group, False))
        missing = [*group.missing]
        for one in members:  # what is joined may name further files
            missing += self._join(one, members)
        given = {one.input.path: one.status for one in own} | {status.path: status for status in _status_of_script(group, True)}
        given.update({one.input.path: one.status for one in members if one.input.path in given or self._is_given(one.input)})
        first = next((item.location for item in (*(one.input for one in members), *_scripts(group))), None)
        folder = os.path.dirname(first) if first is not None else os.getcwd()
        launch = Launch(tuple(one.file for one in members if one.file is not None), group.command, tuple(missing))
        return Job(
            launch,
            settled_target(launch, self.target_of(folder)),
            self.selection_of(folder),
            self.settings_of(folder),
            frozenset(given),
            {item.path: item.location for item in (*(one.input for one in members), *_scripts(group))},
        ), tuple(given.values())

    def _is_given(self, item: Input) -> bool:
        return self.given.get(os.path.realpath(item.location)) == item.path

    def _load(self, item: Input, group: Group) -> Loaded:
        """What a file's own keys tell of its dialect comes before the launch line, and for launchers' files before --dialect."""
        item = self._current(item)
        forced = self.request.dialect
        is_alone = len(group.given) + len(group.others) == 1
        if forced is not None and (is_alone or forced in LAUNCHERS):
            return load(item, forced)
        told = dict(group.named).get(item.location)
        own = load(item)
        if own.status.status == "failed" or own.status.dialect in LAUNCHERS or (forced is None and (own.file or told is None)):
            return own
        return load(item, told if told in LAUNCHERS else forced or told)

    def _current(self, item: Input) -> Input:
        return item._replace(data=self.contents[item.path]) if item.path in self.contents else item

    def _join(self, member: Loaded, members: list[Loaded]) -> list[tuple[Place, str]]:
        """Add the files that a member names to the members; returns those that are not there."""
        if member.file is None or not member.file.dialect.companions(member.file.document):
            return []
        from fsdplint.companions import companions

        named = companions(member.file, member.input.location)
        present = {os.path.realpath(one.input.location): one for one in members} if named.found else {}
        for item, dialect, form in named.found:
            place = os.path.realpath(item.location)
            known = present.get(place)
            if known is None or (known is not member and _is_read_otherwise(known, dialect, form)):
                companion = load(self._current(item._replace(path=self.given.get(place, item.path))), dialect, form)
                if companion.file is not None and known is not None:  # who names a file knows best how it is read
                    members[members.index(known)] = companion
                elif companion.file is not None:
                    members.append(companion)
        return list(named.missing)


def _is_read_otherwise(member: Loaded, dialect: str | None, form: Dialect | None) -> bool:
    """Whether a member was not read as the key that names it settles."""
    if form is not None:
        return member.file is None or type(member.file.dialect) is not type(form)
    return dialect not in (None, member.status.dialect)


def _scripts(group: Group) -> tuple[Input, ...]:
    return (group.script.input,) if group.script is not None else ()


def _status_of_script(group: Group, is_judged: bool) -> tuple[FileStatus, ...]:
    return (group.script.status(is_judged),) if group.script is not None else ()


def _has_flags(group: Group) -> bool:
    """Whether a launch line says something by itself."""
    return group.line_counts and group.command is not None and bool(group.command.dialect.table.options)


def _is_wanted(diagnostic: Diagnostic, given: frozenset[str]) -> bool:
    """Whether a diagnostic concerns a given file or the launch line; of other members only what involves those."""
    paths = (diagnostic.path, *(related.path for related in diagnostic.related))
    return any(path in given or path.startswith("<") for path in paths)


def _sifted(job: Job, group: Group, statuses: tuple[FileStatus, ...], diagnostics: list[Diagnostic]) -> Verdict:
    """Take out what comments and settings silence, and judge the comments."""
    comments = _comments(job, group)
    ignored = {path: job.selection.ignored_in(location) for path, location in job.locations.items()}
    kept: list[Diagnostic] = []
    silenced: list[Diagnostic] = []
    for diagnostic in diagnostics:
        path = diagnostic.path
        # Both are asked, so that a comment beside a setting does not count as useless.
        by_comment = path in comments and comments[path].silences(diagnostic)
        (silenced if by_comment or diagnostic.code in ignored.get(path, ()) else kept).append(diagnostic)
    faults = [
        job.selection.levelled(fault)
        for path, found in comments.items()
        if path in job.given
        for fault in found.faults(job.selection.rules, job.selection.pack)
        if fault.code not in ignored[path]
    ]
    places = {path: os.path.realpath(location) for path, location in job.locations.items()}
    is_alone = len(group.given) == 1 and group.command is None and not group.others
    return Verdict(
        statuses,
        job.given,
        places[group.given[0].path] if is_alone else None,
        frozenset(place for path, place in places.items() if path not in job.given),
        tuple(kept),
        tuple(faults),
        tuple(silenced),
        job.settings.fail_on,
        tuple(assumed(job.launch, job.target).items()),
        job.target.device,
        (*job.target.notes, *(f"no table knows {name}" for name in job.target.unknown_packages())),
        tuple(job.selection.info(code) for code in dict.fromkeys(d.code for d in (*kept, *faults))),
    )


def _comments(job: Job, group: Group) -> dict[str, Suppressions]:
    """The suppressions of every member, and of the script that holds the line, where there are any."""
    script, command = group.script, group.command
    found = script.suppressions(command, job.selection.pack) if script is not None and command is not None else {}
    files = [file for file in job.launch.files if "fsdplint:" in file.document.text]
    if not files:
        return found
    from fsdplint.suppressions import Suppressions

    return found | {file.document.path: Suppressions(file, job.selection.pack) for file in files}
