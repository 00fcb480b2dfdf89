"""Models that are known by their id on the hub, and the layer classes that they have.

The classes lie in ``layer_classes.json``, which ``tools/harvest_layer_classes.py`` writes from a transformers release. The ids
are few on purpose: those whose repositories transformers loads with code of its own, or with the hub's code under the same names.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

_SIZE = r"\d+(?:\.\d+)?b"

HUB: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"(?:meta-llama|NousResearch|unsloth)/(?:Meta-)?Llama-(?:2|3|3\.1|3\.3)-{_SIZE}(?:-.*)?", ("llama",)),
    (r"(?:meta-llama|unsloth)/Llama-3\.2-[13]B(?:-.*)?", ("llama",)),
    (rf"huggyllama/llama-{_SIZE}|codellama/CodeLlama-{_SIZE}-.*|TinyLlama/TinyLlama-.*|lmsys/vicuna-{_SIZE}-v1\.[35](?:-.*)?", ("llama",)),
    (
        rf"01-ai/Yi-(?:1\.5-)?{_SIZE}(?:-.*)?|deepseek-ai/deepseek-(?:llm|coder)-{_SIZE}-.*|tiiuae/Falcon3-{_SIZE}-(?:Base|Instruct)",
        ("llama",),
    ),
    (rf"HuggingFaceTB/SmolLM2?-(?:135M|360M|1\.7B)(?:-.*)?|deepseek-ai/DeepSeek-R1-Distill-Llama-{_SIZE}", ("llama",)),
    (r"meta-llama/Llama-3\.2-(?:11|90)B-Vision(?:-Instruct)?", ("mllama",)),
    (r"meta-llama/Llama-4-(?:Scout|Maverick)-17B-\d+E(?:-.*)?", ("llama4",)),
    (r"mistralai/Mistral-7B-(?:Instruct-)?v0\.[123]|mistralai/Mistral-Nemo-(?:Base|Instruct)-2407", ("mistral",)),
    (r"mistralai/Ministral-8B-Instruct-2410|mistralai/Mistral-Small-24B-(?:Base|Instruct)-2501", ("mistral",)),
    (r"HuggingFaceH4/zephyr-7b-(?:alpha|beta)|unsloth/mistral-7b-.*", ("mistral",)),
    (r"(?:mistralai|mistral-community)/Mixtral-8x(?:7|22)B-(?:Instruct-)?v0\.1", ("mixtral",)),
    (rf"Qwen/Qwen(?:1\.5|2|2\.5)-(?:Coder-|Math-)?{_SIZE}(?!-A\d)(?:-.*)?", ("qwen2",)),
    (rf"Qwen/QwQ-32B(?:-Preview)?|deepseek-ai/DeepSeek-R1-Distill-Qwen-{_SIZE}", ("qwen2",)),
    (r"Qwen/Qwen1\.5-MoE-A2\.7B(?:-.*)?|Qwen/Qwen2-57B-A14B(?:-.*)?", ("qwen2_moe",)),
    (rf"Qwen/Qwen3-{_SIZE}(?!-A\d)(?:-.*)?", ("qwen3",)),
    (r"Qwen/Qwen3-(?:30B-A3B|235B-A22B|Coder-30B-A3B|Coder-480B-A35B)(?:-.*)?", ("qwen3_moe",)),
    (rf"Qwen/Qwen2-VL-{_SIZE}(?:-.*)?", ("qwen2_vl",)),
    (rf"Qwen/Qwen2\.5-VL-{_SIZE}-Instruct(?:-.*)?", ("qwen2_5_vl",)),
    (rf"google/gemma-(?:1\.1-)?{_SIZE}(?:-it)?", ("gemma",)),
    (rf"google/gemma-2-{_SIZE}(?:-it)?", ("gemma2",)),
    (r"google/gemma-3-(?:270m|1b|4b|12b|27b)(?:-it|-pt)?", ("gemma3", "siglip")),
    (r"microsoft/phi-(?:1|1_5|2)", ("phi",)),
    (r"microsoft/Phi-3(?:\.5)?-(?:mini|medium)-(?:4k-|128k-)?instruct|microsoft/phi-4|microsoft/Phi-4-mini-instruct", ("phi3",)),
    (r"deepseek-ai/DeepSeek-(?:V2|V2\.5|V2-Lite|Coder-V2-Lite)(?:-Chat|-Base|-Instruct)?", ("deepseek_v2",)),
    (r"deepseek-ai/DeepSeek-(?:V3|R1)(?:-Base|-0324|-Zero|-0528)?", ("deepseek_v3",)),
    (r"openai/gpt-oss-(?:20|120)b", ("gpt_oss",)),
    (r"EleutherAI/(?:pythia-.*|gpt-neox-20b)", ("gpt_neox",)),
    (r"EleutherAI/gpt-neo-(?:125m|1\.3B|2\.7B)", ("gpt_neo",)),
    (r"EleutherAI/gpt-j-6b", ("gptj",)),
    (r"(?:openai-community/)?gpt2(?:-medium|-large|-xl)?", ("gpt2",)),
    (r"facebook/opt-(?:\d+m|\d+(?:\.\d+)?b)", ("opt",)),
    (r"bigscience/bloomz?(?:-560m|-\db\d)?", ("bloom",)),
    (r"tiiuae/falcon-(?:7b|11b|40b|180b)(?:-instruct|-chat)?", ("falcon",)),
    (r"(?:google-bert/)?bert-(?:base|large)-(?:un)?cased", ("bert",)),
    (r"(?:google-t5/)?t5-(?:small|base|large|3b|11b)|google/flan-t5-(?:small|base|large|xl|xxl)", ("t5",)),
    (r"bigcode/starcoder2-(?:3|7|15)b", ("starcoder2",)),
    (r"databricks/dbrx-(?:base|instruct)", ("dbrx",)),
    (r"ai21labs/AI21-Jamba-1\.5-(?:Mini|Large)", ("jamba",)),
    (r"allenai/OLMo-2-\d{4}-\d+B(?:-.*)?", ("olmo2",)),
    (r"HuggingFaceTB/SmolLM3-3B(?:-Base)?", ("smollm3",)),
    (r"(?:CohereForAI|CohereLabs)/c4ai-command-r(?:-v01|-plus)?", ("cohere",)),
)
"""Ids on the hub, case aside, and the families of transformers of which such a model is made."""

_NEAR = 0.93


class ForeignLayer(NamedTuple):
    """A class that a model of a known family lacks: its name, the family, and the layer classes that the family has.

    ``meant``: the class of the family of which ``name`` is a misspelling; None for a class of another family.
    """

    name: str
    family: str
    layers: tuple[str, ...]
    meant: str | None


@cache
def layer_classes() -> dict[str, dict[str, list[str]]]:
    """By family: ``layers``, which FSDP wraps by default, and ``others`` that are called Layer or Block."""
    import json
    from pathlib import Path

    table: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
        Path(__file__).with_name("layer_classes.json").read_text(encoding="utf-8")
    )
    return table["families"]


def families_of(model: str) -> tuple[str, ...]:
    """The families of the model with this id on the hub; none for a path, and where it is not certain."""
    return next((families for pattern, families in HUB if re.fullmatch(pattern, model, re.IGNORECASE)), ())


def foreign_layers(model: str, classes: tuple[str, ...]) -> list[ForeignLayer]:
    """The classes of some that a model certainly lacks: layers of other families, and misspelt ones of its own.

    A class that no family has may be the training script's own: it is not judged. Read from transformers 5.24.0.
    """
    families = families_of(model)
    if not families:
        return []
    own = [name for family in families for names in layer_classes()[family].values() for name in names]
    layers = tuple(name for name in layer_classes()[families[0]]["layers"] if name.endswith(("Layer", "Block")))
    strangers = [name for name in dict.fromkeys(classes) if name not in own]
    found = []
    for name in strangers:
        meant = None if _is_known(name) else _meant(name, layers)
        if meant or _is_known(name):
            found.append(ForeignLayer(name, families[0], layers, meant))
    return found


def _is_known(name: str) -> bool:
    return any(name in names for family in layer_classes().values() for names in family.values())


def _meant(name: str, layers: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches

    same = [layer for layer in layers if layer.lower() == name.lower()]
    return next(iter(same or get_close_matches(name, layers, n=1, cutoff=_NEAR)), None)
