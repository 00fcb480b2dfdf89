"""FSDP1 and FSDP2 by torch alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.device_mesh import init_device_mesh

from fsdplint.smoke.worker import rank as ranks
from fsdplint.smoke.worker import wrapping
from fsdplint.smoke.worker.unproved import Unproved

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.model import TestModel
    from fsdplint.smoke.worker.rank import Rank

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.bfloat16}
_FULL = "full.pt"


class TorchEngine:
    """torch's own FSDP, with AdamW; fp16 is scaled as torch's own recipes do."""

    @property
    def distributed(self) -> str | None:
        """See Engine."""
        return None

    def __init__(self, plan: SmokePlan, rank: Rank) -> None:
        self.plan = plan
        self.device = rank.device
        self.backend = "aot_eager" if rank.device.type == "cpu" else "inductor"
        self.model: Any = None
        self.call: Any = None
        self.optimizer: Any = None
        self.scaler: Any = None

    def wrap(self, built: TestModel, *, compiled: bool) -> None:
        """See Engine. FSDP2 compiles each block before it is sharded, FSDP1 the wrapped whole."""
        if self.plan.value("fsdp_version", 2) == 2:
            self._fsdp2(built, compiled)
        else:
            self._fsdp1(built, compiled)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=built.size.rate)
        if self.plan.value("precision") == "fp16":
            self.scaler = self._scaler()

    def _fsdp2(self, built: TestModel, compiled: bool) -> None:
        from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

        if self.device.type == "cpu" and not hasattr(torch.cpu.current_stream(), "record_event"):
            raise Unproved(f"FSDP2 of torch {torch.__version__} does not run on a CPU: a newer torch or a GPU is needed")
        dtype = _DTYPES.get(str(self.plan.value("precision")))
        options: dict[str, Any] = {
            "mesh": self._mesh(),
            "reshard_after_forward": self.plan.value("sharding", "FULL_SHARD") in ("FULL_SHARD", "HYBRID_SHARD"),
            "mp_policy": MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32 if dtype else None),
        }
        if self.plan.value("offload") is True:
            options["offload_policy"] = CPUOffloadPolicy(pin_memory=self.device.type != "cpu")
        if self.plan.value("activation_checkpointing") is True:
            wrapping.checkpoint(built.module, wrapping.layer_names(self.plan, built))
        for unit in wrapping.units(self.plan, built):
            if compiled:
                unit.compile(backend=self.backend)
            fully_shard(unit, **options)
        self.model = self.call = fully_shard(built.module, **options) or built.module

    def _mesh(self) -> DeviceMesh:
        copies, world = self.plan.value("dp_replicate", 1), ranks.world()
        if isinstance(copies, int) and 1 < copies < world and world % copies == 0:
            return init_device_mesh(self.device.type, (copies, world // copies), mesh_dim_names=("dp_replicate", "dp_shard"))
        return init_device_mesh(self.device.type, (world,))

    def _fsdp1(self, built: TestModel, compiled: bool) -> None:
        from torch.distributed.fsdp import BackwardPrefetch, CPUOffload, FullyShardedDataParallel, MixedPrecision, ShardingStrategy

        plan = self.plan
        dtype = _DTYPES.get(str(plan.value("precision")))
        prefetch = str(plan.value("backward_prefetch") or "").upper()
        self.model = FullyShardedDataParallel(
            built.module,
            sharding_strategy=ShardingStrategy[_torch_name(plan.value("sharding", "FULL_SHARD"))],
            cpu_offload=CPUOffload(offload_params=plan.value("offload") is True),
            auto_wrap_policy=wrapping.policy(plan, built),
            backward_prefetch=BackwardPrefetch[prefetch] if prefetch in BackwardPrefetch.__members__ else None,
            mixed_precision=MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype) if dtype else None,
            device_id=self.device,
            sync_module_states=plan.value("sync_module_states") is True,
            forward_prefetch=plan.value("forward_prefetch") is True,
            limit_all_gathers=plan.value("limit_all_gathers", True) is True,
            use_orig_params=plan.value("orig_params") is True,
        )
        if plan.value("activation_checkpointing") is True:
            wrapping.checkpoint(self.model, wrapping.layer_names(plan, built))
        self.call = torch.compile(self.model, backend=self.backend) if compiled else self.model

    def _scaler(self) -> Any:
        if self.plan.value("fsdp_version", 2) == 1:
            from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

            return ShardedGradScaler(device=self.device.type, init_scale=1024.0)
        return torch.amp.GradScaler(self.device.type, init_scale=1024.0)

    def backward(self, loss: torch.Tensor) -> None:
        """See Engine."""
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def step(self) -> None:
        """See Engine."""
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad()

    def save(self, folder: str) -> str:
        """See Engine. Parameters and optimizer state are saved apart: together, a broadcast load deadlocks (torch 2.13.0)."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint import state_dict as states

        if self._saves_full:
            options = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
            model = states.get_model_state_dict(self.model, options=options)
            optimizer = states.get_optimizer_state_dict(self.model, self.optimizer, options=options)
            if ranks.number() == 0:
                torch.save({"model": model, "optimizer": optimizer}, Path(folder, _FULL))
            ranks.barrier()
            return "a full state dict on rank 0"
        checkpoint.save(self._shards(), checkpoint_id=folder)
        return f"a sharded state dict in {ranks.world()} parts"

    def load(self, folder: str) -> None:
        """See Engine."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint import state_dict as states

        if self._saves_full:
            options = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
            saved = torch.load(Path(folder, _FULL), weights_only=True) if ranks.number() == 0 else {"model": {}, "optimizer": {}}
            states.set_model_state_dict(self.model, saved["model"], options=options)
            states.set_optimizer_state_dict(self.model, self.optimizer, saved["optimizer"], options=options)
            return
        saved = self._shards()
        checkpoint.load(saved, checkpoint_id=folder)
        states.set_model_state_dict(self.model, saved["model"])
        states.set_optimizer_state_dict(self.model, self.optimizer, saved["optimizer"])

    @property
    def _saves_full(self) -> bool:
        return bool(self.plan.value("state_dict") == "FULL_STATE_DICT")

    def _shards(self) -> dict[str, Any]:
        from torch.distributed.checkpoint import state_dict as states

        return {"model": states.get_model_state_dict(self.model), "optimizer": states.get_optimizer_state_dict(self.model, self.optimizer)}


def _torch_name(sharding: str) -> str:
    return "_HYBRID_SHARD_ZERO2" if sharding == "HYBRID_SHARD_ZERO2" else sharding
