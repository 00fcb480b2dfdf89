"""The judge, without torch: what ranks saw in a good run, and each way in which it can be bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.judge import disagreements, hopeless, judge_checkpoint, judge_compile, judge_steps, judge_wrap
from fsdplint.smoke.outcome import State
from fsdplint.smoke.plan import Setting

if TYPE_CHECKING:
    from collections.abc import Callable

WRAPPED: dict[str, Any] = {
    "backend": "gloo",
    "world_size": 2,
    "peers": 2,
    "distributed": None,
    "kind": "FSDP2",
    "root": "FSDPDecoder",
    "blocks": ["DecoderBlock"],
    "doubtful": [],
    "total": 1001,
    "local": 501,
    "share": 501,
    "shard_world": 2,
    "whole": [],
    "tensors": 10,
    "placements": ["S(0)"],
    "devices": ["cpu"],
    "storage_dtypes": ["float32"],
    "units": 3,
    "classes": {"DecoderBlock": 2},
    "unit_classes": {"DecoderBlock": 2},
    "checkpointed": 0,
    "sharding": ["FULL_SHARD"],
}
STEPPED: dict[str, Any] = {
    "losses": [5.0, 4.0, 3.5, 3.0],
    "probe": 5.25,
    "compute_dtype": "float32",
    "held": 10,
    "moved": 10,
    "step_seconds": 0.1,
    "tokens_per_second": 2560.0,
    "peak_memory": 100 * 2**20,
}
SAVED: dict[str, Any] = {
    "saved_as": "x",
    "before": 5.0,
    "shaken": 9.0,
    "after": 5.0,
    "held": 10,
    "perturbed": 10,
    "lost": [],
    "lost_optimizer": [],
}
COMPILED: dict[str, Any] = {"backend": "aot_eager", "graphs": 2, "losses": [5.0, 4.0, 3.5, 3.0], "compile_seconds": 3.0}


def two(facts: dict[str, Any], **rank_1: Any) -> dict[int, dict[str, Any]]:
    """The facts of two ranks; keywords are what rank 1 saw instead."""
    return {0: dict(facts), 1: {**facts, **rank_1}}


def both(facts: dict[str, Any], **changes: Any) -> dict[int, dict[str, Any]]:
    """The facts of two ranks that saw the same."""
    return two({**facts, **changes})


def test_a_good_run_passes(make_plan: Callable[..., Any]) -> None:
    plan = make_plan()
    found = [
        judge_wrap(plan, two(WRAPPED, local=500)),
        judge_steps(plan, two(STEPPED)),
        judge_checkpoint(plan, two(SAVED)),
        judge_compile(plan, two(COMPILED), two(STEPPED)),
    ]
    assert [(verdict.stage, verdict.state, verdict.reasons) for verdict in found] == [
        (stage, State.PASSED, ()) for stage in ("wrap", "steps", "checkpoint", "compile")
    ]
    assert found[0].seen == "FSDP2, FULL_SHARD, 501 and 500 of 1001 elements, 3 units, S(0)"
    assert found[1].seen == "loss 5.000 → 4.000 → 3.500 → 3.000; float32; 100 ms a step, 2560 tokens/s, at most 100 MiB a rank"
    assert found[0].facts["ranks"][1]["local"] == 500


@pytest.mark.parametrize(
    ("settings", "ranks", "reason"),
    [
        ({}, {0: WRAPPED}, "no result from rank 1"),
        ({}, both(WRAPPED, world_size=1, peers=1), "a world of 1 where 2 ranks were started: the processes do not train together"),
        ({}, both(WRAPPED, peers=1), "a world of 1 and 2 where 2 ranks were started: the processes do not train together"),
        ({}, both(WRAPPED, kind="plain", root="Decoder"), "FSDP2 is planned, but the model is not wrapped at all: Decoder"),
        ({}, both(WRAPPED, kind="DDP", root="DDP"), "FSDP2 is planned, but the model is wrapped in DDP: DDP"),
        ({"fsdp_version": 1}, both(WRAPPED), "FSDP1 is planned, but FSDP2 is in force: FSDPDecoder"),
        ({}, both(WRAPPED, distributed="MULTI_CPU"), "accelerate's distributed type is MULTI_CPU, not FSDP"),
        ({}, both(WRAPPED, whole=["a", "b", "c", "d"]), "4 of 10 parameters are not sharded: a, b, c and more"),
        ({}, two(WRAPPED, local=1001), "rank 1: 1001 of 1001 elements are held, where a share of 1/2 is at most 501"),
        ({}, two(WRAPPED, local=0), "rank 1: 0 of 1001 elements are held, far less than a share of 1/2"),
        ({"sharding": "SHARD_GRAD_OP"}, both(WRAPPED), "SHARD_GRAD_OP is planned, FULL_SHARD is in force"),
        ({}, both(WRAPPED, sharding=["FULL_SHARD", "SHARD_GRAD_OP"]), "FULL_SHARD is planned, FULL_SHARD and SHARD_GRAD_OP is in force"),
        ({"wrap_classes": ["Other"]}, both(WRAPPED), "the model has no layer of class Other: it has DecoderBlock"),
        (
            {"wrap_classes": ["DecoderBlock"]},
            both(WRAPPED, unit_classes={"DecoderBlock": 1}),
            "1 of 2 layers of class DecoderBlock are FSDP units",
        ),
        ({"activation_checkpointing": True}, both(WRAPPED), "activation checkpointing is planned, no layer has it"),
        ({}, both(WRAPPED, checkpointed=2), "activation checkpointing is on for 2 layers, which nothing plans"),
        ({"device": "cuda", "offload": True}, both(WRAPPED, devices=["cuda"]), "parameters rest on cuda, planned is cpu"),
        ({"device": "cuda"}, both(WRAPPED, devices=["cpu", "cuda"]), "parameters rest on cpu and cuda, planned is cuda"),
    ],
)
def test_a_bad_wrap(make_plan: Callable[..., Any], settings: dict[str, Any], ranks: dict[int, Any], reason: str) -> None:
    found = judge_wrap(make_plan(**settings), ranks)
    assert found.state is State.FAILED
    assert found.reasons == (reason,)


def test_whole_parameters_are_fine_where_they_are_asked_for(make_plan: Callable[..., Any]) -> None:
    facts = both(WRAPPED, kind="FSDP1", local=1001, sharding=["NO_SHARD"], shard_world=1)
    assert judge_wrap(make_plan(fsdp_version=1, sharding="NO_SHARD"), facts).state is State.PASSED


def test_a_doubtful_layer_class_is_not_proved(make_plan: Callable[..., Any]) -> None:
    found = judge_wrap(make_plan(wrap_classes=["VisionLayer"]), both(WRAPPED, doubtful=["VisionLayer"]))
    assert found.state is State.NOT_PROVED
    assert found.reasons == ("the twin has no layer of class VisionLayer, but it may not be the model's whole family: it has DecoderBlock",)


@pytest.mark.parametrize(
    ("device", "way"), [("cuda", "--on cpu shares between two ranks"), ("cpu", "--processes 2 would share between two ranks")]
)
@pytest.mark.parametrize("changes", [{}, {"kind": "FSDP1", "sharding": ["NO_SHARD"]}])
def test_one_rank_proves_nothing(make_plan: Callable[..., Any], device: str, way: str, changes: dict[str, Any]) -> None:
    facts = {"world_size": 1, "peers": 1, "local": 1001, "share": 1001, "shard_world": 1, "devices": [device], **changes}
    plan = make_plan(device=device, world_size=1, fsdp_version=1 if changes else 2)
    found = judge_wrap(plan, {0: {**WRAPPED, **facts}})
    assert found.state is State.NOT_PROVED
    assert found.reasons == (f"one rank on one {device} device: nothing is shared out, so sharding is not proved ({way})",)
    assert judge_steps(plan, {0: STEPPED}).state is State.PASSED


@pytest.mark.parametrize(
    ("settings", "ranks", "reason"),
    [
        ({}, {1: STEPPED}, "no result from rank 0"),
        ({}, both(STEPPED, losses=[5.0, "nan", 3.0, 2.0]), "the loss of step 2 is nan"),
        ({}, two(STEPPED, losses=[5.0, 4.0, "inf", 2.0]), "rank 1: the loss of step 3 is inf"),
        ({}, both(STEPPED, losses=[5.0, 5.0, 5.0, 5.0]), "the loss on a fixed batch does not fall: 5.000 → 5.000 → 5.000 → 5.000"),
        ({}, two(STEPPED, moved=0), "rank 1: none of its 10 parameter shards moved"),
        ({"precision": "bf16"}, both(STEPPED), "the layers compute in float32, planned is bfloat16"),
        ({}, two(STEPPED, probe=5.3), "after training, the loss on one and the same batch differs: rank 0 5.2500, rank 1 5.3000"),
    ],
)
def test_bad_steps(make_plan: Callable[..., Any], settings: dict[str, Any], ranks: dict[int, Any], reason: str) -> None:
    found = judge_steps(make_plan(**settings), ranks)
    assert (found.state, found.reasons) == (State.FAILED, (reason,))


def test_a_rank_without_shards_need_not_move(make_plan: Callable[..., Any]) -> None:
    assert judge_steps(make_plan(), two(STEPPED, held=0, moved=0)).state is State.PASSED


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (both(SAVED, lost=["a", "b"]), "2 of 10 tensors did not come back: a, b"),
        (
            two(SAVED, lost_optimizer=["exp_avg of parameter 3"]),
            "rank 1: 1 of the optimizer's tensors did not come back: exp_avg of parameter 3",
        ),
        (both(SAVED, after=5.1), "the loss was 5.0 before the checkpoint and is 5.1 after loading it"),
        (both(SAVED, after="nan"), "the loss was 5.0 before the checkpoint and is nan after loading it"),
        (both(SAVED, perturbed=0), "changing the parameters had no effect: the round trip shows nothing"),
    ],
)
def test_a_bad_checkpoint(make_plan: Callable[..., Any], ranks: dict[int, Any], reason: str) -> None:
    found = judge_checkpoint(make_plan(), ranks)
    assert (found.state, found.reasons) == (State.FAILED, (reason,))


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (both(COMPILED, graphs=0), "torch.compile captured no graph: everything ran eagerly"),
        (
            both(COMPILED, losses=[5.0, 4.9, 4.8, 4.7]),
            "the compiled loss (5.000 → 4.900 → 4.800 → 4.700) leaves the eager one (5.000 → 4.000 → 3.500 → 3.000)",
        ),
    ],
)
def test_a_bad_compile(make_plan: Callable[..., Any], ranks: dict[int, Any], reason: str) -> None:
    found = judge_compile(make_plan(), ranks, two(STEPPED))
    assert (found.state, found.reasons) == (State.FAILED, (reason,))


def asked(value: object, written: object, because: str = "") -> Setting:
    return Setting(value, written, True, because, "key at a.yaml:2:3")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"sharding": asked("FULL_SHARD", "SHARD_GRAD_OP", "it is not read")},
            "the sharding: key at a.yaml:2:3 asks for SHARD_GRAD_OP, FULL_SHARD runs: it is not read",
        ),
        ({"offload": asked(False, True)}, "CPU offload: key at a.yaml:2:3 asks for on, off runs"),
        (
            {"wrap_classes": asked(None, ["A"], "the policy is NO_WRAP"), "wrap_policy": Setting("NO_WRAP")},
            "the layer classes to wrap: key at a.yaml:2:3 asks for A, nothing runs: the policy is NO_WRAP",
        ),
        ({"wrap_classes": asked(["A"], ["A", "B"])}, "the layer classes to wrap: key at a.yaml:2:3 asks for A, B, A runs"),
    ],
)
def test_what_is_written_and_does_not_run(make_plan: Callable[..., Any], settings: dict[str, Any], said: str) -> None:
    assert disagreements(make_plan(**settings)) == (said,)


@pytest.mark.parametrize(
    "settings",
    [
        {"sharding": Setting("FULL_SHARD", "SHARD_GRAD_OP", False, "", "default of accelerate 1.15.0")},
        {"sharding": asked("FULL_SHARD", "HYBRID_SHARD"), "dp_replicate": 2},
        {"wrap_classes": asked(["B", "A"], ["A", "B"])},
        {"offload": asked(None, None, "a placeholder stands there, which is filled in later")},
        {"wrap_classes": asked(None, ["A"]), "wrap_policy": asked("SIZE_BASED_WRAP", "SIZE_BASED_WRAP")},
        {"wrap_classes": asked(None, [])},
        {"backward_prefetch": asked(None, "BACKWARD_PRE")},
    ],
)
def test_what_is_no_disagreement(make_plan: Callable[..., Any], settings: dict[str, Any]) -> None:
    assert disagreements(make_plan(**settings)) == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fsdp": None}, "nothing in the files turns FSDP on; every rank would keep the whole model"),
        (
            {"fsdp": asked(False, True, "--multi_gpu wins")},
            "FSDP is asked for (key at a.yaml:2:3) and not in force: --multi_gpu wins; every rank would keep the whole model",
        ),
        ({"deepspeed": asked(True, True)}, "DeepSpeed is in force (key at a.yaml:2:3): FSDP does not run"),
        ({"processes": asked(1, 1)}, "the launch starts one process (key at a.yaml:2:3): there is nothing to shard over"),
    ],
)
def test_what_cannot_shard_anywhere(make_plan: Callable[..., Any], settings: dict[str, Any], said: str) -> None:
    assert hopeless(make_plan(**settings)) == (said,)


def test_a_plan_that_can_shard(make_plan: Callable[..., Any]) -> None:
    assert hopeless(make_plan(processes=8, deepspeed=False)) == ()
