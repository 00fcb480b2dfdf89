"""TRL's configs: how they are told, and TRL's own defaults."""

from __future__ import annotations

import pytest
from linting import read

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict

HEAD = "model_name_or_path: x/y\ndataset_name: a/b\noutput_dir: out\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "learning_rate: 1.0e-5\n",
        "model_name_or_path: x\ndataset_name: y\nlr_scheduler_type: cosine\n",
        "output_dir: out\nper_device_train_batch_size: 1\nnum_generations: 8\nmax_completion_length: 512\n",
    ],
)
def test_trl_files_are_told(text: str) -> None:
    found = recognise(parse(text, "a.yaml"))
    assert found is not None and found.name == "trl"


def test_own_defaults() -> None:
    plan = read(HEAD, dialect="trl")
    assert (plan.precision.value, plan.gradient_checkpointing.value) == (Precision.BF16, True)
    older = read(HEAD, dialect="trl", target=["trl==0.18.2"])
    assert (older.precision.value, older.gradient_checkpointing.value) == (Precision.NONE, False)
    assert read(HEAD + "fp16: true\n", dialect="trl").precision.value is Precision.FP16
    assert read(HEAD + "bf16: false\n", dialect="trl").precision.value is Precision.NONE


def test_argparse_reads_words_and_numbers() -> None:
    plan = read(HEAD + 'gradient_checkpointing: "no"\nsave_only_model: "true"\n', dialect="trl")
    assert (plan.gradient_checkpointing.value, plan.save_only_model.value) == (False, True)


def test_model_arguments() -> None:
    plan = read(HEAD + "use_peft: true\nload_in_4bit: true\nbnb_4bit_quant_storage: bfloat16\nnum_processes: 4\n", dialect="trl")
    assert (plan.adapter.value, plan.quantization.value, plan.quant_storage.value) == ("qlora", "4bit", "bfloat16")
    assert (plan.model.value, plan.processes.value) == ("x/y", 4)


def test_a_shipped_accelerate_file_is_in_force_by_its_name() -> None:
    plan = read(HEAD + "accelerate_config: fsdp2\n", dialect="trl")
    assert (plan.fsdp.value, plan.fsdp_version.value) == (True, 2)
    assert (plan.sharding.value, plan.state_dict.value) == (Sharding.FULL_SHARD, StateDict.FULL)
    assert read(HEAD + "accelerate_config: zero3\n", dialect="trl").deepspeed_config.value == "zero3"


def test_named_files() -> None:
    companions = dialect("trl").companions(parse(HEAD + "accelerate_config: my/fsdp.yaml\n", "a.yaml"))
    assert companions == [("accelerate_config", "my/fsdp.yaml")]
    assert dialect("trl").companions(parse(HEAD + "accelerate_config: fsdp1\n", "a.yaml")) == []


def test_the_table_is_laid_over_the_trainers() -> None:
    own, base = dialect("trl").table, dialect("hf-trainer").table
    assert ("fsdp_config", "version") in own.options and ("packing",) in own.options and ("packing",) not in base.options
    assert own.options["num_processes",].schema["x-launcher"] is True
    assert (own.options["bf16",].schema["format"], base.options["bf16",].schema["format"]) == ("bool-word", "not-false-text")
