"""What is said about TRL's configs."""

from __future__ import annotations

import pytest
from linting import lint, told

HEAD = "model_name_or_path: x/y\ndataset_name: a/b\noutput_dir: out\nreport_to: none\n"


def at(text: str, **options: object) -> list[tuple[str, str, str | None]]:
    """Errors and warnings of a text below the usual head, with the newest releases."""
    return [found for found in told(lint(HEAD + text, dialect="trl", **options)) if found[0] != "info"]  # type: ignore[arg-type]


def test_checkpointing_is_on_by_default() -> None:
    text = "fsdp: true\nfsdp_config:\n  activation_checkpointing: true\n"
    assert at(text) == [("error", "FSD701", "fsdp_config.activation_checkpointing")]
    assert at(text + "gradient_checkpointing: false\n") == []
    assert at("fsdp: true\n") == []


def test_the_accelerate_file_may_switch_it_on() -> None:
    head = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\n"
    accelerate = head + "fsdp_config:\n  fsdp_version: 2\n  fsdp_activation_checkpointing: true\n"
    found = told(
        lint(
            HEAD, accelerate, dialects=("trl", "accelerate"), line="accelerate launch --config_file file1.yaml train.py --config file0.yaml"
        )
    )
    assert "FSD701" in [code for _, code, _ in found]


@pytest.mark.parametrize("value", ["2e-5", '"2e-5"', "2.0e-5", "1"])
def test_numbers_are_converted(value: str) -> None:
    assert at(f"learning_rate: {value}\n") == []


def test_words_that_argparse_cannot_read() -> None:
    assert at('bf16: "maybe"\n') == [("error", "FSD004", "bf16")]
    assert at('bf16: "false"\n') == []
    assert at("learning_rate: fast\n") == [("error", "FSD004", "learning_rate")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("python train.py --config config.yaml", True),
        ("accelerate launch train.py --config config.yaml", True),
        ("trl sft --config config.yaml", False),
        (None, False),
    ],
)
def test_keys_of_the_launcher(line: str | None, said: bool) -> None:
    found = at("num_processes: 2\naccelerate_config: multi_gpu\n", line=line)
    assert (("error", "TRL001", "num_processes") in found) is said
    assert (("error", "TRL001", "accelerate_config") in found) is said


def test_shipped_accelerate_files() -> None:
    assert at("accelerate_config: zero3\nfsdp: true\n") == [("error", "FSD101", "accelerate_config")]
    assert at("accelerate_config: zero3\nauto_find_batch_size: true\n") == [("error", "HFT003", "auto_find_batch_size")]
    assert at("accelerate_config: fsdp2\nsave_only_model: true\n") == []


def test_adapters_wrap_by_themselves() -> None:
    text = "use_peft: true\nfsdp: true\nfsdp_config: {transformer_layer_cls_to_wrap: LlamaDecoderLayer}\n"
    assert at(text) == [("warning", "TRL002", "fsdp_config.transformer_layer_cls_to_wrap")]
    assert at(text.replace("use_peft: true", "use_peft: false")) == []


def test_storage_of_4_bit_weights() -> None:
    text = "use_peft: true\nload_in_4bit: true\nfsdp: true\n"
    assert at(text) == [("warning", "FSD704", "load_in_4bit")]
    assert at(text + "bnb_4bit_quant_storage: bfloat16\n") == []
    assert at("use_peft: true\nload_in_4bit: true\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("learning_rat: 1\n", [("error", "FSD003", "learning_rat")]),
        ("learning_rat: 1\nmy_key: 2\n", [("warning", "FSD003", "learning_rat")]),
        ("dataset_configs: [a]\n", []),
        ("warmup_ratio: 0.1\n", [("error", "FSD403", "warmup_ratio")]),
        ("torch_dtype: bfloat16\n", [("warning", "FSD404", "torch_dtype")]),
        ("max_seq_length: 100\n", [("warning", "FSD404", "max_seq_length")]),
        ("packing: true\nmax_length: 512\n", []),
    ],
)
def test_keys(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert at(text) == expected
