"""What a launch is meant to run on: package versions and a device, and where each was learned."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fsdplint import releases
from fsdplint.versions import canonical, exact, full, holds, is_two_sided, is_version, release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fsdplint.versions import Release

DEVICES = ("cuda", "rocm", "xpu", "npu", "hpu", "mlu", "musa", "mps", "cpu", "tpu")
"""The devices that a config can be meant for."""

TWINS = {"lightning": "pytorch-lightning", "pytorch-lightning": "lightning"}
"""Two packages of one code base, always released together under one number."""

ASK_SECONDS = 20
"""How long an interpreter may take to tell its versions."""

_FILES = re.compile(
    r"requirements.*\.txt|constraints\.txt|pyproject\.toml|uv\.lock|poetry\.lock|pylock(\.[^.]+)?\.toml|environment\.ya?ml",
    re.IGNORECASE,
)


class TargetError(ValueError):
    """A target that cannot be understood; the text is one line for the user."""

    exit_code = 2


class Versions:
    """One concrete release of each package, which is what a rule asks. Two with the same releases are equal."""

    __slots__ = ("_answers", "_releases")

    def __init__(self, chosen: Mapping[str, Release]) -> None:
        self._releases = dict(chosen)
        self._answers: dict[str, bool] = {}

    def has(self, requirement: str) -> bool:
        """Whether these releases meet ``accelerate>=1.6.0 & torch<2.6.0``; a package without a release meets nothing.

        The empty requirement is always met. Raises ValueError for text that is no requirement.
        """
        answer = self._answers.get(requirement)
        if answer is None:
            answer = self._answers[requirement] = not requirement or holds(requirement, self._releases)
        return answer

    def release(self, package: str) -> Release | None:
        """The release of a package (canonical PyPI name), None where there is none."""
        return self._releases.get(package)

    def get(self, package: str, default: Release = ()) -> Release:
        """The release of a package, or ``default``; the empty tuple is below every release."""
        return self._releases.get(package, default)

    def text(self, package: str) -> str:
        """The release of a package as people write it (``5.4.0``), ``""`` where there is none."""
        return full(self._releases[package]) if package in self._releases else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Versions) and self._releases == other._releases

    def __hash__(self) -> int:
        return hash(frozenset(self._releases.items()))

    def __repr__(self) -> str:
        return f"Versions({', '.join(f'{name} {full(number)}' for name, number in self._releases.items())})"


class Pin:
    """What is known of one package.

    ``package``: canonical PyPI name. ``specifier``: as stated, without blanks (``==1.15.0``, ``>=1.2,<1.5``).
    ``source``: where it was learned: ``--target``, ``requirements.txt:3``, ``pinned by axolotl 0.19.0``, ``newest known``.
    ``declared``: the points are what an option, a setting, an interpreter or a requirement file states; false where they are
    assumed, as the newest release above a lower bound of a requirement file is.
    ``points``: the releases to consider, newest first; more than one for an interval, none where no release is known.
    """

    __slots__ = ("declared", "package", "points", "source", "specifier")

    def __init__(self, package: str, specifier: str, source: str, declared: bool, points: tuple[Release, ...]) -> None:
        self.package = package
        self.specifier = specifier
        self.source = source
        self.declared = declared
        self.points = points

    def __repr__(self) -> str:
        return f"Pin({self.package}{self.specifier}, {self.source!r})"


class Target:
    """Package versions and a device; treat it as immutable.

    ``pins``: by package; what was stated, and after ``for_dialect`` every package that a table knows.
    ``device`` (one of ``DEVICES``) and ``gpus`` (world size), None where nobody says so, with ``device_source`` and ``gpus_source``.
    ``notes``: remarks for ``-v``, such as requirement files that could not be read.
    """

    __slots__ = ("_dialects", "_points", "_stated", "device", "device_source", "dialect", "gpus", "gpus_source", "notes", "pins")

    def __init__(
        self,
        stated: Mapping[str, Pin],
        *,
        device: str | None = None,
        device_source: str = "",
        gpus: int | None = None,
        gpus_source: str = "",
        notes: Sequence[str] = (),
    ) -> None:
        self.pins = self._stated = _with_twins(stated)
        self.device = device
        self.device_source = device_source
        self.gpus = gpus
        self.gpus_source = gpus_source
        self.notes = tuple(notes)
        self.dialect: str | None = None
        self._points: tuple[Versions, ...] = ()
        self._dialects: dict[str, Target] = {}

    def for_dialect(self, package: str | None) -> Target:
        """The target of a config of the framework ``package`` (PyPI name; None where no package reads the file).

        Packages that nobody stated get the version that this release of the framework pins, else the newest known.
        """
        key = package or ""
        if key not in self._dialects:
            self._dialects[key] = self._filled(key)
        return self._dialects[key]

    def _filled(self, package: str) -> Target:
        twin = Target(
            self._stated,
            device=self.device,
            device_source=self.device_source,
            gpus=self.gpus,
            gpus_source=self.gpus_source,
            notes=self.notes,
        )
        twin.dialect = package
        newest = {name: _assumed(name, text, "newest known") for name, text in releases.NEWEST.items()}
        own = self._stated.get(package) or newest.get(package)
        stack: Mapping[str, str] = {}
        if own is not None and own.points:
            stack = releases.stack(package, own.points[0])
            source = f"pinned by {package} {full(own.points[0])}"
            newest.update({name: _assumed(name, text, source) for name, text in stack.items()})
        twin.pins = {**newest, **twin._stated}
        return twin

    @property
    def at_newest(self) -> Versions:
        """The point at which every package is at the newest release that its pin admits."""
        return self.points()[0]

    def points(self) -> tuple[Versions, ...]:
        """The points at which a rule must look, newest first, none twice.

        All at their newest; then for each package with an interval each of its releases, the others at their newest; then all at
        their lowest. One point where no pin is an interval.
        """
        if not self._points:
            choices = [{}, *({pin.package: number} for pin in self._intervals() for number in pin.points[1:])]
            choices.append({pin.package: pin.points[-1] for pin in self._intervals()})
            self._points = tuple(dict.fromkeys(self._point(choice) for choice in choices))
        return self._points

    def _intervals(self) -> list[Pin]:
        """The pins with a choice of releases; of twins only the one that was stated."""
        return [pin for name, pin in self._stated.items() if name == pin.package and len(pin.points) > 1]

    def _point(self, choice: Mapping[str, Release]) -> Versions:
        stated = {name: choice.get(pin.package, pin.points[0]) for name, pin in self._stated.items() if pin.points}
        if self.dialect is None:
            return Versions(stated)
        assumed = {name: number for name in releases.NEWEST if (number := releases.newest(name))}
        own = stated.get(self.dialect) or assumed.get(self.dialect)
        stack = releases.stack(self.dialect, own) if own else {}
        assumed.update({name: number for name, text in stack.items() if (number := release(text))})
        # A package stated without any known release stays unknown: nothing may be assumed of it.
        return Versions({name: n for name, n in {**assumed, **stated}.items() if name in stated or name not in self._stated})

    def runs(self, hits: Iterable[Versions]) -> str:
        """The releases of the interval packages at which something holds: ``transformers 5.4.0-5.9.0``.

        ``hits`` are those of ``points()`` at which it holds. Empty where there are none, or nothing varies.
        """
        held = set(hits) & set(self.points())
        varying = self._intervals()
        if not held or not varying:
            return ""
        found = [(pin, [n for n in pin.points if self._point({pin.package: n}) in held]) for pin in varying]
        if self.at_newest in held:
            narrowing = [(pin, numbers) for pin, numbers in found if len(numbers) < len(pin.points)]
            return " with ".join(_runs(pin, numbers) for pin, numbers in narrowing or found)
        alone = [_runs(pin, numbers) for pin, numbers in found if numbers]
        return " or ".join(alone) or " with ".join(_runs(pin, [pin.points[-1]]) for pin in varying)

    def unknown_packages(self) -> tuple[str, ...]:
        """The stated packages that no table knows."""
        return tuple(name for name in self._stated if name not in releases.NEWEST)


def _with_twins(stated: Mapping[str, Pin]) -> dict[str, Pin]:
    pins = dict(stated)
    for name, twin in TWINS.items():
        if name in stated and twin not in stated:
            pins[twin] = stated[name]
    return pins


def _assumed(package: str, text: str, source: str) -> Pin:
    number = release(text)
    return Pin(package, f"=={text}", source, False, (number,) if number else ())


def _runs(pin: Pin, numbers: Sequence[Release]) -> str:
    """Releases as contiguous runs, oldest first: ``accelerate 1.2.0-1.5.2, 1.7.0``."""
    runs: list[list[Release]] = [[]]
    for number in reversed(pin.points):
        if number in numbers:
            runs[-1].append(number)
        elif runs[-1]:
            runs.append([])
    shown = (full(run[0]) if len(run) == 1 else f"{full(run[0])}-{full(run[-1])}" for run in runs if run)
    return f"{pin.package} {', '.join(shown)}"


def resolve_target(
    *,
    options: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    start: Path | None = None,
    device: str | None = None,
    gpus: int | None = None,
    python: str | None = None,
    isolated: bool = False,
    settings_source: str = "[tool.fsdplint.target]",
    device_source: str = "--device",
    gpus_source: str = "--gpus",
) -> Target:
    """The target of a config, from what the user and the project say of it.

    Per package the first that speaks decides: ``options`` (``--target`` requirements), the interpreter ``python``, ``settings``
    (package to specifier), the nearest requirement file from the folder ``start`` up to the root of its repository. A folder without
    a repository is searched up to the current folder, and alone where it does not lie below that. What is left open, ``for_dialect``
    fills. ``isolated`` leaves out settings and requirement files. The same arguments give the same object.

    Raises TargetError for a requirement, device or number of GPUs that makes no sense, and for an interpreter that does not answer.
    """
    return _resolve(
        tuple(options),
        () if isolated else tuple((settings or {}).items()),
        None if isolated or start is None else str(start),
        _checked_device(device, device_source),
        _checked_gpus(gpus, gpus_source),
        python,
        (settings_source, device_source, gpus_source),
        _here(),
    )


def forget() -> None:
    """Forget which requirement files were read, for a process that outlives their changes."""
    _resolve.cache_clear()
    _found_in.cache_clear()
    _installed.cache_clear()


def _here() -> str:
    from pathlib import Path

    return str(Path.cwd())


@lru_cache(maxsize=None)
def _resolve(
    options: tuple[str, ...],
    settings: tuple[tuple[str, str], ...],
    start: str | None,
    device: str | None,
    gpus: int | None,
    python: str | None,
    sources: tuple[str, str, str],
    here: str,
) -> Target:
    stated: dict[str, Pin] = {}
    for pin in (*_from_options(options), *_installed(python), *_from_settings(settings, sources[0])):
        stated.setdefault(pin.package, pin)
    notes = [note for pin in stated.values() for note in _misspelt(pin)]
    if start is not None:
        found, remarks = _found_from(start, here)
        stated = {**{pin.package: pin for pin in found}, **stated}
        notes += remarks
    return Target(
        stated, device=device, device_source=sources[1] if device else "", gpus=gpus, gpus_source=sources[2] if gpus else "", notes=notes
    )


def _misspelt(pin: Pin) -> list[str]:
    meant = releases.nearest_name(pin.package)
    return [f"{pin.source}: no table knows {pin.package}; did you mean {meant}?"] if meant else []


def _stated(package: str, specifier: str, source: str) -> Pin:
    return Pin(package, specifier, source, True, releases.within(package, specifier))


# What the user says

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*")
_OPERATOR = re.compile(r"([^\w\s.]*)\s*(.*)", re.DOTALL)
_OPERATORS = ("==", ">=", "<=", "~=", "!=", ">", "<", "===")
_TURNED = {"=>": ">=", "=<": "<=", "=!": "!=", "=~": "~="}


def _from_options(options: Sequence[str]) -> list[Pin]:
    """Pins of ``--target`` requirements; several for one package hold together."""
    specifiers: dict[str, str] = {}
    for option in options:
        match = _NAME.match(option)
        rest = option[match.end() :].strip() if match else ""
        if match is None or not rest:
            raise TargetError(f"--target {option}: name a package and its version, such as accelerate=={releases.NEWEST['accelerate']}")
        package = canonical(match[1])
        specifier = _specifier(rest, match[1], f"--target {option}")
        together = f"{specifiers[package]},{specifier}" if package in specifiers else specifier
        if len(_equals(together)) > 1:
            raise TargetError(f"--target {option}: {package} has two versions, {' and '.join(_equals(together))}")
        specifiers[package] = together
    return [_stated(package, specifier, "--target") for package, specifier in specifiers.items()]


def _from_settings(settings: Iterable[tuple[str, str]], source: str) -> list[Pin]:
    """Pins of ``package = "specifier"`` settings; a version alone means that version."""
    return [
        _stated(canonical(name), f"=={text.strip()}" if is_version(text.strip()) else _specifier(text, name, f"{source} {name}"), source)
        for name, text in settings
    ]


def _equals(specifier: str) -> list[str]:
    return sorted({part[2:] for part in specifier.split(",") if exact(part) is not None})


def _specifier(text: str, name: str, where: str) -> str:
    """A specifier without blanks; raises TargetError, which says what to write instead, where it is none."""
    parts = ["".join(part.split()) for part in text.split(",")]
    for part in parts:
        match = _OPERATOR.fullmatch(part)
        operator, version = match.groups() if match else ("", part)
        plain = version[:-2] if version.endswith(".*") and operator in ("==", "!=") else version
        if not is_version(plain):
            raise TargetError(f"{where}: invalid version {version!r}" if version else f"{where}: no version after {operator!r}")
        if operator in ("", "=", "@"):
            raise TargetError(f"{where}: use {name}=={version}")
        if operator not in _OPERATORS:
            hint = f"did you mean {_TURNED[operator]}?" if operator in _TURNED else f"use one of {' '.join(_OPERATORS[:-1])}"
            raise TargetError(f"{where}: unknown operator {operator!r}, {hint}")
    return ",".join(parts)


def _checked_device(device: str | None, source: str) -> str | None:
    if device is None or device.strip().lower() in DEVICES:
        return device.strip().lower() if device else None
    from difflib import get_close_matches

    # "gpu" is one letter away from both "cpu" and "npu".
    close = ["cuda"] if device.lower() == "gpu" else get_close_matches(device.lower(), DEVICES, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise TargetError(f"{source} {device}: unknown device, use one of {', '.join(DEVICES)}{hint}")


def _checked_gpus(gpus: int | None, source: str) -> int | None:
    if gpus is not None and gpus < 1:
        raise TargetError(f"{source} {gpus}: a launch has at least one process")
    return gpus


# What an interpreter has installed

_ASK = """
import sys
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]
import importlib.metadata, json
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@lru_cache(maxsize=None)
def _installed(python: str | None) -> tuple[Pin, ...]:
    """Pins of what an interpreter has installed of the known packages; raises TargetError where it does not answer."""
    if python is None:
        return ()
    import json
    import subprocess

    where = f"--python {python}"
    try:
        done = subprocess.run(
            [python, "-c", _ASK, *releases.NEWEST], capture_output=True, text=True, timeout=ASK_SECONDS, check=True, stdin=subprocess.DEVNULL
        )
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise TargetError(f"{where}: no answer within {ASK_SECONDS} seconds") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or [f"exit status {error.returncode}"]
        raise TargetError(f"{where}: {last[0]}") from None
    except OSError as error:
        raise TargetError(f"{where}: {error.strerror or error}") from None
    except ValueError:
        raise TargetError(f"{where}: is no Python interpreter") from None
    return tuple(_stated(name, f"=={version}", where) for name, version in found.items() if release(version))


# What the project's requirement files say


def _found_from(start: str, here: str) -> tuple[list[Pin], list[str]]:
    """Pins of the nearest requirement files, and remarks about files that could not be read."""
    from pathlib import Path

    pins: dict[str, Pin] = {}
    remarks: list[str] = []
    for folder in _folders(Path(here, start).resolve(), Path(here).resolve()):
        found, unread = _found_in(folder)
        remarks += [f"{_shown(path, here)}: {reason}" for path, reason in unread]
        for package, specifier, path, line in found:
            pins.setdefault(package, _discovered(package, specifier, f"{_shown(path, here)}:{line}"))
    return list(pins.values()), remarks


def _folders(start: Path, here: Path) -> list[Path]:
    """The folders to search, nearest first."""
    line = [start, *start.parents]
    root = next((folder for folder in line if (folder / ".git").exists()), here)
    return line[: line.index(root) + 1] if root in line else [start]


@lru_cache(maxsize=None)
def _found_in(folder: Path) -> tuple[Sequence[tuple[str, str, str, int]], Sequence[tuple[str, str]]]:
    import os

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _FILES.fullmatch(entry.name) and entry.is_file()]
    except OSError:
        names = []
    if not names:
        return (), ()
    from fsdplint.requirement_files import read

    return read(folder, names)


def _discovered(package: str, specifier: str, source: str) -> Pin:
    """A pin that nobody declared: bounded from one side only, it means the newest known release that it allows."""
    if exact(specifier) is not None or is_two_sided(specifier):
        return _stated(package, specifier, source)
    number = releases.newest_within(package, specifier)
    return Pin(package, specifier, source, False, (number,) if number else ())


def _shown(path: str, here: str) -> str:
    """A file below the current folder, or beside a folder above it, as seen from there; else its whole path."""
    from pathlib import Path

    file, base = Path(path), Path(here).resolve()
    if file.is_relative_to(base):
        return file.relative_to(base).as_posix()
    if base.is_relative_to(file.parent):
        return "../" * len(base.relative_to(file.parent).parts) + file.name
    return file.as_posix()
