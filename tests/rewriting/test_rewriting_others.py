from __future__ import annotations

import json

import pytest
import yaml

from tests.rewriting.rewrites import rewritten

TITAN = """\
[job]
dump_folder = "out"

[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
steps = 10

[parallelism]
data_parallel_shard_degree = -1  # all
"""

TUNE = """\
# tune run --nproc_per_node 2 full_finetune_distributed --config this.yaml
model:
  _component_: torchtune.models.llama3.llama3_8b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: t
dataset:
  _component_: torchtune.datasets.alpaca_dataset
optimizer:
  _component_: torch.optim.AdamW
  lr: 2.0e-5
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
optimizer_in_bwd: true
epochs: 1
"""

LIGHTNING = """\
seed_everything: 1
trainer:
  accelerator: cpu
  devices: 2
  strategy: ddp  # copies
  max_epochs: 3
model:
  class_path: project.Model
"""

SWIFT = """\
model: Qwen/Qwen2.5-7B
tuner_type: full
dataset: a/b
output_dir: out
torch_dtype: bfloat16
max_length: 2048
split_dataset_ratio: 0.1
deepspeed: zero3
"""

COMPOSER = """\
max_duration: 1ba
global_train_batch_size: 8
model:
  name: mpt_causal_lm
fsdp_config:
  mixed_precision: PURE  # pure
  sharding_strategy: FULL_SHARD
"""


def test_torchtitan_changes_only_what_differs() -> None:
    target = ("torchtitan==0.2.2",)
    assert rewritten(TITAN, "full_shard", target=target, path="job.toml").text == TITAN
    assert rewritten(TITAN, "shard_grad", target=target, path="job.toml").text == f'{TITAN}fsdp_reshard_after_forward = "never"\n'
    offloading = rewritten(TITAN, "full_offload", target=target, path="job.toml").text
    assert offloading == TITAN.replace("steps = 10\n", "steps = 10\nenable_cpu_offload = true\n")
    assert "FSDP2 alone" in (rewritten(TITAN, "full_shard", 1, target=target, path="job.toml").refusal or "")


def test_torchtitans_replicas_become_shards() -> None:
    text = TITAN + "data_parallel_replicate_degree = 2\n"
    result = rewritten(text, "full_shard", target=("torchtitan==0.2.2",), path="job.toml")
    assert result.text == text.replace("replicate_degree = 2", "replicate_degree = 1")
    sized = rewritten(text.replace("= -1", "= 4"), "full_shard", target=("torchtitan==0.2.2",), path="job.toml").text
    assert "data_parallel_shard_degree = 8  # all\n" in sized


def test_jobs_older_than_torchtitan_itself_stay() -> None:
    text = TITAN.replace("local_batch_size = 1", "batch_size = 1\n").replace('flavor = "8B"', 'flavor = "8B"\nnorm_type = "rmsnorm"')
    assert "older than torchtitan 0.1.0" in (rewritten(text, "shard_grad", target=(), path="job.toml").refusal or "")


def test_torchtune_keeps_what_only_sharding_recipes_read() -> None:
    text = TUNE.replace("# tune run --nproc_per_node 2 full_finetune_distributed --config this.yaml\n", "")
    result = rewritten(text, "shard_grad", target=("torchtune==0.6.1",))
    assert (result.refusal, "fsdp_reshard_after_forward: false\n" in result.text) == (None, True)


def test_torchtune_offloads_without_the_optimizer_in_the_backward_pass() -> None:
    text = rewritten(TUNE, "full_offload", target=("torchtune==0.6.1",)).text
    assert text == TUNE.replace("optimizer_in_bwd: true", "optimizer_in_bwd: false") + "fsdp_cpu_offload: true\n"


def test_torchtunes_single_device_recipes_do_not_shard() -> None:
    text = TUNE.replace("--nproc_per_node 2 full_finetune_distributed", "full_finetune_single_device")
    assert "run the file of a distributed recipe" in (rewritten(text, "full_shard", target=("torchtune==0.6.1",)).refusal or "")


@pytest.mark.parametrize(
    ("preset", "strategy"),
    [
        ("full_shard", "fsdp"),
        ("full_offload", "fsdp_cpu_offload"),
        ("shard_grad", {"class_path": "FSDPStrategy", "init_args": {"sharding_strategy": "SHARD_GRAD_OP"}}),
    ],
)
def test_lightning_takes_a_name_or_a_class(preset: str, strategy: object) -> None:
    result = rewritten(LIGHTNING, preset, target=("lightning==2.6.0",))
    assert result.refusal is None
    trainer = yaml.safe_load(result.text)["trainer"]
    assert (trainer["strategy"], trainer["accelerator"], trainer["devices"]) == (strategy, "gpu", 2)
    assert "auto_wrap_policy" in result.notes[0]


def test_lightnings_fsdp2_lies_in_code() -> None:
    assert "in code" in (rewritten(LIGHTNING, "full_shard", 2, target=("lightning==2.6.0",)).refusal or "")


@pytest.mark.parametrize("preset", ["full_shard", "shard_grad"])
def test_lightnings_own_fsdp2_stays(preset: str) -> None:
    strategy = "\n    class_path: lightning.pytorch.strategies.ModelParallelStrategy\n    init_args: {tensor_parallel_size: 2}"
    text = LIGHTNING.replace(" ddp  # copies", strategy)
    assert "ModelParallelStrategy is FSDP2" in (rewritten(text, preset, target=("lightning==2.6.0",)).refusal or "")


def test_ms_swift_gets_its_preset_or_json_in_one_line() -> None:
    target = ("ms-swift==4.6.0",)
    assert rewritten(SWIFT, "full_shard", target=target).text == SWIFT.replace("deepspeed: zero3", "fsdp: fsdp2")
    text = yaml.safe_load(rewritten(SWIFT, "shard_grad", target=target).text)["fsdp"]
    assert json.loads(text)["fsdp"] == "shard_grad_op auto_wrap"
    assert json.loads(text)["fsdp_config"]["reshard_after_forward"] is False


def test_composer_shards_but_does_not_offload() -> None:
    assert rewritten(COMPOSER, "shard_grad", target=()).text == COMPOSER.replace("FULL_SHARD", "SHARD_GRAD_OP")
    assert "activation_cpu_offload" in (rewritten(COMPOSER, "full_offload", target=()).refusal or "")


HYDRA = """\
optimizer:
  _target_: composer.optim.DecoupledAdamW
  lr: 1.0e-4
trainer:
  _target_: composer.Trainer
  max_duration: 10ba
"""


def test_composers_trainer_gets_the_block_that_its_release_reads() -> None:
    newest = rewritten(HYDRA, "full_shard", target=("mosaicml==0.32.1",)).text
    assert newest == HYDRA + "  parallelism_config:\n    fsdp:\n      sharding_strategy: FULL_SHARD\n"
    older = rewritten(HYDRA, "shard_grad", target=("mosaicml==0.20.0",)).text
    assert older == HYDRA + "  fsdp_config:\n    sharding_strategy: SHARD_GRAD_OP\n"


def test_composers_older_block_moves_unless_it_has_comments() -> None:
    block = "  fsdp_config:\n    mixed_precision: PURE\n    sharding_strategy: FULL_SHARD\n"
    target = ("mosaicml==0.32.1",)
    moved = rewritten(HYDRA + block, "shard_grad", target=target).text
    assert yaml.safe_load(moved)["trainer"] == {
        "_target_": "composer.Trainer",
        "max_duration": "10ba",
        "parallelism_config": {"fsdp": {"mixed_precision": "PURE", "sharding_strategy": "SHARD_GRAD_OP"}},
    }
    assert "error" in (rewritten(HYDRA + block.replace("PURE", "PURE  # fast"), "shard_grad", target=target).refusal or "")
    older = rewritten(HYDRA + block, "shard_grad", target=("mosaicml==0.20.0",)).text
    assert older == HYDRA + block.replace("FULL_SHARD", "SHARD_GRAD_OP")


def test_composers_offload_goes() -> None:
    text = COMPOSER + "  cpu_offload: true\n"
    assert rewritten(text, "full_shard", target=()).text == text.replace("true", "false")


def test_composer_files_that_only_evaluate_stay() -> None:
    text = "model:\n  name: hf_causal_lm\nicl_tasks: tasks.yaml\ndevice_eval_batch_size: 4\n"
    assert rewritten(text, "full_shard", target=()).refusal == "the file trains nothing"


def test_soup_is_sharded_by_its_command_line() -> None:
    text = "base: a/b\ntask: sft\ndata:\n  train: d.jsonl\ntraining:\n  epochs: 1\n"
    result = rewritten(text, "full_shard", target=(), dialect="soup")
    assert result.refusal == "soup takes its FSDP preset from the command line: soup train --fsdp full_shard|shard_grad|full_offload"
