"""LLaMA-Factory's faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import SHARED, lint, marked, told

CLASSIC = """\
model_name_or_path: {model}
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
CLI = "llamafactory-cli train file0.yaml"


def classic(lines: str = "", method: str = "full", model: str = "meta-llama/Llama-3.2-1B") -> str:
    return CLASSIC.format(method=method, model=model) + lines


def accelerate_file(version: int = 1, options: str = "") -> str:
    block = f"fsdp_config:\n  fsdp_version: {version}\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n{options}"
    return f"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 1\nnum_processes: 2\n{block}"


def errors(text: str, *more: str, **options: object) -> list[tuple[str, str | None]]:
    if more:
        options["dialects"] = ("llama-factory", "accelerate")
    return [(d.code, d.key) for d in lint(text, *more, **options) if d.severity.word == "error"]  # type: ignore[arg-type]


class TestFsdpWords:
    """What TrainingArguments refuse: FSD004, FSD104, FSD603."""

    @pytest.mark.parametrize("word", ["full_shard autowrap", "full_offload", "shard_grad", "'true'", "offload", "full_shard,auto_wrap"])
    @pytest.mark.parametrize("target", [NEW, OLD])
    def test_words_that_are_refused(self, word: str, target: tuple[str, ...]) -> None:
        assert errors(classic(f"fsdp: {word}\n"), target=target)[0] == ("FSD004", "fsdp") or word == "'true'"
        assert {key for _, key in errors(classic(f"fsdp: {word}\n"), target=target)} == {"fsdp"}

    @pytest.mark.parametrize("target", [NEW, OLD])
    def test_two_strategies(self, target: tuple[str, ...]) -> None:
        assert ("FSD104", "fsdp") in errors(classic("fsdp: full_shard shard_grad_op\n"), target=target)

    @pytest.mark.parametrize("target", [NEW, OLD])
    def test_size_beside_layer_classes(self, target: tuple[str, ...]) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_config:\n  min_num_params: 100\n  transformer_layer_cls_to_wrap: L\n")
        assert errors(text, target=target) == [("FSD603", "fsdp_config.min_num_params")]

    def test_false(self) -> None:
        assert errors(classic("fsdp: false\n"), target=OLD) == [("FSD004", "fsdp")]
        assert errors(classic("fsdp: false\n"), target=NEW) == []

    @pytest.mark.parametrize("word", ["full_shard auto_wrap", "[full_shard, auto_wrap]", "full_shard auto_wrap offload"])
    @pytest.mark.parametrize("target", [NEW, OLD])
    def test_words_that_are_fine(self, word: str, target: tuple[str, ...]) -> None:
        assert lint(classic(f"fsdp: {word}\n"), target=target) == []

    @pytest.mark.parametrize("word", ["shard_grad_op auto_wrap", "hybrid_shard auto_wrap"])
    def test_strategies_that_5_8_loses(self, word: str) -> None:
        text = classic(f"fsdp: {word}\n")
        found = lint(text, target=NEW)
        assert told(found) == [("error", "FSD105", "fsdp")]
        assert marked(text, found[0]) == word.split()[0]
        assert lint(text, target=OLD) == []


class TestFsdpConfig:
    def test_without_fsdp(self) -> None:
        assert errors(classic("fsdp_config:\n  version: 2\n"), target=NEW) == [("FSD102", "fsdp_config")]

    def test_version_before_5_0(self) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_config:\n  fsdp_version: 2\n")
        assert errors(text, target=OLD) == [("FSD401", "fsdp_config.fsdp_version")]
        assert lint(text, target=NEW) == []

    def test_accelerate_keys(self) -> None:
        options = "  fsdp_offload_params: true\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"
        found = lint(classic(f"fsdp: full_shard auto_wrap\nfsdp_config:\n{options}"), target=NEW)
        spoken = {d.key for d in found} | {related.key for d in found for related in d.related}
        assert {(d.severity.word, d.code) for d in found} == {("warning", "FSD006")}
        assert spoken == {"fsdp_config.fsdp_offload_params", "fsdp_config.fsdp_sharding_strategy"}

    def test_cpu_offload_before_5_10(self) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_config:\n  cpu_offload: true\n")
        assert told(lint(text, target=NEW)) == [("warning", "FSD401", "fsdp_config.cpu_offload")]

    def test_checkpointing_twice(self) -> None:
        text = classic("fsdp: full_shard auto_wrap\nfsdp_config:\n  activation_checkpointing: true\n")
        assert errors(text + "gradient_checkpointing: true\n", target=NEW) == [("FSD701", "gradient_checkpointing")]
        assert told(lint(text, target=NEW)) == [("info", "FSD701", "fsdp_config.activation_checkpointing")]
        assert lint(text + "disable_gradient_checkpointing: true\n", target=NEW) == []

    def test_file_of_options_says_nothing_by_itself(self) -> None:
        assert lint(classic("fsdp: full_shard auto_wrap\nfsdp_config: fsdp.json\n"), target=NEW) == []


class TestEngines:
    def test_both(self) -> None:
        assert errors(classic("fsdp: full_shard auto_wrap\ndeepspeed: ds.json\n"), target=NEW) == [("FSD101", "deepspeed")]

    @pytest.mark.parametrize(("unsloth", "severity"), [("2026.1.1", "error"), ("2026.10.6", "error"), ("2026.10.9", "warning")])
    def test_unsloth(self, unsloth: str, severity: str) -> None:
        text = classic("use_unsloth: true\nfsdp: full_shard auto_wrap\n", "lora")
        assert told(lint(text, target=(*NEW, f"unsloth=={unsloth}"))) == [(severity, "FSD301", "use_unsloth")]

    def test_unsloth_under_the_accelerate_file(self) -> None:
        assert errors(classic("use_unsloth: true\n", "lora"), accelerate_file(), target=("unsloth==2026.1.1",)) == [
            ("FSD301", "use_unsloth")
        ]

    def test_unsloth_checkpointing_is_no_backend(self) -> None:
        assert lint(classic("use_unsloth_gc: true\nfsdp: full_shard auto_wrap\n", "lora"), target=(*NEW, "unsloth==2026.1.1")) == []

    @pytest.mark.parametrize(
        ("deepspeed", "refused"),
        [
            ("examples/deepspeed/ds_z3_config.json", True),
            ("ds_zero3_offload.json", True),
            ("ds_stage3.json", True),
            ("examples/deepspeed/ds_z2_config.json", False),
            ("ds_config.json", False),
            ("{zero_optimization: {stage: 3}}", True),
            ("{zero_optimization: {stage: 2}}", False),
        ],
    )
    def test_unsloth_with_zero3(self, deepspeed: str, refused: bool) -> None:
        wanted = [("FSD302", "use_unsloth")] if refused else []
        assert errors(classic(f"use_unsloth: true\ndeepspeed: {deepspeed}\n", "lora"), target=NEW) == wanted

    def test_the_json_is_believed_before_its_name(self) -> None:
        text = classic("use_unsloth: true\ndeepspeed: ds_z3.json\n", "lora")
        other = '{"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}'
        found = lint(text, other, dialects=("llama-factory", "deepspeed"), target=NEW)
        assert [d for d in found if d.code == "FSD302"] == []


class TestZero3:
    """LLF001."""

    @pytest.mark.parametrize(
        ("line", "key"),
        [
            ("use_kt: true", "use_kt"),
            ("pure_bf16: true", "pure_bf16"),
            ("predict_with_generate: true", "predict_with_generate"),
            ("pissa_init: true", "pissa_init"),
            ("quantization_bit: 8", "quantization_bit"),
            ("quantization_bit: 4\nquantization_method: hqq", "quantization_method"),
            ("quantization_bit: 8\nquantization_method: eetq", "quantization_method"),
        ],
    )
    def test_refused(self, line: str, key: str) -> None:
        text = classic(f"{line}\ndeepspeed: ds_z3_config.json\n", "lora")
        assert errors(text, target=NEW) == [("LLF001", key)]
        assert errors(text.replace("z3", "z2"), target=NEW) == []

    def test_place_and_reason(self) -> None:
        text = classic("pure_bf16: true\ndeepspeed: ds_z3_config.json\n")
        found = lint(text, target=NEW)
        assert marked(text, found[0]) == "pure_bf16: true"
        assert "ZeRO-3" in found[0].message
        assert [related.key for related in found[0].related] == ["deepspeed"]

    @pytest.mark.parametrize("line", ["use_kt: false", "pure_bf16: false", "pissa_init: ${P}", "quantization_bit: 4"])
    def test_fine(self, line: str) -> None:
        assert lint(classic(f"{line}\ndeepspeed: ds_z3_config.json\n", "lora"), target=NEW) == []


class TestOptimizers:
    """LLF002."""

    @pytest.mark.parametrize(
        ("lines", "keys"),
        [
            ("use_badam: true\nfsdp: full_shard auto_wrap\n", ["use_badam"]),
            ("use_badam: true\nbadam_mode: ratio\nfsdp: full_shard auto_wrap\n", ["badam_mode"]),
            ("use_badam: true\ndeepspeed: ds_z2.json\n", ["use_badam"]),
            ("use_galore: true\ngalore_layerwise: true\nfsdp: full_shard auto_wrap\n", ["galore_layerwise"]),
            ("use_apollo: true\napollo_layerwise: true\nfsdp: full_shard auto_wrap\n", ["apollo_layerwise"]),
            ("use_galore: true\ndeepspeed: ds_z2.json\n", ["use_galore"]),
            ("use_apollo: true\ndeepspeed: ds_z2.json\n", ["use_apollo"]),
        ],
    )
    def test_refused(self, lines: str, keys: list[str]) -> None:
        assert errors(classic(lines), target=NEW) == [("LLF002", key) for key in keys]

    @pytest.mark.parametrize(
        "lines",
        [
            "use_badam: true\n",
            "use_badam: true\ndeepspeed: ds_z3.json\n",
            "use_badam: true\ndeepspeed: some.json\n",
            "use_galore: true\ngalore_layerwise: true\n",
            "use_galore: true\nfsdp: full_shard auto_wrap\n",
            "galore_layerwise: true\nfsdp: full_shard auto_wrap\n",
        ],
    )
    def test_fine(self, lines: str) -> None:
        assert lint(classic(lines), target=NEW) == []

    def test_several_processes(self) -> None:
        assert errors(classic("use_badam: true\n"), target=NEW, gpus=2) == [("LLF002", "use_badam")]
        assert errors(classic("use_badam: true\n"), accelerate_file(), target=NEW) == [("LLF002", "use_badam")]


class TestQuantization:
    @pytest.mark.parametrize(
        ("lines", "key"),
        [
            ("quantization_bit: 8\n", "quantization_bit"),
            ("quantization_bit: 4\nquantization_method: hqq\n", "quantization_method"),
            ("quantization_bit: 8\nquantization_method: eetq\n", "quantization_method"),
        ],
    )
    def test_cannot_be_sharded(self, lines: str, key: str) -> None:
        assert errors(classic(lines + "fsdp: full_shard auto_wrap\n", "lora"), target=NEW) == [("FSD703", key)]
        assert errors(classic(lines, "lora"), accelerate_file(), target=NEW) == [("FSD703", key)]
        assert errors(classic(lines, "lora"), target=NEW) == []

    def test_four_bits_can(self) -> None:
        assert errors(classic("quantization_bit: 4\nfsdp: full_shard auto_wrap\n", "lora"), target=NEW) == []

    @pytest.mark.parametrize("method", ["full", "freeze"])
    def test_needs_an_adapter(self, method: str) -> None:
        text = classic("quantization_bit: 4\n", method)
        found = lint(text, target=NEW)
        assert told(found) == [("error", "LLF005", "finetuning_type")]
        assert marked(text, found[0]) == method

    def test_device_map(self) -> None:
        text = classic("quantization_bit: 4\nquantization_device_map: auto\n", "lora")
        assert errors(text, target=NEW) == [("LLF005", "quantization_device_map")]
        assert errors(text.replace("do_train: true\n", ""), target=NEW) == []

    @pytest.mark.parametrize("name", ["org/Llama-3-8B-GPTQ", "Qwen/Qwen2.5-7B-Instruct-AWQ", "org/llama-aqlm-2bit", "models/x_gptq4"])
    def test_quantized_checkpoints(self, name: str) -> None:
        assert errors(classic("fsdp: full_shard auto_wrap\n", "lora", name), target=NEW) == [("LLF007", "model_name_or_path")]
        assert errors(classic("deepspeed: ds_z3.json\n", "lora", name), target=NEW) == [("LLF007", "model_name_or_path")]
        assert errors(classic("", "lora", name), target=NEW) == []

    @pytest.mark.parametrize("name", ["org/hawqs-7b", "openai/gpt-oss-20b", "org/Llama-FP8"])
    def test_other_checkpoints(self, name: str) -> None:
        assert errors(classic("fsdp: full_shard auto_wrap\n", "lora", name), target=NEW) == []


class TestFp8:
    def test_with_quantization(self) -> None:
        found = lint(classic("fp8: true\nquantization_bit: 4\n", "lora"), target=NEW)
        assert told(found) == [("error", "LLF003", "fp8")]
        assert [related.key for related in found[0].related] == ["quantization_bit"]

    def test_gather_without_fp8(self) -> None:
        text = classic("fp8_enable_fsdp_float8_all_gather: true\n")
        assert told(lint(text, target=NEW)) == [("warning", "LLF004", "fp8_enable_fsdp_float8_all_gather")]
        assert lint(text + "fp8: true\n", target=NEW) == []


class TestOtherBackends:
    def test_kt_with_activation_checkpointing(self) -> None:
        text = classic("use_kt: true\nfsdp: full_shard auto_wrap\nfsdp_config:\n  activation_checkpointing: true\n", "lora")
        assert errors(text, target=NEW) == [("LLF006", "fsdp_config.activation_checkpointing")]
        assert errors(text, target=("llamafactory==0.9.5",)) == []

    def test_kt_with_the_accelerate_files_checkpointing(self) -> None:
        other = accelerate_file(2, "  fsdp_activation_checkpointing: true\n")
        assert errors(classic("use_kt: true\n", "lora"), other, target=NEW) == [("LLF006", "fsdp_config.fsdp_activation_checkpointing")]

    @pytest.mark.parametrize(
        ("lines", "severity"),
        [
            ("fsdp: full_shard auto_wrap\n", "error"),
            ("deepspeed: ds_z2.json\n", "error"),
            ("", "info"),
            ("fsdp: full_shard auto_wrap\nfsdp_config: {version: 2}\n", None),
        ],
    )
    def test_hyper_parallel(self, lines: str, severity: str | None) -> None:
        found = [told([d])[0] for d in lint(classic("use_hyper_parallel: true\n" + lines), target=NEW) if d.code == "LLF008"]
        assert found == ([(severity, "LLF008", "use_hyper_parallel")] if severity else [])

    @pytest.mark.parametrize(("version", "codes"), [(1, [("LLF008", "use_hyper_parallel")]), (2, [])])
    def test_hyper_parallel_under_accelerate(self, version: int, codes: list[tuple[str, str]]) -> None:
        assert errors(classic("use_hyper_parallel: true\n"), accelerate_file(version), target=NEW) == codes

    def test_hyper_parallel_without_fsdp(self) -> None:
        assert errors(classic("use_hyper_parallel: true\n"), target=NEW, line=CLI) == [("LLF008", "use_hyper_parallel")]

    @pytest.mark.parametrize("line", [None, f"USE_MEGATRON_BRIDGE=1 {CLI}"])
    def test_megatron_bridge(self, line: str | None) -> None:
        lines = "deepspeed: ds_z3.json\nquantization_bit: 4\n" + ("" if line else "use_megatron_bridge: true\n")
        assert errors(classic(lines, "lora"), target=NEW, line=line) == [("LLF009", "deepspeed"), ("LLF009", "quantization_bit")]
        assert errors(classic("use_megatron_bridge: false\ndeepspeed: ds_z2.json\n"), target=NEW) == []


class TestLaunchLines:
    """LLF010."""

    DEEPSPEED = classic("deepspeed: ds_z2.json\n")

    @pytest.mark.parametrize(
        ("line", "gpus", "severity"),
        [
            (CLI, 1, "error"),
            (CLI, 2, None),
            (CLI, None, "info"),
            (f"CUDA_VISIBLE_DEVICES=0 {CLI}", None, "error"),
            (f"CUDA_VISIBLE_DEVICES=0,1 {CLI}", None, None),
            (f"FORCE_TORCHRUN=1 {CLI}", 1, None),
            ("torchrun --nproc_per_node 1 src/train.py file0.yaml", 1, None),
            ("accelerate launch src/train.py file0.yaml", 1, None),
            ("python src/train.py file0.yaml", 1, "error"),
            (None, 1, None),
        ],
    )
    def test_deepspeed(self, line: str | None, gpus: int | None, severity: str | None) -> None:
        found = [d for d in lint(self.DEEPSPEED, target=NEW, line=line, gpus=gpus) if d.code == "LLF010"]
        assert told(found) == ([(severity, "LLF010", "deepspeed")] if severity else [])

    def test_plain_python_on_several_gpus(self) -> None:
        line = "python src/train.py file0.yaml"
        found = lint(classic(), target=NEW, line=line, gpus=4)
        assert told(found) == [("error", "LLF010", None)]
        assert (found[0].path, marked(line, found[0])) == ("<launch>", line)
        assert lint(classic(), target=NEW, line=CLI, gpus=4) == []
        assert lint(classic("use_kt: true\n", "lora"), target=NEW, line=line, gpus=4) == []


class TestV1:
    @pytest.mark.parametrize(
        ("lines", "target", "key"),
        [
            ("dist_config: {name: deepspeed, config_file: z3.json}\ncp_size: 2\n", "0.9.6.dev0", "cp_size"),
            ("dist_config: {name: deepspeed, config_file: z3.json, cp_size: 2}\n", "0.9.5", "dist_config.cp_size"),
            ("cp_size: 2\n", "0.9.6.dev0", "cp_size"),
        ],
    )
    def test_context_parallelism(self, lines: str, target: str, key: str) -> None:
        assert errors(V1 + lines, target=[f"llamafactory=={target}"]) == [("LLF101", key)]

    @pytest.mark.parametrize("lines", ["dist_config: {name: fsdp2}\ncp_size: 2\n", "cp_size: 1\n", "dist_config: ${D}\ncp_size: 2\n"])
    def test_context_parallelism_is_fine(self, lines: str) -> None:
        assert lint(V1 + lines, target=["llamafactory==0.9.6.dev0"]) == []

    def test_deepspeed_fp16(self) -> None:
        other = '{"zero_optimization": {"stage": 3}, "fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}'
        text = V1 + "dist_config: {name: deepspeed, config_file: z3.json}\n"
        found = lint(text, other, dialects=("llama-factory", "deepspeed"))
        assert told(found) == [("error", "LLF102", "fp16.enabled")]
        assert [related.key for related in found[0].related] == ["dist_config.config_file"]
        assert lint(text, other.replace("true", '"auto"'), dialects=("llama-factory", "deepspeed")) == []

    def test_no_dist_config(self) -> None:
        assert told(lint(V1 + "dist_config:\n", gpus=2)) == [("error", "LLF103", "dist_config")]
        assert told(lint(V1, gpus=2)) == [("warning", "LLF103", "dist_config")]
        assert lint(V1 + "dist_config:\n", gpus=1) == []
        assert lint(V1 + "dist_config:\n") == []

    @pytest.mark.parametrize(
        ("lines", "key"),
        [
            ("mp_replicate_size: 2\nmp_shard_size: 2\n", "mp_shard_size"),
            ("mp_replicate_size: 3\n", "mp_replicate_size"),
            ("cp_size: 3\n", "cp_size"),
            ("dp_size: 4\n", "dp_size"),
            ("mp_replicate_size: 2\nmp_shard_size: 4\n", None),
            ("dp_size: 4\ncp_size: 2\n", None),
        ],
    )
    def test_sizes(self, lines: str, key: str | None) -> None:
        text = V1 + "dist_config: {name: fsdp2}\n" + lines
        assert errors(text, gpus=8) == ([("LLF104", key)] if key else [])
        assert lint(text) == []

    def test_eight_bits(self) -> None:
        text = V1 + "dist_config: {name: fsdp2}\nquant_config: {name: bnb, quantization_bit: 8}\n"
        assert errors(text) == [("FSD703", "quant_config.quantization_bit")]
        assert errors(text.replace("8", "4")) == []


class TestJson:
    """LLF011."""

    TEXT = '{"model_name_or_path": "m", "stage": "sft", "finetuning_type": "full", "template": "t"}'

    @pytest.mark.parametrize(("release", "told_of"), [("0.9.3", False), ("0.9.4", False), ("0.9.5", True), ("0.9.6.dev0", False)])
    def test_classic(self, release: str, told_of: bool) -> None:
        found = lint(self.TEXT, path="x.json", dialect="llama-factory", target=[f"llamafactory=={release}"])
        assert told(found) == ([("warning", "LLF011", None)] if told_of else [])

    @pytest.mark.parametrize("release", ["0.9.4", "0.9.5"])
    def test_v1(self, release: str) -> None:
        text = '{"model": "m", "model_class": "llm", "dist_config": {"name": "fsdp2"}}'
        assert told(lint(text, path="x.json", dialect="llama-factory", target=[f"llamafactory=={release}"])) == [
            ("warning", "LLF011", None)
        ]


def test_published_files_that_run_stay_free_of_errors() -> None:
    import json

    manifest = SHARED / "corpus" / "manifest.jsonl"
    if not manifest.exists():
        pytest.skip("no shared corpus")
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    names = [row["file"] for row in rows if row["dialect"] == "llama-factory" and row.get("verdict") == "ok"]
    assert len(names) > 90
    target = ("llamafactory==0.9.5", "transformers==5.6.0", "accelerate==1.11.0")
    for name in names:
        text = (manifest.parent / "files" / name.removeprefix("files/")).read_text(encoding="utf-8")
        assert errors(text, target=target) == [], name
