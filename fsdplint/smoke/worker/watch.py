"""What happens inside a forward pass: whether units free their parameters after it, and in which dtype layers compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from fsdplint.smoke.worker.wrapping import is_named

if TYPE_CHECKING:
    from fsdplint.smoke.worker.model import TestModel


class Watch:
    """Looks at the first forward pass of a wrapped model; ``close`` takes the hooks out again."""

    def __init__(self, model: nn.Module, built: TestModel) -> None:
        self.kept: dict[int, bool] = {}
        self.dtypes: dict[str, int] = {}
        self._hooks: list[Any] = []
        for module in model.modules():
            layer = getattr(module, "_checkpoint_wrapped_module", module)
            if isinstance(module, FSDPModule) and is_named(layer, built.blocks) and module is not model:
                self._hooks.append(module.register_forward_hook(self._see_unit))
            if is_named(module, built.blocks):
                self._hooks += [
                    linear.register_forward_hook(self._see_linear) for linear in module.modules() if isinstance(linear, nn.Linear)
                ][:1]

    def _see_unit(self, module: nn.Module, _inputs: Any, _output: Any) -> None:
        # FSDP2 reshards in a hook of its own, which was registered earlier and so has run by now.
        parameters = list(module.parameters())
        self.kept.setdefault(id(module), not any(isinstance(parameter, DTensor) for parameter in parameters))

    def _see_linear(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            name = str(output.dtype).removeprefix("torch.")
            self.dtypes[name] = self.dtypes.get(name, 0) + 1

    def close(self) -> None:
        """Take the hooks out."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    @property
    def sharding(self) -> list[str]:
        """The sharding that the units' behaviour shows; empty where there are no FSDP2 units below the root."""
        names = {True: "SHARD_GRAD_OP", False: "FULL_SHARD"}
        return sorted({names[kept] for kept in self.kept.values()})

    @property
    def compute_dtype(self) -> str:
        """The dtype in which most layers computed; empty where none was seen."""
        return max(self.dtypes, key=lambda name: self.dtypes[name], default="")
