"""Settings: ``[tool.fsdplint]`` in the closest pyproject.toml, or fsdplint.toml."""

# Paths are text here: importing pathlib takes as long as importing all of the rules.

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

from fsdplint.errors import SettingsError
from fsdplint.folders import shown


class LaunchSetting(NamedTuple):
    """One ``[[tool.fsdplint.launch]]``: files relative to the settings file, and the command line."""

    files: tuple[str, ...]
    command: str | None


class Settings(NamedTuple):
    """What a settings file says, by its keys. ``source``: the file as shown, ``folder``: what its paths are relative to."""

    source: str = ""
    folder: str = ""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    fail_on: str | None = None
    exclude: tuple[str, ...] = ()
    device: str | None = None
    rule_packs: tuple[str, ...] = ()
    target: tuple[tuple[str, str], ...] = ()
    launches: tuple[LaunchSetting, ...] = ()


NONE = Settings()
"""What holds where nobody says anything."""


@cache
def settings_for(folder: str) -> Settings:
    """The settings of the files in a folder (absolute): those of the closest folder, itself or above, that has any.

    In one folder fsdplint.toml wins over pyproject.toml, which counts only where it has ``[tool.fsdplint]``.
    Raises SettingsError for a file that cannot be read or says what no setting is.
    """
    own, project = os.path.join(folder, "fsdplint.toml"), os.path.join(folder, "pyproject.toml")
    data = _bytes(own)
    if data is not None:
        whole = _table(own, data)
        return _settings(own, data, whole, whole)
    data = _bytes(project)
    if data is not None and b"fsdplint" in data:
        whole = _table(project, data)
        if _tool(whole) is not None:
            return _settings(project, data, whole, _tool(whole))
    parent = os.path.dirname(folder)
    return NONE if parent == folder else settings_for(parent)


@cache
def settings_in(path: str) -> Settings:
    """The settings of a file named by ``--config``: its ``[tool.fsdplint]``, or the whole of it. Raises SettingsError."""
    data = _bytes(path)
    if data is None:
        raise SettingsError(f"{path}: no such file")
    whole = _table(path, data)
    inner = _tool(whole)
    if inner is None and os.path.basename(path) == "pyproject.toml":
        return NONE
    return _settings(path, data, whole, whole if inner is None else inner)


def forget() -> None:
    """Forget which settings were read, for a process that outlives their changes."""
    settings_for.cache_clear()
    settings_in.cache_clear()


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SettingsError(f"{shown(path)}: {error.strerror or error}") from None


def _table(path: str, data: bytes) -> dict[str, Any]:
    import tomli

    try:
        return tomli.loads(data.decode("utf-8-sig"))
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{shown(path)}: {error}") from None


def _tool(table: dict[str, Any]) -> Any:
    tool = table.get("tool")
    return tool.get("fsdplint") if isinstance(tool, dict) else None


def _settings(path: str, data: bytes, whole: dict[str, Any], table: Any) -> Settings:
    from fsdplint.settings_check import check

    name = shown(path)
    check(table, name, data, ("tool", "fsdplint") if table is _tool(whole) else ())
    return Settings(
        source=name,
        folder=os.path.dirname(os.path.abspath(path)),
        select=tuple(table["select"]) if "select" in table else None,
        extend_select=tuple(table.get("extend-select", ())),
        ignore=tuple(table.get("ignore", ())),
        per_file_ignores=tuple((glob, tuple(words)) for glob, words in table.get("per-file-ignores", {}).items()),
        severity=tuple(table.get("severity", {}).items()),
        fail_on=table.get("fail-on"),
        exclude=tuple(table.get("exclude", ())),
        device=table.get("device"),
        rule_packs=tuple(table.get("rule-packs", ())),
        target=tuple(table.get("target", {}).items()),
        launches=tuple(LaunchSetting(tuple(one.get("files", ())), one.get("command")) for one in table.get("launch", ())),
    )
