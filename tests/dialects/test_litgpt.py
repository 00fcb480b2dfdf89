"""litgpt's files: recognition, the plan that is read, and the claims of the option table (its parser and checks were run in 0.5.13)."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding

TUNE = "checkpoint_dir: checkpoints/a\nout_dir: out\nprecision: bf16-true\n"
TRAIN = "model_name: pythia-14m\nout_dir: out\nprecision: bf16-mixed\n"
BATCH = "train:\n  global_batch_size: 8\n  micro_batch_size: 1\n"
NEWEST = ("litgpt==0.5.13",)


def finetune(*lines: str, devices: object = 1) -> str:
    """A file of ``litgpt finetune``."""
    return (
        TUNE + f"devices: {devices}\n" + "".join(f"{line}\n" for line in lines) + ("" if any("train:" in line for line in lines) else BATCH)
    )


def pretrain(*lines: str) -> str:
    """A file of ``litgpt pretrain``."""
    return TRAIN + "devices: auto\n" + "".join(f"{line}\n" for line in lines) + ("" if any("train:" in line for line in lines) else BATCH)


def faults(text: str, *target: str) -> list[tuple[str, str, str | None]]:
    """What is told of a text at or above a warning."""
    return [row for row in told(lint(text, dialect="litgpt", target=target or NEWEST)) if row[0] != "info"]


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            finetune(),
            pretrain(),
            TUNE + "devices: 2\nquantize: bnb.nf4\n",
            "data:\n  class_path: litgpt.data.Alpaca\n" + BATCH,
            "checkpoint_dir: a\nlora_r: 8\nlora_alpha: 16\nlogger_name: csv\n",
        ],
    )
    def test_is_litgpt(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "litgpt"

    @pytest.mark.parametrize(
        "text",
        [
            "checkpoint_dir: a\nout_dir: b\n",
            "model_name: a\ntrain:\n  lr: 1\n",
            "out_dir: a\nprecision: bf16\ndevices: 2\n" + BATCH,
            finetune() + "trainer: {}\n",
            "- checkpoint_dir\n",
        ],
    )
    def test_is_not_litgpt(self, text: str) -> None:
        assert dialect("litgpt").recognise(parse(text, "x.yaml")) == 0


class TestPlan:
    def test_one_device(self) -> None:
        plan = read(finetune(), dialect="litgpt")
        assert (plan.fsdp.value, plan.processes.value, plan.task.value) == (False, 1, "finetune")
        assert plan.precision.value is Precision.BF16 and plan.sharding.value is None

    @pytest.mark.parametrize("lines", [(4, ""), (1, "num_nodes: 2")])
    def test_several_processes_shard(self, lines: tuple[int, str]) -> None:
        plan = read(finetune(lines[1], devices=lines[0]), dialect="litgpt")
        assert (plan.fsdp.value, plan.sharding.value, plan.fsdp_version.value) == (True, Sharding.FULL_SHARD, 1)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("devices",)

    def test_pretraining_replicates_over_machines(self) -> None:
        text = pretrain().replace("devices: auto", "devices: 8")
        assert read(text, dialect="litgpt").sharding.value is Sharding.HYBRID_SHARD

    @pytest.mark.parametrize(("release", "version"), [("0.5.0", 1), ("0.5.13", 2)])
    def test_lora_took_to_fsdp2(self, release: str, version: int) -> None:
        plan = read(finetune("lora_r: 8", devices=2), dialect="litgpt", target=(f"litgpt=={release}",))
        assert (plan.fsdp_version.value, plan.adapter.value) == (version, "lora")

    @pytest.mark.parametrize("devices", ["auto", -1, "${n}"])
    def test_who_knows(self, devices: object) -> None:
        assert read(finetune(devices=devices), dialect="litgpt").fsdp.value is None


class TestClaims:
    @pytest.mark.parametrize(
        "text",
        [
            finetune("quantize: bnb.nf4", "num_nodes: 1"),
            finetune("train:\n  epochs: 1\n  max_steps: 10\n  lr_warmup_steps: 10\n  min_lr: 6e-5", devices=4),
            finetune(devices="'2'"),
            finetune("logger_name: litlogger", "data: Alpaca"),
            pretrain("train:\n  max_tokens: 100\n  max_norm: 1.0\n  epochs:", "eval:\n  max_new_tokens:"),
            pretrain("train:\n  lr_warmup_fraction: 0.1\n  lr_warmup_steps: 0"),
            pretrain("resume: false", "initial_checkpoint_dir: a/b"),
        ],
    )
    def test_good(self, text: str) -> None:
        assert faults(text) == []

    def test_quantization_on_several_devices(self) -> None:
        text = finetune("quantize: bnb.nf4", devices=4)
        found = [d for d in lint(text, target=NEWEST) if d.severity.word == "error"]
        assert [(d.code, d.key, [related.key for related in d.related]) for d in found] == [("FSD703", "quantize", ["devices"])]
        assert marked(text, found[0]) == "bnb.nf4"

    def test_quantization_with_mixed_precision(self) -> None:
        text = finetune("quantize: bnb.nf4").replace("bf16-true", "bf16-mixed")
        found = lint(text, target=NEWEST)
        assert told(found) == [("error", "LIT007", "precision")]
        assert marked(text, found[0]) == "precision: bf16-mixed"

    def test_quantization_with_the_default_precision(self) -> None:
        """The command line may still give one."""
        text = finetune("quantize: bnb.nf4").replace("precision: bf16-true\n", "")
        assert faults(text) == [("warning", "FSD007", "precision")]

    @pytest.mark.parametrize("devices", ["0", "-2", "null", "two", "[0, 1]", "2.0"])
    def test_devices(self, devices: str) -> None:
        assert faults(finetune(devices=devices)) == [("error", "FSD004", "devices")]

    @pytest.mark.parametrize("key", ["max_tokens: 5", "max_norm: 1.0", "tie_embeddings: false"])
    def test_what_finetuning_does_not_support(self, key: str) -> None:
        assert faults(finetune(f"train:\n  {key}")) == [("error", "LIT007", f"train.{key.partition(':')[0]}")]

    @pytest.mark.parametrize("steps", ["", "\n  lr_warmup_steps: 10", "\n  lr_warmup_steps: 0", "\n  lr_warmup_steps:"])
    def test_a_fraction_in_finetuning(self, steps: str) -> None:
        assert faults(finetune(f"train:\n  lr_warmup_fraction: 0.1{steps}")) == [("error", "LIT007", "train.lr_warmup_fraction")]

    @pytest.mark.parametrize("steps", ["", "\n  lr_warmup_steps: 10"])
    def test_a_fraction_beside_steps_in_pretraining(self, steps: str) -> None:
        text = pretrain(f"train:\n  lr_warmup_fraction: 0.1{steps}")
        assert faults(text) == [("error", "LIT007", "train.lr_warmup_fraction")]

    @pytest.mark.parametrize("key", ["train.epochs", "eval.max_new_tokens"])
    def test_what_finetuning_needs(self, key: str) -> None:
        section, name = key.split(".")
        assert faults(finetune(f"{section}:\n  {name}:")) == [("error", "LIT007", key)]

    @pytest.mark.parametrize("key", ["train.epochs", "eval.max_new_tokens"])
    def test_what_pretraining_does_not_support(self, key: str) -> None:
        section, name = key.split(".")
        assert faults(pretrain(f"{section}:\n  {name}: 1")) == [("error", "LIT007", key)]

    @pytest.mark.parametrize("name", ["max_tokens", "max_norm"])
    def test_what_pretraining_needs(self, name: str) -> None:
        assert faults(pretrain(f"train:\n  {name}: null")) == [("error", "LIT007", f"train.{name}")]

    @pytest.mark.parametrize(("release", "is_refused"), [("0.5.0", True), ("0.5.13", False)])
    def test_steps_of_pretraining(self, release: str, is_refused: bool) -> None:
        found = faults(pretrain("train:\n  max_steps: 10"), f"litgpt=={release}")
        assert found == ([("error", "LIT007", "train.max_steps")] if is_refused else [])

    def test_two_places_to_start_from(self) -> None:
        assert faults(pretrain("initial_checkpoint_dir: a/b", "resume: true")) == [("error", "LIT007", "resume")]

    @pytest.mark.parametrize("key", ["strategy", "fsdp", "accelerator"])
    def test_keys_that_do_not_exist(self, key: str) -> None:
        assert faults(finetune(f"{key}: fsdp")) == [("error", "FSD006", key)]

    def test_a_key_that_a_fork_may_have(self) -> None:
        assert faults(finetune("our_option: 1")) == [("warning", "FSD003", "our_option")]

    @pytest.mark.parametrize(("value", "is_fine"), [("bf16-true", True), ("16-true", False), ("64-true", False), ("null", True)])
    def test_precisions_of_pretraining(self, value: str, is_fine: bool) -> None:
        text = pretrain().replace("bf16-mixed", value)
        assert faults(text) == ([] if is_fine else [("error", "FSD004", "precision")])

    def test_a_precision_is_a_text(self) -> None:
        assert faults(finetune().replace("bf16-true", "16")) == [("error", "FSD004", "precision")]
        assert faults(finetune().replace("bf16-true", "bf16")) == [("warning", "FSD402", "precision")]

    def test_old_releases(self) -> None:
        assert faults(finetune("train:\n  learning_rate: 0.1"), "litgpt==0.3.1") == []
        found = lint(finetune("train:\n  learning_rate: 0.1"), target=NEWEST)
        assert told(found) == [("error", "FSD403", "train.learning_rate")]
        assert "optimizer" in (found[0].help or "")
        assert ("error", "FSD401", "log") in faults(finetune("log: {}"), "litgpt==0.5.0")
