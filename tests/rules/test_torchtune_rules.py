"""torchtune's faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

MODEL = "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\n"
LORA = "model: {_component_: torchtune.models.llama3_1.lora_llama3_1_8b}\n"
REST = """\
output_dir: out
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: tokenizer.model}
dataset: {_component_: torchtune.datasets.alpaca_dataset}
seed: null
shuffle: True
checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer, checkpoint_dir: ckpt}
resume_from_checkpoint: False
batch_size: 2
epochs: 1
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}
max_steps_per_epoch: null
gradient_accumulation_steps: 1
device: cuda
dtype: bf16
metric_logger: {_component_: torchtune.training.metric_logging.DiskLogger, log_dir: out}
"""
FULL = "tune run --nproc_per_node 2 full_finetune_distributed --config file0.yaml"
SINGLE = "tune run full_finetune_single_device --config file0.yaml"
ADAPTER = "tune run --nproc_per_node 2 lora_finetune_distributed --config file0.yaml"
QAT = "tune run --nproc_per_node 2 qat_distributed --config file0.yaml"
PLAN = "tensor_parallel_plan: {_component_: torchtune.models.llama3.base_llama_tp_plan}\n"
QUANTIZER = "quantizer: {_component_: torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer}\n"


def text_of(*lines: str, model: str = MODEL, **changed: str) -> str:
    """A whole config with some keys changed and some added."""
    text = model + REST
    for key, value in changed.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{key}:"))
        text = text.replace(f"{old}\n", f"{key}: {value}\n" if value else "")
    return text + "".join(f"{line}\n" for line in lines)


def found(text: str, release: str = "0.6.1", line: str | None = FULL) -> list[tuple[str, str, str | None]]:
    return told(lint(text, line=line, target=(f"torchtune=={release}",)))


def test_a_good_file_is_silent() -> None:
    assert found(text_of()) == [] == found(text_of(model=LORA), line=ADAPTER) == found(text_of(), line=None)


class TestFp16:
    """TUN001: every training recipe refuses it."""

    TEXT = text_of(dtype="fp16")

    @pytest.mark.parametrize("line", [FULL, SINGLE, ADAPTER, QAT, None])
    def test_training(self, line: str | None) -> None:
        diagnostics = lint(self.TEXT, line=line, target=("torchtune==0.6.1",))
        assert told(diagnostics) == [("error", "TUN001", "dtype")]
        assert marked(self.TEXT, diagnostics[0]) == "fp16"

    @pytest.mark.parametrize(
        "line",
        [
            f"{FULL} dtype=bf16",
            "tune run generate --config file0.yaml",
            "tune run eleuther_eval --config file0.yaml",
            "tune run recipes/mine.py --config file0.yaml",
        ],
    )
    def test_elsewhere(self, line: str) -> None:
        assert found(self.TEXT, line=line) == []

    def test_without_an_optimizer(self) -> None:
        assert lint("model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\ndtype: fp16\ndevice: cuda\n") == []


CLASHES = [
    # (lines, changed keys, launch line, release, severity and key told)
    (["enable_activation_offloading: True"], {}, FULL, "0.6.1", ("error", "enable_activation_offloading")),
    (
        ["enable_activation_offloading: True", "enable_activation_checkpointing: False"],
        {},
        ADAPTER,
        "0.4.0",
        ("error", "enable_activation_offloading"),
    ),
    (["enable_activation_offloading: True", "enable_activation_checkpointing: True"], {}, FULL, "0.6.1", None),
    (["enable_activation_offloading: True", "enable_activation_checkpointing: ${x}"], {}, FULL, "0.6.1", None),
    (["optimizer_in_bwd: True", "clip_grad_norm: 1.0"], {}, FULL, "0.6.1", ("error", "clip_grad_norm")),
    (["optimizer_in_bwd: True", "clip_grad_norm: 'inf'"], {}, SINGLE, "0.5.0", ("error", "clip_grad_norm")),
    (["optimizer_in_bwd: True", "clip_grad_norm: null"], {}, FULL, "0.6.1", None),
    (["optimizer_in_bwd: False", "clip_grad_norm: 1.0"], {}, FULL, "0.6.1", None),
    (["optimizer_in_bwd: True", "clip_grad_norm: 1.0"], {}, f"{FULL} clip_grad_norm=null", "0.6.1", None),
    (["optimizer_in_bwd: True", "clip_grad_norm: 1.0"], {}, f"{FULL} ~clip_grad_norm", "0.6.1", None),
    (["optimizer_in_bwd: True"], {"gradient_accumulation_steps": "4"}, FULL, "0.6.1", ("error", "gradient_accumulation_steps")),
    (["optimizer_in_bwd: True"], {"gradient_accumulation_steps": "4"}, SINGLE, "0.2.1", ("error", "gradient_accumulation_steps")),
    (["optimizer_in_bwd: True"], {"gradient_accumulation_steps": "4"}, FULL, "0.3.1", None),
    ([], {"gradient_accumulation_steps": "4"}, FULL, "0.6.1", None),
    (["optimizer_in_bwd: True", "compile: True"], {}, FULL, "0.6.1", None),
    (["optimizer_in_bwd: True", "compile: True"], {}, FULL, "0.7.0", ("error", "compile")),
    (["optimizer_in_bwd: True", "compile: {model: True, optimizer_step: True}"], {}, FULL, "0.7.0", ("error", "compile.optimizer_step")),
    (["optimizer_in_bwd: True", "compile: {model: True, loss: True}"], {}, FULL, "0.7.0", None),
    (["optimizer_in_bwd: True", "fsdp_cpu_offload: True"], {}, FULL, "0.6.1", ("warning", "optimizer_in_bwd")),
    (["enable_activation_checkpointing: True", "ac_mode: full"], {}, FULL, "0.6.1", ("warning", "enable_activation_checkpointing")),
    (["enable_activation_checkpointing: False", "ac_mode: selective", "ac_option: 2"], {}, FULL, "0.6.1", None),
    (["ac_option: 2"], {}, FULL, "0.6.1", ("warning", "ac_option")),
    (["compile: True", QUANTIZER], {}, QAT, "0.6.1", ("error", "compile")),
    (["compile: True", QUANTIZER], {}, QAT, "0.4.0", None),
    (["compile: False", QUANTIZER], {}, QAT, "0.6.1", None),
    (["compile: True"], {}, FULL, "0.6.1", None),
    (["tensor_parallel_dim: 2"], {}, FULL, "0.6.1", ("error", "tensor_parallel_dim")),
    (["tensor_parallel_dim: 2", PLAN], {}, FULL, "0.6.1", None),
    (["tensor_parallel_dim: 1"], {}, FULL, "0.6.1", None),
    (
        ["tensor_parallel_dim: 2", PLAN, "enable_activation_checkpointing: True", "enable_activation_offloading: True"],
        {},
        FULL,
        "0.6.1",
        ("error", "enable_activation_offloading"),
    ),
    (["enable_fp8_training: True", "context_parallel_dim: 2"], {}, FULL, "0.7.0", ("error", "enable_fp8_training")),
    (["enable_fp8_training: True", "context_parallel_dim: 1"], {}, FULL, "0.7.0", None),
    (
        ["tensor_parallel_dim: 2", PLAN, "fsdp_cpu_offload: True", "data_parallel_shard_dim: 1"],
        {},
        FULL,
        "0.7.0",
        ("error", "fsdp_cpu_offload"),
    ),
    (["tensor_parallel_dim: 2", PLAN, "fsdp_cpu_offload: True"], {}, FULL, "0.7.0", None),
    (["fsdp_cpu_offload: True", "clip_grad_norm: 1.0"], {}, FULL, "0.4.0", ("error", "clip_grad_norm")),
    (["fsdp_cpu_offload: True", "clip_grad_norm: 1.0"], {}, FULL, "0.5.0", None),
    (["run_val_every_n_steps: 10"], {}, FULL, "0.7.0", ("error", "run_val_every_n_steps")),
    (["run_val_every_n_steps: 10", "dataset_val: {_component_: torchtune.datasets.alpaca_dataset}"], {}, FULL, "0.7.0", None),
    (["fsdp_cpu_offload: True"], {}, SINGLE, "0.6.1", ("warning", "fsdp_cpu_offload")),
    (["fsdp_reshard_after_forward: False"], {}, SINGLE, "0.6.1", ("warning", "fsdp_reshard_after_forward")),
    (["custom_sharded_layers: [output]"], {}, SINGLE, "0.6.1", ("warning", "custom_sharded_layers")),
    (["fsdp_cpu_offload: True", "custom_sharded_layers: [output]"], {}, FULL, "0.6.1", None),
]


@pytest.mark.parametrize(("lines", "changed", "line", "release", "finding"), CLASHES)
def test_clashes(lines: list[str], changed: dict[str, str], line: str, release: str, finding: tuple[str, str] | None) -> None:
    assert found(text_of(*lines, **changed), release, line) == ([(finding[0], "TUN001", finding[1])] if finding else [])


def test_a_fused_optimizer_under_tensor_parallelism() -> None:
    text = text_of("tensor_parallel_dim: 2", PLAN).replace("lr: 2e-5", "lr: 2e-5\n  fused: True")
    assert found(text) == [("error", "TUN001", "optimizer.fused")]
    assert found(text, "0.7.0") == []


def test_a_file_for_the_main_branch_is_only_warned_about_what_that_one_allows() -> None:
    text = text_of("tensor_parallel_dim: 2", PLAN, "data_parallel_shard_dim: -1").replace("lr: 2e-5", "lr: 2e-5\n  fused: True")
    assert told(lint(text)) == [("warning", "TUN001", "optimizer.fused")]


def test_lora_recipes_do_not_read_the_optimizer_switch() -> None:
    text = text_of("optimizer_in_bwd: True", "clip_grad_norm: 1.0", model=LORA)
    assert found(text, line=ADAPTER) == [("warning", "TUN001", "optimizer_in_bwd")]


def test_the_other_option_is_related() -> None:
    text = text_of("optimizer_in_bwd: True", "clip_grad_norm: 1.0")
    (diagnostic,) = lint(text, line=FULL, target=("torchtune==0.6.1",))
    assert [related.key for related in diagnostic.related] == ["optimizer_in_bwd"]
    assert diagnostic.help == "write `clip_grad_norm: null`, or `optimizer_in_bwd: False`"


class TestMissing:
    """TUN002."""

    @pytest.mark.parametrize(
        "key", ["dtype", "device", "epochs", "seed", "output_dir", "shuffle", "max_steps_per_epoch", "resume_from_checkpoint"]
    )
    def test_key(self, key: str) -> None:
        assert found(text_of(**{key: ""})) == [("error", "TUN002", key)]

    @pytest.mark.parametrize("key", ["tokenizer", "checkpointer", "loss", "metric_logger", "dataset"])
    def test_section(self, key: str) -> None:
        assert found(text_of(**{key: ""})) == [("error", "TUN002", key)]

    def test_the_launch_line_gives_it(self) -> None:
        assert found(text_of(dtype=""), line=f"{FULL} dtype=bf16") == []

    def test_without_a_launch_line_it_is_a_warning(self) -> None:
        assert found(text_of(dtype=""), line=None) == [("warning", "TUN002", "dtype")]

    def test_null_is_written(self) -> None:
        assert found(text_of(device="null", dtype="null")) == []

    def test_other_recipes_need_other_keys(self) -> None:
        assert found(text_of(dtype=""), line="tune run generate --config file0.yaml") == []
        assert found(text_of(epochs=""), line="tune run ppo_full_finetune_single_device --config file0.yaml") == []

    def test_a_piece_of_a_config_lacks_nothing(self) -> None:
        assert lint(MODEL + "optimizer: {_component_: torch.optim.AdamW}\nloss: {_component_: torch.nn.CrossEntropyLoss}\n") == []

    def test_component(self) -> None:
        text = text_of(loss="{num_output_chunks: 8}")
        assert found(text) == [("error", "TUN002", "loss._component_")]
        assert found(text, line=f"{FULL} loss._component_=torch.nn.CrossEntropyLoss") == []
        assert found(text, line=None) == [("warning", "TUN002", "loss._component_")]

    def test_an_interpolated_section(self) -> None:
        assert found(text_of(loss="${other}")) == []


class TestMoved:
    """TUN003."""

    TEXT = text_of("lr_scheduler: {_component_: torchtune.modules.get_cosine_schedule_with_warmup}").replace(
        "torchtune.training.metric_logging", "torchtune.utils.metric_logging"
    )

    def test_every_component_of_a_declared_release(self) -> None:
        keys = ["metric_logger._component_", "lr_scheduler._component_"]
        assert found(self.TEXT) == [("error", "TUN003", key) for key in keys]
        assert found(self.TEXT, "0.3.0") == [("error", "TUN003", keys[0])]
        assert found(self.TEXT, "0.2.1") == []

    def test_once_for_an_undeclared_one(self) -> None:
        (diagnostic,) = lint(self.TEXT)
        assert (diagnostic.severity.word, diagnostic.code, diagnostic.key) == ("warning", "TUN003", "metric_logger._component_")
        assert marked(self.TEXT, diagnostic) == "torchtune.utils.metric_logging.DiskLogger"
        assert diagnostic.help == "write `torchtune.training.metric_logging.DiskLogger`"
        assert [related.key for related in diagnostic.related] == ["lr_scheduler._component_"]
