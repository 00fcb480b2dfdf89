"""What wraps, steps and saves a model: the one interface of the two ways to FSDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.model import TestModel
    from fsdplint.smoke.worker.rank import Rank


class Engine(Protocol):
    """A way to run FSDP.

    ``model``: the wrapped model, ``call``: what is called for a forward pass (the model, or its compiled form), ``optimizer``: torch's own.
    ``backend``: what compiles.
    """

    model: Any
    call: Any
    optimizer: Any
    backend: str

    @property
    def distributed(self) -> str | None:
        """accelerate's distributed type; None where accelerate takes no part."""

    def wrap(self, built: TestModel, *, compiled: bool) -> None:
        """Shard the model as planned, and make its optimizer."""

    def backward(self, loss: torch.Tensor) -> None:
        """Run the backward pass."""

    def step(self) -> None:
        """Take one optimizer step and drop the gradients."""

    def save(self, folder: str) -> str:
        """Save parameters and optimizer state as planned; returns what was written, in words."""

    def load(self, folder: str) -> None:
        """Bring back what ``save`` wrote."""


def engine(plan: SmokePlan, rank: Rank) -> Engine:
    """The engine of the plan's route."""
    if plan.route == "accelerate":
        from fsdplint.smoke.worker.accelerate_engine import AccelerateEngine

        return AccelerateEngine(plan)
    from fsdplint.smoke.worker.torch_engine import TorchEngine

    return TorchEngine(plan, rank)
