"""Launchers that start processes and decide nothing else: how many, on how many machines.

Read in composer 0.32.1 cli/launcher.py, llamafactory 0.9.5 launcher.py and ms-swift 4.6.0 cli/main.py. The flags of torchrun and of the
deepspeed launcher have not been checked against a release.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import is_int_text
from fsdplint.dialects.launchers import Launcher
from fsdplint.plan import Fact

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions


class Starter(Launcher):
    """A launcher that takes a script or a module behind its flags.

    ``switches``: its flags without a value. ``local``: those that say how many processes start on each machine, ``machines`` on how many,
    ``world`` how many start in all.
    """

    ends_at_script = True

    switches: ClassVar[tuple[str, ...]] = ()
    local: ClassVar[tuple[str, ...]] = ()
    machines: ClassVar[tuple[str, ...]] = ()
    world: ClassVar[tuple[str, ...]] = ()

    def takes_value(self, flag: str) -> bool:
        """Whether a flag is followed by a value, as all but the switches are."""
        return flag not in self.switches and f"--{flag[2:].replace('-', '_')}" not in self.switches

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        """The number of processes where the line writes it; a range of machines and ``auto`` leave it open."""
        local, machines, world = (_count(document, flags) for flags in (self.local, self.machines, self.world))
        if machines is not None:
            plan.machines = machines
        if world is not None:
            plan.processes = world
        elif local is not None:
            nodes = machines.value if machines is not None else 1
            known = local.value is not None and nodes is not None
            plan.processes = Fact((local.value or 0) * (nodes or 0) if known else None, local.place, unknown=not known)


class TorchRun(Starter):
    """``torchrun`` and ``python -m torch.distributed.run``."""

    title = "torchrun"
    switches = ("--standalone", "-m", "--module", "--no_python", "--run_path", "--virtual_local_rank", "--use_env", "-h", "--help")
    local = ("--nproc_per_node", "--nproc-per-node")
    machines = ("--nnodes",)


class TuneRun(TorchRun):
    """``tune run``, which takes torchrun's flags before the recipe."""

    title = "tune run"


class ComposerLaunch(Starter):
    """``composer``."""

    title = "composer"
    switches = ("-m", "--module_mode", "-c", "--command_mode", "-v", "--verbose", "-h", "--help", "--version")
    local = ("-n", "--nproc")
    world = ("--world_size",)


class DeepspeedLaunch(Starter):
    """``deepspeed``, whose machines are those of its hostfile unless a flag says how many."""

    title = "the deepspeed launcher"
    switches = (
        *("--module", "--no_python", "--no_local_rank", "--no_ssh", "--no_ssh_check", "--force_multi", "--save_pid"),
        *("--bind_cores_to_rank", "--elastic_training", "-h", "--help"),
    )
    local = ("--num_gpus",)
    machines = ("--num_nodes",)

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Nothing where a hostfile says it."""
        if not document.has(("--hostfile",)) and not document.has(("-H",)):
            super().settle(plan, document, versions)


class EnvironmentLaunch(Starter):
    """``llamafactory-cli train`` and ``swift sft``: the environment before the command says how many processes start."""

    title = "the launch line"
    ends_at_script = False
    local = ("NPROC_PER_NODE",)
    machines = ("NNODES",)


class FactoryLaunch(EnvironmentLaunch):
    """``llamafactory-cli train``, which starts one process for every GPU that it sees."""

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """The visible GPUs count where nothing else is written; of an elastic number of machines nothing is known."""
        if document.has(("MIN_NNODES",)) or document.has(("MAX_NNODES",)):
            return
        super().settle(plan, document, versions)
        visible = str(document.value(("CUDA_VISIBLE_DEVICES",), ""))
        if not plan.processes.is_written and re.fullmatch(r"\d+(,\d+)*", visible):
            nodes = plan.machines.value if plan.machines.is_written else 1
            count = None if nodes is None else (visible.count(",") + 1) * nodes
            plan.processes = Fact(count, Place(document, ("CUDA_VISIBLE_DEVICES",)), unknown=count is None)


def _count(document: Document, flags: tuple[str, ...]) -> Fact[int] | None:
    """The number that the first written one of some flags gives, unknown where it is no number; None where none is written."""
    flag = next((flag for flag in flags if document.has((flag,))), None)
    if flag is None:
        return None
    value = document.value((flag,))
    known = is_int_text(value)
    return Fact(int(str(value)) if known else None, Place(document, (flag,)), unknown=not known)
