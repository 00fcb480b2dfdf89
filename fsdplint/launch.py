"""Which files and flags start one run together, and who wins where they disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.plan import Fact, Plan
from fsdplint.precedence import (
    FSDP,
    TAKEN_OVER,
    TRAINERS,
    flags_over_file,
    trainer_over_launcher,
    with_companion,
    with_flags,
    with_processes,
)

if TYPE_CHECKING:
    from fsdplint.commands import Command
    from fsdplint.diagnostics import Place
    from fsdplint.dialects import Dialect
    from fsdplint.document import Document
    from fsdplint.target import Target, Versions

__all__ = ["FSDP", "LAUNCHER", "TAKEN_OVER", "TRAINERS", "ConfigFile", "Launch", "merged"]

LAUNCHER = "accelerate"
"""The dialect of the files that ``accelerate launch`` reads itself."""


ACCELERATED = frozenset({*TRAINERS, "axolotl"})
"""The dialects whose trainers are built on accelerate."""


class ConfigFile:
    """One document of a launch, and the dialect that it is written in."""

    __slots__ = ("dialect", "document")

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self.dialect = dialect.for_document(document)
        self.document = document.with_loader(self.dialect.loader)


class Launch:
    """The files and the command line that start one run.

    ``command``: the launch line read as a document of flags; None where no line was given. ``missing``: files that
    are named and were not found,
    each with the place that names it and the name as written.
    """

    __slots__ = ("command", "files", "missing")

    def __init__(self, files: tuple[ConfigFile, ...], command: Command | None = None, missing: tuple[tuple[Place, str], ...] = ()) -> None:
        self.files = files
        self.command = command
        self.missing = missing
        if command is not None and command.script:
            self._override(command)

    def _override(self, command: Command) -> None:
        """Read the training files as the launch line overrides them."""
        from fsdplint.overlay import overlaid

        seen = {file.document: overlaid(file.document, file.dialect, command) for file in self.files}
        changed = {old: new for old, new in seen.items() if new is not old}
        self.files = tuple(ConfigFile(changed[f.document], f.dialect) if f.document in changed else f for f in self.files)
        places = ((place, place._replace(document=changed.get(place.document, place.document)), name) for place, name in self.missing)
        self.missing = tuple((new, name) for old, new, name in places if new.origin.document is not command.document or new is old)

    @property
    def members(self) -> tuple[ConfigFile, ...]:
        """The files and, last, the command line."""
        return (*self.files, self.command) if self.command else self.files

    @property
    def main(self) -> ConfigFile:
        """The member whose dialect speaks for the launch: the training file, else the launcher's file, else the engine's, else the line."""
        trainers = [file for file in self.files if file.dialect.name != LAUNCHER and not file.dialect.is_companion]
        return (trainers or [file for file in self.files if file.dialect.name == LAUNCHER] or list(self.files) or list(self.members))[-1]


def merged(launch: Launch, plans: dict[ConfigFile, Plan], versions: Versions, target: Target) -> Plan:
    """One plan for a launch from its members' plans, by upstream's precedence; what nobody says, ``--device`` and ``--gpus`` fill in."""
    plan = _launched(launch, plans, versions) if launch.members else Plan()
    _outside(plan, target)
    return plan


def _launched(launch: Launch, plans: dict[ConfigFile, Plan], versions: Versions) -> Plan:
    """Flags beat the accelerate file; what reads the training file settles the two; companions only fill gaps."""
    main, command = launch.main, launch.command
    launcher = next((plans[file] for file in launch.files if file is not main and file.dialect.name == LAUNCHER), None)
    others = [file for file in launch.files if file is not main]
    plan = main.dialect.completed(plans[main], main.document, others, versions).copy()
    if command is None or command is main:
        pass
    elif command.dialect.starts == "training" and command.dialect.name == main.dialect.name:
        plan = with_flags(plan, plans[command])
    elif command.dialect.starts == "processes":
        if main.dialect.name == LAUNCHER:
            plan = flags_over_file(plan, plans[command])
        else:
            launcher = flags_over_file(launcher, plans[command]) if launcher is not None else plans[command]
    else:
        plan = with_processes(plan, plans[command])
        if launcher is None and plan.fsdp.value is not True:
            launcher = _environment(main, command, versions)
    if launcher is not None:
        plan = trainer_over_launcher(plan, launcher, main.dialect.name, versions)
    for file in launch.files:
        if file is not main and file.dialect.is_companion:
            plan = with_companion(plan, plans[file])
    return plan


def _environment(main: ConfigFile, command: ConfigFile, versions: Versions) -> Plan | None:
    """What the variables before a command decide for a trainer that is built on accelerate."""
    names = command.document.value(())
    if main.dialect.name not in ACCELERATED or not any(
        name.startswith("ACCELERATE_") for name in (names if isinstance(names, dict) else ())
    ):
        return None
    from fsdplint.dialects.launch_environment import environment_plan

    return environment_plan(command.document, versions)


def _outside(plan: Plan, target: Target) -> None:
    """Fill in what --device and --gpus say where no member decides it."""
    if target.device and plan.device.value is None:
        plan.device = Fact(target.device, source=target.device_source)
    if target.gpus and not plan.processes.is_written:
        plan.processes = Fact(target.gpus, source="--gpus")
