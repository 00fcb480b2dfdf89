from __future__ import annotations

import pytest

from tests.linting import read
from tests.rewriting.rewrites import NEWEST, rewritten

ARGUMENTS = """\
output_dir: out
per_device_train_batch_size: 4
num_train_epochs: 3
bf16: true
deepspeed: ds/zero3.json  # three
logging_steps: 5
"""

MODERN = """\
output_dir: out
per_device_train_batch_size: 4
num_train_epochs: 3
bf16: true
fsdp: true
fsdp_config:
  version: 2
  reshard_after_forward: true
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  cpu_offload: true
  state_dict_type: FULL_STATE_DICT
logging_steps: 5
"""

PRESETS = [("full_shard", "FULL_SHARD", False), ("shard_grad", "SHARD_GRAD_OP", False), ("full_offload", "FULL_SHARD", True)]


def on(transformers: str, accelerate: str = "1.15.0") -> tuple[str, ...]:
    return (f"transformers=={transformers}", f"accelerate=={accelerate}", "torch==2.13.0")


def test_deepspeed_makes_way_for_fsdp2() -> None:
    assert rewritten(ARGUMENTS, "full_offload").text == MODERN


@pytest.mark.parametrize(("preset", "sharding", "offload"), PRESETS)
@pytest.mark.parametrize(
    ("transformers", "version", "expected"),
    [
        ("5.24.0", None, 2),
        ("5.4.0", None, 2),
        ("5.0.0", None, 2),
        ("5.0.0", 1, 1),
        ("4.57.6", None, 1),
        ("4.50.3", None, 1),
        ("4.40.2", None, 1),
    ],
)
def test_every_generation_trains_the_preset(
    preset: str, sharding: str, offload: bool, transformers: str, version: int | None, expected: int
) -> None:
    target = on(transformers)
    result = rewritten(ARGUMENTS, preset, version, target=target)
    assert result.refusal is None
    plan = read(result.text, dialect="hf-trainer", target=target)
    assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value.value, plan.offload.value) == (True, expected, sharding, offload)


def test_booleans_are_quoted_where_they_would_raise() -> None:
    assert "use_orig_params: 'True'" in rewritten(ARGUMENTS, "full_shard", target=on("4.40.2")).text
    assert "use_orig_params: true" in rewritten(ARGUMENTS, "full_shard", target=on("4.57.6")).text


def test_fsdp1_of_5_4_and_later_would_lose_the_strategy() -> None:
    result = rewritten(ARGUMENTS, "shard_grad", 1, target=on("5.9.0"))
    assert result.refusal == "transformers 5.9.0 turns SHARD_GRAD_OP of FSDP1 into FULL_SHARD: use --fsdp-version 2"


def test_fsdp2_of_4_x_is_elsewhere() -> None:
    assert "write fsdp_version: 2 in an accelerate file" in (rewritten(ARGUMENTS, "full_shard", 2, target=on("4.57.6")).refusal or "")


def test_options_that_are_fsdp1s_go_and_comments_stay() -> None:
    text = """\
output_dir: out
per_device_train_batch_size: 4
num_train_epochs: 3
bf16: true
fsdp: shard_grad_op auto_wrap  # zero 2
fsdp_config:
  # the layers
  transformer_layer_cls_to_wrap: LlamaDecoderLayer
  version: 1
  use_orig_params: true
"""
    result = rewritten(text, "shard_grad")
    assert "fsdp: true  # zero 2\nfsdp_config:\n  # the layers\n" in result.text
    assert "  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n  version: 2\n" in result.text
    assert "use_orig_params" not in result.text


def test_trl_checkpoints_in_one_place_only() -> None:
    text = MODERN.replace("output_dir: out\n", "model_name_or_path: a/b\ndataset_name: c/d\noutput_dir: out\nmax_length: 512\n")
    text = text.replace("  state_dict_type", "  activation_checkpointing: true\n  state_dict_type")
    assert rewritten(text, "full_offload", target=(*NEWEST, "trl==1.16.0"), dialect="trl").text.endswith("gradient_checkpointing: false\n")


def test_a_range_gets_a_text_that_serves_all_of_it() -> None:
    result = rewritten(ARGUMENTS, "full_offload", 2, target=("transformers>=5.9,<5.12", "accelerate==1.15.0", "torch==2.13.0"))
    assert "fsdp: full_shard auto_wrap offload\n" in result.text
    assert "  version: 2\n  reshard_after_forward: true\n" in result.text


@pytest.mark.parametrize("version", ["5.9.0", "5.24.0"])
def test_a_migration_keeps_the_strategy_that_fsdp1_lost(version: str) -> None:
    text = ARGUMENTS.replace("deepspeed: ds/zero3.json  # three", "fsdp: shard_grad_op auto_wrap\nfsdp_config:\n  version: 1")
    result = rewritten(text, version=2, target=on(version))
    assert "reshard_after_forward: false\n" in result.text
    assert "SHARD_GRAD_OP is written and FULL_SHARD runs today: the text says SHARD_GRAD_OP now" in result.notes


def test_words_of_fsdp2_become_what_replaces_them() -> None:
    text = ARGUMENTS.replace(
        "deepspeed: ds/zero3.json  # three", "fsdp: full_shard auto_wrap offload\nfsdp_config: {backward_prefetch: backward_pre}"
    )
    result = rewritten(text, version=2)
    assert "fsdp: true\n" in result.text
    assert "cpu_offload: true" in result.text
    assert "backward_prefetch" not in result.text


def test_checkpoints_that_become_sharded_are_told() -> None:
    text = ARGUMENTS.replace("deepspeed: ds/zero3.json  # three", "fsdp: full_shard auto_wrap\nfsdp_config:\n  version: 1")
    result = rewritten(text, version=2, target=on("5.3.0"))
    assert result.notes == ["checkpoints become sharded ones: these releases read no key that says otherwise"]
    assert "version: 2\n" in result.text


@pytest.mark.parametrize(
    ("engine", "note"),
    [
        (
            "deepspeed: {zero_optimization: {stage: 3}, gradient_clipping: 0.3}",
            "`deepspeed` also says gradient_clipping: write that where it belongs now",
        ),
        (
            "deepspeed: elsewhere/ds.json",
            "what elsewhere/ds.json says of optimizer, schedule, clipping, accumulation and precision has to go elsewhere",
        ),
    ],
)
def test_what_deepspeed_said_besides_is_told(engine: str, note: str) -> None:
    assert rewritten(ARGUMENTS.replace("deepspeed: ds/zero3.json  # three", engine), "full_shard").notes == [note]


def test_prefixes_go_where_nobody_takes_them_off() -> None:
    block = "fsdp: full_shard auto_wrap\nfsdp_config:\n  fsdp_transformer_layer_cls_to_wrap: X  # one"
    text = ARGUMENTS.replace("deepspeed: ds/zero3.json  # three", block)
    assert "\n  transformer_layer_cls_to_wrap: X  # one\n" in rewritten(text, "full_shard", target=on("4.45.0", "1.0.1")).text


def test_an_optimizer_that_fails_with_fsdp2_is_replaced_and_told() -> None:
    result = rewritten(ARGUMENTS + "optim: paged_adamw_8bit\n", "full_shard")
    assert result.text.endswith("optim: adamw_torch_8bit\n")
    note, _ = result.notes
    assert "the file says adamw_torch_8bit now, which needs torchao" in note


def test_options_in_another_file_are_refused() -> None:
    text = ARGUMENTS.replace("deepspeed: ds/zero3.json  # three", "fsdp: full_shard\nfsdp_config: fsdp.json")
    assert rewritten(text, "full_shard").refusal == "the options stand in the file that `fsdp_config` names, fsdp.json"
    alone = '{"transformer_layer_cls_to_wrap": "LlamaDecoderLayer", "backward_prefetch": "backward_pre"}\n'
    assert "rewrite the training file that names it" in (rewritten(alone, "full_shard", path="fsdp.json").refusal or "")


def test_llama_factory_gets_words_that_all_its_releases_understand() -> None:
    text = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: full\ntemplate: llama3\ndataset: d\noutput_dir: out\nbf16: true\n"
    result = rewritten(text, "full_offload", target=("transformers==5.8.0", "llamafactory==0.9.5"))
    assert result.text == text + "fsdp: full_shard auto_wrap offload\nfsdp_config:\n  version: 2\n  reshard_after_forward: true\n"


def test_ktransformers_places_its_models_itself() -> None:
    text = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\ndataset: d\noutput_dir: out\nuse_kt: true\n"
    assert "`use_kt`" in (rewritten(text, "full_shard", target=("llamafactory==0.9.5",)).refusal or "")


def test_llama_factorys_v1_form_has_a_block_of_its_own() -> None:
    text = "model: a/b\ntrain_dataset: d.yaml\noutput_dir: out\ndist_config:\n  name: deepspeed\n  config_file: ds.json\n"
    result = rewritten(text, "shard_grad", target=("llamafactory==0.9.5",), dialect="llama-factory")
    assert result.text.endswith("dist_config:\n  name: fsdp2\n  reshard_after_forward: false\n  offload_params: false\n")
