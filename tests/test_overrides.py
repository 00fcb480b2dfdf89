"""What a launch line overrides in a training file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linting import launch_of, lint, marked, read, told

from fsdplint.document import Refused, Set
from fsdplint.fixes import SymbolicFix, text_fix
from fsdplint.plan import Precision

TUNE = """\
model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
dtype: fp16
clip_grad_norm: 1.0
"""
TUNE_LINE = "tune run --nproc_per_node 2 full_finetune_distributed --config file0.yaml {}"
BOTH = "output_dir: out\nper_device_train_batch_size: 8\nbf16: true\nfp16: true\n"
FACTORY = "model_name_or_path: m\nstage: sft\ndo_train: true\ntemplate: qwen3\noutput_dir: out\n"
SWIFT = "model: m\ntuner_type: full\ndataset: d\nbf16: true\nfp16: true\n"
TRL = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nbf16: true\nfp16: false\n"
LIT = "trainer:\n  strategy: fsdp\n  accelerator: cpu\n  devices: 4\n  max_epochs: 1\n"
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: {}\nnum_processes: 2\nfsdp_config:\n  fsdp_version: 2\n"
)
TITAN = """\
[model]
name = "llama3"
flavor = "8B"

[training]
mixed_precision_param = "fp16x"

[parallelism]
fsdp_reshard_after_forward = "sometimes"
"""


def seen(text: str, dialect: str, line: str, path: str = "file0.yaml") -> object:
    """The file as its program sees it."""
    return launch_of(text, dialects=(dialect,), paths=(path,), line=line).files[0].document.value(())


def errors(text: str, dialect: str, line: str, path: str = "file0.yaml") -> list[tuple[str, str | None, str]]:
    """The errors as (code, key, path)."""
    return [(d.code, d.key, d.path) for d in lint(text, dialect=dialect, line=line, path=path) if d.severity.word == "error"]


class TestWords:
    @pytest.mark.parametrize(
        ("words", "path", "value"),
        [
            ("dtype=bf16", ("dtype",), "bf16"),
            ("optimizer.lr=1e-4", ("optimizer", "lr"), 1e-4),
            ("optimizer=torch.optim.SGD", ("optimizer", "_component_"), "torch.optim.SGD"),
            ("clip_grad_norm=None", ("clip_grad_norm",), None),
            ("clip_grad_norm=", ("clip_grad_norm",), None),
            ("metric_logger.log_dir=logs", ("metric_logger", "log_dir"), "logs"),
            ("dtype=fp32 dtype=bf16", ("dtype",), "bf16"),
            ("'dtype=bf16'", ("dtype",), "bf16"),
            ("dtype=$DTYPE", ("dtype",), "${unknown}"),
            ("model.layers=[1,2]", ("model", "layers"), [1, 2]),
        ],
    )
    def test_torchtune(self, words: str, path: tuple[str, ...], value: object) -> None:
        document = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format(words)).files[0].document
        assert document.has(path) and document.value(path) == value

    def test_a_key_is_taken_away(self) -> None:
        found = seen(TUNE, "torchtune", TUNE_LINE.format("~clip_grad_norm"))
        assert isinstance(found, dict) and "clip_grad_norm" not in found and found["dtype"] == "fp16"

    def test_the_file_itself_stays(self) -> None:
        document = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format("dtype=bf16")).files[0].document
        assert document.text == TUNE and document.original.value(("dtype",)) == "fp16"

    def test_nothing_changes_without_overrides(self) -> None:
        launch = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format(""))
        assert launch.files[0].document.original is launch.files[0].document

    def test_torchrun_s_own_words_are_no_overrides(self) -> None:
        line = "tune run --rdzv_conf dtype=bf16 full_finetune_distributed --config file0.yaml"
        found = seen(TUNE, "torchtune", line)
        assert isinstance(found, dict) and found["dtype"] == "fp16"

    def test_llama_factory(self) -> None:
        text = FACTORY + "bf16: true\nfp16: true\n"
        line = "llamafactory-cli train file0.yaml"
        assert errors(text, "llama-factory", line) == [("FSD702", "fp16", "file0.yaml")]
        assert not errors(text, "llama-factory", f"{line} fp16=false")

    def test_hydra_s_groups_and_sweeps_are_open(self) -> None:
        for word in ("trainer=small", "trainer/strategy=fsdp2", "trainer.accelerator=cpu,gpu", "trainer@x=y"):
            assert not errors(LIT, "lightning", f"python main.py {word}"), word

    def test_hydra(self) -> None:
        assert [code for code, _, _ in errors(LIT, "lightning", "python main.py trainer.devices=4")] == ["FSD201"]
        assert not errors(LIT, "lightning", "python main.py trainer.accelerator=gpu")


class TestFlags:
    @pytest.mark.parametrize(
        ("flags", "key", "value"),
        [
            ("--fp16 false", "fp16", False),
            ("--fp16=no", "fp16", False),
            ("--no_fp16", "fp16", False),
            ("--bf16 --fp16 0", "bf16", True),
            ("--learning-rate 1e-5", "learning_rate", 1e-5),
            ("--fsdp 'full_shard auto_wrap'", "fsdp", "full_shard auto_wrap"),
            ("--fsdp_config '{\"version\": 2}'", "fsdp_config", {"version": 2}),
            ("--optim 7", "optim", "7"),
            ("--max_steps ten", "max_steps", "${unknown}"),
            ("--max_steps $N", "max_steps", "${unknown}"),
        ],
    )
    def test_hugging_face(self, flags: str, key: str, value: object) -> None:
        found = seen(BOTH, "hf-trainer", f"torchrun train.py file0.yaml {flags}")
        assert isinstance(found, dict) and found[key] == value and type(found[key]) is type(value)

    def test_flags_of_the_script_that_nobody_knows(self) -> None:
        assert seen(BOTH, "hf-trainer", "python train.py file0.yaml --my_flag 3 --other") == seen(BOTH, "hf-trainer", "python train.py")

    def test_the_launcher_s_flags_are_not_the_script_s(self) -> None:
        found = seen(BOTH, "hf-trainer", "accelerate launch --debug train.py file0.yaml --fp16 false")
        assert isinstance(found, dict) and found["fp16"] is False and "debug" not in found

    @pytest.mark.parametrize(
        ("text", "dialect", "line"),
        [
            (BOTH, "hf-trainer", "torchrun train.py file0.yaml"),
            (SWIFT, "ms-swift", "swift sft file0.yaml"),
            (SWIFT, "ms-swift", "NPROC_PER_NODE=2 swift sft file0.yaml"),
        ],
    )
    def test_the_error_goes_with_the_value(self, text: str, dialect: str, line: str) -> None:
        assert errors(text, dialect, line) == [("FSD702", "fp16", "file0.yaml")]
        assert not errors(text, dialect, f"{line} --fp16 false")

    def test_trl(self) -> None:
        line = "trl sft --config file0.yaml --accelerate_config fsdp2 --num_processes 2 --fp16 true --bf16 false"
        plan = read(TRL, dialect="trl", line=line)
        assert (plan.precision.value, plan.fsdp_version.value, plan.processes.value) == (Precision.FP16, 2, 2)
        assert plan.precision.place is not None and plan.precision.place.origin.document.path == "<launch>"

    def test_axolotl_before_its_launcher_s_words(self) -> None:
        text = "base_model: m\ndatasets:\n  - path: d\n    type: alpaca\nbf16: true\n"
        line = "axolotl train file0.yaml --bf16=false --fp16 true --launcher accelerate -- --num_processes 2 --fp16"
        found = seen(text, "axolotl", line)
        assert isinstance(found, dict) and (found["bf16"], found["fp16"]) == (False, True)
        assert read(text, dialect="axolotl", line=line).processes.value == 2

    def test_lightning_cli(self) -> None:
        line = "python main.py fit --config file0.yaml {}"
        for flags in ("--trainer.accelerator gpu", "--trainer.accelerator=gpu", "--trainer.strategy ddp"):
            assert not errors(LIT, "lightning", line.format(flags)), flags

    def test_arguments_of_a_class(self) -> None:
        text = "trainer:\n  strategy:\n    class_path: FSDPStrategy\n    init_args:\n      cpu_offload: true\n  devices: 2\n"
        found = seen(text, "lightning", "python main.py fit -c file0.yaml --trainer.strategy.cpu_offload false")
        assert isinstance(found, dict)
        assert found["trainer"]["strategy"] == {"class_path": "FSDPStrategy", "init_args": {"cpu_offload": False}}

    def test_torchtitan(self) -> None:
        line = "torchrun --nproc_per_node 8 train.py --job.config_file file0.toml --training.mixed_precision_param {} {}"
        assert not errors(TITAN, "torchtitan", line.format("bfloat16", "--parallelism.fsdp-reshard-after-forward=never"), "file0.toml")


class TestPlaces:
    def test_a_wrong_value_stands_in_the_line(self) -> None:
        line = TUNE_LINE.format("dtype=bf17")
        found = [d for d in lint(TUNE, dialect="torchtune", line=line) if d.code == "FSD004"]
        assert [(d.path, d.key, d.dialect, marked(line, d)) for d in found] == [("<launch>", "dtype", "torchtune", "bf17")]

    @pytest.mark.parametrize(("flag", "shown"), [("--optim lion", "lion"), ("--optim=lion", "lion"), ("--optim 'lion'", "'lion'")])
    def test_a_wrong_flag_value(self, flag: str, shown: str) -> None:
        line = f"python train.py file0.yaml --fp16 false {flag}"
        found = [d for d in lint(BOTH, dialect="hf-trainer", line=line) if d.severity.word == "error"]
        assert [(d.code, d.path, d.key, marked(line, d)) for d in found] == [("FSD004", "<launch>", "--optim", shown)]

    def test_a_new_block_stands_in_the_line(self) -> None:
        launch = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format("metric_logger.log_dir=x"))
        found = launch.files[0].document.elsewhere(("metric_logger",))
        assert found is not None and found[1] == ("metric_logger.log_dir",)
        assert launch.files[0].document.elsewhere(("optimizer", "lr")) is None

    def test_what_the_line_overrides_has_no_fix(self) -> None:
        document = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format("dtype=fp32")).files[0].document
        with pytest.raises(Refused, match="the launch line overrides it"):
            text_fix(SymbolicFix("", True, document, (Set(("dtype",), "bf16"),)))

    def test_what_it_does_not_override_can_be_fixed(self) -> None:
        document = launch_of(TUNE, dialects=("torchtune",), line=TUNE_LINE.format("dtype=fp32")).files[0].document
        fix = text_fix(SymbolicFix("", True, document, (Set(("clip_grad_norm",), 2.0),)))
        assert fix is not None and [(edit.path, edit.text) for edit in fix.edits] == [("file0.yaml", "2.0")]


PIECES = st.sampled_from(
    [
        *(" ", " ", "{a: 1}", "!!python/name:x", "trainer.strategy", "optimizer.lr"),
        *"-=.~+'/@0",
        *("--", "fsdp", "fsdp_config", "dtype", "bf16", "no_", "true", "1e-5", "[1]", "$X", "&a", "*a"),
        *("accelerator", "init_args", "model", "_component_", "training"),
    ]
)
SAMPLES = [("torchtune", TUNE), ("hf-trainer", BOTH), ("lightning", LIT), ("axolotl", BOTH)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.sampled_from(SAMPLES),
)
def test_any_words_are_read(words: str, sample: tuple[str, str]) -> None:
    dialect, text = sample
    line = f"python train.py file0.yaml {words}"
    for found in lint(text, dialect=dialect, line=line):
        shown = line if found.path == "<launch>" else text
        assert 0 <= found.range.start.offset <= found.range.end.offset <= len(shown)


def test_an_accelerate_file_is_not_overridden() -> None:
    text = ACCELERATE.format("bf16")
    line = "accelerate launch --config_file file0.yaml train.py --mixed_precision fp16 mixed_precision=fp16"
    assert read(text, dialect="accelerate", line=line).precision.value is Precision.BF16


def test_warnings_name_the_line() -> None:
    acc = ACCELERATE.format("fp16")
    train = "output_dir: out\nper_device_train_batch_size: 8\nbf16: false\n"
    line = "accelerate launch --config_file file1.yaml train.py file0.yaml --bf16 true"
    found = [d for d in lint(train, acc, dialects=("hf-trainer", "accelerate"), line=line) if d.code == "FSD108"]
    assert told(found) == [("info", "FSD108", "mixed_precision")]
    assert "bf16 in <launch>, which wins" in found[0].message and [related.path for related in found[0].related] == ["<launch>"]
