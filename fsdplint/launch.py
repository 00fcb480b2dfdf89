"""Which files and flags start one run together, and who wins where they disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.plan import Fact, Plan

if TYPE_CHECKING:
    from fsdplint.dialects import Dialect
    from fsdplint.document import Document
    from fsdplint.target import Target, Versions


class ConfigFile:
    """One document of a launch, and the dialect that it is written in."""

    __slots__ = ("dialect", "document")

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self.document = document
        self.dialect = dialect


class Launch:
    """The files and the command line that start one run. ``command`` is the launch line read as a document of flags; None where no line was given."""

    __slots__ = ("command", "files")

    def __init__(self, files: tuple[ConfigFile, ...], command: ConfigFile | None = None) -> None:
        self.files = files
        self.command = command

    @property
    def members(self) -> tuple[ConfigFile, ...]:
        """The files and, last, the command line."""
        return (*self.files, self.command) if self.command else self.files


    @property
    def main(self) -> ConfigFile:
        """The member whose dialect speaks for the launch: the training file, else the launcher's file."""
        trainers = [file for file in self.files if file.dialect.name != "accelerate"]
        return (trainers or list(self.files))[-1]


def merged(launch: Launch, plans: dict[ConfigFile, Plan], versions: Versions, target: Target) -> Plan:
    """One plan for a launch from its members' plans, by upstream's precedence."""
    first = plans[launch.files[0]] if launch.files else Plan()
    plan = first.copy()
    _outside(plan, target)
    return plan


def _outside(plan: Plan, target: Target) -> None:
    """Fill in what --device and --gpus say where no member decides it."""
    if target.device and plan.device.value is None:
        plan.device = Fact(target.device, source=target.device_source)
    if target.gpus and not plan.processes.is_written:
        plan.processes = Fact(target.gpus, source="--gpus")
