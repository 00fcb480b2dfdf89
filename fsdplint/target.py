"""What a launch is meant to run on: package versions and a device, and where each was learned."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fsdplint import releases, requirement_search
from fsdplint.errors import UsageError
from fsdplint.versions import (
    canonical,
    checked,
    exact,
    full,
    holds,
    is_older,
    is_two_sided,
    is_version,
    release,
    requirements,
    satisfies,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from fsdplint.versions import Release

DEVICES = ("cuda", "rocm", "xpu", "npu", "hpu", "mlu", "musa", "mps", "cpu", "tpu")
"""The devices that a config can be meant for."""

TWINS = {"lightning": "pytorch-lightning", "pytorch-lightning": "lightning"}
"""Two packages of one code base, always released together under one number."""


class TargetError(UsageError, ValueError):
    """A target that cannot be understood; the text is one line for the user."""


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

    def is_older(self, requirement: str) -> bool:
        """Whether a package is below the requirement's lower bound; one without a release is not."""
        return is_older(requirement, self._releases)

    def release(self, package: str) -> Release | None:
        """The release of a package (canonical PyPI name), None where there is none."""
        return self._releases.get(package)

    def get(self, package: str, default: Release | None = None) -> Release | None:
        """The release of a package, or ``default``."""
        return self._releases.get(package, default)

    def text(self, package: str) -> str:
        """The release of a package as people write it (``5.4.0``), empty where there is none."""
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
    ``source``: where it was learned: ``--target``, ``requirements.txt:3``, ``pinned by axolotl 0.19.0``,
    ``newest known``. ``declared``: the points are what an option, a setting, an interpreter or a requirement file
    states; false where they are assumed, as the newest release above a requirement file's lower bound is.
    ``points``: the releases to consider, newest first; several for an interval, none where no release is known.
    """

    __slots__ = ("declared", "package", "points", "source", "specifier")

    def __init__(self, package: str, specifier: str, source: str, declared: bool, points: tuple[Release, ...]) -> None:
        self.package = package
        self.specifier = specifier
        self.source = source
        self.declared = declared
        self.points = points

    @classmethod
    def stated(cls, package: str, specifier: str, source: str) -> Pin:
        """A pin of which every release inside counts."""
        return cls(package, specifier, source, True, releases.within(package, specifier))

    @classmethod
    def discovered(cls, package: str, specifier: str, source: str) -> Pin:
        """A pin of a requirement file: bounded from one side only, it means the newest known release it allows."""
        if exact(specifier) is not None or is_two_sided(specifier):
            return cls.stated(package, specifier, source)
        number = releases.newest_within(package, specifier)
        return cls(package, specifier, source, False, (number,) if number else ())

    @classmethod
    def assumed(cls, package: str, version: str, source: str) -> Pin:
        """A pin of a package that nobody mentions."""
        number = release(version)
        return cls(package, f"=={version}", source, False, (number,) if number else ())

    def at(self, points: tuple[Release, ...]) -> Pin:
        """The same pin with a choice of its points."""
        return Pin(self.package, self.specifier, self.source, self.declared, points)

    def __repr__(self) -> str:
        return f"Pin({self.package}{self.specifier}, {self.source!r})"


class Target:
    """Package versions and a device; never changed after it was made.

    ``pins``: by package; what was stated, and after ``for_dialect`` every package that a table knows.
    ``dialects``: the packages it was filled for. ``device`` (one of ``DEVICES``) and ``gpus`` (world size): None where
    nobody says so, with ``device_source`` and ``gpus_source``.
    ``notes``: remarks for ``-v``, such as requirement files that could not be read.
    """

    __slots__ = (
        "_points",
        "_stated",
        "_targets",
        "device",
        "device_source",
        "dialects",
        "gpus",
        "gpus_source",
        "notes",
        "pins",
    )

    def __init__(
        self,
        stated: Mapping[str, Pin],
        *,
        device: str | None = None,
        device_source: str = "",
        gpus: int | None = None,
        gpus_source: str = "",
        notes: Sequence[str] = (),
        dialects: tuple[str, ...] | None = None,
    ) -> None:
        self._stated = {**stated, **{TWINS[name]: pin for name, pin in stated.items() if TWINS.get(name, name) not in stated}}
        self.device = device
        self.device_source = device_source
        self.gpus = gpus
        self.gpus_source = gpus_source
        self.notes = tuple(notes)
        self.dialects = dialects
        self.pins = self._stated if dialects is None else _filled(self._stated, dialects)
        self._points: tuple[Versions, ...] = ()
        self._targets: dict[str | None, Target] = {}

    def for_dialect(self, package: str | None) -> Target:
        """The target of a config of the framework ``package`` (PyPI name; None where no package reads the file).

        Packages that nobody stated, or that a requirement file merely bounds from one side, get the version that this
        release of the framework pins; what is still open gets the newest known. Asked again of the result, as for the
        files of one launch, the framework that came first decides.
        """
        if package not in self._targets:
            known = self.dialects or ()
            dialects = known if package is None or package in known else (*known, package)
            self._targets[package] = self if dialects == self.dialects else self._for(dialects)
        return self._targets[package]

    def _for(self, dialects: tuple[str, ...]) -> Target:
        return Target(
            self._stated,
            device=self.device,
            device_source=self.device_source,
            gpus=self.gpus,
            gpus_source=self.gpus_source,
            notes=self.notes,
            dialects=dialects,
        )

    @property
    def at_newest(self) -> Versions:
        """The point at which every package is at the newest release that its pin admits."""
        return self.points()[0]

    def points(self) -> tuple[Versions, ...]:
        """The points at which a rule must look, newest first, none twice.

        All at their newest; then for each package with an interval each of its releases, the others at their newest;
        then all at their lowest. One point where no pin is an interval.
        """
        if not self._points:
            intervals = self._intervals()
            choices: list[dict[str, tuple[Release, ...]]] = [{}]
            choices += [{pin.package: (number,)} for pin in intervals for number in pin.points[1:]]
            choices.append({pin.package: pin.points[-1:] for pin in intervals})
            self._points = tuple(dict.fromkeys(self._point(choice) for choice in choices))
        return self._points

    def _intervals(self) -> list[Pin]:
        """The pins with a choice of releases; of twins only the one that was stated."""
        return [pin for name, pin in self._stated.items() if name == pin.package and len(pin.points) > 1]

    def _point(self, choice: Mapping[str, tuple[Release, ...]]) -> Versions:
        """The point at which stated packages have the chosen release, else their newest."""
        chosen = {name: pin.at(choice.get(pin.package, pin.points[:1])) for name, pin in self._stated.items()}
        pins = chosen if self.dialects is None else _filled(chosen, self.dialects)
        return Versions({name: pin.points[0] for name, pin in pins.items() if pin.points})

    def runs(self, hits: Iterable[Versions]) -> str:
        """The releases of the interval packages at which something holds: ``transformers 5.4.0-5.9.0``.

        ``hits`` are those of ``points()`` at which it holds. Packages that matter together are joined by "with",
        packages of which each suffices by "or". Empty where nothing varies or nothing is hit.
        """
        held = set(hits)
        found = [(pin, [n for n in pin.points if self._point({pin.package: (n,)}) in held]) for pin in self._intervals()]
        if not found or not held:
            return ""
        if self.at_newest in held:
            narrowed = [(pin, numbers) for pin, numbers in found if len(numbers) < len(pin.points)]
            return " with ".join(_runs(pin, numbers) for pin, numbers in narrowed or found)
        alone = [_runs(pin, numbers) for pin, numbers in found if numbers]
        return " or ".join(alone) or " with ".join(_runs(pin, pin.points[-1:]) for pin, _ in found)

    def learned(self, requirement: str) -> str:
        """What is known of a requirement's packages and where from: ``accelerate ==1.5.2, requirements.txt:3``."""
        pins = [self.pins[name] for name, _ in requirements(requirement) if name in self.pins]
        return "; ".join(f"{pin.package} {pin.specifier}, {pin.source}" for pin in pins)

    def unknown_packages(self) -> tuple[str, ...]:
        """The stated packages that no table knows."""
        return tuple(name for name in self._stated if name not in releases.NEWEST)


def _filled(stated: Mapping[str, Pin], dialects: Iterable[str]) -> dict[str, Pin]:
    """Pins of all known packages: as stated, else as the releases of the dialects pin them, else the newest."""
    newest = _newest()
    pinned: dict[str, Pin] = {}
    for package in dialects:
        own = _settled(stated.get(package), pinned.get(package)) or newest.get(package)
        if own is not None and own.points:
            source = f"pinned by {package} {full(own.points[0])}"
            for name, version in releases.stack(package, own.points[0]).items():
                pinned.setdefault(name, Pin.assumed(name, version, source))
    pins = {**newest, **pinned, **{name: _settled(pin, pinned.get(name)) or pin for name, pin in stated.items()}}
    for name in releases.NEWEST_NEEDS:
        if pins[name] is newest[name]:
            pins[name] = _beside(newest[name], pins)
    return pins


def _beside(newest: Pin, pins: Mapping[str, Pin]) -> Pin:
    """An assumed pin, at the newest release that goes with what is known of the packages which it needs."""
    others = {name: pins[name].points[0] for name in releases.NEWEST_NEEDS[newest.package] if pins[name].points}
    number = releases.newest_beside(newest.package, others)
    if number is None or number == newest.points[0]:
        return newest
    beside = ", ".join(f"{name} {full(found)}" for name, found in others.items())
    return Pin.assumed(newest.package, full(number), f"newest beside {beside}")


def _settled(stated: Pin | None, pinned: Pin | None) -> Pin | None:
    """Which of two pins counts: the stated one, unless it is a mere bound, which what a framework pins satisfies."""
    if stated is None or pinned is None:
        return stated or pinned
    yields = not stated.declared and satisfies(pinned.points[0], stated.specifier)
    return pinned if yields else stated


@cache
def _newest() -> dict[str, Pin]:
    return {name: Pin.assumed(name, version, "newest known") for name, version in releases.NEWEST.items()}


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
    start: str | PathLike[str] | None = None,
    device: str | None = None,
    gpus: int | None = None,
    python: str | None = None,
    isolated: bool = False,
    settings_source: str = "[tool.fsdplint.target]",
    device_source: str = "--device",
    gpus_source: str = "--gpus",
) -> Target:
    """The target of a config, from what the user and the project say of it.

    Per package the first that speaks decides: ``options`` (``--target`` requirements), the interpreter ``python``,
    ``settings`` (package to specifier), the nearest requirement file from the folder ``start`` up to the root of its
    repository. A folder without a repository is searched up to the current folder, and alone where it does not lie
    below that. What is left open, ``for_dialect`` fills. ``isolated`` leaves out settings and requirement files.
    The same arguments give the same object; files are read once (see ``forget``).

    Raises TargetError for a requirement, device or number of GPUs that makes no sense, and for an interpreter that
    does not answer.
    """
    return _resolve(
        tuple(options),
        () if isolated else tuple((settings or {}).items()),
        None if isolated or start is None else str(start),
        _checked_device(device, device_source),
        _checked_gpus(gpus, gpus_source),
        str(python) if python is not None else None,
        (settings_source, device_source, gpus_source),
        _here(),
    )


def forget() -> None:
    """Forget what files and interpreters said, for a process that outlives their changes."""
    _resolve.cache_clear()
    requirement_search.forget()
    _installed.cache_clear()


def _here() -> str:
    import os

    return os.getcwd()


@cache
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
    if python is not None and not _installed(python):
        notes.append(f"--python {python}: none of the packages that count is installed there")
    if start is not None:
        told, remarks = requirement_search.told_from(start, here)
        for package, specifier, where in told:
            if package not in stated:
                stated[package] = Pin.discovered(package, specifier, where)
        notes += remarks
    return Target(
        stated,
        device=device,
        device_source=sources[1] if device else "",
        gpus=gpus,
        gpus_source=sources[2] if gpus else "",
        notes=notes,
    )


def _misspelt(pin: Pin) -> list[str]:
    meant = releases.nearest_name(pin.package)
    return [f"{pin.source}: no table knows {pin.package}; did you mean {meant}?"] if meant else []


def _from_options(options: Sequence[str]) -> list[Pin]:
    """Pins of ``--target`` requirements; several for one package hold together."""
    specifiers: dict[str, str] = {}
    for option in options:
        try:
            name, rest = split(option)
            if not rest:
                raise ValueError(f"name a version, too, such as {name}=={releases.NEWEST.get(canonical(name), '1.0.0')}")
            package, specifier = canonical(name), checked(rest, name)
            together = f"{specifiers[package]},{specifier}" if package in specifiers else specifier
            singles = {part for part in together.split(",") if exact(part) is not None}
            if len(singles) > 1:
                raise ValueError(f"two versions of {package}, {' and '.join(sorted(singles))}")
        except ValueError as error:
            raise TargetError(f"--target {option}: {error}") from None
        specifiers[package] = together
    return [Pin.stated(package, specifier, "--target") for package, specifier in specifiers.items()]


def _from_settings(settings: Iterable[tuple[str, str]], source: str) -> list[Pin]:
    """Pins of ``package = "specifier"`` settings; a version alone means that version."""
    pins = []
    for name, text in settings:
        try:
            specifier = f"=={text.strip()}" if is_version(text.strip()) else checked(text, name)
        except ValueError as error:
            raise TargetError(f'{source} {name} = "{text}": {error}') from None
        pins.append(Pin.stated(canonical(name), specifier, source))
    return pins


def _checked_device(device: str | None, source: str) -> str | None:
    if device is None:
        return None
    name = device.strip().lower()
    if name in DEVICES:
        return name
    from difflib import get_close_matches

    # "gpu" is one letter away from "cpu" and "npu", and means neither.
    close = ["cuda"] if name == "gpu" else get_close_matches(name, DEVICES, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise TargetError(f"{source} {device}: unknown device, use one of {', '.join(DEVICES)}{hint}")


def _checked_gpus(gpus: int | None, source: str) -> int | None:
    if gpus is not None and gpus < 1:
        raise TargetError(f"{source} {gpus}: a launch has at least one process")
    return gpus


@cache
def _installed(python: str | None) -> tuple[Pin, ...]:
    """Pins of the known packages that an interpreter has installed; raises TargetError where it does not answer."""
    if python is None:
        return ()
    source = f"--python {python}"
    try:
        found = releases.installed(python)
    except ValueError as error:
        raise TargetError(f"{source}: {error}") from None
    return tuple(Pin.stated(name, f"=={version}", source) for name, version in found.items() if release(version))
