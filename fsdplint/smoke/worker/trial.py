"""The stages that ranks run: wrap, steps, checkpoint, compile. Each returns facts; none of them judges."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from fsdplint.smoke.worker import rank as ranks
from fsdplint.smoke.worker.engine import engine
from fsdplint.smoke.worker.memory import peak_memory, reset_peak
from fsdplint.smoke.worker.model import batch, build, loss_of
from fsdplint.smoke.worker.observe import observed, shards
from fsdplint.smoke.worker.watch import Watch

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.rank import Rank

Facts = dict[str, Any]


class Trial:
    """One wrapped model on this rank, its own batch, and a probe batch that is the same on all ranks."""

    def __init__(self, plan: SmokePlan, rank: Rank, *, compiled: bool = False) -> None:
        self.plan = plan
        self.rank = rank
        self.engine = engine(plan, rank)
        self.built = build(plan)
        self.engine.wrap(self.built, compiled=compiled)
        self.batch = batch(plan, self.built.size, rank.number + 1, rank.device)
        self.probe = batch(plan, self.built.size, 0, rank.device)

    def step(self) -> float:
        """Train on this rank's batch; returns the mean loss over all ranks, from before the step."""
        loss = loss_of(self.engine.call, self.batch)
        self.engine.backward(loss)
        self.engine.step()
        return ranks.mean(float(loss.detach()), self.rank.device)

    def probed(self) -> float:
        """The loss on the probe batch. The backward pass leaves every unit resharded; its gradients are dropped."""
        loss = loss_of(self.engine.call, self.probe)
        self.engine.backward(loss)
        self.engine.optimizer.zero_grad()
        return float(loss.detach())

    def held(self) -> dict[str, torch.Tensor]:
        """Copies of what this rank holds of the parameters."""
        return {name: tensor.clone() for name, tensor in shards(self.engine.model).items()}


def wrap(trial: Trial) -> Facts:
    """Look at the wrapped model, and at one forward pass of it."""
    facts = observed(trial.engine, trial.built, trial.rank)
    watch = Watch(trial.engine.model, trial.built)
    trial.probed()
    watch.close()
    return {**facts, "sharding": facts["sharding"] or watch.sharding}


def steps(trial: Trial) -> Facts:
    """Train a few steps on a fixed batch, and see who moved."""
    plan, device = trial.plan, trial.rank.device
    before = trial.held()
    reset_peak(device)
    watch = Watch(trial.engine.model, trial.built)
    losses, times = [], []
    for _ in range(plan.steps):
        start = time.perf_counter()
        losses.append(trial.step())
        times.append(time.perf_counter() - start)
        watch.close()
    probe = trial.probed()
    seconds = median(times[1:] or times)
    after = {name: tensor for name, tensor in shards(trial.engine.model).items() if tensor.numel()}
    tokens = trial.batch.numel() * (torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1)
    return {
        "losses": losses,
        "probe": probe,
        "compute_dtype": watch.compute_dtype,
        "held": len(after),
        "moved": sum(not torch.equal(tensor, before[name]) for name, tensor in after.items()),
        "step_seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "peak_memory": peak_memory(device),
    }


def checkpoint(trial: Trial) -> Facts:
    """Save, change everything, load, and compare bit by bit."""
    trial.step()
    before = trial.probed()
    parameters, moments = trial.held(), _moments(trial)
    folder = _folder(trial.plan)
    try:
        saved_as = trial.engine.save(folder)
        ranks.barrier()
        _shake(trial)
        changed = _lost(parameters, shards(trial.engine.model))
        shaken = trial.probed()
        trial.engine.load(folder)
        lost, lost_moments = _lost(parameters, shards(trial.engine.model)), _lost(moments, _moments(trial))
        after = trial.probed()
        ranks.barrier()
    finally:
        if ranks.number() == 0:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "saved_as": saved_as,
        "before": before,
        "shaken": shaken,
        "after": after,
        "held": len(parameters),
        "perturbed": len(changed),
        "lost": lost,
        "lost_optimizer": lost_moments,
    }


def compile_(plan: SmokePlan, rank: Rank) -> Facts:
    """Train the same steps with torch.compile, and count the graphs that it captured."""
    from torch._dynamo.utils import counters

    start = time.perf_counter()
    trial = Trial(plan, rank, compiled=True)
    losses = [trial.step() for _ in range(plan.steps)]
    graphs = counters["stats"].get("unique_graphs", 0)
    return {"backend": trial.engine.backend, "graphs": graphs, "losses": losses, "compile_seconds": time.perf_counter() - start}


def _folder(plan: SmokePlan) -> str:
    """A fresh folder that rank 0 makes and every rank must see. Raises RuntimeError where another machine does not see it."""
    made = tempfile.mkdtemp(prefix="fsdplint-checkpoint-", dir=plan.folder) if ranks.number() == 0 else None
    folder: str = ranks.shared(made)
    if not all(ranks.gathered(Path(folder).is_dir())):
        raise RuntimeError(f'not every rank sees {folder}: state a shared folder in the plan\'s "folder"')
    return folder


def _shake(trial: Trial) -> None:
    with torch.no_grad():
        for tensor in (*shards(trial.engine.model).values(), *_optimizer_shards(trial).values()):
            tensor.add_(1.0)


def _moments(trial: Trial) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in _optimizer_shards(trial).items()}


def _optimizer_shards(trial: Trial) -> dict[str, torch.Tensor]:
    """This rank's part of the optimizer's moments, by the place of their parameter."""
    from fsdplint.smoke.worker.observe import local

    state = trial.engine.optimizer.state
    parameters = [parameter for group in trial.engine.optimizer.param_groups for parameter in group["params"]]
    return {
        f"{key} of parameter {index}": local(state[parameter][key])
        for index, parameter in enumerate(parameters)
        for key in ("exp_avg", "exp_avg_sq")
        if key in state.get(parameter, {}) and local(state[parameter][key]).numel()
    }


def _lost(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> list[str]:
    """The tensors that are not what they were."""
    return [name for name, tensor in before.items() if name not in after or not torch.equal(tensor, after[name].to(tensor.device))]
