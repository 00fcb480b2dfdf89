"""From a linted plan to a smoke plan."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import resolve
from fsdplint.smoke.plan import ConfigPath, Setting, SmokePlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsdplint.launch import Launch
    from fsdplint.plan import Fact, Plan

THROUGH_ACCELERATE = ("accelerate", "hf-trainer", "trl", "axolotl", "llama-factory", "ms-swift", "soup")
"""Dialects whose framework wraps the model with accelerate's ``prepare``."""

LOADERS = ("accelerate", "hf-trainer", "trl", "soup")
"""Dialects whose upstream loader reads a file without importing the user's code; it counts where the launch's main file is of one."""

_WHY_NO_LOADER = {
    "axolotl": "axolotl's loader imports the plugins that the file names and fetches the model's config",
    "lightning": "LightningCLI would import the classes that the file names (class_path)",
    "torchtitan": "torchtitan's loader would import the module that the job names",
    "torchtune": "torchtune's recipes import the components that the file names",
    "nemo-automodel": "NeMo Automodel's loader imports the targets that the file names",
    "verl": "verl's loader is a Hydra application, which imports what the file names",
    "composer": "Composer has no loader of its own; a training script decides",
}


def smoke_plan(
    plan: Plan,
    launch: Launch,
    locations: Mapping[str, str],
    *,
    model: str = "builtin",
    steps: int = 4,
    device: str = "auto",
) -> SmokePlan:
    """The smoke plan of a launch.

    ``plan``: the merged plan. ``locations``: the absolute path of every file by its path as shown.
    ``device``: where to run, ``auto`` for what the machine has.
    """
    dialect = launch.main.dialect.name
    names = [file.dialect.name for file in launch.files if not file.dialect.is_companion]
    loader = dialect in LOADERS
    return SmokePlan(
        dialect=dialect,
        files=tuple(_config_path(file.document.path, file.dialect.name, locations) for file in launch.files),
        settings={name: setting(fact) for name, fact in plan},
        command=launch.command.document.text if launch.command else None,
        route="accelerate" if all(name in THROUGH_ACCELERATE for name in names) else "torch",
        loader=loader,
        device=device,
        steps=steps,
        model=model,
        cwd=str(Path.cwd()),
        skipped={} if loader else {"load": f"{_why_no_loader(dialect)}: the plan that fsdplint read is used"},
    )


def _config_path(shown: str, dialect: str, locations: Mapping[str, str]) -> ConfigPath:
    return ConfigPath(locations.get(shown) or str(Path(shown).absolute()), shown, dialect)


def _why_no_loader(dialect: str) -> str:
    return _WHY_NO_LOADER.get(dialect, f"the loader of {dialect} prepares a whole run while it reads")


def setting(fact: Fact[Any]) -> Setting:
    """A fact as plain values. A placeholder that is filled in later is asked for, but nothing is known of it."""
    because = "a placeholder stands there, which is filled in later" if fact.unknown else fact.because
    return Setting(plain(fact.value), plain(fact.written), fact.is_written, because, _where(fact))


def plain(value: object) -> Any:
    """A decision's value for JSON: an enum's value, a list for a tuple, else the value if JSON has it, else its text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str, list, dict)) else str(value)


def _where(fact: Fact[Any]) -> str:
    if fact.place is None:
        return fact.source
    key, where, _ = resolve(fact.place)
    place = f"{fact.place.document.path}:{where.start.line}:{where.start.column}"
    return f"{key} at {place}" if key else place
