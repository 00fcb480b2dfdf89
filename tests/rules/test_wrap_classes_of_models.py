"""FSD602 on layer classes that the named model does not have."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

AXOLOTL = """\
base_model: {model}
datasets: [{{path: org/data, type: alpaca}}]
micro_batch_size: 1
fsdp_version: 2
fsdp_config:
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  transformer_layer_cls_to_wrap: {classes}
"""
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
num_machines: 1
num_processes: 2
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: {classes}
"""


@pytest.mark.parametrize(
    ("model", "classes", "help"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", "MistralDecoderLayer", "write `MixtralDecoderLayer`"),
        ("Qwen/Qwen3-8B", "Qwen2DecoderLayer", "write `Qwen3DecoderLayer`"),
        ("Qwen/Qwen3-8B", "Qwen3Decoderlayer", "write `Qwen3DecoderLayer`"),
        ("ai21labs/AI21-Jamba-1.5-Large", "LlamaDecoderLayer", "write `JambaAttentionDecoderLayer` or `JambaMambaDecoderLayer`"),
    ],
)
def test_class_of_another_family(model: str, classes: str, help: str) -> None:
    text = AXOLOTL.format(model=model, classes=classes)
    (found,) = lint(text)
    assert (found.severity.word, found.code, marked(text, found)) == ("warning", "FSD602", classes)
    assert found.message.startswith(f"`{classes}` is no layer class of ")
    assert found.help == help
    assert [(related.key, related.message) for related in found.related] == [("base_model", "the model")]


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", "MixtralSparseMoeBlock"),
        ("mistralai/Mixtral-8x7B-v0.1", "MixtralDecoderLayer,OwnHead"),
        ("org/own-model", "MistralDecoderLayer"),
        ("./out/checkpoint", "MistralDecoderLayer"),
        ("${MODEL}", "MistralDecoderLayer"),
        ("Qwen/Qwen3-8B", "${LAYER}"),
    ],
)
def test_silent_where_it_is_not_certain(model: str, classes: str) -> None:
    assert lint(AXOLOTL.format(model=model, classes=classes)) == []


def test_silent_without_a_model_and_over_two_files_with_one() -> None:
    launcher, training = ACCELERATE.format(classes="BertLayer"), "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\n"
    assert told(lint(launcher)) == []
    (found,) = lint(training, launcher, dialects=("trl", "accelerate"))
    assert (found.severity.word, found.code, found.path, marked(launcher, found)) == ("warning", "FSD602", "file1.yaml", "BertLayer")


def test_one_warning_for_each_class() -> None:
    found = lint(AXOLOTL.format(model="Qwen/Qwen3-8B", classes="Qwen2DecoderLayer,Qwen3DecoderLayer,BertLayer"))
    assert told(found) == [("warning", "FSD602", "fsdp_config.transformer_layer_cls_to_wrap")] * 2
