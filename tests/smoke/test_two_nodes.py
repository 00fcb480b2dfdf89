"""Two "nodes" on loopback: ranks that somebody else's launcher starts judge themselves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.launchers import environment

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def start_node(number: int, port: int, plan: Path) -> subprocess.Popen[str]:
    """What a user types on each machine, with loopback for the network."""
    rendezvous = [
        "--nnodes",
        "2",
        "--nproc-per-node",
        "1",
        "--rdzv-id",
        "smoke",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"127.0.0.1:{port}",
    ]
    where = ["--local-addr", "127.0.0.1", "--rdzv-conf", f"is_host={int(number == 0)}"]
    command = [sys.executable, "-m", "torch.distributed.run", *rendezvous, *where, "-m", "fsdplint.smoke.worker", str(plan)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "GLOO_SOCKET_IFNAME": loopback()}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def loopback() -> str:
    return {"linux": "lo", "darwin": "lo0"}.get(sys.platform, "")


def run_nodes(plan: Any, folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of both nodes."""
    path = folder / "plan.json"
    path.write_text(plan.dumps())
    port = free_port()
    nodes = [start_node(number, port, path) for number in range(2)]
    try:
        outputs = [node.communicate(timeout=240) for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    return [(node.returncode, out, err) for node, (out, err) in zip(nodes, outputs, strict=True)]


def test_two_nodes_prove_a_plan_together(make_plan: Callable[..., Any], tmp_path: Path) -> None:
    plan = make_plan(precision="bf16", processes=16, machines=2, device="auto", world_size=0, folder=str(tmp_path))
    results = run_nodes(plan, tmp_path)
    assert [code for code, _, _ in results] == [0, 0], results[0][2][-2000:]
    reports = [out for _, out, _ in results if out]
    assert len(reports) == 1
    assert "2 ranks on cpu" in reports[0]
    assert [line.split()[:2] for line in reports[0].splitlines()[2:7]] == [
        ["load", "skipped"],
        ["wrap", "ok"],
        ["steps", "ok"],
        ["checkpoint", "ok"],
        ["compile", "skipped"],
    ]
    assert not list(tmp_path.glob("fsdplint-checkpoint-*"))


def test_both_nodes_exit_by_the_verdict(make_plan: Callable[..., Any], tmp_path: Path) -> None:
    plan = make_plan(wrap_classes=["No Class"], device="auto", world_size=0)
    results = run_nodes(plan, tmp_path)
    assert all(code != 0 for code, _, _ in results)
    report = next(out for _, out, _ in results if out)
    assert "the model has no layer of class No Class: it has DecoderBlock" in report
    assert "failed in" in report


def test_a_plan_survives_the_environment_of_another_launch(make_plan: Callable[..., Any]) -> None:
    foreign = {"RANK": "3", "WORLD_SIZE": "8", "MASTER_ADDR": "head", "PET_NNODES": "4", "ACCELERATE_USE_FSDP": "true", "HOME": "/home/me"}
    env = environment(make_plan(), foreign)
    assert not set(foreign) & set(env) - {"HOME"}
