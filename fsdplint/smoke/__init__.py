"""The smoke test: a short real FSDP run that proves what a launch's files say, or shows that they do not hold.

``SmokePlan`` is what a run is told, ``Report`` what it found; ``smoke`` runs a plan, ``smoke_launch`` the launch that a request describes.
``fsdplint.smoke.worker`` (the only part that imports torch) is what every rank executes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsdplint.smoke.launches import SmokeOptions, plans_for, smoke_launch
    from fsdplint.smoke.originals import Originals
    from fsdplint.smoke.outcome import Report, State, Verdict
    from fsdplint.smoke.plan import ConfigPath, Setting, SmokePlan, Unexercised
    from fsdplint.smoke.run import smoke

__all__ = [
    "ConfigPath",
    "Originals",
    "Report",
    "Setting",
    "SmokeOptions",
    "SmokePlan",
    "State",
    "Unexercised",
    "Verdict",
    "plans_for",
    "smoke",
    "smoke_launch",
]

_MODULES = {
    "launches": ("SmokeOptions", "plans_for", "smoke_launch"),
    "originals": ("Originals",),
    "outcome": ("Report", "State", "Verdict"),
    "plan": ("ConfigPath", "Setting", "SmokePlan", "Unexercised"),
    "run": ("smoke",),
}


def __getattr__(name: str) -> Any:
    """The public names, imported when somebody asks for them: the command line registers ``smoke`` on every start."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
