"""LLaMA-Factory's files: recognition of their forms, what their keys decide, and the claims of their option tables."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

CLASSIC = """\
model_name_or_path: meta-llama/Llama-3.2-1B
stage: sft
do_train: true
finetuning_type: {method}
dataset: identity
template: llama3
output_dir: out
"""
V1 = "model: Qwen/Qwen3-0.6B\nmodel_class: llm\ntrain_dataset: data.yaml\n"
NEW = ("llamafactory==0.9.6.dev0", "transformers==5.8.0", "accelerate==1.11.0")
OLD = ("llamafactory==0.9.6.dev0", "transformers==4.57.6", "accelerate==1.11.0")


def classic(lines: str = "", method: str = "full") -> str:
    return CLASSIC.format(method=method) + lines


def form(text: str, path: str = "x.yaml") -> str:
    return type(dialect("llama-factory").for_document(parse(text, path))).__name__


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            classic(),
            "model_name_or_path: m\ntemplate: qwen\n",
            "model_name_or_path: m\nstage: dpo\nfinetuning_type: lora\n",
            "model_name_or_path: m\ninfer_backend: huggingface\ntrust_remote_code: true\n",
            "model_name_or_path: m\nadapter_name_or_path: a\nexport_dir: o\n",
            "stage: sft\nfinetuning_type: lora\ndataset: d\n",
            V1,
            "model: m\ntrain_dataset: d\ndist_config: {name: fsdp2}\n",
            '{"model_name_or_path": "m", "stage": "sft", "finetuning_type": "full"}',
        ],
    )
    def test_is_llama_factory(self, text: str) -> None:
        path = "x.json" if text.startswith("{") else "x.yaml"
        assert (found := recognise(parse(text, path))) is not None and found.name == "llama-factory"

    @pytest.mark.parametrize(
        "text",
        [
            "model_name_or_path: m\ndataset_name: d\nlearning_rate: 1.0e-5\noutput_dir: o\n",
            "model_name_or_path: m\npreprocessing_num_workers: 4\noverwrite_cache: true\nlora_rank: 8\n",
            "model: m\ntuner_type: lora\ndataset: d\n",
            "base_model: m\ndatasets: [{path: d, type: alpaca}]\n",
            "stage: build\nscript: [make]\n",
            "model: {name: llama3}\ntraining: {steps: 1}\n",
            "model: m\ndist_config: {backend: nccl}\n",
            "template: page.html\n",
            "- stage\n",
            "",
        ],
    )
    def test_is_not(self, text: str) -> None:
        document = parse(text, "x.yaml")
        assert not document.roots or dialect("llama-factory").recognise(document) == 0

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (classic(), "LlamaFactory"),
            (V1, "V1"),
            (classic("tensor_model_parallel_size: 2\n"), "Megatron"),
            (classic("use_mca: true\n"), "Megatron"),
            ("model_name_or_path: m\ntemplate: t\ninfer_backend: vllm\n", "Inference"),
            ("model_name_or_path: m\ntemplate: t\nexport_dir: o\n", "Inference"),
            (classic("infer_backend: huggingface\n"), "LlamaFactory"),
        ],
    )
    def test_forms(self, text: str, name: str) -> None:
        assert form(text) == name


class TestClassicPlan:
    def test_no_fsdp_says_nothing_of_fsdp(self) -> None:
        plan = read(classic("bf16: true\n"))
        assert plan.fsdp.is_silent
        assert (plan.model.value, plan.task.value, plan.precision.value) == ("meta-llama/Llama-3.2-1B", "sft", Precision.BF16)

    def test_the_pinned_transformers_builds_fsdp1(self) -> None:
        plan = read(classic("fsdp: full_shard auto_wrap offload\n"))
        assert (plan.fsdp_version.value, plan.sharding.value, plan.offload.value) == (1, Sharding.FULL_SHARD, True)
        assert plan.wrap_policy.value is Wrap.TRANSFORMER

    def test_shard_grad_op_is_lost_in_5_8(self) -> None:
        lost, kept = (read(classic("fsdp: shard_grad_op auto_wrap\n"), target=target).sharding for target in (NEW, OLD))
        assert (lost.written, lost.value) == (Sharding.SHARD_GRAD_OP, Sharding.FULL_SHARD)
        assert kept.value is Sharding.SHARD_GRAD_OP

    @pytest.mark.parametrize(
        ("lines", "value", "key"),
        [
            ("quantization_bit: 4\n", "4bit", "quantization_bit"),
            ("quantization_bit: 8\nquantization_method: bnb\n", "8bit", "quantization_bit"),
            ("quantization_bit: 4\nquantization_method: hqq\n", "hqq", "quantization_method"),
            ("quantization_bit: 8\nquantization_method: eetq\n", "eetq", "quantization_method"),
        ],
    )
    def test_quantization(self, lines: str, value: str, key: str) -> None:
        fact = read(classic(lines, "lora")).quantization
        assert (fact.value, fact.place.path if fact.place else None) == (value, (key,))

    def test_the_word_for_bitsandbytes_was_renamed(self) -> None:
        text = classic("quantization_bit: 4\nquantization_method: bitsandbytes\n", "lora")
        assert read(text, target=["llamafactory==0.9.2"]).quantization.value == "4bit"
        assert read(text, target=["llamafactory==0.9.5"]).quantization.value is None
        found = lint(text, target=["llamafactory==0.9.5"])
        assert told(found) == [("warning", "FSD004", "quantization_method")]
        assert "no weights are quantized" in found[0].message

    def test_adapters(self) -> None:
        assert read(classic(method="lora")).adapter.value == "lora"
        assert read(classic("quantization_bit: 4\n", "lora")).adapter.value == "qlora"
        assert read(classic()).adapter.is_silent
        assert read("model_name_or_path: m\ntemplate: t\nstage: sft\n").adapter.source == "LLaMA-Factory's default"

    def test_gradient_checkpointing_is_on_by_default(self) -> None:
        assert read(classic()).gradient_checkpointing.value is True
        assert read(classic()).gradient_checkpointing.place is None
        assert read(classic("disable_gradient_checkpointing: true\n")).gradient_checkpointing.value is False

    def test_backend(self) -> None:
        assert read(classic("use_unsloth: true\n", "lora")).backend.value == "unsloth"
        assert read(classic("use_unsloth_gc: true\n", "lora")).backend.is_silent
        assert read(classic("use_unsloth: ${U}\n", "lora")).backend.is_silent

    def test_fp8(self) -> None:
        assert read(classic("fp8: true\nbf16: true\n")).precision.value is Precision.FP8

    def test_inference_decides_nothing_of_training(self) -> None:
        plan = read("model_name_or_path: m\ntemplate: t\ninfer_backend: huggingface\nfsdp: full_shard\nquantization_bit: 8\n")
        assert plan.fsdp.is_silent and plan.gradient_checkpointing.is_silent
        assert plan.quantization.value == "8bit"

    def test_companions(self) -> None:
        companions = dialect("llama-factory").companions
        text = classic("deepspeed: ds_z3.json\nfsdp_config: fsdp.json\n")
        assert companions(parse(text, "x.yaml")) == [("deepspeed", "ds_z3.json"), ("fsdp_config", "fsdp.json")]


class TestV1Plan:
    def test_fsdp2(self) -> None:
        plan = read(V1 + "dist_config:\n  name: fsdp2\n  reshard_after_forward: false\n  offload_params: true\n")
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.deepspeed.value) == (True, 2, False)
        assert (plan.sharding.value, plan.offload.value) == (Sharding.SHARD_GRAD_OP, True)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("dist_config", "name")
        assert plan.sharding.place is not None and plan.sharding.place.path == ("dist_config", "reshard_after_forward")
        assert (plan.wrap_policy.value, plan.state_dict.value) == (Wrap.TRANSFORMER, StateDict.FULL)

    def test_defaults(self) -> None:
        plan = read(V1 + "dist_config: {name: fsdp2}\n")
        assert (plan.sharding.value, plan.offload.value, plan.precision.value) == (Sharding.FULL_SHARD, False, Precision.BF16)
        assert plan.gradient_checkpointing.value is True

    def test_words_in_plugins_are_converted(self) -> None:
        assert read(V1 + "dist_config: {name: fsdp2, reshard_after_forward: 'false'}\n").sharding.value is Sharding.SHARD_GRAD_OP

    def test_deepspeed(self) -> None:
        plan = read(V1 + "dist_config: {name: deepspeed, config_file: z3.json}\n")
        assert (plan.fsdp.value, plan.deepspeed.value, plan.deepspeed_config.value) == (False, True, "z3.json")

    @pytest.mark.parametrize("block", ["", "dist_config:\n"])
    def test_without_a_plugin_nothing_is_known(self, block: str) -> None:
        assert read(V1 + block).fsdp.is_silent

    @pytest.mark.parametrize("block", ["{name: '${D}'}", '\'{"name": "fsdp2"}\''])
    def test_placeholders_and_text_are_unknown(self, block: str) -> None:
        assert read(V1 + f"dist_config: {block}\n").fsdp.unknown

    def test_sizes_at_both_levels(self) -> None:
        assert read(V1 + "dist_config: {name: fsdp2}\ncp_size: 2\nmp_replicate_size: 4\n").cp.value == 2
        assert read(V1 + "dist_config: {name: fsdp2, cp_size: 2}\n", target=["llamafactory==0.9.5"]).cp.value == 2

    def test_companion(self) -> None:
        form = dialect("llama-factory").for_document(parse(V1, "x.yaml"))
        text = V1 + "dist_config: {name: deepspeed, config_file: z3.json}\n"
        assert form.companions(parse(text, "x.yaml")) == [("dist_config.config_file", "z3.json")]


class TestLoader:
    def test_omegaconf_refuses_duplicate_keys(self) -> None:
        text = classic("fsdp: full_shard\nfsdp: shard_grad_op\n")
        assert ("error", "FSD002", "fsdp") in told(lint(text, target=OLD))

    def test_omegaconf_reads_floats_without_a_point(self) -> None:
        assert lint(classic("learning_rate: 1e-4\n")) == []

    def test_interpolations_are_unknown(self) -> None:
        assert lint(classic("fsdp: ${oc.env:FSDP}\nfsdp_config: ${oc.env:FSDP_CONFIG}\n")) == []


class TestTable:
    """One test per claim of the option tables that no other test relies on."""

    def test_unknown_key(self) -> None:
        text = classic("lora_rnak: 8\n")
        found = lint(text, target=NEW)
        assert told(found) == [("error", "FSD003", "lora_rnak")]
        assert marked(text, found[0]) == "lora_rnak"
        assert found[0].help == "did you mean `lora_rank`?"

    @pytest.mark.parametrize(
        ("key", "instead"),
        [
            ("lora_r", "lora_rank"),
            ("load_in_4bit", "quantization_bit: 4"),
            ("attn_implementation", "flash_attn"),
            ("max_seq_length", "cutoff_len"),
        ],
    )
    def test_other_frameworks_spelling(self, key: str, instead: str) -> None:
        found = lint(classic(f"{key}: 8\n"), target=NEW)
        assert told(found) == [("error", "FSD006", key)]
        assert instead in (found[0].help or "")

    @pytest.mark.parametrize("key", ["fsdp_version", "fsdp_offload_params", "reshard_after_forward"])
    def test_options_of_fsdp_config_at_the_top(self, key: str) -> None:
        assert told(lint(classic(f"{key}: 2\n"), target=NEW)) == [("error", "FSD006", key)]

    def test_megatron_takes_keys_of_another_class(self) -> None:
        assert lint(classic("tensor_model_parallel_size: 2\nmoe_grouped_gemm: true\n"), target=NEW) == []

    def test_layer_class_at_the_top(self) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n")
        assert told(lint(text, target=NEW)) == [("error", "FSD403", "fsdp_transformer_layer_cls_to_wrap")]
        assert told(lint(text, target=OLD)) == [("warning", "FSD402", "fsdp_transformer_layer_cls_to_wrap")]

    def test_size_at_the_top(self) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_min_num_params: 1000\n")
        assert told(lint(text, target=NEW)) == [("error", "FSD403", "fsdp_min_num_params")]
        assert told(lint(text, target=OLD)) == [("warning", "FSD402", "fsdp_min_num_params")]
        assert told(lint(classic("fsdp: full_shard auto_wrap\nfsdp_min_num_params: 0\n"), target=OLD)) == []

    def test_a_younger_key(self) -> None:
        text = classic("kt_config: {kt_backend: auto}\n", "lora")
        assert lint(text, target=["llamafactory==0.9.6.dev0"]) == []
        assert told(lint(text, target=["llamafactory==0.9.5"])) == [("error", "FSD401", "kt_config")]

    def test_an_older_key_without_a_target_is_told_once(self) -> None:
        text = classic("use_kt: true\ncpu_infer: 32\nchunk_size: 8192\n", "lora")
        assert told(lint(text)) == [("warning", "FSD408", "cpu_infer")]
        assert [code for _, code, _ in told(lint(text, target=["llamafactory==0.9.5"]))] == ["FSD403", "FSD403"]
        assert lint(text, target=["llamafactory==0.9.4"]) == []

    @pytest.mark.parametrize(("value", "code"), [("qlora", "FSD004"), ("oft", None), ("full", None)])
    def test_finetuning_type(self, value: str, code: str | None) -> None:
        assert [d.code for d in lint(classic(method=value), target=NEW)] == ([code] if code else [])

    @pytest.mark.parametrize(
        ("block", "key"),
        [
            ("dist_config: {dcp_path: null}\n", "dist_config.name"),
            ("peft_config: {r: 8}\ndist_config: {name: fsdp2}\n", "peft_config.name"),
            ("dist_config: {name: deepspeed}\n", "dist_config.config_file"),
            ("dist_config: {name: deepspeed, config_file: null}\n", "dist_config.config_file"),
        ],
    )
    def test_v1_keys_that_are_needed(self, block: str, key: str) -> None:
        assert told(lint(V1 + block)) == [("error", "FSD007", key)]

    @pytest.mark.parametrize("value", ["fsdp2", "[fsdp2]", "true"])
    def test_v1_plugins_are_mappings(self, value: str) -> None:
        assert told(lint(V1 + f"dist_config: {value}\n")) == [("error", "FSD004", "dist_config")]

    def test_v1_plugins_by_release(self) -> None:
        text = V1 + "dist_config: {name: fsdpturbo, ep_size: 2}\n"
        assert lint(text, target=["llamafactory==0.9.6.dev0"]) == []
        assert ("error", "FSD004", "dist_config.name") in told(lint(text, target=["llamafactory==0.9.5"]))

    def test_v1_sizes_moved_out_of_the_plugin(self) -> None:
        text = V1 + "dist_config: {name: fsdp2}\ncp_size: 2\n"
        assert lint(text, target=["llamafactory==0.9.6.dev0"]) == []
        found = lint(text, target=["llamafactory==0.9.5"])
        assert told(found) == [("error", "FSD401", "cp_size")]

    def test_v1_options_that_the_engine_does_not_read(self) -> None:
        found = lint(V1 + "dist_config: {name: fsdp2, offload_param: true, fsdp_version: 2}\n")
        assert told(found) == [("warning", "FSD003", "dist_config.offload_param"), ("warning", "FSD006", "dist_config.fsdp_version")]
        assert found[0].help == "did you mean `offload_params`?"

    def test_v1_knows_no_classic_keys(self) -> None:
        assert told(lint(V1 + "stage: sft\n")) == [("error", "FSD003", "stage")]

    def test_v1_needs_fully_shard(self) -> None:
        text = V1 + "dist_config: {name: fsdp2}\n"
        found = lint(text, target=["torch==2.5.1"])
        assert told(found) == [("error", "FSD401", "dist_config.name")]
        assert lint(text, target=["torch==2.6.0"]) == []
