"""Faults of the flags of accelerate launch."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

HEAD = "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n"
FSDP = HEAD + "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
SIZES = FSDP + "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n"


def line_of(flags: str) -> str:
    return f"accelerate launch --config_file file0.yaml {flags} train.py"


def codes(text: str, flags: str) -> list[tuple[str, str, str | None]]:
    return [row for row in told(lint(text, dialect="accelerate", line=line_of(flags))) if row[0] != "info"]


@pytest.mark.parametrize("flags", ["--use_fsdp --multi_gpu", "--use_fsdp --use_deepspeed", "--cpu --use_fsdp"])
def test_two_kinds(flags: str) -> None:
    line = line_of(flags)
    found = [d for d in lint(FSDP, dialect="accelerate", line=line) if d.code == "ACC201"]
    assert [marked(line, d) for d in found] == [flags.split()[1]]
    assert [related.key for related in found[0].related] == [flags.split()[0]]


@pytest.mark.parametrize("flags", ["", "--use_fsdp", "--multi-gpu", "--use_fsdp --num_processes 2"])
def test_one_kind(flags: str) -> None:
    assert "ACC201" not in {code for _, code, _ in codes(FSDP, flags)}


def test_parallelism_needs_the_flag_whatever_the_file_says() -> None:
    assert ("error", "ACC202", "--use_parallelism_config") in codes(FSDP, "--use_parallelism_config")
    assert codes(FSDP, "--use_fsdp --fsdp_version 2 --use_parallelism_config --parallelism_config_dp_shard_size 4") == []


def test_idle_sizes() -> None:
    assert codes(FSDP, "--parallelism_config_tp_size 2") == [("error", "ACC203", "--parallelism_config_tp_size")]
    assert read(FSDP, dialect="accelerate", line=line_of("--parallelism_config_tp_size 2")).tp.is_written is False


def test_sizes_over_those_of_the_file() -> None:
    plan = read(SIZES, dialect="accelerate", line=line_of("--parallelism_config_tp_size 2 --parallelism_config_dp_shard_size 2"))
    assert (plan.tp.value, plan.dp_shard.value) == (2, 2)
    assert codes(SIZES, "--parallelism_config_tp_size 2 --parallelism_config_dp_shard_size 2") == []


def test_idle_sizes_without_a_file_are_a_warning() -> None:
    """The user's default config file may have some."""
    found = lint(
        "output_dir: out\nper_device_train_batch_size: 8\n",
        line="accelerate launch --multi_gpu --parallelism_config_tp_size 2 train.py file0.yaml",
    )
    assert told(found) == [("warning", "ACC203", "--parallelism_config_tp_size")]


def test_a_file_that_is_not_given_proves_nothing() -> None:
    text = "output_dir: out\nper_device_train_batch_size: 8\n"
    assert lint(text, line="accelerate launch --config_file other.yaml --parallelism_config_tp_size 2 train.py file0.yaml") == []
