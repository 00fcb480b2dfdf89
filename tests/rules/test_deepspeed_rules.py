"""DeepSpeed's settings beside those of TrainingArguments."""

from __future__ import annotations

import pytest
from linting import lint, told

HEAD = "output_dir: out\nper_device_train_batch_size: 8\n"
ZERO2 = '"zero_optimization": {"stage": 2}'


def both(training: str, engine: str, **options: object) -> list[tuple[str, str, str | None]]:
    """Errors and warnings of a training file and of the JSON that it names."""
    found = lint(HEAD + "deepspeed: ds.json\n" + training, f"{{{engine}}}", dialects=("hf-trainer", "deepspeed"), **options)  # type: ignore[arg-type]
    return [said for said in told(found) if said[0] != "info"]


@pytest.mark.parametrize(
    ("training", "engine", "expected"),
    [
        ("gradient_accumulation_steps: 2\n", '"gradient_accumulation_steps": 4', [("error", "DSP001", "gradient_accumulation_steps")]),
        ("gradient_accumulation_steps: 2\n", '"gradient_accumulation_steps": "auto"', []),
        ("gradient_accumulation_steps: 4\n", '"gradient_accumulation_steps": 4', []),
        ("gradient_accumulation_steps: 4\n", '"gradient_accumulation_steps": "4"', [("error", "DSP001", "gradient_accumulation_steps")]),
        ("", '"gradient_accumulation_steps": 4', [("warning", "DSP001", "deepspeed")]),
        ("", '"train_micro_batch_size_per_gpu": 4', [("error", "DSP001", "per_device_train_batch_size")]),
        ("fp16: true\n", '"bf16": {"enabled": true}', [("error", "DSP001", "fp16")]),
        ("bf16: true\n", '"bf16": {"enabled": true}', []),
        ("bf16: true\n", '"fp16": {"enabled": "auto"}', []),
        ("", '"fp16": {"enabled": true}', [("warning", "DSP001", "deepspeed")]),
        ("learning_rate: 1.0e-5\n", '"optimizer": {"params": {"lr": 2e-5}}', [("error", "DSP001", "learning_rate")]),
        ("adam_beta2: 0.95\n", '"optimizer": {"params": {"betas": [0.9, 0.95]}}', []),
        ("max_grad_norm: 1.0\n", '"gradient_clipping": 1', []),
        ("gradient_accumulation_steps: ${GAS}\n", '"gradient_accumulation_steps": 4', []),
    ],
)
def test_values_that_transformers_compares(training: str, engine: str, expected: list[tuple[str, str, str]]) -> None:
    assert both(training, f"{ZERO2}, {engine}") == expected


def test_the_whole_batch_needs_the_world_size() -> None:
    assert both("", f'{ZERO2}, "train_batch_size": 99') == []
    assert both("", f'{ZERO2}, "train_batch_size": 99', gpus=2) == [("error", "DSP001", "per_device_train_batch_size")]
    assert both("", f'{ZERO2}, "train_batch_size": 16', gpus=2) == []


def test_inline_settings() -> None:
    text = HEAD + "gradient_accumulation_steps: 2\ndeepspeed:\n  zero_optimization: {stage: 2}\n  gradient_accumulation_steps: 4\n"
    (found,) = lint(text, dialect="hf-trainer")
    assert (found.code, found.key, [r.key for r in found.related]) == (
        "DSP001",
        "gradient_accumulation_steps",
        ["deepspeed.gradient_accumulation_steps"],
    )


def test_zero_3_forbids_auto_find_batch_size() -> None:
    assert both("auto_find_batch_size: true\n", '"zero_optimization": {"stage": 3}') == [("error", "HFT003", "auto_find_batch_size")]
    assert both("auto_find_batch_size: true\n", ZERO2) == []


def test_a_json_without_a_training_file_is_silent() -> None:
    assert lint(f'{{{ZERO2}, "gradient_accumulation_steps": 4}}', dialect="deepspeed", path="ds.json") == []


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ('"bf16": {"enabled": true}, "fp16": {"enabled": true}', [("error", "DSP002", "fp16.enabled")]),
        ('"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}', []),
        ('"bf16": {"enabled": true}, "fp16": {"enabled": false}', []),
        ('"bf16": {"enable": true}', [("error", "FSD003", "bf16.enable")]),
        (
            '"zero_optimization": {"stage": 2, "cpu_offload": false, "offload_optimizer": {"device": "cpu"}}',
            [("error", "DSP002", "zero_optimization.cpu_offload")],
        ),
        ('"zero_optimization": {"stage": 2, "cpu_offload": true}', []),
    ],
)
def test_what_deepspeed_refuses_by_itself(engine: str, expected: list[tuple[str, str, str]]) -> None:
    text = f'{{"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": true, {engine}}}'
    assert [found for found in told(lint(text, dialect="deepspeed", path="ds.json")) if found[0] == "error"] == expected
