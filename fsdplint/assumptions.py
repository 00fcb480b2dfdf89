"""Which versions a report says it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint import releases
from fsdplint.diagnostics import TargetInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.launch import Launch
    from fsdplint.target import Target

FAMILY = ("trl", "transformers", "accelerate")
"""Packages that trainers stand on, each on the next; what stands on any of them is judged by the later ones as well."""


def assumed(launch: Launch, target: Target) -> dict[str, TargetInfo]:
    """The packages that a launch is judged by, and all that somebody stated, by PyPI name; ``target`` is settled for the launch."""
    files = sorted(launch.files, key=lambda file: file is not launch.main)
    names = [name for file in files for name in _judges(file.dialect.package, target)]
    pins = target.pins
    names += [name for name, pin in pins.items() if pin.declared]
    return {
        name: TargetInfo(pins[name].specifier, pins[name].source, pins[name].declared) for name in dict.fromkeys(names) if name in pins
    }


def _judges(package: str, target: Target) -> Iterator[str]:
    yield package
    pin = target.pins.get(package)
    stack = releases.stack(package, pin.points[0]) if pin is not None and pin.points else {}
    starts = [FAMILY.index(name) for name in FAMILY if name in stack or name == package]
    if starts:
        yield from FAMILY[min(starts) :]
    yield "torch"
