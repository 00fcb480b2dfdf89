"""The twin: a scaled-down model of the family that a config names, with random weights, from transformers alone and without the network."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.smoke.worker.unproved import Unproved

if TYPE_CHECKING:
    from torch import nn

    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.builtin import Size

_SMALL: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 128,
    "ffn_dim": 128,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "word_embed_proj_dim": 64,
    "ffn_hidden_size": 128,
    "n_inner": 128,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "first_k_dense_replace": 1,
    "sliding_window": 64,
    "vocab_size_per_layer_input": 256,
    "hidden_size_per_layer_input": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "tie_word_embeddings": False,
}
"""Measures by the names that the families' configs give them; one that a config lacks is left out."""

_NO_DROPOUT = (
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "hidden_dropout",
    "dropout_rate",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "resid_pdrop",
    "embd_pdrop",
    "attn_pdrop",
    "layerdrop",
)
_SUFFIXES = ("DecoderLayer", "EncoderLayer", "TransformerLayer", "DenseLayer", "Layer", "Block")


class NoTwin(Unproved):
    """transformers cannot make a small copy of the model."""


class Family(NamedTuple):
    """A family by transformers' name.

    ``source``: ``config`` (a config.json says so), ``name`` (guessed from the model's name) or ``layer`` (of a layer class).
    """

    name: str
    source: str


class Twin(NamedTuple):
    """A small random model. ``doubtful``: layer classes of which its lack proves nothing, since the real model may have them."""

    module: nn.Module
    size: Size
    doubtful: tuple[str, ...]


def twin(plan: SmokePlan, size: Size) -> Twin:
    """A small random model of the plan's family. Raises NoTwin where nothing names a family that transformers can make small."""
    family = family_of(plan)
    if family is None:
        names = ", ".join(plan.value("wrap_classes") or []) or "no layer class"
        model = plan.value("model") or "none named"
        raise NoTwin(f"no twin: neither the model ({model}) nor {names} names a family that transformers has")
    config, is_part = _small_config(family.name)
    layers = tuple(plan.value("wrap_classes") or ())
    doubtful = layers if is_part else tuple(layer for layer in layers if family.source == "name" and _is_near(layer, family.name))
    measures = size._replace(vocabulary=_SMALL["vocab_size"], width=_SMALL["hidden_size"], layers=2, length=32, rate=5e-3)
    return Twin(_language_model(config), measures, doubtful)


def family_of(plan: SmokePlan) -> Family | None:
    """The family of the model that the plan names, else of the layer class that it wraps."""
    model = plan.value("model")
    found = _of_model(str(model), plan.cwd) if model else None
    if found is not None:
        return found
    layers = (_of_layer(name) for name in plan.value("wrap_classes") or [])
    return next((Family(family, "layer") for family in layers if family is not None), None)


def _of_model(model: str, cwd: str | None) -> Family | None:
    """By the config.json of a model folder or of the Hugging Face cache, else by the longest family that begins the name."""
    config = Path(cwd or os.curdir, model, "config.json")
    cached = config if config.is_file() else _cached(model)
    if cached is not None:
        stated = json.loads(cached.read_text(encoding="utf-8")).get("model_type")
        return Family(str(stated), "config") if stated in _families() else None
    name = _letters(model.rpartition("/")[2])
    beginnings = {_letters(family): family for family in _families()} | _NAMES
    known = max((start for start in beginnings if name.startswith(start)), key=len, default=None)
    if known is None or any(word in name and word not in beginnings[known] for word in _OTHER_KINDS):
        return None
    return Family(beginnings[known], "name")


_NAMES = {"metallama": "llama", "tinyllama": "llama", "smollm2": "llama", "codellama": "llama", "vicuna": "llama", "yi": "llama"}
_NAMES |= {"qwen25": "qwen2", "ministral": "mistral", "codestral": "mistral", "pythia": "gpt_neox", "phi4": "phi3", "flant5": "t5"}
_OTHER_KINDS = ("vl", "vision", "omni", "audio", "moe", "mamba")
"""Words in a model's name that tell another architecture than its beginning does."""


def _is_near(layer: str, family: str) -> bool:
    """Whether a layer class belongs to a family with a like name, so that a guess from the model's name may have missed it."""
    other = _of_layer(layer)
    return other is not None and other != family and _letters(other)[:3] == _letters(family)[:3]


def _cached(model: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(model, "config.json")
    except ValueError:
        return None
    return Path(found) if isinstance(found, str) else None


def _families() -> dict[str, str]:
    """Every family with the name of its config class."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return dict(CONFIG_MAPPING_NAMES)


def _of_layer(layer: str) -> str | None:
    """The family whose config class begins as the layer class does; of several the longest, then the one that is called like it."""
    stem = next((layer.removesuffix(suffix) for suffix in _SUFFIXES if layer.endswith(suffix)), layer)
    families = _families()
    text = next((family for family, config in families.items() if config == f"{stem}TextConfig"), None)
    if text is not None:
        return text
    starts = {family: config.removesuffix("Config") for family, config in families.items()}
    fitting = [family for family, start in starts.items() if stem.startswith(start)]
    return max(fitting, key=lambda family: (len(starts[family]), _letters(starts[family]) == _letters(family)), default=None)


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _small_config(family: str) -> tuple[Any, bool]:
    """The family's default config with small measures and without dropout; and whether it is only the text part of a larger model."""
    from transformers import AutoConfig

    whole = AutoConfig.for_model(family)
    config = getattr(whole, "text_config", None) or whole
    known = set(config.to_dict()) | set(getattr(config, "attribute_map", {}) or {})
    changes = {name: value for name, value in _SMALL.items() if name in known}
    changes.update({name: 0.0 for name in _NO_DROPOUT if name in known})
    if "kv_lora_rank" in known:
        changes["num_key_value_heads"] = _SMALL["num_attention_heads"]
    if "layer_types" in known and config.layer_types:
        changes["layer_types"] = list(config.layer_types)[: _SMALL["num_hidden_layers"]]
    if "use_cache" in known:
        changes["use_cache"] = False
    if getattr(config, "is_encoder_decoder", False):
        changes["decoder_start_token_id"] = 0
    return type(config)(**changes), config is not whole


def _language_model(config: Any) -> nn.Module:
    """A model with a loss: a causal language model where the family has one, else its seq2seq or masked one."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

    kinds: list[Any] = [AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForMaskedLM]
    for kind in kinds[1:] if getattr(config, "is_encoder_decoder", False) else kinds:
        if type(config) in kind._model_mapping:
            model: nn.Module = kind.from_config(config)
            return model
    raise NoTwin(f"no twin: transformers has no language model for {type(config).__name__}")
