"""Models known by their id on the hub, and the layer classes of their families."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsdplint.dialects import foreign_layers
from fsdplint.dialects.models import HUB, families_of, layer_classes

if TYPE_CHECKING:
    from types import ModuleType


def harvester() -> ModuleType:
    """tools/harvest_layer_classes.py as a module."""
    path = Path(__file__).parents[2] / "tools" / "harvest_layer_classes.py"
    spec = importlib.util.spec_from_file_location("harvest_layer_classes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("meta-llama/Llama-3.2-11B-Vision", "mllama"),
        ("unsloth/llama-3-8b-bnb-4bit", "llama"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2"),
        ("Qwen/Qwen2-57B-A14B-Instruct", "qwen2_moe"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3-30B-A3B", "qwen3_moe"),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "qwen2"),
        ("gpt2-xl", "gpt2"),
    ],
)
def test_family_of_well_known_ids(model: str, family: str) -> None:
    assert families_of(model)[0] == family


@pytest.mark.parametrize(
    "model",
    [
        "/models/Llama-3.1-8B",
        "./meta-llama/Llama-3.1-8B",
        "someone/Llama-3.1-8B-merge",
        "HuggingFaceH4/zephyr-7b-gemma-v0.1",
        "Qwen/Qwen2-Audio-7B",
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "tiiuae/falcon-mamba-7b",
        "meta-llama/Llama-3.1-8B\n",
        "",
    ],
)
def test_no_family_where_it_is_not_certain(model: str) -> None:
    assert families_of(model) == ()


@pytest.mark.parametrize("family", sorted({family for _, families in HUB for family in families}))
def test_every_family_has_its_layers(family: str) -> None:
    assert any(name.endswith(("Layer", "Block")) for name in layer_classes()[family]["layers"])


def test_classes_of_other_families_and_misspelt_ones_are_foreign() -> None:
    (other,) = foreign_layers("mistralai/Mixtral-8x7B-v0.1", ("MistralDecoderLayer", "MixtralSparseMoeBlock"))
    assert (other.name, other.family, other.layers, other.meant) == ("MistralDecoderLayer", "mixtral", ("MixtralDecoderLayer",), None)
    (misspelt,) = foreign_layers("Qwen/Qwen3-8B", ("Qwen3DecoderLayer", "Qwen3decoderlayer"))
    assert (misspelt.name, misspelt.meant) == ("Qwen3decoderlayer", "Qwen3DecoderLayer")


@pytest.mark.parametrize("name", ["LlamaMLP", "MyDecoderLayer", "DSALlamaDecoderLayer", "Linear", "TransformerBlock"])
def test_classes_that_no_family_has_are_not_judged(name: str) -> None:
    assert foreign_layers("meta-llama/Llama-3.1-8B", (name,)) == []


def test_vision_tower_of_another_family_belongs_to_the_model() -> None:
    assert foreign_layers("google/gemma-3-4b-it", ("Gemma3DecoderLayer", "SiglipEncoderLayer")) == []
    assert [layer.name for layer in foreign_layers("google/gemma-3-4b-it", ("Gemma2DecoderLayer",))] == ["Gemma2DecoderLayer"]


def test_unknown_models_have_no_foreign_layers() -> None:
    assert foreign_layers("org/model", ("BertLayer",)) == []


def test_models_are_loaded_only_when_somebody_asks() -> None:
    code = "import sys, fsdplint.dialects; sys.exit('fsdplint.dialects.models' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


def test_harvest_reads_layers_from_modeling_files(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "bare").mkdir()
    (tmp_path / "small" / "modeling_small.py").write_text(
        "from ...modeling_layers import GradientCheckpointingLayer\n"
        "from ..large.modeling_large import LargeBlock\n"
        "class SmallLayer: ...\n"
        "class SmallMLP: ...\n"
        "class TransformerBlock: ...\n"
        "class SmallModel:\n    _no_split_modules = ['SmallLayer', 'SmallHead']\n"
        "class SmallTextModel(SmallModel):\n    _no_split_modules: list[str] = []\n",
        encoding="utf-8",
    )
    (tmp_path / "bare" / "configuration_bare.py").write_text("class BareLayer: ...\n", encoding="utf-8")
    assert harvester().harvest(tmp_path) == {"small": {"layers": ["SmallHead", "SmallLayer"], "others": ["LargeBlock"]}}
