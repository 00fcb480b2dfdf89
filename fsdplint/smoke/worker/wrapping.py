"""Which layers become FSDP units, and which are recomputed in the backward pass."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy, transformer_auto_wrap_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from torch import nn

    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.model import TestModel


def layer_names(plan: SmokePlan, built: TestModel) -> tuple[str, ...]:
    """The class names of the layers that the plan wraps; the model's own blocks where it names none."""
    return tuple(plan.value("wrap_classes") or built.blocks)


def is_named(module: object, names: Collection[str]) -> bool:
    """Whether a module is of one of these classes, also after FSDP2 has put a class of its own in front."""
    return any(cls.__name__ in names for cls in type(module).__mro__)


def units(plan: SmokePlan, built: TestModel) -> list[nn.Module]:
    """The modules below the root that FSDP2 shards one by one, innermost first.

    By size, that includes lists of layers, which ``fully_shard`` refuses: so it is in accelerate, too (1.15.0, run).
    """
    policy = plan.value("wrap_policy")
    inner = list(built.module.modules())[:0:-1]
    if policy == "NO_WRAP":
        return []
    if policy == "SIZE_BASED_WRAP":
        limit = plan.value("min_num_params", 0)
        return [module for module in inner if sum(p.numel() for p in module.parameters()) > limit]
    names = layer_names(plan, built)
    found = [module for module in inner if is_named(getattr(module, "_checkpoint_wrapped_module", module), names)]
    hidden = {id(module._checkpoint_wrapped_module) for module in found if isinstance(module, CheckpointWrapper)}
    return [module for module in found if id(module) not in hidden]


def policy(plan: SmokePlan, built: TestModel) -> Callable[..., Any] | None:
    """The wrap policy of FSDP1; None wraps the root alone."""
    wanted = plan.value("wrap_policy")
    if wanted == "NO_WRAP":
        return None
    if wanted == "SIZE_BASED_WRAP":
        return partial(size_based_auto_wrap_policy, min_num_params=plan.value("min_num_params", 0))
    names = layer_names(plan, built)
    classes = {type(module) for module in built.module.modules() if is_named(module, names)}
    return partial(transformer_auto_wrap_policy, transformer_layer_cls=classes)


def checkpoint(module: nn.Module, names: Collection[str]) -> None:
    """Recompute the named layers in the backward pass instead of keeping their activations."""
    wrapper = partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
    apply_activation_checkpointing(module, checkpoint_wrapper_fn=wrapper, check_fn=lambda layer: is_named(layer, names))
