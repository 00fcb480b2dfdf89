"""Which of the given files start one run together: by ``--together``, by a launch line, by settings."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.discovery import Input
from fsdplint.mentions import told
from fsdplint.shell_hints import is_script, may_hold_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsdplint.commands import Command
    from fsdplint.diagnostics import Place
    from fsdplint.discovery import SettingsOf
    from fsdplint.request import Request
    from fsdplint.scripts import Script, ScriptLaunch
    from fsdplint.settings import LaunchSetting, Settings


class Group(NamedTuple):
    """The files of one launch.

    ``given`` are judged; ``others`` only belong to it; ``missing`` are named in the launch line and not there. ``named``: the dialects
    that the launch line tells of files, by their absolute paths. ``line_counts``: the line is judged even where none of its files is a
    config. ``script``: where the line was found, if not on the command line or in settings.
    """

    given: tuple[Input, ...]
    others: tuple[Input, ...] = ()
    missing: tuple[tuple[Place, str], ...] = ()
    command: Command | None = None
    named: tuple[tuple[str, str], ...] = ()
    line_counts: bool = False
    script: Script | None = None


def groups(request: Request, inputs: Sequence[Input], settings_of: SettingsOf) -> list[Group]:
    """The launches of some inputs; an input that belongs to none is a launch of its own."""
    is_plain = request.launch is None and not request.together and request.dialect is None
    of_scripts = _of_scripts(inputs, is_plain)
    inputs = [item for item in inputs if item.location not in of_scripts] if of_scripts else inputs
    command = _read(request.launch)
    if request.together:
        together = [_matched((), inputs, os.getcwd(), command)._replace(given=tuple(inputs), others=())] if inputs else []
        return [*chain(*of_scripts.values()), *together]
    if command is not None:
        found = [_of_line(command, inputs)]
    else:
        found = [_of_setting(settings, launch, inputs) for settings, launch in _launches(inputs, settings_of)]
    found = [*chain(*of_scripts.values()), *(group for group in found if group.given)]
    taken = {item.location for group in found for item in group.given}
    return [*found, *(Group((item,)) for item in inputs if item.location not in taken)]


def _read(line: str | None) -> Command | None:
    if line is None:
        return None
    from fsdplint.commands import read_command

    return read_command(line)


def _of_scripts(inputs: Sequence[Input], is_plain: bool) -> dict[str, list[Group]]:
    """The launches of the scripts among some inputs, by their places; a script that has none is a group of its own.

    ``is_plain``: nothing but the files themselves tells what they are, so that scripts in YAML files count, too.
    """
    scripts = [item for item in inputs if is_script(item) or (is_plain and may_hold_commands(item))]
    if not scripts:
        return {}
    from fsdplint.scripts import launches

    given = {os.path.realpath(item.location): item for item in inputs if not is_script(item)}
    found = {item.location: [_of_script(launch) for launch in launches(item, given)] for item in scripts}
    lone = {item.location: [Group((item,))] for item in scripts if is_script(item)}
    return {location: groups or lone[location] for location, groups in found.items() if groups or location in lone}


def _of_script(found: ScriptLaunch) -> Group:
    return Group(found.given, found.others, (), found.command, found.named, line_counts=True, script=found.script)


def _launches(inputs: Iterable[Input], settings_of: SettingsOf) -> list[tuple[Settings, LaunchSetting]]:
    folders = dict.fromkeys(os.path.dirname(item.location) for item in inputs)
    everything = dict.fromkeys(settings_of(folder) for folder in folders)
    return [(settings, launch) for settings in everything for launch in settings.launches]


def _of_line(command: Command, inputs: Sequence[Input]) -> Group:
    """The given files that a launch line names; a line that names none speaks of the only given file."""
    if not command.mentions and len(inputs) == 1:
        return Group(tuple(inputs), command=command)
    return _matched((), inputs, os.getcwd(), command)


def _of_setting(settings: Settings, launch: LaunchSetting, inputs: Sequence[Input]) -> Group:
    return _matched(launch.files, inputs, settings.folder, _read(launch.command))


def _matched(files: Sequence[str], inputs: Sequence[Input], folder: str, command: Command | None) -> Group:
    """The given files that are named, those that are there but not given, and those that are not there."""
    given: dict[str, Input] = {}
    others: dict[str, Input] = {}
    missing: list[tuple[Place, str]] = []
    named: dict[str, str] = {}
    mentions = command.mentions if command is not None else ()
    for place, name in (*((None, name) for name in files), *mentions):
        location = os.path.normpath(os.path.join(folder, name))
        found = _given(name, location, inputs)
        if found is not None:
            given[found.location] = found
        elif os.path.isfile(location):
            others[location] = Input(os.path.relpath(location).replace(os.path.sep, "/"), location)
        elif place is not None:
            missing.append((place, name))
        dialect = told(command, name)
        if dialect is not None:
            named[found.location if found is not None else location] = dialect
    return Group(tuple(given.values()), tuple(others.values()), tuple(missing), command, tuple(named.items()))


def of_command(command: Command) -> Group:
    """The launch of a command line that is about to run in the current folder, with all files there that it names.

    Missing are only files that a flag of the launcher asks for: of other words nobody knows whether they are to be read or written.
    """
    given: dict[str, Input] = {}
    missing: list[tuple[Place, str]] = []
    named: dict[str, str] = {}
    for place, name in command.mentions:
        location, dialect = os.path.abspath(name), told(command, name)
        if os.path.isfile(location):
            given.setdefault(location, Input(name.replace(os.path.sep, "/"), location))
        elif dialect is not None:
            missing.append((place, name))
        if dialect is not None:
            named[location] = dialect
    return Group(tuple(given.values()), (), tuple(missing), command, tuple(named.items()), line_counts=True)


def _given(name: str, location: str, inputs: Sequence[Input]) -> Input | None:
    """The given file that is meant by a name: by path, else by file name, of several the one with most folders in common."""
    parts = name.replace(os.path.sep, "/").split("/")[::-1]
    best: list[tuple[int, Input]] = []
    for item in inputs:
        if item.location == location:
            return item
        own = item.location.replace(os.path.sep, "/").split("/")[::-1]
        common = next((n for n, (a, b) in enumerate(zip(parts, own, strict=False)) if a != b), min(len(parts), len(own)))
        best.append((common, item))
    most = max((common for common, _ in best), default=0)
    found = [item for common, item in best if common == most]
    return found[0] if most and len(found) == 1 else None
