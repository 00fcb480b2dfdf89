"""A worker whose ranks lie: each lie is something that ends with exit code 0 in real life, or never ends.

The environment variable LIE names the lie; the product knows nothing of this module.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import Any

from fsdplint.smoke.worker import main as worker


def _rank() -> int:
    return int(os.environ["RANK"])


def plain_ddp() -> None:
    from torch.nn.parallel import DistributedDataParallel

    from fsdplint.smoke.worker.torch_engine import TorchEngine

    def wrap(self: Any, built: Any, _compiled: bool) -> None:
        self.model = self.call = DistributedDataParallel(built.module)

    TorchEngine._fsdp2 = wrap


def alone() -> None:
    """Every rank trains by itself, as accelerate's FSDP launcher does on a CPU."""
    import torch.distributed as dist

    from fsdplint.smoke.worker import rank as ranks

    @contextmanager
    def joined(plan: Any) -> Any:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        yield ranks.this_rank(plan)
        dist.destroy_process_group()

    ranks.joined = joined
    ranks.world = lambda: 1


def other_sharding() -> None:
    """The strategy that is asked for never arrives, as in FSDP1 with fsdp_reshard_after_forward."""
    from fsdplint.smoke.worker.torch_engine import TorchEngine

    real = TorchEngine.wrap

    def wrap(self: Any, built: Any, *, compiled: bool) -> None:
        self.plan = self.plan.running(sharding="FULL_SHARD")
        real(self, built, compiled=compiled)

    TorchEngine.wrap = wrap


def frozen_rank() -> None:
    from fsdplint.smoke.worker.torch_engine import TorchEngine

    real = TorchEngine.step

    def step(self: Any) -> None:
        if _rank() == 1:
            self.optimizer.zero_grad()
        else:
            real(self)

    TorchEngine.step = step


def nan_loss() -> None:
    from fsdplint.smoke.worker import trial

    real = trial.Trial.step
    seen: list[int] = []

    def step(self: Any) -> float:
        seen.append(1)
        return float("nan") if len(seen) == 3 else real(self)

    trial.Trial.step = step


def lost_tensor() -> None:
    from fsdplint.smoke.worker.observe import shards
    from fsdplint.smoke.worker.torch_engine import TorchEngine

    real = TorchEngine.load

    def load(self: Any, folder: str) -> None:
        kept = {name: tensor.clone() for name, tensor in shards(self.model).items()}
        real(self, folder)
        shards(self.model)["head.weight"].copy_(kept["head.weight"])

    TorchEngine.load = load


def hang() -> None:
    if _rank() == 1:
        real = worker.run_stages

        def hanging_here(*arguments: Any) -> int:
            time.sleep(600)
            return real(*arguments)

        worker.run_stages = hanging_here


def raises() -> None:
    from fsdplint.smoke.worker import trial

    real = trial.steps

    def steps(one: Any) -> Any:
        if _rank() == 1:
            raise LookupError("rank 1 has lost its way")
        return real(one)

    trial.steps = steps


def segfault() -> None:
    from fsdplint.smoke.worker.torch_engine import TorchEngine

    def save(_self: Any, _folder: str) -> str:
        if _rank() == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(600)
        return ""

    TorchEngine.save = save


def shim() -> None:
    """Let accelerate select FSDP on a CPU, which it never does: its own prepare then runs for real."""
    from accelerate.state import PartialState
    from accelerate.utils import DistributedType

    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    PartialState._prepare_backend = lambda *_, **__: ("gloo", DistributedType.MULTI_GPU)


if __name__ == "__main__":
    for lie in filter(None, os.environ.get("LIE", "").split(",")):
        globals()[lie]()
    sys.exit(worker.main(sys.argv[1:]))
