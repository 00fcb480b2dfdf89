"""The dialects: one module per framework beside its option table (``<name>.schema.json``)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.formats import word_bool
from fsdplint.dialects.keys import Keys
from fsdplint.dialects.table import (
    Claim,
    Option,
    Table,
    Written,
    choose,
    default,
    fits,
    is_among,
    is_known,
    is_read,
    met,
    resolved,
    spelled,
)

if TYPE_CHECKING:
    from fsdplint.dialects.models import ForeignLayer
    from fsdplint.document import Document

__all__ = [
    "DIALECTS",
    "Claim",
    "Dialect",
    "Keys",
    "Option",
    "Table",
    "Written",
    "choose",
    "default",
    "dialect",
    "fits",
    "foreign_layers",
    "is_among",
    "is_known",
    "is_read",
    "met",
    "recognise",
    "resolved",
    "spelled",
    "word_bool",
]

DIALECTS: dict[str, str] = {
    "accelerate": "fsdplint.dialects.accelerate:Accelerate",
    "axolotl": "fsdplint.dialects.axolotl:Axolotl",
    "llama-factory": "fsdplint.dialects.llama_factory:LlamaFactory",
    "ms-swift": "fsdplint.dialects.ms_swift:MsSwift",
    "soup": "fsdplint.dialects.soup:Soup",
    "hf-trainer": "fsdplint.dialects.hf_trainer:HfTrainer",
    "trl": "fsdplint.dialects.trl:Trl",
    "lightning": "fsdplint.dialects.lightning:Lightning",
    "litgpt": "fsdplint.dialects.litgpt:Litgpt",
    "deepspeed": "fsdplint.dialects.deepspeed:Deepspeed",
    "torchtitan": "fsdplint.dialects.torchtitan:Torchtitan",
    "torchtune": "fsdplint.dialects.torchtune:Torchtune",
    "composer": "fsdplint.dialects.composer:Composer",
    "nemo-automodel": "fsdplint.dialects.nemo_automodel:NemoAutomodel",
    "verl": "fsdplint.dialects.verl:Verl",
}
"""Every dialect by name, and where its class is; those that tell their files at a glance first."""

CERTAIN = 95
"""The score from which a dialect is sure beyond doubt."""


@cache
def dialect(name: str) -> Dialect:
    """The dialect of that name; raises KeyError for a name that is none."""
    module, _, cls = DIALECTS[name].partition(":")
    found: Dialect = getattr(import_module(module), cls)()
    return found


def recognise(document: Document) -> Dialect | None:
    """The dialect that a document is surest of; None where none is sure at all, and where two are equally sure.

    The first that is sure beyond doubt is not compared with others: their tables need not be loaded then.
    """
    if not document.roots:
        return None
    scores: list[tuple[int, Dialect]] = []
    for found in map(dialect, DIALECTS):
        score = found.recognise(document) if document.format in found.formats else 0
        if score >= CERTAIN:
            return found
        scores.append((score, found))
    best = max(score for score, _ in scores)
    winners = [found for score, found in scores if score == best]
    return winners[0] if best > 0 and len(winners) == 1 else None


def foreign_layers(model: str, classes: tuple[str, ...]) -> list[ForeignLayer]:
    """The layer classes that a model on the hub certainly lacks; what is known of models is loaded when somebody asks."""
    from fsdplint.dialects import models

    return models.foreign_layers(model, classes)
