"""How ranks are started: torchrun or accelerate's own launcher, never one of our own; and the environment that they get."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsdplint.smoke.plan import SmokePlan

WORKER = "fsdplint.smoke.worker"

_FOREIGN = ("ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "DEEPSPEED_", "TORCHELASTIC_", "PET_", "GROUP_", "ROLE_", "MASTER_")
_FOREIGN_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def environment(plan: SmokePlan, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the children: what another launch has set is taken out, the network is off, and this fsdplint can be imported."""
    env = {name: value for name, value in base.items() if not name.startswith(_FOREIGN) and name not in _FOREIGN_NAMES}
    env.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", PYTHONUNBUFFERED="1")
    env.setdefault("OMP_NUM_THREADS", "1")
    if plan.device == "cpu":
        env["CUDA_VISIBLE_DEVICES"] = ""
        loopback = _LOOPBACK.get(sys.platform)
        if loopback:
            env.setdefault("GLOO_SOCKET_IFNAME", loopback)
    if sys.platform == "win32":
        env.setdefault("USE_LIBUV", "0")
    env["PYTHONPATH"] = _import_path(base.get("PYTHONPATH", ""))
    return env


def _import_path(present: str) -> str:
    """The import path that finds this fsdplint; installed packages need none."""
    root = Path(__file__).parents[2]
    entries = [str(Path(entry).resolve()) for entry in present.split(os.pathsep) if entry]
    if "site-packages" not in root.parts and str(root) not in entries:
        entries.append(str(root))
    return os.pathsep.join(entries)


def load_command(plan_path: Path, answer: Path, python: str = sys.executable) -> list[str]:
    """The command of the stage ``load``."""
    return [python, "-m", f"{WORKER}.load", str(plan_path), str(answer)]


def ranks_command(
    plan: SmokePlan,
    plan_path: Path,
    stages: Sequence[str],
    flags: Sequence[str] = (),
    *,
    worker: str = WORKER,
    python: str = sys.executable,
) -> list[str]:
    """The command that starts all ranks on this machine. ``flags``: of accelerate's launcher, as the launch line states them."""
    worker_part = ["-m", worker, str(plan_path), *stages]
    if plan.route == "accelerate":
        return [python, "-m", "accelerate.commands.launch", *_accelerate_options(plan, plan_path, flags), *worker_part]
    return [python, "-m", "torch.distributed.run", *_torchrun_options(plan), *worker_part]


def _torchrun_options(plan: SmokePlan) -> list[str]:
    """One node on a free port of its own, which the rendezvous picks."""
    return [
        "--nnodes",
        "1",
        "--nproc-per-node",
        str(plan.world_size),
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "localhost:0",
        "--local-addr",
        "127.0.0.1",
    ]


def _accelerate_options(plan: SmokePlan, plan_path: Path, flags: Sequence[str]) -> list[str]:
    """The launch's config file and flags, then ours, which win: other ranks, on this machine, on a free port."""
    file = plan.file_of("accelerate")
    config = Path(file.path) if file else _neutral_config(plan, plan_path.with_name("launcher.yaml"))
    options = ["--num_processes", str(plan.world_size), "--num_machines", "1", "--machine_rank", "0"]
    network = ["--main_process_ip", "127.0.0.1", "--main_process_port", str(_free_port()), "--rdzv_backend", "static"]
    return ["--config_file", str(config), *flags, *options, *network]


def _free_port() -> int:
    """A port that is free now. accelerate takes 0 for "any" only in later releases; 1.6.0 waits for port 0 forever."""
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _neutral_config(plan: SmokePlan, path: Path) -> Path:
    """A config that only starts processes, in place of one that the user may have in the cache folder."""
    lines = [
        "compute_environment: LOCAL_MACHINE",
        "distributed_type: MULTI_GPU",
        "mixed_precision: 'no'",
        "num_machines: 1",
        f"num_processes: {plan.world_size}",
    ]
    path.write_text("\n".join([*lines, "use_cpu: false", ""]), encoding="utf-8")
    return path
