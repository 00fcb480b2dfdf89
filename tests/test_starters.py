"""Launchers that only start processes: how many, on how many machines."""

from __future__ import annotations

import pytest
from linting import lint, read

from fsdplint.commands import read_command
from fsdplint.plan import Plan, Precision, Sharding

TRAIN = "output_dir: out\nper_device_train_batch_size: 8\nfsdp: true\n"


def counts(line: str) -> tuple[int | None, int | None, bool]:
    """Processes, machines, and whether the line leaves the first open."""
    plan = read(TRAIN, dialect="hf-trainer", line=line)
    return plan.processes.value, plan.machines.value, plan.processes.unknown


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("torchrun --nproc_per_node 8 train.py file0.yaml", (8, None, False)),
        ("torchrun --standalone --nproc-per-node=8 train.py file0.yaml", (8, None, False)),
        ("torchrun --nnodes=2 --nproc_per_node=8 -m pkg.train file0.yaml", (16, 2, False)),
        ("torchrun --nnodes 1:4 --nproc_per_node 8 train.py file0.yaml", (None, None, True)),
        ("torchrun --nproc_per_node gpu train.py file0.yaml", (None, None, True)),
        ("torchrun --nproc_per_node $N train.py file0.yaml", (None, None, True)),
        ("torchrun train.py file0.yaml", (None, None, False)),
        ("torchrun train.py file0.yaml --nproc_per_node 8", (None, None, False)),
        ("python -m torch.distributed.run --nproc_per_node 4 train.py file0.yaml", (4, None, False)),
        ("python3 -m torch.distributed.launch --use_env --nproc_per_node 4 train.py file0.yaml", (4, None, False)),
        ("srun -N 2 uv run torchrun --nnodes 2 --nproc_per_node 4 train.py file0.yaml", (8, 2, False)),
        ("env OMP_NUM_THREADS=1 nohup time torchrun --nproc_per_node 4 train.py file0.yaml", (4, None, False)),
        ("tune run --nnodes 2 --nproc_per_node 4 full_finetune_distributed --config file0.yaml", (8, 2, False)),
        ("composer -n 8 train.py file0.yaml", (8, None, False)),
        ("composer --nproc 8 --world_size 16 train.py file0.yaml", (16, None, False)),
        ("deepspeed --num_gpus 4 train.py file0.yaml", (4, None, False)),
        ("deepspeed --num_gpus=4 --num_nodes=2 train.py file0.yaml", (8, 2, False)),
        ("deepspeed --hostfile hosts --num_gpus=4 --num_nodes=2 train.py file0.yaml", (None, None, False)),
        ("FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train file0.yaml", (4, None, False)),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=4 llamafactory-cli train file0.yaml", (8, 2, False)),
        ("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train file0.yaml", (2, None, False)),
        ("MIN_NNODES=1 MAX_NNODES=2 NPROC_PER_NODE=4 llamafactory-cli train file0.yaml", (None, None, False)),
        ("CUDA_VISIBLE_DEVICES=$GPUS llamafactory-cli train file0.yaml", (None, None, False)),
        ("NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft file0.yaml", (4, None, False)),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft file0.yaml", (None, None, False)),
        ("axolotl train file0.yaml --launcher torchrun -- --nproc_per_node 4 --nnodes=2", (8, 2, False)),
        ("axolotl train file0.yaml --launcher=accelerate -- --num_processes 4", (4, None, False)),
        ("axolotl train file0.yaml --launcher python -- --nproc_per_node 4", (None, None, False)),
        ("axolotl train file0.yaml --num_processes 4", (None, None, False)),
        ("python train.py file0.yaml deepspeed --num_gpus 4", (None, None, False)),
        ("NPROC_PER_NODE=4 python train.py file0.yaml", (None, None, False)),
    ],
)
def test_counts(line: str, found: tuple[int | None, int | None, bool]) -> None:
    assert counts(line) == found


def test_the_place_is_the_number() -> None:
    line = "torchrun --nproc_per_node=1 train.py file0.yaml"
    found = [d for d in lint(TRAIN, dialect="hf-trainer", line=line) if d.code == "FSD106"]
    assert [(d.severity.word, d.path, d.key, line[d.range.start.offset : d.range.end.offset]) for d in found] == [
        ("error", "<launch>", "--nproc_per_node", "1")
    ]


def test_an_axolotl_line_hands_accelerate_its_file() -> None:
    command = read_command("axolotl train a.yaml --launcher accelerate -- --config_file acc.yaml --use_fsdp")
    assert command is not None
    assert command.document.value(()) == {"--config_file": "acc.yaml", "--use_fsdp": True}
    assert [word.text for word in command.script] == ["a.yaml", "--launcher", "accelerate"]


class TestAccelerateVariables:
    text = "output_dir: out\nper_device_train_batch_size: 8\n"

    def plan(self, variables: str, text: str = text, command: str = "torchrun --nproc_per_node 2") -> Plan:
        return read(text, dialect="hf-trainer", line=f"{variables} {command} train.py file0.yaml")

    def test_fsdp(self) -> None:
        variables = "ACCELERATE_USE_FSDP=true FSDP_VERSION=2 FSDP_RESHARD_AFTER_FORWARD=false FSDP_OFFLOAD_PARAMS=true"
        plan = self.plan(f"{variables} FSDP_TRANSFORMER_CLS_TO_WRAP=LlamaDecoderLayer")
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 2, Sharding.SHARD_GRAD_OP)
        assert (plan.offload.value, plan.wrap_classes.value, plan.processes.value) == (True, ("LlamaDecoderLayer",), 2)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("ACCELERATE_USE_FSDP",)

    def test_version_1_is_the_default(self) -> None:
        plan = self.plan("ACCELERATE_USE_FSDP=True FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP", command="python")
        assert (plan.fsdp_version.value, plan.sharding.value) == (1, Sharding.SHARD_GRAD_OP)

    @pytest.mark.parametrize(
        "variables",
        [
            "FSDP_VERSION=2",
            "ACCELERATE_USE_FSDP=false FSDP_VERSION=2",
            "ACCELERATE_USE_FSDP=$X FSDP_VERSION=2",
            "ACCELERATE_USE_FSDP=1 FSDP_VERSION=2",
        ],
    )
    def test_nothing_without_the_switch(self, variables: str) -> None:
        plan = self.plan(variables)
        assert plan.fsdp.value is not True and plan.fsdp_version.value is None

    def test_precision(self) -> None:
        assert self.plan("ACCELERATE_MIXED_PRECISION=fp16").precision.value is Precision.FP16
        assert self.plan("ACCELERATE_MIXED_PRECISION=fp16", f"{self.text}bf16: true\n").precision.value is Precision.BF16

    def test_not_for_programs_without_accelerate(self) -> None:
        text = "trainer:\n  strategy: ddp\n  devices: 2\n  max_epochs: 1\n"
        plan = read(text, dialect="lightning", line="ACCELERATE_USE_FSDP=true python main.py fit -c file0.yaml")
        assert plan.fsdp.value is not True


def test_unknown_flags_are_not_judged() -> None:
    for line in ("torchrun --nprocs 2", "composer --gpus 2", "deepspeed --what 3"):
        found = lint(TRAIN, dialect="hf-trainer", line=f"{line} train.py file0.yaml")
        assert not [d for d in found if d.path == "<launch>"]
