"""What a device cannot run is lowered and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.fitting import fitted
from fsdplint.smoke.plan import Setting

if TYPE_CHECKING:
    from collections.abc import Callable


def left_out(plan: Any) -> list[str]:
    return [item.what for item in plan.unexercised]


@pytest.mark.parametrize(
    ("settings", "what", "name", "runs"),
    [
        ({"fsdp_version": 1, "offload": True}, "CPU offload", "offload", False),
        ({"offload": True}, "pinned memory and transfers of the CPU offload", "offload", True),
        ({"fsdp_version": 1, "sync_module_states": True}, "sync_module_states", "sync_module_states", False),
        ({"fsdp_version": 1, "sharding": "HYBRID_SHARD"}, "HYBRID_SHARD", "sharding", "FULL_SHARD"),
        ({"fsdp_version": 1, "sharding": "HYBRID_SHARD_ZERO2"}, "HYBRID_SHARD_ZERO2", "sharding", "SHARD_GRAD_OP"),
        ({"fsdp_version": 1, "state_dict": "FULL_STATE_DICT"}, "FSDP1's full state dict", "state_dict", "SHARDED_STATE_DICT"),
        ({"fsdp_version": 1, "state_dict": "LOCAL_STATE_DICT"}, "LOCAL_STATE_DICT", "state_dict", "SHARDED_STATE_DICT"),
        ({"compile": True}, "the inductor back end of torch.compile", "compile", True),
        ({"precision": "fp8"}, "fp8 arithmetic", "precision", "bf16"),
        ({"tp": 4}, "tensor parallelism over 4 ranks", "tp", 1),
        ({"dp_replicate": 2}, "2 replicas (HSDP)", "dp_replicate", 1),
        ({"processes": 8}, "a world of 8 ranks", "processes", 8),
        ({"machines": 2}, "2 machines", "machines", 2),
        ({"wrap_policy": "SIZE_BASED_WRAP", "min_num_params": 10**8}, "wrapping from 100000000 parameters on", "min_num_params", 1000),
        ({"wrap_classes": ["LlamaDecoderLayer"]}, "layer class LlamaDecoderLayer", "wrap_classes", ["LlamaDecoderLayer"]),
        ({"adapter": "lora"}, "adapter lora", "adapter", "lora"),
        ({"quantization": "4bit"}, "quantization 4bit", "quantization", "4bit"),
    ],
)
def test_on_a_cpu(make_plan: Callable[..., Any], settings: dict[str, Any], what: str, name: str, runs: object) -> None:
    plan = fitted(make_plan(**{"state_dict": "SHARDED_STATE_DICT", **settings}))
    assert sorted(left_out(plan)) == sorted(["NCCL", what])
    assert plan.value(name) == runs
    assert all(item.why for item in plan.unexercised)


def test_a_gpu_leaves_nothing_of_fsdp_out(make_plan: Callable[..., Any]) -> None:
    settings = {
        "fsdp_version": 1,
        "offload": True,
        "sync_module_states": True,
        "sharding": "HYBRID_SHARD",
        "state_dict": "FULL_STATE_DICT",
        "compile": True,
    }
    plan = make_plan(**settings, device="cuda", route="accelerate", model="twin", wrap_classes=["LlamaDecoderLayer"])
    assert fitted(plan).unexercised == ()
    assert {name: fitted(plan).value(name) for name in settings} == settings
    assert fitted(plan).route == "accelerate"


def test_a_cpu_run_goes_without_accelerate(make_plan: Callable[..., Any]) -> None:
    plan = fitted(make_plan(route="accelerate"))
    assert plan.route == "torch"
    assert left_out(plan) == ["accelerate's prepare", "NCCL"]


def test_replicas_on_enough_gpus(make_plan: Callable[..., Any]) -> None:
    plan = fitted(make_plan(dp_replicate=2, device="cuda", world_size=4))
    assert (plan.value("dp_replicate"), plan.value("dp_shard"), plan.unexercised) == (2, 2, ())


@pytest.mark.parametrize(("version", "state_dict"), [(1, "SHARDED_STATE_DICT"), (2, "SHARDED_STATE_DICT"), (None, "SHARDED_STATE_DICT")])
def test_defaults_where_nothing_decides(make_plan: Callable[..., Any], version: int | None, state_dict: str) -> None:
    plan = fitted(make_plan(fsdp_version=version, sharding=None))
    assert (plan.value("fsdp_version"), plan.value("sharding"), plan.value("state_dict")) == (version or 2, "FULL_SHARD", state_dict)


def test_a_placeholder_is_named(make_plan: Callable[..., Any]) -> None:
    plan = fitted(
        make_plan(offload=Setting(None, None, True, "a placeholder stands there, which is filled in later", "offload at a.yaml:3:1"))
    )
    assert left_out(plan)[0] == "offload (offload at a.yaml:3:1)"
