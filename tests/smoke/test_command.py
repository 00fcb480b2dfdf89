"""``fsdplint smoke`` from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from fsdplint.cli import Group
from fsdplint.smoke import requirements
from fsdplint.smoke.command import smoke_command
from fsdplint.smoke.plan import SmokePlan

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
GOOD = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_state_dict_type: SHARDED_STATE_DICT
"""


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    group = Group("fsdplint")
    group.add_command(smoke_command)
    return lambda *arguments: CliRunner().invoke(group, ["smoke", *arguments])


def test_without_torch_the_command_that_installs_it(invoke: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "is_installed", lambda _module: False)
    result = invoke("good.yaml", "--model", "twin")
    assert result.exit_code == 2
    assert result.stderr == 'fsdplint: the smoke test needs torch and accelerate and transformers: pip install "fsdplint[smoke]"\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good.yaml", "--on", "tpu"], "'tpu' is not one of"),
        (["good.yaml", "--steps", "1"], "1 is not in the range"),
        (["good.yaml", "--processes", "0"], "0 is not in the range"),
        ([], "Missing argument"),
        (["absent.yaml"], "absent.yaml"),
    ],
)
def test_wrong_usage(invoke: Callable[..., Any], arguments: list[str], said: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_plan_for_another_launcher(invoke: Callable[..., Any], tmp_path: Path) -> None:
    result = invoke("good.yaml", "--save-plan", "plan.json", "--steps", "7")
    assert (result.exit_code, result.output) == (0, "")
    plan = SmokePlan.loads((tmp_path / "plan.json").read_text())
    assert (plan.results, plan.steps, plan.value("fsdp_version")) == (None, 7, 2)


def test_a_config_that_would_not_shard_fails_without_ranks(invoke: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "ddp.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: 'no'\nnum_machines: 1\nnum_processes: 2\n"
    )
    result = invoke("ddp.yaml", "--on", "cpu", "--format", "json")
    data = json.loads(result.output)
    assert (result.exit_code, data["result"], data["processes"]) == (1, "failed", 0)
    assert [stage["state"] for stage in data["stages"]] == ["passed", "failed", "skipped", "skipped", "skipped"]
    assert data["stages"][1]["reasons"] == [
        "nothing in the files turns FSDP on: accelerate's launcher makes it MULTI_GPU; every rank would keep the whole model"
    ]


def test_what_upstream_refuses(invoke: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "bad.yaml").write_text(GOOD + "  fsdp_activation_checkpointing: false\nno_such_key: 1\n")
    result = invoke("bad.yaml", "--on", "cpu", "--format", "json")
    data = json.loads(result.output)
    assert (result.exit_code, data["result"]) == (1, "failed")
    assert data["stages"][0]["state"] == "failed"
    assert "no_such_key" in data["stages"][0]["reasons"][0]
    assert data["stages"][0]["log"].startswith("Traceback")
    assert data["stages"][1]["reasons"] == ["upstream refuses the files"]


@pytest.mark.usefixtures("no_process_left")
def test_a_good_config_from_end_to_end(invoke: Callable[..., Any]) -> None:
    pytest.importorskip("accelerate")
    result = invoke("good.yaml", "--on", "cpu", "--format", "json", "--steps", "2")
    data = json.loads(result.output)
    assert (result.exit_code, data["result"], data["on"], data["processes"]) == (0, "passed", "cpu", 2)
    assert [stage["state"] for stage in data["stages"]] == ["passed", "passed", "passed", "passed", "skipped"]
    assert data["stages"][0]["facts"]["resolved"]["sharding"] == "FULL_SHARD"
    assert len(data["stages"][2]["facts"]["ranks"][1]["losses"]) == 2
    assert "accelerate's prepare" in [item["what"] for item in data["not_exercised"]]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.usefixtures("invoke")
def test_ctrl_c_leaves_no_process(tmp_path: Path, no_process_left: Callable[[], list[str]]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    script = "from fsdplint.smoke.command import smoke_command; smoke_command()"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "rules")])}
    child = subprocess.Popen(
        [sys.executable, "-c", script, "good.yaml", "--on", "cpu"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not any("smoke.worker " in command for command in no_process_left()) and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.1)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (1, b"")
    assert b"Aborted!" in err
    assert no_process_left() == []
