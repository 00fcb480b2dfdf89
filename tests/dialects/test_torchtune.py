"""torchtune's YAML: recognition, what its keys decide, and the claims of its option table."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, Wrap

MODEL = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n"
LORA = MODEL.replace("llama3_1_8b", "lora_llama3_1_8b")
BASE = (
    "dataset: {_component_: torchtune.datasets.alpaca_dataset}\n"
    "optimizer: {_component_: torch.optim.AdamW, lr: 2e-5}\n"
    "loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}\n"
)
DISTRIBUTED = "# tune run --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full\n" + MODEL + BASE
SINGLE = "# tune run full_finetune_single_device --config llama3_1/8B_full_single_device\n" + MODEL + BASE


def of(release: str) -> tuple[str, ...]:
    return (f"torchtune=={release}",)


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            MODEL,
            "checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer}\n",
            "datasets:\n  - {_component_: torchtune.datasets.alpaca_dataset}\n",
            "training: {inner: {loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}}}\n",
            "model: {_component_: mine.models.tiny}\noptimizer: {_component_: torch.optim.AdamW}\n",
            "model: llama2_7b\nmodel_checkpoint: a.pt\ntokenizer_checkpoint: b.model\n",
        ],
    )
    def test_is_torchtune(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "torchtune"

    @pytest.mark.parametrize(
        "text",
        [
            "model: {_target_: torchtune.models.llama2.llama2_7b}\n",
            "# _component_: torchtune.models.llama2.llama2_7b\nmodel: x\n",
            "model: {_component_: mine.models.tiny}\n",
            "steps: [{run: pip install torchtune}]\n",
            "- _component_\n",
            "",
        ],
    )
    def test_is_not_torchtune(self, text: str) -> None:
        found = recognise(parse(text, "torchtune.yaml"))
        assert found is None or found.name != "torchtune"

    def test_aliases_are_looked_at_once(self) -> None:
        bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [" + ", ".join(["*c"] * 500) + "]\n" + MODEL
        assert (found := recognise(parse(bomb, "x.yaml"))) is not None and found.name == "torchtune"


class TestRecipe:
    """The recipe decides whether FSDP shards; a comment tells it."""

    @pytest.mark.parametrize(
        ("command", "kind", "shards"),
        [
            ("tune run --nproc_per_node 2 full_finetune_distributed --config a", "full", True),
            ("tune run --nnodes 1 --nproc_per_node 2 lora_finetune_distributed --config a", "lora", True),
            ("tune run --nproc_per_node 2 dev/early_exit_finetune_distributed --config a", "full", True),
            ("tune run --nproc_per_node 2 qat_lora_finetune_distributed --config a", "lora", True),
            ("tune run --nproc_per_node 2 qat_distributed --config a", "full", True),
            ("tune run lora_finetune_single_device --config a", "lora", False),
            ("tune run full_dpo_distributed --config a", "dpo", True),
            ("tune run ppo_full_finetune_single_device --config a", "ppo", False),
            ("tune run recipes/mine.py --config a", "custom", None),
            ("tune run eleuther_eval --config a", "inference", None),
        ],
    )
    def test_in_a_comment(self, command: str, kind: str, shards: bool | None) -> None:
        plan = read(f"# {command}\n{MODEL}{BASE}")
        assert (plan.task.value, plan.fsdp.value) == (kind, shards)

    def test_over_two_lines(self) -> None:
        text = "# tune run --nproc_per_node 2 \\\n#   full_finetune_distributed --config a\n" + MODEL + BASE
        assert read(text).fsdp.value is True

    def test_of_several_the_one_that_the_sections_tell(self) -> None:
        commands = ("lora_finetune_single_device --config a", "--nproc_per_node 2 knowledge_distillation_distributed --config b")
        head = "".join(f"# tune run {command}\n" for command in commands)
        plan = read(head + LORA + BASE + "kd_loss: {_component_: torchtune.modules.loss.ForwardKLLoss}\n")
        assert (plan.task.value, plan.fsdp.value) == ("kd", True)

    def test_without_a_comment(self) -> None:
        assert (read(MODEL + BASE).task.value, read(MODEL + BASE).fsdp.value) == ("full", None)
        assert read(LORA + BASE).task.value == "lora"
        assert read(MODEL).task.value == "inference"

    def test_an_fsdp_option_tells_a_distributed_recipe(self) -> None:
        plan = read(MODEL + BASE + "fsdp_cpu_offload: True\n")
        assert plan.fsdp.value is True
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("fsdp_cpu_offload",)

    def test_the_file_name_tells_a_single_device(self) -> None:
        found = lint(MODEL + BASE + "fsdp_cpu_offload: True\n", path="configs/8B_full_single_device.yaml", target=of("0.6.1"))
        assert told(found) == [("warning", "TUN001", "fsdp_cpu_offload")]


class TestPlan:
    def test_keys(self) -> None:
        plan = read(
            DISTRIBUTED + "dtype: bf16\ndevice: cuda\ncompile: True\nfsdp_cpu_offload: True\nenable_activation_checkpointing: True\n"
        )
        assert (plan.precision.value, plan.device.value, plan.compile.value) == (Precision.BF16, "cuda", True)
        assert (plan.offload.value, plan.activation_checkpointing.value) == (True, True)
        assert plan.optimizer.value == "torch.optim.AdamW"
        assert plan.wrap_policy.value is Wrap.TRANSFORMER

    @pytest.mark.parametrize(("line", "sharding"), [("", "FULL_SHARD"), ("True", "FULL_SHARD"), ("False", "SHARD_GRAD_OP")])
    def test_sharding(self, line: str, sharding: str) -> None:
        plan = read(DISTRIBUTED + (f"fsdp_reshard_after_forward: {line}\n" if line else ""))
        assert plan.sharding.value is Sharding[sharding]
        assert plan.sharding.is_written is bool(line)

    def test_an_interpolation_is_unknown(self) -> None:
        plan = read(DISTRIBUTED + "fsdp_reshard_after_forward: ${x}\nfsdp_cpu_offload: ${y}\n")
        assert plan.sharding.unknown and plan.offload.unknown

    @pytest.mark.parametrize(("release", "version"), [("0.2.1", 1), ("0.3.0", 2), ("0.6.1", 2)])
    def test_fsdp_version(self, release: str, version: int) -> None:
        assert read(DISTRIBUTED, target=of(release)).fsdp_version.value == version

    def test_adapters(self) -> None:
        assert (read(LORA).adapter.value, read(LORA).quantization.value) == ("lora", None)
        quantized = read(LORA.replace("lora_", "qlora_"))
        assert (quantized.adapter.value, quantized.quantization.value) == ("qlora", "4bit")
        assert read(MODEL).adapter.value is None

    def test_selective_checkpointing_cancels_the_other(self) -> None:
        plan = read(DISTRIBUTED + "enable_activation_checkpointing: True\nac_mode: selective\n")
        assert (plan.activation_checkpointing.written, plan.activation_checkpointing.value) == (True, False)
        assert read(DISTRIBUTED + "ac_mode: selective\n").activation_checkpointing.value is True

    def test_omegaconf_reads_floats_and_refuses_duplicates(self) -> None:
        assert lint(MODEL + BASE, target=of("0.6.1")) == []
        assert told(lint(MODEL + BASE + "dtype: bf16\ndtype: fp32\n", target=of("0.6.1"))) == [("error", "FSD002", "dtype")]


class TestValues:
    @pytest.mark.parametrize("word", ["bfloat16", "float16", "bf16-mixed", "BF16", "16"])
    def test_dtype(self, word: str) -> None:
        text = f"{MODEL}{BASE}dtype: {word}\n"
        found = lint(text, target=of("0.6.1"))
        assert told(found) == [("error", "FSD004", "dtype")]
        assert marked(text, found[0]) == word

    @pytest.mark.parametrize("word", ["bf16", "fp32", "fp64", "null", "${dtype}"])
    def test_known_dtypes(self, word: str) -> None:
        assert lint(f"{MODEL}{BASE}dtype: {word}\n", target=of("0.6.1")) == []

    def test_what_to_write_instead(self) -> None:
        assert lint(f"{MODEL}{BASE}dtype: bf16-mixed\n")[0].help == "write `bf16`"

    def test_a_quoted_boolean_counts_as_true(self) -> None:
        assert told(lint(DISTRIBUTED + 'fsdp_cpu_offload: "False"\n', target=of("0.6.1"))) == [("error", "FSD005", "fsdp_cpu_offload")]

    @pytest.mark.parametrize(("device", "keys"), [("gpu", ["device"]), ("gpu:1", ["device"]), ("cuda", []), ("cpu", []), ("cuda:1", [])])
    def test_device(self, device: str, keys: list[str]) -> None:
        assert [d.key for d in lint(f"{MODEL}{BASE}device: {device}\n", target=of("0.6.1"))] == keys

    @pytest.mark.parametrize(("release", "severity"), [("0.6.1", ["warning"]), ("0.7.0", [])])
    def test_compile_as_a_mapping(self, release: str, severity: list[str]) -> None:
        assert [d.severity.word for d in lint(DISTRIBUTED + "compile: {model: True, loss: False}\n", target=of(release))] == severity


class TestKeys:
    @pytest.mark.parametrize(
        "key", ["fsdp_cpu_offlod", "fsdp_reshard_after_foward", "custom_sharded_layer", "enable_activation_checkpoint", "optimizer_in_bw"]
    )
    def test_typos_of_the_fsdp_family(self, key: str) -> None:
        text = f"{DISTRIBUTED}{key}: True\n"
        found = lint(text, target=of("0.6.1"))
        assert told(found) == [("warning", "FSD003", key)]
        assert marked(text, found[0]) == key

    def test_own_keys_are_nobodys_business(self) -> None:
        assert (
            lint(
                DISTRIBUTED
                + "my_key: 1\ndevices: 2\ndataset_eval: x\nrun_eval_every_n_steps: 5\nbatchsize: 2\nnum_epochs: 3\nmodel_name: x\n",
                target=of("0.6.1"),
            )
            == []
        )

    @pytest.mark.parametrize(
        ("line", "release", "finding"),
        [
            ("memory_efficient_fsdp_wrap: True", "0.6.1", ("warning", "FSD403", "memory_efficient_fsdp_wrap")),
            ("memory_efficient_fsdp_wrap: False", "0.6.1", None),
            ("memory_efficient_fsdp_wrap: True", "0.2.1", None),
            ("fsdp_sharding_strategy: SHARD_GRAD_OP", "0.6.1", ("warning", "FSD403", "fsdp_sharding_strategy")),
            ("fsdp_sharding_strategy: FULL_SHARD", "0.6.1", None),
            ("fsdp_sharding_strategy: SHARD_GRAD_OP", "0.4.0", None),
            ("fsdp_cpu_offload: True", "0.1.1", ("warning", "FSD401", "fsdp_cpu_offload")),
            ("fsdp_cpu_offload: False", "0.1.1", None),
            ("fsdp_reshard_after_forward: False", "0.2.1", ("warning", "FSD401", "fsdp_reshard_after_forward")),
            ("custom_sharded_layers: [output]", "0.2.1", ("warning", "FSD401", "custom_sharded_layers")),
            ("tensor_parallel_dim: 2", "0.5.0", ("warning", "FSD401", "tensor_parallel_dim")),
            ("data_parallel_replicate_dim: 2", "0.6.1", ("warning", "FSD401", "data_parallel_replicate_dim")),
            ("data_parallel_replicate_dim: 1", "0.6.1", None),
            ("data_parallel_shard_dim: -1", "0.6.1", None),
            ("run_val_every_n_steps: null", "0.6.1", None),
            ("run_val_every_n_steps: 5", "0.6.1", ("warning", "FSD401", "run_val_every_n_steps")),
            ("enable_async_checkpointing: True", "0.5.0", ("warning", "FSD401", "enable_async_checkpointing")),
            ("log_level: INFO", "0.6.1", None),
            ("enable_fsdp: True", "0.6.1", ("warning", "FSD403", "enable_fsdp")),
        ],
    )
    def test_over_releases(self, line: str, release: str, finding: tuple[str, str, str] | None) -> None:
        assert told(lint(f"{DISTRIBUTED}{line}\n", target=of(release))) == ([finding] if finding else [])

    def test_an_old_file_is_told_once(self) -> None:
        text = "model: llama2_7b\nmodel_checkpoint: a.pt\ntokenizer_checkpoint: b.model\nenable_fsdp: True\n"
        found = lint(text)
        assert told(found) == [("warning", "FSD408", "model_checkpoint")]
        assert "torchtune<0.1" in found[0].message


class TestDevicesAndSizes:
    TEXT = DISTRIBUTED + "enable_activation_checkpointing: True\nenable_activation_offloading: True\ndevice: "

    @pytest.mark.parametrize(
        ("device", "release", "keys"),
        [
            ("cpu", "0.6.1", ["enable_activation_offloading"]),
            ("mps", "0.6.1", ["enable_activation_offloading"]),
            ("xpu", "0.6.1", ["enable_activation_offloading"]),
            ("xpu", "0.7.0", []),
            ("cuda", "0.6.1", []),
        ],
    )
    def test_activation_offloading(self, device: str, release: str, keys: list[str]) -> None:
        found = lint(self.TEXT + device + "\n", target=of(release))
        assert [(d.severity.word, d.code, d.key) for d in found] == [("error", "FSD202", key) for key in keys]

    def test_one_gpu(self) -> None:
        assert [(d.severity.word, d.code) for d in lint(DISTRIBUTED, gpus=1)] == [("error", "FSD106")]
        assert lint(SINGLE, gpus=1) == [] == lint(DISTRIBUTED, gpus=2)

    @pytest.mark.parametrize(("gpus", "keys"), [(3, ["tensor_parallel_dim"]), (4, [])])
    def test_tensor_parallel_size(self, gpus: int, keys: list[str]) -> None:
        text = DISTRIBUTED + "tensor_parallel_dim: 2\ntensor_parallel_plan: {_component_: torchtune.models.llama3.base_llama_tp_plan}\n"
        assert [d.key for d in lint(text, gpus=gpus, target=of("0.6.1"))] == keys
