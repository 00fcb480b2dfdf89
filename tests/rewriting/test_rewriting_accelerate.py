from __future__ import annotations

import pytest

from tests.linting import read
from tests.rewriting.rewrites import rewritten

PLAIN = """\
compute_environment: LOCAL_MACHINE  # a laptop's
distributed_type: MULTI_GPU
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""

DEEPSPEED = """\
compute_environment: LOCAL_MACHINE
deepspeed_config:
  gradient_accumulation_steps: 4
  zero_stage: 3
distributed_type: DEEPSPEED
fsdp_config: {}
mixed_precision: bf16  # stays
num_machines: 1
num_processes: 8
"""

FIRST = """\
distributed_type: FSDP
fsdp_config:
  # how to cut
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP  # by layers
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: true
  fsdp_sharding_strategy: 2
  fsdp_sync_module_states: false
  fsdp_cpu_ram_efficient_loading: false
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""


def test_plain_data_parallelism_becomes_fully_sharded() -> None:
    assert rewritten(PLAIN, "full_shard").text == PLAIN.replace(
        "distributed_type: MULTI_GPU\n",
        "distributed_type: FSDP\n"
        "fsdp_config:\n"
        "  fsdp_version: 2\n"
        "  fsdp_reshard_after_forward: true\n"
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
        "  fsdp_offload_params: false\n"
        "  fsdp_state_dict_type: FULL_STATE_DICT\n"
        "  fsdp_cpu_ram_efficient_loading: true\n"
        "  fsdp_activation_checkpointing: false\n",
    )


@pytest.mark.parametrize("text", [PLAIN, DEEPSPEED, FIRST])
@pytest.mark.parametrize(
    ("preset", "sharding", "offload"),
    [("full_shard", "FULL_SHARD", False), ("shard_grad", "SHARD_GRAD_OP", False), ("full_offload", "FULL_SHARD", True)],
)
@pytest.mark.parametrize(("version", "expected"), [(None, 2), (2, 2), (1, 1)])
def test_every_start_comes_to_the_preset(text: str, preset: str, sharding: str, offload: bool, version: int | None, expected: int) -> None:
    result = rewritten(text, preset, version)
    assert result.refusal is None
    plan = read(result.text, dialect="accelerate", target=("accelerate==1.15.0",))
    assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value.value, plan.offload.value) == (True, expected, sharding, offload)
    assert not plan.deepspeed.value


def test_what_deepspeeds_block_said_besides_is_told() -> None:
    result = rewritten(DEEPSPEED, "shard_grad")
    assert "deepspeed" not in result.text.lower()
    assert "mixed_precision: bf16  # stays\n" in result.text
    assert result.notes[0].startswith("`deepspeed_config.gradient_accumulation_steps: 4` is gone")


@pytest.mark.parametrize(
    ("block", "asked", "told"),
    [
        ("zero_stage: 2", "full_shard", ["DeepSpeed ran ZeRO-2, which is --preset shard_grad"]),
        (
            "zero_stage: '3'\n  offload_param_device: cpu",
            "full_shard",
            ["DeepSpeed ran ZeRO-3 with offload, which is --preset full_offload"],
        ),
        ("zero_stage: 3\n  offload_param_device: none", "full_shard", []),
        ("zero_stage: 0", "full_shard", []),
    ],
)
def test_the_preset_that_shards_as_deepspeed_did_is_told(block: str, asked: str, told: list[str]) -> None:
    text = PLAIN.replace("MULTI_GPU", "DEEPSPEED") + f"deepspeed_config:\n  {block}\n"
    assert rewritten(text, asked).notes == told


def test_deepspeed_is_nothing_to_migrate() -> None:
    text = PLAIN.replace("MULTI_GPU", "DEEPSPEED") + "deepspeed_config:\n  zero_stage: 3\n"
    result = rewritten(text, version=2)
    assert (result.text, result.notes) == (text, ["DeepSpeed runs (ZeRO-3), not FSDP: --preset full_shard shards in the same way"])


@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("fsdp_auto_wrap_policy: SIZE_BASED_WRAP", "units were cut by size (SIZE_BASED_WRAP); now they are the model's transformer layers"),
        ("fsdp_sharding_strategy: HYBRID_SHARD", "HYBRID_SHARD kept a copy on each machine; now all machines share one"),
    ],
)
def test_what_a_preset_takes_away_is_told(option: str, note: str) -> None:
    text = PLAIN.replace("MULTI_GPU", "FSDP") + f"fsdp_config:\n  fsdp_min_num_params: 1000\n  {option}\n"
    assert note in rewritten(text, "full_shard").notes


def test_fsdp1_is_written_where_a_release_of_the_target_lacks_fsdp2() -> None:
    result = rewritten(PLAIN, "shard_grad", target=("accelerate>=1.4,<1.8", "torch==2.6.0"))
    assert "  fsdp_sharding_strategy: SHARD_GRAD_OP\n" in result.text
    assert "fsdp_version" not in result.text
    result = rewritten(PLAIN, "shard_grad", target=("accelerate>=0.24,<1.8", "torch==2.6.0"))
    assert "  fsdp_sharding_strategy: 2\n" in result.text
    result = rewritten(PLAIN, "shard_grad", target=("accelerate==1.4.0", "torch==2.6.0"))
    assert "  fsdp_sharding_strategy: SHARD_GRAD_OP\n" in result.text
    assert "fsdp_version" not in result.text


def test_fsdp2_is_refused_where_the_target_is_too_old() -> None:
    result = rewritten(PLAIN, "full_shard", 2, target=("accelerate==1.4.0", "torch==2.6.0"))
    assert result.refusal == "FSDP2 needs accelerate 1.7.0 or newer, the target has 1.4.0"


def test_a_migration_keeps_what_the_file_says() -> None:
    assert (
        rewritten(FIRST, version=2).text
        == """\
distributed_type: FSDP
fsdp_config:
  # how to cut
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP  # by layers
  fsdp_offload_params: true
  fsdp_cpu_ram_efficient_loading: false
  fsdp_version: 2
  fsdp_reshard_after_forward: false
  fsdp_state_dict_type: FULL_STATE_DICT
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
    )


def block(*lines: str, machines: int = 1, processes: int = 8) -> str:
    options = "".join(f"  {line}\n" for line in lines)
    return f"distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: {machines}\nnum_processes: {processes}\nfsdp_config:\n{options}"


@pytest.mark.parametrize(
    "strategy", ["fsdp_sharding_strategy: shard_grad_op", "fsdp_sharding_strategy: '2'", "sharding_strategy: SHARD_GRAD_OP"]
)
def test_a_strategy_in_any_spelling_is_migrated(strategy: str) -> None:
    result = rewritten(block(strategy), version=2)
    assert "sharding_strategy" not in result.text
    assert "reshard_after_forward: false\n" in result.text


def test_a_bare_version_is_changed_where_it_stands() -> None:
    result = rewritten(block("version: 1", "fsdp_sharding_strategy: FULL_SHARD"), version=2)
    assert "  version: 2\n" in result.text
    assert "fsdp_version" not in result.text


def test_local_state_dicts_become_sharded_ones() -> None:
    result = rewritten(block("fsdp_sharding_strategy: FULL_SHARD", "fsdp_state_dict_type: LOCAL_STATE_DICT"), version=2)
    assert "  fsdp_state_dict_type: SHARDED_STATE_DICT\n" in result.text


def test_the_name_that_fsdp1_never_read_stays_without_effect() -> None:
    result = rewritten(block("fsdp_version: 1", "fsdp_reshard_after_forward: SHARD_GRAD_OP"), version=2)
    assert "  fsdp_reshard_after_forward: true\n" in result.text


def test_hybrid_sharding_becomes_a_mesh() -> None:
    result = rewritten(block("fsdp_sharding_strategy: HYBRID_SHARD", machines=2, processes=16), version=2)
    assert result.text.endswith("parallelism_config:\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 8\n")
    alone = rewritten(block("fsdp_sharding_strategy: HYBRID_SHARD"), version=2)
    assert "parallelism_config" not in alone.text
    assert "  fsdp_reshard_after_forward: true\n" in alone.text


def test_hybrid_sharding_without_sizes_is_refused() -> None:
    text = block("fsdp_sharding_strategy: HYBRID_SHARD", machines=2).replace("num_processes: 8\n", "")
    assert "needs the number of machines and of processes" in (rewritten(text, version=2).refusal or "")


def test_no_sharding_is_refused_with_advice() -> None:
    assert "NO_SHARD has no equal in FSDP2" in (rewritten(block("fsdp_sharding_strategy: NO_SHARD"), version=2).refusal or "")


@pytest.mark.parametrize(
    ("line", "reason"),
    [("use_cpu: true\n", "trains on the CPU"), ("unheard_of: 1\n", "an error that is to be mended first: FSD003 unheard_of")],
)
def test_a_file_that_would_not_train_is_refused(line: str, reason: str) -> None:
    assert reason in (rewritten(PLAIN + line, "full_shard").refusal or "")


def test_a_migration_without_fsdp_is_nothing() -> None:
    result = rewritten(PLAIN, version=2)
    assert (result.text, result.refusal) == (PLAIN, None)


def test_a_release_that_does_not_ask_the_model_needs_a_class() -> None:
    target = ("accelerate==0.21.0", "torch==2.1.0")
    assert "wraps by class only" in (rewritten(PLAIN, "full_shard", target=target).refusal or "")
    named = PLAIN.replace("MULTI_GPU", "FSDP") + "fsdp_config:\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"
    assert "fsdp_sharding_strategy: 1\n" in rewritten(named, "full_shard", target=target).text


def test_a_mesh_goes_where_the_release_knows_none() -> None:
    text = (
        PLAIN.replace("MULTI_GPU", "FSDP")
        + "fsdp_config: {fsdp_version: 2}\nparallelism_config:\n  parallelism_config_dp_replicate_size: 2\n"
    )
    result = rewritten(text, "full_shard", target=("accelerate==1.7.0", "torch==2.6.0"))
    assert (result.refusal, "parallelism_config" in result.text) == (None, False)
