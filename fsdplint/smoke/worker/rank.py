"""This process among the others: its device, its process group, and words with the other ranks."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.smoke.plan import SmokePlan

_BACKENDS = {"cpu": "gloo", "cuda": "cuda:nccl,cpu:gloo", "xpu": "xpu:xccl,cpu:gloo"}


class Rank(NamedTuple):
    """Who this process is."""

    number: int
    world_size: int
    local: int
    device: torch.device


def number() -> int:
    """This process' rank as the launcher states it, before any group exists."""
    return int(os.environ.get("RANK", "0"))


def world() -> int:
    """The number of ranks as the launcher states it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def device_type() -> str:
    """What this machine trains on: cuda (ROCm counts as it), xpu, else cpu."""
    return next((name for name in ("cuda", "xpu") if getattr(torch, name).is_available()), "cpu")


def this_rank(plan: SmokePlan) -> Rank:
    """Who this process is under the plan's device; makes that device the current one."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device(plan.device) if plan.device == "cpu" else torch.device(plan.device, local)
    if device.type != "cpu":
        getattr(torch, device.type).set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    return Rank(number(), world(), local, device)


@contextmanager
def joined(plan: SmokePlan) -> Iterator[Rank]:
    """This process as a member of the launcher's process group, which is torn down at the end.

    On the ``accelerate`` route accelerate makes the group itself.
    """
    rank = this_rank(plan)
    if plan.route == "torch":
        timeout = timedelta(seconds=plan.seconds)
        if "MASTER_ADDR" in os.environ:
            dist.init_process_group(_BACKENDS[plan.device], timeout=timeout)
        else:
            dist.init_process_group(_BACKENDS[plan.device], timeout=timeout, store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield rank
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def is_alone() -> bool:
    """Whether no process group connects this process with others."""
    return not dist.is_initialized() or dist.get_world_size() == 1


def total(value: float, device: torch.device) -> float:
    """The sum of a number over all ranks that are really connected."""
    if not dist.is_initialized():
        return value
    tensor = torch.tensor([value], dtype=torch.float32, device=device)
    dist.all_reduce(tensor)
    return float(tensor.item())


def mean(value: float, device: torch.device) -> float:
    """The mean of a number over all ranks that are really connected."""
    return total(value, device) / (dist.get_world_size() if dist.is_initialized() else 1)


def shared(value: Any) -> Any:
    """Rank 0's object, on every rank."""
    if is_alone():
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def gathered(value: Any) -> list[Any]:
    """Every rank's object, on every rank, in the order of ranks."""
    if is_alone():
        return [value]
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def barrier() -> None:
    """Wait for all ranks."""
    if not is_alone():
        dist.barrier()
