"""The command lines of launchers: option tables whose keys are flags."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.table import Table, spelled
from fsdplint.plan import Fact, Sharding

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions


class Launcher(Dialect):
    """A launcher's command line, named after the framework whose launcher it is.

    ``file``: the name of its option table. ``ends_at_script``: the first word that is no flag is the program to run, and all after it is that program's own.
    """

    name = "launch"
    package = ""
    title = "the launch line"
    formats = ("command",)
    file = ""
    ends_at_script = False

    @cached_property
    def table(self) -> Table:
        """The option table of the flags, each also in its other spelling (``--a-b`` for ``--a_b``)."""
        table = Table.load(self.file) if self.file else Table({"x-package": self.package})
        schema = table.schema
        twins = {name[:2] + name[2:].replace("_", "-"): name for name in schema.get("properties", {}) if "_" in name}
        schema["x-aliases"] = {**twins, **schema.get("x-aliases", {})}
        return table

    def recognise(self, document: Document) -> int:
        """Never: a launch line is given as such."""
        return 0

    def takes_value(self, flag: str) -> bool:
        """Whether a flag is followed by a value; of an unknown one it is assumed."""
        name = spelled(self.table.schema, flag)
        return name is None or self.table.schema["properties"][name].get("type") != "boolean"


class AccelerateLaunch(Launcher):
    """``accelerate launch`` (accelerate 1.15.0 commands/launch.py)."""

    name = "accelerate"
    package = "accelerate"
    title = "accelerate launch"
    file = "accelerate_launch"
    ends_at_script = True
    kinds = ("--multi_gpu", "--cpu", "--tpu", "--use_megatron_lm", "--use_deepspeed")

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """One of the kinds switches all others off, whatever the file says; FSDP flags alone switch nothing on."""
        for entry in self.table.written(document.root):
            name = entry.option.name if entry.option else ""
            if name.startswith("--fsdp_") and not plan.fsdp_options.is_written:
                plan.fsdp_options = Fact(True, self.place(document, entry.path))
            elif name in self.kinds and not plan.fsdp.is_written:
                plan.fsdp = Fact(False, self.place(document, entry.path), because=f"{name} decides what is started")
            if name == "--cpu":
                plan.device = Fact("cpu", self.place(document, entry.path))


class TrlLaunch(AccelerateLaunch):
    """``trl sft`` and its sisters, which hand flags that they do not know to accelerate (trl 1.16.0 cli/commands/training.py)."""

    name = "trl"
    package = "trl"
    title = "the trl command"
    file = "trl_launch"
    ends_at_script = False


class SoupTrain(Launcher):
    """``soup train`` (soup-cli 0.77.0 commands/train.py), the only place where soup switches FSDP and DeepSpeed on."""

    name = "soup"
    package = "soup-cli"
    title = "soup train"
    file = "soup_train"
