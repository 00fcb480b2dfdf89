"""What axolotl refuses of steps, adapters and preference methods; each case was run with axolotl 0.19.0."""

from __future__ import annotations

import pytest
from linting import lint

BASE = "base_model: a/b\ndatasets: [{path: a/b, type: alpaca}]\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"


def found(lines: str) -> list[tuple[str, str | None]]:
    return [(d.code, d.key) for d in lint(BASE + lines + "\n", dialect="axolotl") if d.severity.word == "error"]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ("save_strategy: epoch\nsave_steps: 10", "save_steps"),
        ("save_steps: 0.5\nsaves_per_epoch: 1", "saves_per_epoch"),
        ("eval_steps: 10\neval_strategy: epoch", "eval_steps"),
        ("eval_steps: 10\nevals_per_epoch: 2", "evals_per_epoch"),
        ("evals_per_epoch: 1\neval_strategy: epoch", "evals_per_epoch"),
        ("early_stopping_patience: 3", "early_stopping_patience"),
        ("early_stopping_patience: 3\nsave_steps: 10", "early_stopping_patience"),
        ("early_stopping_patience: 3\nsave_steps: 10\neval_steps: 4", "save_steps"),
        ("warmup_ratio: 0.1\nwarmup_steps: 10", "warmup_ratio"),
    ],
)
def test_schedules_that_contradict_each_other(lines: str, key: str) -> None:
    assert found(lines) == [("AXO511", key)]


@pytest.mark.parametrize(
    "lines",
    [
        "save_strategy: steps\nsave_steps: 10\neval_strategy: steps\neval_steps: 5",
        "save_steps: 10\nsaves_per_epoch: 0",
        "warmup_ratio: 0.0\nwarmup_steps: 10",
        "early_stopping_patience: 3\nsave_steps: 0.2\neval_steps: 0.1",
        "early_stopping_patience: 3\nsave_steps: 10\neval_steps: 5",
        "adapter: ''",
        "adapter: shira\nplugins: [project.adapters.ShiraPlugin]",
        "rl: grpo",
        "liger_rms_norm: 2.0",
    ],
)
def test_what_axolotl_takes(lines: str) -> None:
    assert found(lines) == []


@pytest.mark.parametrize(("lines", "key"), [("adapter: LoRA", "adapter"), ("rl: DPO", "rl"), ("rl: true", "rl"), ("rl: ''", "rl")])
def test_names_that_axolotl_does_not_know(lines: str, key: str) -> None:
    assert [key for code, key in found(lines) if code in ("FSD004", "FSD005")] == [key]
