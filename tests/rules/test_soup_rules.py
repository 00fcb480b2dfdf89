"""soup's faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

HEAD = "base: some/model\ndata:\n  train: data.jsonl\n"
TRAIN = "soup train --config file0.yaml"


def text_of(training: str = "quantization: none", root: str = "") -> str:
    body = "".join(f"  {line}\n" for line in training.splitlines())
    return f"{root}{HEAD}training:\n{body}"


class TestEngines:
    """FSD101 to FSD303 with the flags of `soup train`."""

    def test_fsdp_with_deepspeed(self) -> None:
        line = f"{TRAIN} --fsdp full_shard --deepspeed zero3"
        found = lint(text_of(), line=line)
        assert told(found) == [("error", "FSD101", "--deepspeed")]
        assert marked(line, found[0]) == "zero3"
        assert [related.key for related in found[0].related] == ["--fsdp"]

    @pytest.mark.parametrize("device", ["cpu", "mps", "xpu", "npu"])
    def test_fsdp_without_cuda(self, device: str) -> None:
        assert told(lint(text_of(), line=f"{TRAIN} --fsdp full_shard", device=device)) == [("error", "FSD201", "--fsdp")]

    @pytest.mark.parametrize("device", ["cuda", "rocm", None])
    def test_fsdp_on_cuda(self, device: str | None) -> None:
        assert lint(text_of(), line=f"{TRAIN} --fsdp full_shard", device=device) == []

    def test_no_fsdp_without_cuda(self) -> None:
        assert lint(text_of(), line=TRAIN, device="cpu") == []

    def test_unsloth(self) -> None:
        text = text_of(root="backend: unsloth\n")
        found = lint(text, line=f"{TRAIN} --fsdp full_shard", target=("unsloth==2026.10.9",))
        assert told(found) == [("error", "FSD301", "backend")]
        assert marked(text, found[0]) == "unsloth"

    def test_a_model_id_is_no_backend(self) -> None:
        assert lint(text_of().replace("some/model", "unsloth/llama-3"), line=f"{TRAIN} --fsdp full_shard") == []

    def test_unsloth_alone(self) -> None:
        assert lint(text_of(root="backend: unsloth\n"), line=TRAIN) == []

    @pytest.mark.parametrize("stage", ["zero3", "zero3_offload", "zero++", "zero_pp"])
    def test_unsloth_with_zero3(self, stage: str) -> None:
        assert told(lint(text_of(root="backend: unsloth\n"), line=f"{TRAIN} --deepspeed {stage}")) == [("error", "FSD302", "backend")]

    def test_unsloth_with_zero2(self) -> None:
        assert lint(text_of(root="backend: unsloth\n"), line=f"{TRAIN} --deepspeed zero2") == []

    def test_mlx(self) -> None:
        assert told(lint(text_of(root="backend: mlx\n"), line=f"{TRAIN} --fsdp full_shard")) == [("error", "FSD303", "backend")]

    @pytest.mark.parametrize(("torch", "finding"), [("2.1.2", ("error", "FSD401", "--fsdp")), ("2.6.0", None), ("2.13.0", None)])
    def test_torch_floor(self, torch: str, finding: tuple[str, str, str] | None) -> None:
        found = lint(text_of(), line=f"{TRAIN} --fsdp full_shard", target=(f"torch=={torch}", "transformers==4.57.6"))
        assert [row for row in told(found) if row[1] == "FSD401"] == ([finding] if finding else [])

    def test_torch_floor_of_fsdp2(self) -> None:
        line = f"{TRAIN} --fsdp full_shard"
        assert ("error", "FSD401", "--fsdp") in told(lint(text_of(), line=line, target=("torch==2.5.1", "transformers==5.24.0")))
        assert ("error", "FSD401", "--fsdp") not in told(lint(text_of(), line=line, target=("torch==2.5.1", "transformers==4.57.6")))

    def test_one_gpu(self) -> None:
        assert ("error", "FSD106", "--gpus") in told(lint(text_of(), line=f"{TRAIN} --fsdp full_shard --gpus 1"))


class TestCompile:
    """FSD501 to FSD505."""

    TEXT = text_of("quantization: none\nuse_fsdp2_compile: true")

    def test_without_fsdp(self) -> None:
        found = lint(self.TEXT, line=TRAIN)
        assert told(found) == [("error", "FSD501", "training.use_fsdp2_compile")]
        assert marked(self.TEXT, found[0]) == "true"

    def test_without_a_launch_line_it_is_advice(self) -> None:
        assert told(lint(self.TEXT)) == [("info", "FSD501", "training.use_fsdp2_compile")]
        assert told(lint(self.TEXT, line="make train")) == [("info", "FSD501", "training.use_fsdp2_compile")]

    def test_with_fsdp(self) -> None:
        assert lint(self.TEXT, line=f"{TRAIN} --fsdp full_shard --gpus 2", device="cuda") == []

    def test_with_deepspeed(self) -> None:
        found = told(lint(self.TEXT, line=f"{TRAIN} --deepspeed zero3"))
        assert ("error", "FSD502", "training.use_fsdp2_compile") in found

    @pytest.mark.parametrize("backend", ["unsloth", "mlx"])
    def test_with_another_backend(self, backend: str) -> None:
        found = told(lint(f"backend: {backend}\n" + self.TEXT, line=f"{TRAIN} --fsdp full_shard"))
        assert ("error", "FSD503", "training.use_fsdp2_compile") in found

    def test_on_another_device(self) -> None:
        found = told(lint(self.TEXT, line=f"{TRAIN} --fsdp full_shard", device="mps"))
        assert ("error", "FSD202", "training.use_fsdp2_compile") in found

    @pytest.mark.parametrize(
        ("task", "findings"), [("dpo", [("warning", "FSD505", "training.use_fsdp2_compile")]), ("sft", []), ("tts", [])]
    )
    def test_is_read_by_sft(self, task: str, findings: list[tuple[str, str, str]]) -> None:
        assert told(lint(f"task: {task}\n" + self.TEXT, line=f"{TRAIN} --fsdp full_shard")) == findings

    def test_is_read_by_sft_whatever_the_launch(self) -> None:
        found = told(lint("task: dpo\n" + self.TEXT))
        assert found == [("info", "FSD501", "training.use_fsdp2_compile"), ("warning", "FSD505", "training.use_fsdp2_compile")]

    @pytest.mark.parametrize(("soup", "told_of_it"), [("0.72.0", True), ("0.73.0", True), ("0.73.1", False), ("0.77.0", False)])
    def test_adapters_were_lost(self, soup: str, told_of_it: bool) -> None:
        found = lint(self.TEXT, line=f"{TRAIN} --fsdp full_shard", target=(f"soup-cli=={soup}", "transformers==5.24.0"))
        assert (("warning", "SOU007", "training.use_fsdp2_compile") in told(found)) is told_of_it


class TestQuantization:
    """FSD703 and FSD704."""

    @pytest.mark.parametrize("quantization", ["hqq:4bit", "eetq", "aqlm", "8bit", "gptq", "awq", "fp8", "mxfp4"])
    def test_cannot_be_sharded(self, quantization: str) -> None:
        text = text_of(f'quantization: "{quantization}"')
        found = lint(text, line=f"{TRAIN} --fsdp full_shard")
        assert told(found) == [("error", "FSD703", "training.quantization")]
        assert marked(text, found[0]) == f'"{quantization}"'

    @pytest.mark.parametrize("quantization", ["4bit", "none"])
    def test_can_be_sharded(self, quantization: str) -> None:
        assert lint(text_of(f"quantization: {quantization}"), line=f"{TRAIN} --fsdp full_shard") == []

    @pytest.mark.parametrize("stage", ["zero3", "zero++", "zero_pp", "zero3_offload"])
    def test_under_zero3(self, stage: str) -> None:
        assert told(lint(text_of("quantization: hqq:4bit"), line=f"{TRAIN} --deepspeed {stage}")) == [
            ("error", "FSD703", "training.quantization")
        ]

    @pytest.mark.parametrize("flags", ["", "--deepspeed zero2", "--deepspeed zero2_offload"])
    def test_elsewhere_it_is_fine(self, flags: str) -> None:
        assert lint(text_of("quantization: hqq:4bit"), line=f"{TRAIN} {flags}") == []

    @pytest.mark.parametrize(("soup", "told_of_it"), [("0.73.1", True), ("0.74.0", False)])
    def test_storage_dtype_before_soup_set_it(self, soup: str, told_of_it: bool) -> None:
        found = lint(text_of("quantization: 4bit"), line=f"{TRAIN} --fsdp full_shard", target=(f"soup-cli=={soup}", "transformers==5.24.0"))
        assert (("warning", "FSD704", "training.quantization") in told(found)) is told_of_it


class TestClashes:
    """SOU001."""

    @pytest.mark.parametrize(
        ("training", "root", "key"),
        [
            ("quantization: none\nrelora_steps: 100\nuse_fsdp2_compile: true", "", "training.relora_steps"),
            ("relora_steps: 100", "", "training.relora_steps"),
            ("quantization: none\nbatch_size: 1\nstream_layers: true\nuse_fsdp2_compile: true", "", "training.stream_layers"),
            ("quantization: none\nstream_layers: true", "", "training.stream_layers"),
            ("quantization: 8bit", "backend: unsloth\n", "training.quantization"),
            ("quantization: none", "backend: unsloth\ntask: online_dpo\n", "backend"),
            ("quantization: none", "backend: unsloth\nmodality: vision\n", "backend"),
            ("quantization: none", "backend: mlx\ntask: grpo\n", "backend"),
            ("quantization: 8bit\nbnb_4bit_quant_storage: bfloat16", "", "training.bnb_4bit_quant_storage"),
            ("unsloth_bnb_4bit: true", "", "training.unsloth_bnb_4bit"),
            ("packing: true\nmultipack: true", "", "training.packing"),
            ("use_galore: true", "", "training.use_galore"),
            ("quantization: none\nquantization_aware: quest\nbatch_size: 1", "", "training.quantization_aware"),
            ("lora: {r: 0}", "", "training.lora.r"),
            ("quantization: 4bit\nnum_labels: 2", "task: classifier\n", "training.quantization"),
        ],
    )
    def test_refused(self, training: str, root: str, key: str) -> None:
        assert ("error", "SOU001", key) in told(lint(text_of(training, root)))

    @pytest.mark.parametrize(
        ("training", "root"),
        [
            ("quantization: none\nrelora_steps: 100", ""),
            ("quantization: none\nrelora_steps: null\nuse_fsdp2_compile: false", ""),
            ("quantization: none\nbatch_size: 1\nstream_layers: true", ""),
            ("quantization: 4bit", "backend: unsloth\n"),
            ("quantization: none", "backend: unsloth\ntask: dpo\n"),
            ("quantization: none", "backend: mlx\ntask: kto\n"),
            ("bnb_4bit_quant_storage: bfloat16", ""),
            ("packing: true\nmultipack: false", ""),
            ("quantization: none\nuse_galore: true", ""),
            ("quantization: none\nquantization_aware: quest\nbatch_size: 1\nlora: {r: 0}", ""),
            ("num_labels: 2", "task: classifier\n"),
            ("quantization: ${QUANTIZATION}\nrelora_steps: 100", ""),
        ],
    )
    def test_accepted(self, training: str, root: str) -> None:
        assert lint(text_of(training, root)) == []

    @pytest.mark.parametrize(("soup", "told_of_it"), [("0.77.0", True), ("0.76.0", False)])
    def test_is_bounded_by_releases(self, soup: str, told_of_it: bool) -> None:
        found = lint(text_of("quantization: 8bit", "backend: unsloth\n"), target=(f"soup-cli=={soup}",))
        assert (("error", "SOU001", "training.quantization") in told(found)) is told_of_it

    def test_message_and_place(self) -> None:
        text = text_of("quantization: 8bit", "backend: unsloth\n")
        found = lint(text)
        assert marked(text, found[0]) == "quantization: 8bit"
        assert found[0].message == "`quantization` clashes with `backend`: soup refuses 8bit with unsloth, whose loader would use 16 bit"
        assert [related.key for related in found[0].related] == ["backend"]


class TestStagedKeys:
    """SOU002."""

    @pytest.mark.parametrize(("soup", "severity"), [("0.77.0", "error"), ("0.76.0", "warning"), ("0.72.0", "warning")])
    def test_nothing_reads_it(self, soup: str, severity: str) -> None:
        text = text_of("quantization: none\nearly_stop_patience: 5")
        assert told(lint(text, target=(f"soup-cli=={soup}",))) == [(severity, "SOU002", "training.early_stop_patience")]

    @pytest.mark.parametrize("line", ["early_stop_patience: 2", "lr_groups: null", "lr_groups: []"])
    def test_the_default_is_no_request(self, line: str) -> None:
        assert lint(text_of(f"quantization: none\n{line}")) == []


class TestPipeline:
    """SOU003 and the pipeline claims."""

    TEXT = text_of("quantization: none\nparallelism: pipeline\npipeline_stages: 2")

    def test_is_not_run(self) -> None:
        found = lint(self.TEXT, line=f"{TRAIN} --fsdp full_shard")
        assert told(found) == [("warning", "SOU003", "training.parallelism")]
        assert marked(self.TEXT, found[0]) == "parallelism: pipeline"

    def test_one_stage(self) -> None:
        found = told(lint(text_of("quantization: none\nparallelism: pipeline")))
        assert ("error", "SOU001", "training.pipeline_stages") in found

    def test_too_few_gpus(self) -> None:
        assert ("error", "SOU003", "training.pipeline_stages") in told(lint(self.TEXT, gpus=1))
        assert ("error", "SOU003", "training.pipeline_stages") not in told(lint(self.TEXT, gpus=2))

    def test_on_another_device(self) -> None:
        assert ("error", "FSD202", "training.parallelism") in told(lint(self.TEXT, device="cpu"))

    def test_data_parallel(self) -> None:
        assert lint(text_of("quantization: none\nparallelism: data\npipeline_stages: 2"), device="cpu") == []


class TestSharding:
    """SOU004, SOU005, SOU006, SOU009."""

    GALORE = text_of("quantization: none\nuse_galore: true")
    QUEST = text_of("quantization: none\nquantization_aware: quest\nbatch_size: 1\nlora: {r: 0}")

    @pytest.mark.parametrize("flags", ["--fsdp full_shard", "--deepspeed zero2"])
    def test_galore(self, flags: str) -> None:
        assert told(lint(self.GALORE, line=f"{TRAIN} {flags}")) == [("error", "SOU004", "training.use_galore")]

    def test_galore_on_one_gpu(self) -> None:
        assert lint(self.GALORE, line=TRAIN) == []

    @pytest.mark.parametrize("flags", ["--fsdp full_shard", "--deepspeed zero2", "--gpus 2"])
    def test_quest(self, flags: str) -> None:
        assert told(lint(self.QUEST, line=f"{TRAIN} {flags}")) == [("error", "SOU005", "training.quantization_aware")]

    @pytest.mark.parametrize("flags", ["", "--gpus 1"])
    def test_quest_on_one_gpu(self, flags: str) -> None:
        assert lint(self.QUEST, line=f"{TRAIN} {flags}") == []

    @pytest.mark.parametrize(("transformers", "told_of_it"), [("4.57.6", True), ("5.9.0", True), ("5.10.4", False)])
    def test_announced_fsdp(self, transformers: str, told_of_it: bool) -> None:
        found = lint(text_of(), line=f"{TRAIN} --fsdp full_shard", target=(f"transformers=={transformers}",))
        assert told(found) == ([("warning", "SOU006", "--fsdp")] if told_of_it else [])

    def test_nodes(self) -> None:
        line = f"{TRAIN} --fsdp full_shard --nodes 2"
        found = lint(text_of(), line=line)
        assert told(found) == [("error", "SOU009", "--nodes")]
        assert found[0].help == "add `--gpus` and `--master-addr`"
        assert lint(text_of(), line=f"{line} --gpus 4 --master-addr 10.0.0.1") == []


class TestMissing:
    """SOU008."""

    def test_base(self) -> None:
        assert told(lint("task: sft\ndata: {train: a.jsonl}\n", dialect="soup")) == [("error", "SOU008", "base")]

    def test_data_train(self) -> None:
        assert told(lint("base: m\ntask: sft\ndata: {format: alpaca}\n", dialect="soup")) == [("error", "SOU008", "data.train")]

    def test_the_first_examples_are_told_once(self) -> None:
        text = "model: m\ntask: dpo\nbackend: transformers\nlora_r: 8\nbatch_size: 8\ndata:\n  path: a.jsonl\n  format: alpaca\n"
        found = lint(text)
        assert told(found) == [("warning", "SOU008", "model")]
        assert marked(text, found[0]) == "model"
