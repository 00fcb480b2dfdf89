"""Real runs: two ranks, gloo, torch's own FSDP on the CPU; every planted lie must be caught."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.judge import judge_checkpoint, judge_steps, judge_wrap
from fsdplint.smoke.launchers import environment, ranks_command
from fsdplint.smoke.outcome import Report, State, Verdict
from fsdplint.smoke.processes import Ended, run
from fsdplint.smoke.ranks import Told, read_results
from fsdplint.smoke.run import smoke

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("no_process_left")

HERE = Path(__file__).parent


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Run a plan with ranks that tell a lie."""

    def run(lie: str, plan: Any, seconds: float = 240.0) -> Report:
        monkeypatch.setenv("PYTHONPATH", str(HERE))
        monkeypatch.setenv("LIE", lie)
        return smoke(plan, worker="liars", seconds=seconds)

    return run


def states(report: Report) -> dict[str, str]:
    return {verdict.stage: verdict.state.value for verdict in report.verdicts}


def verdict(report: Report, stage: str) -> Verdict:
    return next(found for found in report.verdicts if found.stage == stage)


def rank_facts(report: Report, stage: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = verdict(report, stage).facts["ranks"]
    return found


def test_fsdp2_shards_trains_and_saves(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(precision="bf16", offload=True, activation_checkpointing=True, sharding="SHARD_GRAD_OP", state_dict="FULL_STATE_DICT")
    report = smoke(plan)
    assert states(report) == {"load": "skipped", "wrap": "passed", "steps": "passed", "checkpoint": "passed", "compile": "skipped"}
    assert report.state is State.PASSED
    for facts in rank_facts(report, "wrap"):
        assert (facts["kind"], facts["world_size"], facts["peers"]) == ("FSDP2", 2, 2)
        assert facts["sharding"] == ["SHARD_GRAD_OP"]
        assert facts["placements"] == ["S(0)"]
        assert facts["local"] * 2 == facts["total"]
        assert facts["checkpointed"] == 2
    assert all(facts["compute_dtype"] == "bfloat16" for facts in rank_facts(report, "steps"))
    assert verdict(report, "checkpoint").facts["ranks"][0]["saved_as"] == "a full state dict on rank 0"


def test_fsdp1_shards_trains_saves_and_compiles(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(fsdp_version=1, sharding="SHARD_GRAD_OP", orig_params=True, compile=True)
    report = smoke(plan)
    assert states(report) == {"load": "skipped", "wrap": "passed", "steps": "passed", "checkpoint": "passed", "compile": "passed"}
    assert [facts["sharding"] for facts in rank_facts(report, "wrap")] == [["SHARD_GRAD_OP"]] * 2
    assert all(facts["graphs"] > 0 for facts in rank_facts(report, "compile"))
    assert rank_facts(report, "steps")[0]["compute_dtype"] == "float32"
    eager, compiled = (rank_facts(report, stage)[0]["losses"] for stage in ("steps", "compile"))
    assert compiled == pytest.approx(eager, rel=1e-3)
    assert "FSDP1's full state dict" in [item.what for item in report.plan.unexercised]


@pytest.mark.parametrize(
    ("lie", "settings", "stage", "said"),
    [
        ("plain_ddp", {}, "wrap", "FSDP2 is planned, but the model is wrapped in DDP: DistributedDataParallel"),
        ("alone", {}, "wrap", "a world of 1 where 2 ranks were started"),
        ("other_sharding", {"fsdp_version": 1, "sharding": "SHARD_GRAD_OP"}, "wrap", "SHARD_GRAD_OP is planned, FULL_SHARD is in force"),
        ("frozen_rank", {}, "steps", "rank 1: none of its 28 parameter shards moved"),
        ("nan_loss", {}, "steps", "the loss of step 3 is nan"),
    ],
)
def test_a_lie_is_caught(
    lying: Callable[..., Report], make_plan: Callable[..., Any], lie: str, settings: dict[str, Any], stage: str, said: str
) -> None:
    report = lying(lie, make_plan(**settings))
    found = verdict(report, stage)
    assert found.state is State.FAILED
    assert any(said in reason for reason in found.reasons), found.reasons
    assert report.exit_code == 1
    assert verdict(report, "checkpoint").reasons == (f"{stage}: failed",)


def test_a_checkpoint_that_loses_a_tensor(lying: Callable[..., Report], make_plan: Callable[..., Any]) -> None:
    report = lying("lost_tensor", make_plan())
    assert states(report)["steps"] == "passed"
    assert verdict(report, "checkpoint").reasons[0] == "1 of 28 tensors did not come back: head.weight"
    assert report.state is State.FAILED


def test_a_crash_in_the_checkpoint_leaves_the_rest_standing(lying: Callable[..., Report], make_plan: Callable[..., Any]) -> None:
    report = lying("segfault", make_plan())
    assert states(report) == {"load": "skipped", "wrap": "passed", "steps": "passed", "checkpoint": "failed", "compile": "skipped"}
    assert verdict(report, "checkpoint").reasons == ("rank 1 was ended by SIGSEGV",)
    assert "in save" in verdict(report, "checkpoint").log


def test_a_hang_is_ended_and_shown(lying: Callable[..., Report], make_plan: Callable[..., Any]) -> None:
    report = lying("hang", make_plan(), seconds=20)
    found = verdict(report, "wrap")
    assert found.state is State.FAILED
    assert found.reasons[0].startswith("it did not end within 20 s")
    assert "hanging_here" in found.log
    assert report.seconds < 40


def test_the_rank_that_dies_first_speaks(lying: Callable[..., Report], make_plan: Callable[..., Any]) -> None:
    report = lying("raises", make_plan())
    found = verdict(report, "steps")
    assert found.reasons == ("rank 1: LookupError: rank 1 has lost its way",)
    assert found.log.rstrip().endswith("LookupError: rank 1 has lost its way")
    assert states(report)["wrap"] == "passed"


def test_a_layer_class_that_cannot_exist(make_plan: Callable[..., Any]) -> None:
    from fsdplint.smoke.worker.model import build

    assert build(make_plan(wrap_classes=["LlamaDecoderLayer", " LlamaMLP"])).blocks == ("LlamaDecoderLayer",)
    assert build(make_plan(wrap_classes=["A", "B", "C"])).blocks == ("A", "B", "C")


ACCELERATE = """
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
main_process_ip: 10.0.0.1
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_activation_checkpointing: true
"""


def run_on_the_accelerate_route(plan: Any, folder: Path, *stages: str) -> tuple[Ended, Told]:
    """Start ranks as on a GPU, where accelerate's launcher and prepare do the work; the worker makes accelerate take the CPU for one."""
    folder.mkdir()
    plan = plan.but(route="accelerate", results=str(folder), folder=str(folder))
    path = folder / "plan.json"
    path.write_text(plan.dumps())
    env = {**environment(plan, os.environ), "LIE": "shim", "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])])}
    ended = run(ranks_command(plan, path, stages, worker="liars"), env=env, folder=folder, log=folder / "log", seconds=240)
    return ended, read_results(folder)


def test_accelerates_own_prepare(make_plan: Callable[..., Any], config_path: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    config = tmp_path / "fsdp.yaml"
    config.write_text(ACCELERATE)
    settings = {"precision": "bf16", "sharding": "SHARD_GRAD_OP", "activation_checkpointing": True, "wrap_classes": ["LlamaDecoderLayer"]}
    plan = make_plan(files=(config_path(config, "accelerate"),), loader=True, **settings)
    ended, told = run_on_the_accelerate_route(plan, tmp_path / "ranks", "wrap", "steps", "checkpoint")
    assert told.failures == ()
    assert ended.code == 0
    for judge, stage in ((judge_wrap, "wrap"), (judge_steps, "steps"), (judge_checkpoint, "checkpoint")):
        found = judge(plan, told.facts[stage])
        assert found.state is State.PASSED, found.reasons
    facts = told.facts["wrap"][1]
    assert (facts["distributed"], facts["sharding"], facts["checkpointed"]) == ("FSDP", ["SHARD_GRAD_OP"], 2)
    assert told.facts["checkpoint"][0]["saved_as"] == "accelerate's save_state, SHARDED_STATE_DICT"


def test_accelerate_without_a_file_takes_the_plan(make_plan: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    plan = make_plan(fsdp_version=1, sharding="SHARD_GRAD_OP", sync_module_states=False, state_dict="SHARDED_STATE_DICT")
    ended, told = run_on_the_accelerate_route(plan, tmp_path / "ranks", "wrap", "steps")
    assert told.failures == ()
    assert ended.code == 0
    assert judge_wrap(plan, told.facts["wrap"]).state is State.PASSED
    assert told.facts["wrap"][0]["kind"] == "FSDP1"
