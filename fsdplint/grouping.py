"""Which of the given files start one run together: by ``--together``, by a launch line, by settings, by what a file names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.discovery import Input

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsdplint.discovery import SettingsOf
    from fsdplint.request import Request
    from fsdplint.settings import LaunchSetting, Settings


class Group(NamedTuple):
    """The files of one launch. ``given`` are judged; ``others`` only belong to it; ``missing`` are named and not there. ``command``: the launch line."""

    given: tuple[Input, ...]
    others: tuple[Input, ...] = ()
    missing: tuple[str, ...] = ()
    command: str | None = None


def groups(request: Request, inputs: Sequence[Input], settings_of: SettingsOf) -> list[Group]:
    """The launches of some inputs; what belongs to none is a launch of its own."""
    if request.together:
        return [Group(tuple(inputs), command=request.launch)] if inputs else []
    if request.launch is not None:
        found = [_of_line(request.launch, inputs, os.getcwd())]
    else:
        found = [group for settings, launch in _launches(inputs, settings_of) if (group := _of_setting(settings, launch, inputs)).given]
    taken = {item.location for group in found for item in group.given}
    return [*found, *(Group((item,)) for item in inputs if item.location not in taken)]


def _launches(inputs: Iterable[Input], settings_of: SettingsOf) -> list[tuple[Settings, LaunchSetting]]:
    all_settings = dict.fromkeys(settings_of(os.path.dirname(item.location)) for item in inputs)
    return [(settings, launch) for settings in all_settings for launch in settings.launches]


def _of_line(line: str, inputs: Sequence[Input], folder: str) -> Group:
    """The given files that a launch line names; one that names none speaks of the only given file."""
    named = named_files(line)
    if not named:
        return Group(tuple(inputs) if len(inputs) == 1 else (), command=line)
    return _matched(named, inputs, folder, line)


def _of_setting(settings: Settings, launch: LaunchSetting, inputs: Sequence[Input]) -> Group:
    named = [*launch.files, *(named_files(launch.command) if launch.command else ())]
    return _matched(list(dict.fromkeys(named)), inputs, settings.folder, launch.command)


def _matched(named: Sequence[str], inputs: Sequence[Input], folder: str, line: str | None) -> Group:
    """Given files by path, else by file name; files that are not given but there; and those that are not there."""
    given: dict[str, Input] = {}
    others: list[Input] = []
    missing: list[str] = []
    for name in named:
        location = os.path.normpath(os.path.join(folder, name))
        base = os.path.basename(name)
        found = [item for item in inputs if item.location == location] or [
            item for item in inputs if os.path.basename(item.location) == base and not os.path.exists(location)
        ]
        given.update({item.location: item for item in found[:1]})
        if not found and os.path.isfile(location):
            others.append(Input(os.path.relpath(location).replace(os.path.sep, "/"), location))
        elif not found:
            missing.append(name)
    return Group(tuple(given.values()), tuple(others), tuple(missing), line)
