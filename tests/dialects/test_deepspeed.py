"""DeepSpeed's JSON."""

from __future__ import annotations

import pytest

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse


@pytest.mark.parametrize(
    "text",
    [
        '{"zero_optimization": {"stage": 2}}',
        '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto"}, "optimizer": {"type": "AdamW"}}',
        '{"train_batch_size": 8, "steps_per_print": 10, "optimizer": {}}',
    ],
)
def test_told_by_its_blocks(text: str) -> None:
    found = recognise(parse(text, "ds.json"))
    assert found is not None and found.name == "deepspeed"


@pytest.mark.parametrize(
    "text",
    [
        '{"train_batch_size": 8, "lr": 1, "epochs": 2}',
        '{"optimizer": {}, "scheduler": {}}',
        '{"zero_optimization": {"stage": 1}, "num_layers": 2, "hidden_size": 3, "seq_length": 4, "vocab_file": "x", "data_path": "y"}',
    ],
)
def test_other_files_are_not_taken(text: str) -> None:
    assert recognise(parse(text, "x.json")) is None


def test_it_starts_nothing_by_itself() -> None:
    assert dialect("deepspeed").is_companion
