"""The model that is trained, and the batches that it is trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from fsdplint.smoke.worker.builtin import LARGE, SMALL, Decoder, Size

if TYPE_CHECKING:
    from torch import nn

    from fsdplint.smoke.plan import SmokePlan


class TestModel(NamedTuple):
    """A fresh model, the same on every rank. ``blocks``: the class names of its repeated layers; ``doubtful``: see Twin."""

    module: nn.Module
    size: Size
    blocks: tuple[str, ...]
    parameters: int
    doubtful: tuple[str, ...] = ()


def build(plan: SmokePlan) -> TestModel:
    """The model that the plan names, with weights from the plan's seed. Raises NoTwin where there is none."""
    torch.manual_seed(plan.seed)
    size = SMALL if plan.device == "cpu" else LARGE
    doubtful: tuple[str, ...] = ()
    if plan.model == "twin":
        from fsdplint.smoke.worker.twin import twin

        module, size, doubtful = twin(plan, size)
    else:
        # A name with a blank in it is no class, here as upstream: such a layer is never found.
        names = [name for name in plan.value("wrap_classes") or [] if name.isidentifier()]
        module = Decoder(size, names or ["DecoderBlock"])
    module.train()
    return TestModel(module, size, block_names(module), sum(parameter.numel() for parameter in module.parameters()), doubtful)


def block_names(module: nn.Module) -> tuple[str, ...]:
    """The classes of the members of a model's outermost layer lists, in order of appearance; parts of such members do not count."""
    from torch.nn import ModuleList

    found: dict[str, None] = {}
    queue = [module]
    while queue:
        current = queue.pop(0)
        if isinstance(current, ModuleList):
            found.update({type(member).__name__: None for member in current if any(True for _ in member.children())})
        else:
            queue += current.children()
    return tuple(found)


def batch(plan: SmokePlan, size: Size, seed: int, device: torch.device) -> torch.Tensor:
    """A fixed batch of token ids; the same seed gives the same batch on every rank."""
    generator = torch.Generator().manual_seed(plan.seed * 1000 + seed)
    return torch.randint(0, size.vocabulary, (size.batch, size.length), generator=generator).to(device)


def loss_of(module: Any, ids: torch.Tensor) -> torch.Tensor:
    """The loss of a model on a batch."""
    output = module(input_ids=ids, labels=ids)
    loss: torch.Tensor = getattr(output, "loss", output)
    return loss
