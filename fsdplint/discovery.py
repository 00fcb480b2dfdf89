"""Which files there are to look at: given ones, and those below given folders."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fsdplint.gitignore import Ignore
    from fsdplint.settings import Settings

    SettingsOf = Callable[[str], Settings]

SUFFIXES = (".yaml", ".yml", ".toml", ".json")

SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")
"""What tells a shell script, which may hold launch lines."""

JUNK = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".eggs", ".direnv", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *("__pycache__", "__pypackages__", "node_modules", "site-packages", "build", "dist"),
    }
)
"""Folders that are never walked into: none holds files that people write by hand."""


class Input(NamedTuple):
    """One file to look at. ``path``: as shown; ``location``: its absolute path, of standard input the path it stands for.

    ``walked``: found below a folder. ``data``: the content, where it need not be read. ``error``: why there is nothing to look at.
    """

    path: str
    location: str
    walked: bool = False
    data: bytes | None = None
    error: str | None = None


def find(paths: Iterable[str], settings_of: SettingsOf, force_exclude: bool) -> list[Input]:
    """The files of some paths, each once, in the order of the paths and by name below each.

    Below folders: only YAML, TOML and JSON files and shell scripts, without what ``.gitignore`` files and ``exclude`` settings leave out;
    the latter hold for given files only with ``force_exclude``.
    """
    found: dict[str, Input] = {}
    for path in paths:
        for item in _below(path, settings_of, force_exclude):
            found.setdefault(os.path.realpath(item.location), item)
    return list(found.values())


def _below(path: str, settings_of: SettingsOf, force_exclude: bool) -> Iterator[Input]:
    location = os.path.abspath(path)
    if force_exclude and is_excluded(location, settings_of):
        return
    if os.path.isdir(location):
        shown = "" if path == "." else path.replace(os.path.sep, "/").rstrip("/") + "/"
        yield from _Walk(settings_of).files(location, shown)
    else:
        yield Input(path.replace(os.path.sep, "/"), location)


def is_excluded(location: str, settings_of: SettingsOf) -> bool:
    """Whether ``exclude`` settings leave a path out."""
    settings = settings_of(os.path.dirname(location))
    if not settings.exclude:
        return False
    from fsdplint.gitignore import ignore

    inner = os.path.relpath(location, settings.folder).replace(os.path.sep, "/")
    return not inner.startswith("../") and ignore(*settings.exclude).covers(inner)


class _Walk:
    """One walk: it goes into no folder that is ignored, and follows no link to a folder."""

    def __init__(self, settings_of: SettingsOf) -> None:
        self._settings_of = settings_of

    def files(self, folder: str, shown: str) -> Iterator[Input]:
        rules = _inherited(folder)
        stack: list[tuple[str, str, tuple[tuple[str, Ignore], ...], bool]] = [(folder, shown, rules, True)]
        while stack:
            location, prefix, rules, is_folder = stack.pop()
            if not is_folder:
                yield Input(prefix, location, walked=True)
                continue
            try:
                entries = sorted(os.scandir(location), key=lambda entry: entry.name, reverse=True)
            except OSError as error:
                yield Input(prefix.rstrip("/") or ".", location, error=error.strerror or str(error))
                continue
            own = _own_rules(location, [entry.name for entry in entries])
            rules = (*rules, (location, own)) if own else rules
            for entry in entries:
                is_folder = _is_folder(entry)
                if self._is_wanted(entry, is_folder, rules):
                    stack.append((entry.path, prefix + entry.name + ("/" if is_folder else ""), rules, is_folder))

    def _is_wanted(self, entry: os.DirEntry[str], is_folder: bool, rules: tuple[tuple[str, Ignore], ...]) -> bool:
        if is_folder:
            if entry.name in JUNK or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                return False
        elif not (entry.name.lower().endswith(SUFFIXES + SCRIPTS) and _is_file(entry)):
            return False
        return not _is_ignored(entry.path, is_folder, rules) and not is_excluded(entry.path, self._settings_of)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_ignored(path: str, is_folder: bool, rules: tuple[tuple[str, Ignore], ...]) -> bool:
    for folder, patterns in reversed(rules):
        verdict = patterns.verdict(path[len(folder) :].strip(os.path.sep).replace(os.path.sep, "/"), is_folder)
        if verdict is not None:
            return verdict
    return False


def _inherited(folder: str) -> tuple[tuple[str, Ignore], ...]:
    """The ignore files of the folders above a folder, up to the root of its repository."""
    above: list[str] = []
    here = folder
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return ()
        above.append(parent)
        here = parent
    exclude = _patterns(os.path.join(here, ".git", "info", "exclude"))
    rules = [(here, exclude)] if exclude else []
    rules += [(place, patterns) for place in reversed(above) if (patterns := _patterns(os.path.join(place, ".gitignore")))]
    return tuple(rules)


def _own_rules(folder: str, names: list[str]) -> Ignore | None:
    return _patterns(os.path.join(folder, ".gitignore")) if ".gitignore" in names else None


@cache
def _patterns(path: str) -> Ignore | None:
    from fsdplint.gitignore import ignore

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return ignore(*file.read().splitlines())
    except OSError:
        return None
