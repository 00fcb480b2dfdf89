"""ms-swift's files: recognition of their forms, what their keys decide, and the claims of its option table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

BASE = "model: Qwen/Qwen2.5-0.5B\ntuner_type: full\ndataset:\n  - org/data#500\noutput_dir: ./out\n"
OLD_BASE = BASE.replace("tuner_type", "train_type")
T58 = ("ms-swift==4.6.0", "transformers==5.8.0")
T4 = ("ms-swift==3.12.0", "transformers==4.57.6")


def inline(fsdp: str | None = "full_shard auto_wrap", **options: Any) -> str:
    """The line that carries FSDP's JSON as text."""
    values = {**({"fsdp": fsdp} if fsdp else {}), "fsdp_config": options}
    return f"fsdp: '{json.dumps(values)}'\n"


def form(text: str, path: str = "x.yaml") -> str:
    return type(dialect("ms-swift").for_document(parse(text, path))).__name__


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            BASE,
            "model: m\nrlhf_type: grpo\ndataset: d#10\n",
            "model: m\ntorch_dtype: bfloat16\nattn_impl: flash_attn\nlora_rank: 8\ndataset: d\n",
            "model_id_or_path: m\nsft_type: lora\ndataset: d\n",
            "adapters: a\ntuner_backend: unsloth\ndataset: d\n",
            "model: m\nrlhf_type: gkd\ndataset: d\ntrain:\n  gpus: 4\n  tuner_type: lora\n",
            '{"cmd": "sft", "args": {"model": "m"}, "experiment": [{"name": "a"}]}',
            '{"_note": "n", "fsdp": "full_shard auto_wrap", "fsdp_config": {"fsdp_version": 2}}',
        ],
    )
    def test_is_ms_swift(self, text: str) -> None:
        path = "x.json" if text.startswith("{") else "x.yaml"
        assert (found := recognise(parse(text, path))) is not None and found.name == "ms-swift"

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("model_name_or_path: m\ndataset_name: d\nlearning_rate: 1.0e-5\ntorch_dtype: bfloat16\n", "trl"),
            ('{"fsdp": "full_shard auto_wrap", "fsdp_config": {"version": 2}}', "hf-trainer"),
            ("model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: t\n", "llama-factory"),
            ("base_model: m\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 1\n", "axolotl"),
        ],
    )
    def test_is_another(self, text: str, name: str) -> None:
        path = "x.json" if text.startswith("{") else "x.yaml"
        assert (found := recognise(parse(text, path))) is not None and found.name == name

    @pytest.mark.parametrize(
        "text",
        [
            "model: m\ndataset: d\n",
            "model: {name: m}\ntuner_type: lora\nrlhf_type: dpo\n",
            "tuner_type: lora\n",
            "train_type: full\nmodel: m\n",
            "- model\n",
            "",
        ],
    )
    def test_is_not(self, text: str) -> None:
        document = parse(text, "x.yaml")
        assert not document.roots or dialect("ms-swift").recognise(document) == 0

    @pytest.mark.parametrize(
        ("text", "path", "name"),
        [
            (BASE, "x.yaml", "MsSwift"),
            (BASE + "micro_batch_size: 1\n", "x.yaml", "Megatron"),
            ('{"fsdp": "full_shard", "fsdp_config": {}}', "x.json", "FsdpFile"),
            ('{"distributed_type": "FSDP", "fsdp_config": {}}', "x.json", "ForeignFile"),
            ('{"zero_optimization": {"stage": 2}}', "x.json", "ForeignFile"),
            ('{"cmd": "sft", "args": {}, "experiment": []}', "x.json", "Benchmark"),
        ],
    )
    def test_forms(self, text: str, path: str, name: str) -> None:
        assert form(text, path) == name


class TestPreset:
    def test_fsdp2(self) -> None:
        plan = read(BASE + "fsdp: fsdp2\n", target=T58)
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 2, Sharding.FULL_SHARD)
        assert (plan.wrap_policy.value, plan.state_dict.value, plan.activation_checkpointing.value) == (
            Wrap.TRANSFORMER,
            StateDict.SHARDED,
            True,
        )
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("fsdp",)

    def test_it_turns_gradient_checkpointing_off(self) -> None:
        asked = read(BASE + "fsdp: fsdp2\ngradient_checkpointing: true\n", target=T58).gradient_checkpointing
        assert (asked.value, asked.written) == (False, True)
        assert read(BASE, target=T58).gradient_checkpointing.value is True

    @pytest.mark.parametrize("target", [(), T58])
    def test_it_is_fine(self, target: tuple[str, ...]) -> None:
        assert lint(BASE + "fsdp: fsdp2\n", target=target) == []
        assert lint(BASE + "fsdp: fsdp2\ngradient_checkpointing: false\n", target=target) == []


class TestJson:
    @pytest.mark.parametrize("target", [(), T58])
    def test_text(self, target: tuple[str, ...]) -> None:
        text = BASE + inline("shard_grad_op auto_wrap offload", fsdp_version=2, reshard_after_forward=False)
        plan = read(text, target=target)
        assert (plan.fsdp_version.value, plan.sharding.value, plan.offload.value) == (2, Sharding.SHARD_GRAD_OP, True)
        assert plan.sharding.place is not None and plan.sharding.place.path == ("fsdp",)
        assert lint(text, target=target) == []

    def test_mapping(self) -> None:
        lines = "fsdp:\n  fsdp: shard_grad_op auto_wrap\n  fsdp_config:\n    fsdp_version: 2\n    reshard_after_forward: false\n"
        plan = read(BASE + lines, target=T58)
        assert (plan.fsdp_version.value, plan.sharding.value) == (2, Sharding.SHARD_GRAD_OP)
        assert plan.sharding.place is not None and plan.sharding.place.path == ("fsdp", "fsdp_config", "reshard_after_forward")
        assert lint(BASE + lines, target=T58) == []

    def test_auto_wrap_is_added(self) -> None:
        plan = read(BASE + inline(None, fsdp_version=2), target=T58)
        assert plan.wrap_policy.value is Wrap.TRANSFORMER
        assert read(BASE + inline("full_shard", fsdp_version=2), target=T58).wrap_policy.value is Wrap.NONE

    def test_file(self) -> None:
        other = json.dumps({"fsdp": "shard_grad_op auto_wrap", "fsdp_config": {"fsdp_version": 2, "reshard_after_forward": False}})
        text = BASE + "fsdp: fsdp.json\n"
        plan = read(text, other, dialects=("ms-swift", "ms-swift"), target=T58)
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 2, Sharding.SHARD_GRAD_OP)
        assert lint(text, other, dialects=("ms-swift", "ms-swift"), target=T58) == []

    def test_a_file_that_is_not_there_says_nothing(self) -> None:
        plan = read(BASE + "fsdp: fsdp.json\n", target=T58)
        assert plan.fsdp.value is True
        assert plan.sharding.unknown and plan.state_dict.unknown

    def test_the_word_and_the_key_of_one_text_are_no_rivals_where_they_agree(self) -> None:
        assert read(BASE + "fsdp: fsdp2\n", target=T58).sharding.rivals == ()

    def test_placeholder(self) -> None:
        assert read(BASE + "fsdp: ${FSDP}\n", target=T58).fsdp.unknown

    def test_transformers_4_heeds_the_version_that_ms_swift_exports(self) -> None:
        plan = read(OLD_BASE + inline("shard_grad_op auto_wrap", reshard_after_forward=False), target=T4)
        assert (plan.fsdp_version.value, plan.sharding.value) == (2, Sharding.FULL_SHARD)
        assert read(OLD_BASE + inline(fsdp_version=1), target=T4).fsdp_version.value == 1
        assert read(OLD_BASE + inline(version=1), target=T4).fsdp_version.value == 2

    def test_before_3_12_the_words_are_the_trainers(self) -> None:
        plan = read(OLD_BASE + "fsdp: full_shard auto_wrap\n", target=["ms-swift==3.9.3"])
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.wrap_policy.value) == (True, 1, Wrap.TRANSFORMER)
        assert lint(OLD_BASE + "fsdp: full_shard auto_wrap\n", target=["ms-swift==3.9.3"]) == []

    def test_companions(self) -> None:
        companions = dialect("ms-swift").companions
        document = parse(BASE + "fsdp: conf/fsdp.json\ndeepspeed: ds.json\n", "x.yaml")
        assert companions(document) == [("fsdp", "conf/fsdp.json"), ("deepspeed", "ds.json")]
        for value in ("fsdp2", "'{\"fsdp_config\": {}}'", "{fsdp_config: {}}"):
            assert companions(parse(BASE + f"fsdp: {value}\ndeepspeed: zero3\n", "x.yaml")) == []


class TestPlan:
    @pytest.mark.parametrize(("dtype", "precision"), [("bfloat16", Precision.BF16), ("float16", Precision.FP16)])
    def test_precision_by_dtype(self, dtype: str, precision: Precision) -> None:
        assert read(BASE + f"torch_dtype: {dtype}\n").precision.value is precision
        assert read(BASE + f"torch_dtype: {dtype}\nbf16: true\n").precision.value is Precision.BF16

    def test_adapters(self) -> None:
        assert read(BASE).adapter.is_silent
        assert read(BASE.replace("full", "lora")).adapter.value == "lora"
        assert read(BASE.replace("full", "lora") + "quant_bits: 4\nquant_method: bnb\n").adapter.value == "qlora"
        assert read(BASE.replace("tuner_type: full\n", ""), dialect="ms-swift").adapter.source == "ms-swift's default"

    def test_quantization(self) -> None:
        assert read(BASE + "quant_bits: 4\nquant_method: bnb\n").quantization.value == "4bit"
        assert read(BASE + "quant_bits: 4\nquant_method: hqq\n").quantization.value == "hqq"

    def test_deepspeed(self) -> None:
        plan = read(BASE + "deepspeed: zero3\n")
        assert (plan.deepspeed.value, plan.deepspeed_config.value) == (True, "zero3")

    def test_the_task_is_only_known_where_it_is_written(self) -> None:
        assert read(BASE).task.is_silent
        assert read(BASE + "rlhf_type: dpo\n").task.value == "dpo"

    def test_megatron_decides_nothing_of_torch_fsdp(self) -> None:
        assert read(BASE + "micro_batch_size: 1\nfsdp: fsdp2\n").fsdp.is_silent


class TestTable:
    """Every value becomes a flag's text (each was run with ms-swift 4.6.0)."""

    @pytest.mark.parametrize(
        "value", ["true", "false", "[full_shard, auto_wrap]", "[]", "2", "fsdp", "full_shard", "full_shard auto_wrap", "'[1]'"]
    )
    def test_fsdp_values_that_are_refused(self, value: str) -> None:
        text = BASE + f"fsdp: {value}\n"
        found = lint(text, target=T58)
        assert told(found) == [("error", "FSD004", "fsdp")]
        assert marked(text, found[0]) == value

    def test_null_becomes_a_word(self) -> None:
        assert told(lint(BASE + "fsdp:\n", target=T58)) == [("error", "FSD005", "fsdp")]
        assert told(lint(BASE + "deepspeed:\n", target=T58)) == [("error", "FSD005", "deepspeed")]

    @pytest.mark.parametrize("value", ["''", "fsdp2", "a/b.json", "{fsdp_config: {fsdp_version: 2}}"])
    def test_fsdp_values_that_are_fine(self, value: str) -> None:
        assert lint(BASE + f"fsdp: {value}\n", target=T58) == []

    def test_the_preset_is_young(self) -> None:
        found = lint(OLD_BASE + "fsdp: fsdp2\n", target=["ms-swift==3.9.3"])
        assert ("error", "FSD004", "fsdp") in told(found)

    @pytest.mark.parametrize("value", ["zero4", "true", "none"])
    def test_deepspeed_values_that_are_refused(self, value: str) -> None:
        assert ("error", "FSD004", "deepspeed") in told(lint(BASE + f"deepspeed: {value}\n", target=T58))

    @pytest.mark.parametrize("value", ["zero0", "zero2_offload", "zero3", "ds/x.json", "{zero_optimization: {stage: 2}}", "''"])
    def test_deepspeed_values_that_are_fine(self, value: str) -> None:
        assert lint(BASE + f"deepspeed: {value}\n", target=T58) == []

    @pytest.mark.parametrize(
        "line",
        [
            "learning_rate: 1e-4",
            "per_device_train_batch_size: '4'",
            "per-device-train-batch-size: 4",
            "gradient_checkpointing: 'no'",
            "warmup_ratio: 0.1",
            "gradient_accumulation_step: 4",
            "predict_with_generate: true",
            "ENV: {CUDA_VISIBLE_DEVICES: '0'}",
        ],
    )
    def test_values_that_argparse_reads(self, line: str) -> None:
        assert lint(BASE + line + "\n", target=T58) == []

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("per_device_train_batch_size: 4.0", "FSD004"),
            ("gradient_checkpointing:", "FSD004"),
            ("learning_rate: fast", "FSD004"),
            ("tuner_backend: swift", "FSD004"),
            ("foo: 1", "FSD003"),
            ("evaluation_strategy: steps", "FSD404"),
            ("overwrite_output_dir: true", "FSD403"),
            ("lora_r: 8", "FSD006"),
            ("model_name_or_path: m", "FSD006"),
        ],
    )
    def test_keys_and_values_that_it_does_not(self, line: str, code: str) -> None:
        key = line.partition(":")[0]
        assert told(lint(BASE + line + "\n", target=T58, dialect="ms-swift")) == [("error", code, key)]

    def test_the_tuner_was_renamed(self) -> None:
        assert told(lint(OLD_BASE, target=T58)) == [("error", "FSD404", "train_type")]
        assert told(lint(OLD_BASE)) == [("warning", "FSD408", "train_type")]
        assert lint(OLD_BASE, target=["ms-swift==3.12.0"]) == []
        assert told(lint(BASE, target=["ms-swift==3.12.0"])) == [("error", "FSD401", "tuner_type")]

    def test_options_that_transformers_drops(self) -> None:
        lines = "fsdp: {fsdp: full_shard auto_wrap, fsdp_config: {fsdp_version: 2, state_dict_type: FULL_STATE_DICT}}\n"
        assert told(lint(BASE + lines, target=T58)) == [("warning", "FSD401", "fsdp.fsdp_config.state_dict_type")]
        assert lint(BASE + lines) == []

    def test_options_without_fsdp(self) -> None:
        assert told(lint(BASE + "fsdp_config: {version: 2}\n", target=T58)) == [("error", "FSD102", "fsdp_config")]

    def test_remarks_in_the_json_are_fine(self) -> None:
        text = json.dumps({"_description": "x", "fsdp": "full_shard auto_wrap", "fsdp_config": {"fsdp_version": 2}})
        assert lint(text, dialect="ms-swift", path="fsdp2.json", target=T58) == []

    def test_keys_beside_the_two_are_not_read(self) -> None:
        lines = "fsdp: {fsdp_config: {fsdp_version: 2}, mixed_precision: bf16}\n"
        assert told(lint(BASE + lines, target=T58)) == [("warning", "FSD003", "fsdp.mixed_precision")]
