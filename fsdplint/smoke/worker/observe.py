"""What is really in force: read from the wrapped model, never from what was asked for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.distributed.tensor import DTensor, Shard
from torch.nn.parallel import DistributedDataParallel

from fsdplint.smoke.worker import rank as ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

    from fsdplint.smoke.worker.engine import Engine
    from fsdplint.smoke.worker.model import TestModel
    from fsdplint.smoke.worker.rank import Rank

PADDING = 16
"""Elements by which FSDP1 may pad each parameter of a unit, for alignment."""


def observed(engine: Engine, built: TestModel, rank: Rank) -> dict[str, Any]:
    """The facts of the stage ``wrap``, except those that need a forward pass."""
    model = engine.model
    held = _flat(model, built) if _handles(model) else _parameters(model, built)
    return {
        "backend": dist.get_backend() if dist.is_initialized() else None,
        "world_size": dist.get_world_size() if dist.is_initialized() else 1,
        "peers": round(ranks.total(1.0, rank.device)),
        "distributed": engine.distributed,
        "kind": kind(model),
        "root": type(model).__name__,
        "blocks": list(built.blocks),
        "doubtful": list(built.doubtful),
        "total": built.parameters,
        "local": sum(tensor.numel() for tensor in shards(model).values()),
        "devices": sorted({tensor.device.type for tensor in shards(model).values()}),
        "storage_dtypes": sorted({str(tensor.dtype).removeprefix("torch.") for tensor in shards(model).values()}),
        "units": len(list(_units(model))),
        "classes": _class_counts(
            module for module in model.modules() if not isinstance(module, (FullyShardedDataParallel, CheckpointWrapper))
        ),
        "unit_classes": _class_counts(_inner(unit) for unit in _units(model)),
        "checkpointed": sum(isinstance(module, CheckpointWrapper) for module in model.modules()),
        "sharding": _strategies(model),
        **held,
    }


def kind(model: nn.Module) -> str:
    """FSDP1, FSDP2, DDP or plain."""
    if any(True for _ in FullyShardedDataParallel.fsdp_modules(model)):
        return "FSDP1"
    if any(isinstance(module, FSDPModule) for module in model.modules()):
        return "FSDP2"
    return "DDP" if isinstance(model, DistributedDataParallel) else "plain"


def shards(model: nn.Module) -> dict[str, torch.Tensor]:
    """What this rank holds of the parameters, as tensors that can be changed in place. The model must be resharded."""
    handles = _handles(model)
    if handles:
        return {f"unit {index} ({', '.join(handle.flat_param._fqns[:2])})": _local_flat(handle) for index, handle in enumerate(handles)}
    return {name: local(parameter.detach()) for name, parameter in model.named_parameters()}


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor; any other tensor as it is."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _local_flat(handle: Any) -> torch.Tensor:
    flat = handle.flat_param
    found: torch.Tensor = getattr(flat, "_local_shard", flat).detach()
    return found


def _handles(model: nn.Module) -> list[Any]:
    units = FullyShardedDataParallel.fsdp_modules(model)
    return [unit._handle for unit in units if getattr(unit, "_handle", None) is not None]


def _units(model: nn.Module) -> Iterator[nn.Module]:
    return (module for module in model.modules() if isinstance(module, (FullyShardedDataParallel, FSDPModule)))


def _inner(unit: nn.Module) -> nn.Module:
    """The layer in a unit, behind the wrappers."""
    for attribute in ("_fsdp_wrapped_module", "_checkpoint_wrapped_module"):
        unit = getattr(unit, attribute, unit)
    return unit


def _class_counts(modules: Iterator[nn.Module]) -> dict[str, int]:
    """How many modules there are of each class; one counts for its bases too, since FSDP2 changes a module's class."""
    names = Counter(cls.__name__ for module in modules for cls in type(module).__mro__)
    return {name: count for name, count in names.items() if name not in ("object", "Module", "FSDPModule")}


def _strategies(model: nn.Module) -> list[str]:
    return sorted({handle._sharding_strategy.name.lstrip("_") for handle in _handles(model)})


def _flat(model: nn.Module, built: TestModel) -> dict[str, Any]:
    handles = _handles(model)
    managed = sum(handle.flat_param._unpadded_unsharded_size.numel() for handle in handles)
    tensors = sum(len(handle.flat_param._fqns) for handle in handles)
    group = max(handle.world_size for handle in handles)
    outside = built.parameters - managed
    return {
        "whole": [f"{outside} elements outside every flat parameter"] if outside > 0 else [],
        "tensors": tensors,
        "shard_world": group,
        "share": -(-managed // group) + PADDING * tensors + group * len(handles),
        "placements": [],
    }


def _parameters(model: nn.Module, built: TestModel) -> dict[str, Any]:
    """What every parameter's placement says. A share is the larger part that an uneven split gives one rank."""
    named = dict(model.named_parameters())
    whole = [name for name, parameter in named.items() if not _is_sharded(parameter)]
    sharded = [parameter for parameter in named.values() if isinstance(parameter, DTensor)]
    world = max((_shard_world(parameter) for parameter in sharded), default=dist.get_world_size() if dist.is_initialized() else 1)
    share = sum(_largest_part(parameter) for parameter in sharded) or -(-built.parameters // world)
    placements = sorted({", ".join(map(str, parameter.placements)) for parameter in sharded})
    return {"whole": whole, "tensors": len(named), "shard_world": world, "share": share, "placements": placements}


def _is_sharded(parameter: nn.Parameter) -> bool:
    return isinstance(parameter, DTensor) and any(isinstance(placement, Shard) for placement in parameter.placements)


def _shard_world(parameter: DTensor) -> int:
    sizes = [parameter.device_mesh.size(dim) for dim, placement in enumerate(parameter.placements) if isinstance(placement, Shard)]
    return int(sizes[-1]) if sizes else 1


def _largest_part(parameter: DTensor) -> int:
    shape = list(parameter.shape)
    for dim, placement in enumerate(parameter.placements):
        if isinstance(placement, Shard):
            shape[placement.dim] = -(-shape[placement.dim] // parameter.device_mesh.size(dim))
    return int(torch.Size(shape).numel())
