"""The command lines of launchers: option tables whose keys are flags."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.formats import is_int_text, word_bool
from fsdplint.dialects.table import Table, spelled
from fsdplint.plan import Fact, Sharding, Wrap

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions


class Launcher(Dialect):
    """A launcher's command line, named after the framework whose launcher it is; this class itself stands for
    commands without an option table.

    ``file``: the name of its option table. ``ends_at_script``: the first word that is no flag is the program to run,
    and all after it is that program's own.
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
        names = [name for name in table.schema.get("properties", {}) if "_" in name]
        twins = {name.replace("_", "-"): name for name in names}
        table.schema["x-aliases"] = {**twins, **table.schema.get("x-aliases", {})}
        return table

    def recognise(self, document: Document) -> int:  # noqa: ARG002
        """Never: a launch line is given as such."""
        return 0

    def takes_value(self, flag: str) -> bool:
        """Whether a flag is followed by a value; of an unknown one it is assumed."""
        name = spelled(self.table.schema, flag)
        return name is None or self.table.schema["properties"][name].get("type") != "boolean"


class AccelerateLaunch(Launcher):
    """``accelerate launch`` (accelerate 1.15.0 commands/launch.py): flags that are written beat the config file."""

    name = "accelerate"
    package = "accelerate"
    title = "accelerate launch"
    file = "accelerate_launch"
    starts = "processes"
    ends_at_script = True

    kinds: ClassVar[dict[str, str]] = {
        "--use_fsdp": "fsdp",
        "--use_deepspeed": "deepspeed",
        "--multi_gpu": "ddp",
        "--cpu": "none",
        "--tpu": "xla",
        "--use_megatron_lm": "megatron-lm",
    }

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """A kind of launch that is written beats the file's ``distributed_type``; FSDP flags alone switch nothing on."""
        names = {item.option.name: Place(document, item.path, "key") for item in self.table.written(document.root) if item.option}
        options = [place for name, place in names.items() if name.startswith("--fsdp_")]
        if options:
            plan.fsdp_options = Fact(True, options[0])
        for name, here in names.items():
            if name in self.kinds:
                plan.launcher = Fact(self.kinds[name], here)
                plan.fsdp = Fact(name == "--use_fsdp", here)
                plan.deepspeed = Fact(name == "--use_deepspeed", here)
        if "--cpu" in names:
            plan.device = Fact("cpu", names["--cpu"])
        if plan.fsdp.value is True:
            _launcher_defaults(plan, versions)
        _resharding(plan)


class TrlLaunch(AccelerateLaunch):
    """``trl sft`` and its sisters, which hand flags that they do not know to ``accelerate launch`` (trl 1.16.0
    cli/commands/training.py).
    """

    name = "trl"
    package = "trl"
    title = "the trl command"
    ends_at_script = False

    @cached_property
    def table(self) -> Table:
        """accelerate's flags and TRL's own one for the accelerate file; a flag that is neither is the training script's."""
        schema = dict(super().table.schema)
        schema.pop("x-unknown", None)
        schema["properties"] = {**schema["properties"], "--accelerate_config": {"type": "string"}, "--config": {"type": "string"}}
        schema["x-aliases"] = {**schema["x-aliases"], "--accelerate-config": "--accelerate_config"}
        return Table(schema)

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """An accelerate file that TRL ships decides by its name what no flag says."""
        from fsdplint.dialects.trl import SHIPPED, shipped

        super().settle(plan, document, versions)
        key = next((key for key in ("--accelerate_config", "--accelerate-config") if document.has((key,))), "")
        given = document.value((key,)) if key else None
        if not isinstance(given, str) or given not in SHIPPED:
            return
        here = Place(document, (key,))
        for decision, fact in shipped(given, here):
            if fact.is_written and not plan.fact(decision).is_written:
                plan.set(decision, fact)
        if not plan.fsdp.is_written:
            plan.fsdp = Fact(False, here)


class SoupTrain(Launcher):
    """``soup train`` (soup-cli 0.77.0 commands/train.py), the only place that switches soup's FSDP or DeepSpeed on."""

    name = "soup"
    package = "soup-cli"
    title = "soup train"
    file = "soup_train"
    starts = "training"

    presets: ClassVar[dict[str, Sharding]] = {
        "full_shard": Sharding.FULL_SHARD,
        "shard_grad": Sharding.SHARD_GRAD_OP,
        "full_offload": Sharding.FULL_SHARD,
    }

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """What the presets ask of transformers and what it builds of them (read in soup-cli 0.77.0 utils/fsdp.py; run
        with transformers 4.57.6 to 5.24.0).
        """
        plan.deepspeed = Fact(False, source="no `--deepspeed` on the command line")
        if document.has(("--deepspeed",)):
            given = document.value(("--deepspeed",))
            plan.deepspeed = Fact(bool(given), Place(document, ("--deepspeed",)))
            plan.deepspeed_config = Fact(given, Place(document, ("--deepspeed",)))
        plan.fsdp = Fact(False, source="no `--fsdp` on the command line")
        if document.has(("--fsdp",)):
            self._preset(plan, document.value(("--fsdp",)), Place(document, ("--fsdp",)), versions)
        self._machines(plan, document)

    def _preset(self, plan: Plan, preset: object, here: Place, versions: Versions) -> None:
        plan.fsdp = plan.fsdp_options = Fact(bool(preset), here)
        if not isinstance(preset, str) or preset not in self.presets:
            plan.wrap_policy = Fact(None, here)
            return
        second = versions.has("transformers>=5.10.0")
        plan.fsdp_version = Fact(2 if second else 1, source=f"what transformers {versions.text('transformers')} builds")
        plan.sharding = Fact(self.presets[preset], here)
        if preset == "shard_grad" and not second and versions.has("transformers>=5.4.0"):
            plan.sharding = plan.sharding.overruled(Sharding.FULL_SHARD, "transformers 5.4 to 5.9 lose shard_grad_op under FSDP1")
        plan.offload = Fact(preset == "full_offload", here)
        plan.wrap_policy = Fact(Wrap.TRANSFORMER, here)

    def _machines(self, plan: Plan, document: Document) -> None:
        gpus, nodes = document.value(("--gpus",)), document.value(("--nodes",), "1")
        if document.has(("--nodes",)) and is_int_text(nodes):
            plan.machines = Fact(int(str(nodes)), Place(document, ("--nodes",)))
        if document.has(("--gpus",)):
            known = is_int_text(gpus) and is_int_text(nodes)
            plan.processes = Fact(int(str(gpus)) * int(str(nodes)) if known else None, Place(document, ("--gpus",)), unknown=not known)


def _launcher_defaults(plan: Plan, versions: Versions) -> None:
    """What ``accelerate launch --use_fsdp`` takes where no flag says it: the defaults of a config file."""
    from fsdplint.dialects import dialect
    from fsdplint.document import parse

    version = plan.fsdp_version.value or 1
    file = dialect("accelerate").read(parse(f"distributed_type: FSDP\nfsdp_config:\n  fsdp_version: {version}\n", ""), versions)
    for decision, fact in file:
        if not fact.is_written and plan.fact(decision).is_silent:
            plan.set(decision, fact)
    if not plan.fsdp_version.is_written:
        plan.fsdp_version = Fact(version, source=f"default of accelerate {versions.text('accelerate')}")


def _resharding(plan: Plan) -> None:
    """``--fsdp_reshard_after_forward`` says what is sharded as a boolean (FSDP2)."""
    facts = []
    for fact in (plan.sharding, *plan.sharding.rivals):
        if fact.place is not None and "reshard" in str(fact.place.path[-1]) and fact.value is None:
            freed = word_bool(fact.place.document.value(fact.place.path))
            value = None if freed is None else Sharding.FULL_SHARD if freed else Sharding.SHARD_GRAD_OP
            facts.append(Fact(value, fact.place, unknown=fact.unknown))
        else:
            facts.append(Fact(fact.value, fact.place, source=fact.source, unknown=fact.unknown))
    plan.sharding = facts[0].beating(*facts[1:])
