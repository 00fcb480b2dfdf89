from __future__ import annotations

import pytest
import yaml

from tests.linting import read
from tests.rewriting.rewrites import rewritten

TARGET = ("axolotl==0.19.0",)
PLAIN = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: a/b
    type: alpaca
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 2
optimizer: adamw_torch
"""
FIRST = f"""\
{PLAIN}fsdp:
  - full_shard  # all of it
  - auto_wrap
fsdp_config:
  fsdp_limit_all_gathers: true
  # in bytes
  fsdp_offload_params: true
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
special_tokens:
  pad_token: "x"
"""


def test_plain_files_get_the_block() -> None:
    assert rewritten(PLAIN, "shard_grad", target=TARGET).text == (
        f"{PLAIN}fsdp_version: 2\nfsdp_config:\n"
        "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  offload_params: false\n"
        "  reshard_after_forward: false\n  state_dict_type: FULL_STATE_DICT\n"
    )


@pytest.mark.parametrize("start", [PLAIN, FIRST, PLAIN + "deepspeed: ds/zero2.json\n"])
@pytest.mark.parametrize(
    ("preset", "sharding", "offload"),
    [("full_shard", "FULL_SHARD", False), ("shard_grad", "SHARD_GRAD_OP", False), ("full_offload", "FULL_SHARD", True)],
)
def test_every_start_comes_to_the_preset(start: str, preset: str, sharding: str, offload: bool) -> None:
    result = rewritten(start, preset, target=TARGET)
    assert result.refusal is None
    plan = read(result.text, dialect="axolotl", target=TARGET)
    assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value.value, plan.offload.value) == (True, 2, sharding, offload)
    assert "deepspeed" not in result.text


def test_a_migration_keeps_offload_classes_and_comments() -> None:
    assert rewritten(FIRST, version=2, target=TARGET).text == (
        f"{PLAIN}fsdp_version: 2\nfsdp_config:\n  # in bytes\n"
        "  offload_params: true\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  state_dict_type: FULL_STATE_DICT\n"
        "  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n  reshard_after_forward: true\n"
        'special_tokens:\n  pad_token: "x"\n'
    )


def test_preference_training_on_a_quantized_model_is_refused() -> None:
    result = rewritten(PLAIN + "rl: dpo\nload_in_4bit: true\nadapter: qlora\n", "full_shard", target=TARGET)
    assert result.refusal == "axolotl refuses `rl: dpo` on a quantized model with FSDP2"


def test_eight_bit_adam_becomes_torchs() -> None:
    text = rewritten(PLAIN.replace("adamw_torch", "adamw_bnb_8bit"), "full_shard", target=TARGET).text
    assert "optimizer: adamw_torch_8bit\n" in text


def test_fsdp1_is_for_old_releases_and_fsdp2_for_new_ones() -> None:
    assert "loses the strategy" in (rewritten(PLAIN, "full_shard", 1, target=TARGET).refusal or "")
    old = rewritten(PLAIN, "full_shard", target=("axolotl==0.8.0",)).text
    assert old.startswith(f"{PLAIN}fsdp:\n")
    assert "fsdp_version" not in old


def test_a_mesh_with_replicas_shards_over_all_of_its_processes() -> None:
    text = PLAIN + "fsdp_version: 2\ndp_replicate_size: 2\ndp_shard_size: 4\nfsdp_config:\n  offload_params: false\n"
    result = rewritten(text, "full_shard", target=TARGET)
    assert "dp_replicate_size: 1\ndp_shard_size: 8\n" in result.text
    assert result.notes == ["the mesh held 2 replicas; now all of its processes share one set of shards"]


@pytest.mark.parametrize(("old", "new"), [("paged_adamw_8bit", "adamw_torch_8bit"), ("paged_adamw_32bit", "adamw_torch")])
def test_optimizers_that_fail_on_dtensors_are_replaced_and_told(old: str, new: str) -> None:
    result = rewritten(PLAIN.replace("adamw_torch", old), "full_shard", target=TARGET)
    assert f"optimizer: {new}\n" in result.text
    assert f"`optimizer: {old}` fails with FSDP2: the file says {new} now" in result.notes[0]


def test_a_migration_keeps_the_strategy_that_fsdp1_lost() -> None:
    text = PLAIN + "fsdp: [shard_grad_op, auto_wrap]\nfsdp_config:\n  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"
    result = rewritten(text, version=2, target=TARGET)
    assert "reshard_after_forward: false\n" in result.text
    assert "SHARD_GRAD_OP is written and FULL_SHARD runs today: the text says SHARD_GRAD_OP now" in result.notes


def test_prefixes_are_written_where_only_those_are_read() -> None:
    text = PLAIN + "fsdp_version: 2\nfsdp_config:\n  transformer_layer_cls_to_wrap: LlamaDecoderLayer  # one\n  offload_params: true\n"
    result = rewritten(text, "shard_grad", target=("axolotl==0.9.0",))
    assert "  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer  # one\n  fsdp_offload_params: false\n" in result.text
    assert yaml.safe_load(result.text)["fsdp"] == ["shard_grad_op", "auto_wrap"]
    kernels = rewritten(PLAIN + "adapter: lora\nlora_qkv_kernel: true\n", "shard_grad", target=("axolotl==0.9.0",))
    assert kernels.refusal == "`lora_qkv_kernel`: axolotl's LoRA kernels do not train with FSDP1"


def test_files_older_than_axolotl_0_5_stay() -> None:
    text = PLAIN + "max_packed_sequence_len: 2048\n"
    assert "older than axolotl 0.5.0" in (rewritten(text, "full_shard", target=()).refusal or "")


@pytest.mark.parametrize(
    "order", [("fsdp_offload_params: true", "offload_params: false"), ("offload_params: true", "fsdp_offload_params: false")]
)
def test_of_two_spellings_the_later_one_counts(order: tuple[str, str]) -> None:
    text = PLAIN + "fsdp: [full_shard, auto_wrap]\nfsdp_config:\n  " + "\n  ".join(order) + "\n"
    assert read(text, target=list(TARGET)).offload.value is False
    assert yaml.safe_load(rewritten(text, version=2, target=TARGET).text)["fsdp_config"].get("offload_params") is not True


def test_an_empty_block_pins_no_version() -> None:
    assert read(PLAIN + "fsdp: [full_shard, auto_wrap]\nfsdp_config: {}\n", target=list(TARGET)).fsdp_version.value == 2
    assert (
        read(PLAIN + "fsdp: [full_shard, auto_wrap]\nfsdp_config: {offload_params: false}\n", target=list(TARGET)).fsdp_version.value == 1
    )
