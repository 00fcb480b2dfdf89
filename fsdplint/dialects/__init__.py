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
    met,
    resolved,
    spelled,
)

if TYPE_CHECKING:
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
    "is_among",
    "is_known",
    "met",
    "recognise",
    "resolved",
    "spelled",
    "word_bool",
]

DIALECTS: dict[str, str] = {
    "accelerate": "fsdplint.dialects.accelerate:Accelerate",
    "hf-trainer": "fsdplint.dialects.hf_trainer:HfTrainer",
    "trl": "fsdplint.dialects.trl:Trl",
    "axolotl": "fsdplint.dialects.axolotl:Axolotl",
    "soup": "fsdplint.dialects.soup:Soup",
    "deepspeed": "fsdplint.dialects.deepspeed:Deepspeed",
}
"""Every dialect by name, and where its class is."""


@cache
def dialect(name: str) -> Dialect:
    """The dialect of that name; raises KeyError for a name that is none."""
    module, _, cls = DIALECTS[name].partition(":")
    found: Dialect = getattr(import_module(module), cls)()
    return found


def recognise(document: Document) -> Dialect | None:
    """The dialect that a document is surest of; None where none is sure at all, and where two are equally sure."""
    if not document.roots:
        return None
    scores = sorted(((d.recognise(document), d.name) for d in map(dialect, DIALECTS) if document.format in d.formats), reverse=True)
    if not scores or scores[0][0] <= 0 or (len(scores) > 1 and scores[0][0] == scores[1][0]):
        return None
    return dialect(scores[0][1])
