"""Which versions a report says it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint import releases
from fsdplint.diagnostics import TargetInfo
from fsdplint.versions import exact, full

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.launch import Launch
    from fsdplint.target import Pin, Target

FAMILY = ("trl", "transformers", "accelerate")
"""Packages that trainers stand on, each on the next; what stands on any of them is judged by the later ones as well."""


def assumed(launch: Launch, target: Target) -> dict[str, TargetInfo]:
    """The packages that a launch is judged by, and all that somebody stated, by PyPI name; ``target`` is settled for the launch."""
    files = sorted(launch.files or launch.members, key=lambda file: file is not launch.main)
    names = [name for file in files for name in _judges(file.dialect.package, target)]
    pins = target.pins
    names += [name for name, pin in pins.items() if pin.declared]
    return {name: _info(pins[name]) for name in dict.fromkeys(names) if name in pins}


def _info(pin: Pin) -> TargetInfo:
    """A mere bound of a requirement file is shown as the release that was taken for it, with the bound in its source."""
    if pin.declared or exact(pin.specifier) is not None or not pin.points:
        return TargetInfo(pin.specifier, pin.source, pin.declared)
    return TargetInfo(f"=={full(pin.points[0])}", f"newest known that {pin.source} allows, {pin.specifier}", pin.declared)


def _judges(package: str, target: Target) -> Iterator[str]:
    yield package
    pin = target.pins.get(package)
    stack = releases.stack(package, pin.points[0]) if pin is not None and pin.points else {}
    starts = [FAMILY.index(name) for name in FAMILY if name in stack or name == package]
    if starts:
        yield from FAMILY[min(starts) :]
    yield "torch"
