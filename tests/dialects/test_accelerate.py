"""Config files of accelerate launch: recognition, and the plan that they state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from linting import read

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

if TYPE_CHECKING:
    from pathlib import Path

    from fsdplint.plan import Plan

MINIMAL = "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"


def fsdp(*lines: str, top: str = "", version: str | None = "accelerate==1.15.0") -> Plan:
    """The plan of an FSDP file with these lines in its block."""
    block = "fsdp_config:\n" + "".join(f"  {line}\n" for line in lines) if lines else ""
    text = f"distributed_type: FSDP\nnum_processes: 2\n{top}{block}"
    return read(text, dialect="accelerate", target=[version] if version else [])


@pytest.mark.parametrize(
    "text",
    [
        MINIMAL,
        "compute_environment: LOCAL_MACHINE\nnum_processes: 2\nfsdp_config: {}\n",
        "compute_environment: local_machine\ndistributed_type: FSDP\nmixed_precision: bf16\n",
        "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: NO\nec2_instance_type: ml.p3.2xlarge\nuse_cpu: false\n",
        "distributed_type: ${TYPE}\nmixed_precision: bf16\n",
        "distributed_type: FSDP\nnum_processes: 2\nfsdp_config: [\n",
        "machine_rank: 0\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\nuse_cpu: false\n",
    ],
)
def test_recognised(text: str) -> None:
    found = recognise(parse(text, "a.yaml"))
    assert found is not None and found.name == "accelerate"


def test_json_is_recognised() -> None:
    text = json.dumps({"distributed_type": "FSDP", "fsdp_config": {"fsdp_version": 2}})
    found = recognise(parse(text, "fsdp.json"))
    assert found is not None and found.name == "accelerate"


@pytest.mark.parametrize(
    "text",
    [
        "output_dir: out\nfsdp: full_shard\nfsdp_config:\n  min_num_params: 0\n",
        "num_processes: 4\nimage: python\n",
        "name: ci\non: push\njobs: {}\n",
        "- distributed_type\n",
        "",
    ],
)
def test_others_are_not_recognised(text: str) -> None:
    assert dialect("accelerate").recognise(parse(text, "a.yaml")) == 0


@pytest.mark.parametrize(
    ("kind", "launcher", "fsdp_on", "device"),
    [
        ("FSDP", "fsdp", True, None),
        ("DEEPSPEED", "deepspeed", False, None),
        ("MULTI_GPU", "ddp", False, None),
        ("MULTI_XPU", "ddp", False, "xpu"),
        ("MEGATRON_LM", "megatron-lm", False, None),
        ("XLA", "xla", False, "tpu"),
        ("MULTI_CPU", "none", False, "cpu"),
        ("NO", "none", False, None),
        ("'NO'", "none", False, None),
        ("null", "none", False, None),
        ("fsdp", None, None, None),
        ("${TYPE}", None, None, None),
    ],
)
def test_distributed_type_decides_the_engine(kind: str, launcher: str | None, fsdp_on: bool | None, device: str | None) -> None:
    plan = read(f"distributed_type: {kind}\nnum_processes: 2\n", dialect="accelerate")
    assert (plan.launcher.value, plan.fsdp.value, plan.device.value) == (launcher, fsdp_on, device)
    assert plan.fsdp.place is not None and plan.fsdp.place.path == ("distributed_type",)


def test_deepspeed_is_on_by_its_type_alone() -> None:
    block = "deepspeed_config:\n  zero_stage: 3\n"
    assert read(f"distributed_type: DEEPSPEED\n{block}", dialect="accelerate").deepspeed.value is True
    other = read(f"distributed_type: FSDP\n{block}", dialect="accelerate")
    assert other.deepspeed.value is None and other.deepspeed_config.value == {"zero_stage": 3}


@pytest.mark.parametrize("block", ["", "fsdp_config: {}\n", "fsdp_config: null\n", "fsdp_config: full_shard\n"])
def test_an_empty_block_is_no_option(block: str) -> None:
    plan = read(f"distributed_type: MULTI_GPU\n{block}", dialect="accelerate")
    assert plan.fsdp_options.value is None


def test_defaults_name_their_release() -> None:
    plan = fsdp()
    assert (plan.fsdp_version.value, plan.fsdp_version.source) == (1, "default of accelerate 1.15.0")
    assert (plan.sharding.value, plan.sharding.source) == (Sharding.FULL_SHARD, "default of accelerate 1.15.0")
    assert (plan.state_dict.value, plan.state_dict.source) == (StateDict.FULL, "default of accelerate 1.15.0")
    assert plan.wrap_policy.value is Wrap.NONE
    assert plan.ram_efficient.value is plan.sync_module_states.value is plan.orig_params.value is True
    assert plan.backward_prefetch.value is None
    assert plan.dp_shard.value is None


def test_defaults_of_fsdp2() -> None:
    plan = fsdp("fsdp_version: 2")
    assert plan.sharding.value is Sharding.FULL_SHARD
    assert plan.state_dict.value is StateDict.SHARDED
    assert plan.sync_module_states.value is plan.orig_params.value is plan.forward_prefetch.value is None


@pytest.mark.parametrize(
    ("version", "orig_params", "sync", "ram"),
    [("0.21.0", False, False, None), ("0.22.0", False, True, None), ("0.24.0", False, True, True), ("0.25.0", True, True, True)],
)
def test_defaults_follow_the_release(version: str, orig_params: bool, sync: bool, ram: bool | None) -> None:
    plan = fsdp("fsdp_offload_params: false", version=f"accelerate=={version}")
    assert (plan.orig_params.value, plan.sync_module_states.value, plan.ram_efficient.value) == (orig_params, sync, ram)


def test_without_fsdp_its_options_have_no_defaults() -> None:
    plan = read("distributed_type: MULTI_GPU\nnum_processes: 2\n", dialect="accelerate")
    assert plan.fsdp_version.value is plan.sharding.value is plan.ram_efficient.value is None


@pytest.mark.parametrize("key", ["fsdp_offload_params", "offload_params"])
@pytest.mark.parametrize(("value", "on"), [("true", True), ("yes", True), ("'True'", True), ("1", True), ("no", False), ("'f'", False)])
def test_booleans_are_words_with_or_without_prefix(key: str, value: str, on: bool) -> None:
    plan = fsdp(f"{key}: {value}")
    assert plan.offload.value is on
    assert plan.offload.place is not None and plan.offload.place.path == ("fsdp_config", key)


@pytest.mark.parametrize(
    ("value", "sharding"),
    [
        ("FULL_SHARD", Sharding.FULL_SHARD),
        ("shard_grad_op", Sharding.SHARD_GRAD_OP),
        ("3", Sharding.NO_SHARD),
        ("'4'", Sharding.HYBRID_SHARD),
        ("_HYBRID_SHARD_ZERO2", Sharding.HYBRID_SHARD_ZERO2),
    ],
)
def test_fsdp1_shards_by_strategy(value: str, sharding: Sharding) -> None:
    assert fsdp(f"fsdp_sharding_strategy: {value}").sharding.value is sharding


def test_fsdp1_does_not_read_reshard_after_forward() -> None:
    plan = fsdp("fsdp_version: 1", "fsdp_reshard_after_forward: SHARD_GRAD_OP")
    assert plan.sharding.value is Sharding.FULL_SHARD
    assert plan.sharding.written is Sharding.SHARD_GRAD_OP
    assert plan.sharding.place is not None and plan.sharding.place.path[-1] == "fsdp_reshard_after_forward"


def test_fsdp1_strategy_beats_reshard_after_forward() -> None:
    plan = fsdp("fsdp_sharding_strategy: HYBRID_SHARD", "fsdp_reshard_after_forward: SHARD_GRAD_OP")
    assert plan.sharding.value is Sharding.HYBRID_SHARD
    assert plan.sharding.contradicted is not None and plan.sharding.contradicted.value is Sharding.SHARD_GRAD_OP


@pytest.mark.parametrize(
    ("value", "sharding"), [("true", Sharding.FULL_SHARD), ("false", Sharding.SHARD_GRAD_OP), ("'no'", Sharding.SHARD_GRAD_OP)]
)
def test_fsdp2_shards_by_reshard_after_forward(value: str, sharding: Sharding) -> None:
    assert fsdp("fsdp_version: 2", f"fsdp_reshard_after_forward: {value}").sharding.value is sharding


def test_fsdp2_does_not_read_the_strategy() -> None:
    plan = fsdp("fsdp_version: 2", "fsdp_sharding_strategy: SHARD_GRAD_OP")
    assert (plan.sharding.value, plan.sharding.written) == (Sharding.FULL_SHARD, Sharding.SHARD_GRAD_OP)


def test_hybrid_sharding_of_fsdp2_is_in_the_sizes() -> None:
    sizes = "parallelism_config:\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 2\n"
    plan = fsdp("fsdp_version: 2", "fsdp_sharding_strategy: HYBRID_SHARD", top=sizes)
    assert plan.sharding.value is plan.sharding.written is Sharding.HYBRID_SHARD
    assert (plan.dp_replicate.value, plan.dp_shard.value, plan.tp.value) == (2, 2, 1)


def test_before_1_6_there_is_fsdp1_only() -> None:
    plan = fsdp("fsdp_version: 2", version="accelerate==1.5.2")
    assert (plan.fsdp_version.value, plan.fsdp_version.source) == (1, "FSDP2 begins with accelerate 1.6.0")


def test_of_two_spellings_the_last_counts() -> None:
    assert fsdp("fsdp_version: 1", "version: 2").fsdp_version.value == 2
    assert fsdp("version: 2", "fsdp_version: 1").fsdp_version.value == 1


def test_state_dict_numbers() -> None:
    assert [fsdp(f"fsdp_state_dict_type: {number}").state_dict.value for number in (1, 2, 3)] == [
        StateDict.FULL,
        StateDict.LOCAL,
        StateDict.SHARDED,
    ]


@pytest.mark.parametrize("value", ["null", "''", "0", "false"])
def test_the_launcher_takes_an_empty_sync_for_false(value: str) -> None:
    assert fsdp("fsdp_version: 2", f"fsdp_sync_module_states: {value}").sync_module_states.value is False


def test_a_quoted_false_sync_is_overruled() -> None:
    plan = fsdp("fsdp_sync_module_states: 'false'")
    assert (plan.sync_module_states.value, plan.sync_module_states.written) == (True, False)


@pytest.mark.parametrize(
    ("top", "precision"),
    [
        ("", Precision.NONE),
        ("mixed_precision: BF16\n", Precision.BF16),
        ("mixed_precision: 'no'\n", Precision.NONE),
        ("fp16: true\n", Precision.FP16),
        ("fp16: true\nmixed_precision: bf16\n", Precision.BF16),
        ("fp16: true\nmixed_precision: null\n", Precision.NONE),
    ],
)
def test_precision(top: str, precision: Precision) -> None:
    assert fsdp(top=top).precision.value is precision


@pytest.mark.parametrize(
    ("top", "version", "on"),
    [
        ("dynamo_config:\n  dynamo_backend: INDUCTOR\n", "1.15.0", True),
        ("dynamo_config:\n  backend: inductor\n", "1.15.0", True),
        ("dynamo_config:\n  backend: inductor\n", "1.13.0", None),
        ("dynamo_config:\n  dynamo_backend: 'no'\n", "1.15.0", False),
        ("dynamo_config:\n  dynamo_mode: default\n", "1.15.0", None),
        ("dynamo_backend: 'NO'\ndynamo_config:\n  dynamo_backend: INDUCTOR\n", "1.15.0", False),
    ],
)
def test_compile(top: str, version: str, on: bool | None) -> None:
    assert fsdp(top=top, version=f"accelerate=={version}").compile.value is on


def test_the_size_policy_has_no_usable_default_before_1_13() -> None:
    line = "fsdp_auto_wrap_policy: SIZE_BASED_WRAP"
    assert fsdp(line).min_num_params.value == 100_000_000
    assert fsdp(line, version="accelerate==1.12.0").min_num_params.value is None


def test_sagemaker_says_nothing_about_fsdp() -> None:
    plan = read("compute_environment: AMAZON_SAGEMAKER\ndistributed_type: NO\nuse_cpu: false\n", dialect="accelerate")
    assert (plan.launcher.value, plan.fsdp.value) == ("sagemaker", None)


def test_companions() -> None:
    found = dialect("accelerate")
    text = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: conf/z3.json\n"
    assert found.companions(parse(text, "a.yaml")) == [("deepspeed_config.deepspeed_config_file", "conf/z3.json")]
    assert found.companions(parse(text.replace("conf/z3.json", "none"), "a.yaml")) == []


def test_every_known_key_is_in_the_table(shared: Path) -> None:
    rows = [json.loads(line) for line in (shared / "facts/accelerate/keys.jsonl").read_text().splitlines()]
    options = dialect("accelerate").table.options
    missing = [row["key"] for row in rows if "<" not in row["key"] and tuple(row["key"].split(".")) not in options]
    assert missing == []


def test_every_config_field_of_52_releases_is_in_the_table(shared: Path) -> None:
    history = json.loads((shared / "facts/accelerate/history.json").read_text())
    options = dialect("accelerate").table.options
    for release in history.values():
        assert [field for field in release["cluster"] if (field,) not in options] == []
        flags = [flag for flag in release["launch_fsdp"] if flag.startswith("fsdp_")]
        assert [flag for flag in flags if ("fsdp_config", flag) not in options] == []


def test_every_corpus_file_is_recognised(shared: Path) -> None:
    rows = [json.loads(line) for line in (shared / "corpus/manifest.jsonl").read_text().splitlines()]
    names = [row["file"] for row in rows if row["dialect"] == "accelerate"]
    found = {
        name: recognise(parse((shared / "corpus/files" / name).read_bytes(), name)) for name in (n.removeprefix("files/") for n in names)
    }
    assert [name for name, told in found.items() if told is None or told.name != "accelerate"] == []
