"""FSDP through accelerate's own ``prepare``, as the trainers of its dialects do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fsdplint.smoke.worker import upstream

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.model import TestModel


class AccelerateEngine:
    """accelerate's Accelerator with the plugin that the files state; with the plan's settings where no upstream loader reads them."""

    def __init__(self, plan: SmokePlan) -> None:
        self.plan = plan
        self.backend = "inductor"
        self.accelerator: Any = None
        self.model: Any = None
        self.call: Any = None
        self.optimizer: Any = None
        self._prepared: Any = None

    @property
    def distributed(self) -> str | None:
        """The distributed type that accelerate has settled on."""
        return str(self.accelerator.distributed_type.value)

    def wrap(self, built: TestModel, *, compiled: bool) -> None:
        """See Engine. FSDP2 wants model and optimizer in one call, FSDP1 the optimizer after the model."""
        self.accelerator = self._accelerator(compiled)
        rate = built.size.rate
        made = getattr(self.accelerator.state, "fsdp_plugin", None)
        if made is not None and made.fsdp_version == 2:
            optimizer = torch.optim.AdamW(built.module.parameters(), lr=rate)
            self.call, self._prepared = self.accelerator.prepare(built.module, optimizer)
        else:
            self.call = self.accelerator.prepare(built.module)
            self._prepared = self.accelerator.prepare(torch.optim.AdamW(self.call.parameters(), lr=rate))
        self.model = getattr(self.call, "_orig_mod", self.call)
        self.optimizer = self._prepared.optimizer

    def _accelerator(self, compiled: bool) -> Any:
        from accelerate import Accelerator

        options = self._options()
        self.backend = options.pop("dynamo_backend") or "inductor"
        return Accelerator(**options, dynamo_backend=self.backend if compiled else "no")

    def _options(self) -> dict[str, Any]:
        if not self.plan.loader or self.plan.dialect not in ("accelerate", *upstream.TRAINERS) or not self.plan.files:
            return {
                "fsdp_plugin": upstream.plugin(_plugin_arguments(self.plan)),
                "mixed_precision": self.plan.value("precision", "no"),
                "dynamo_backend": None,
            }
        arguments = upstream.training_arguments(self.plan)
        stated = upstream.plugin_arguments(arguments)
        options: dict[str, Any] = {"mixed_precision": upstream.precision(arguments), "dynamo_backend": upstream.dynamo_backend(arguments)}
        if stated:
            options["fsdp_plugin"] = upstream.plugin(stated)
        return options

    def backward(self, loss: torch.Tensor) -> None:
        """See Engine."""
        self.accelerator.backward(loss)

    def step(self) -> None:
        """See Engine."""
        self._prepared.step()
        self._prepared.zero_grad()

    def save(self, folder: str) -> str:
        """See Engine."""
        self.accelerator.save_state(folder)
        return f"accelerate's save_state, {self.accelerator.state.fsdp_plugin.state_dict_type.name}"

    def load(self, folder: str) -> None:
        """See Engine."""
        self.accelerator.load_state(folder)


def _plugin_arguments(plan: SmokePlan) -> dict[str, Any]:
    """A plan's settings as keyword arguments of accelerate's plugin."""
    version, sharding = plan.value("fsdp_version", 2), str(plan.value("sharding", "FULL_SHARD"))
    arguments: dict[str, Any] = {
        "fsdp_version": version,
        "cpu_offload": plan.value("offload") is True,
        "auto_wrap_policy": plan.value("wrap_policy") or "TRANSFORMER_BASED_WRAP",
        "state_dict_type": plan.value("state_dict"),
        "activation_checkpointing": plan.value("activation_checkpointing") is True,
        "cpu_ram_efficient_loading": plan.value("ram_efficient") is True,
        "transformer_cls_names_to_wrap": plan.value("wrap_classes"),
        "min_num_params": plan.value("min_num_params"),
    }
    if version == 2:
        arguments["reshard_after_forward"] = sharding in ("FULL_SHARD", "HYBRID_SHARD")
    else:
        arguments["sharding_strategy"] = sharding
        arguments["use_orig_params"] = plan.value("orig_params", True) is True
        arguments["sync_module_states"] = plan.value("sync_module_states", True) is True
        arguments["forward_prefetch"] = plan.value("forward_prefetch") is True
        arguments["backward_prefetch"] = plan.value("backward_prefetch")
    return arguments
