"""Which dialect is written by what, and what has to be rewritten instead where a dialect cannot say it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fsdplint.rewriting.writer import Elsewhere, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.dialects import Dialect

REFUSALS = {
    "soup": "soup takes its FSDP preset from the command line: soup train --fsdp full_shard|shard_grad|full_offload",
    "litgpt": "litgpt's scripts choose FSDP themselves where `devices` is greater than 1",
    "deepspeed": "a DeepSpeed JSON starts nothing by itself: rewrite the file that names it",
    "nemo-automodel": "NeMo AutoModel builds its strategy from classes named in the file, for which there is no preset yet",
    "verl": "verl shards each of its models in a way of its own, for which there is no preset yet",
}
"""Why the files of a dialect are not rewritten, and what to do instead."""


FORMS = {
    "FsdpConfigFile": "the file holds the options of `fsdp_config` alone: rewrite the training file that names it",
    "Inference": "the file is for inference or export, not for training",
    "Megatron": "Megatron has its own parallelism, which FSDP cannot take over",
    "Benchmark": "the file lists runs of Megatron",
    "FsdpFile": "the file holds FSDP's options alone: rewrite the training file that names it",
    "Nemo": "NeMo builds its strategy in code from model.fsdp: there is no preset for it",
    "ForeignFile": "the file holds FSDP's options alone: rewrite the training file that names it",
}
"""Forms of a dialect that start no training with FSDP, by their class."""


@cache
def writer(dialect: Dialect) -> Writer:
    """What writes a dialect's files, in the form at hand; one that refuses where nothing does."""
    form = type(dialect).__name__
    if form in FORMS:
        return Elsewhere(FORMS[form])
    build = _llama_factory_v1 if (dialect.name, form) == ("llama-factory", "V1") else _WRITERS.get(dialect.name)
    return build() if build else Elsewhere(REFUSALS.get(dialect.name, f"there is no preset for {dialect.name} yet"))


def _accelerate() -> Writer:
    from fsdplint.rewriting.accelerate import Accelerate

    return Accelerate()


def _trainer() -> Writer:
    from fsdplint.rewriting.trainers import Trainer

    return Trainer()


def _llama_factory() -> Writer:
    from fsdplint.rewriting.trainers import PORTABLE, Trainer

    return Trainer(PORTABLE)


def _llama_factory_v1() -> Writer:
    from fsdplint.rewriting.trainers import V1

    return V1()


def _axolotl() -> Writer:
    from fsdplint.rewriting.axolotl import Axolotl

    return Axolotl()


def _ms_swift() -> Writer:
    from fsdplint.rewriting.ms_swift import MsSwift

    return MsSwift()


def _native(name: str) -> Callable[[], Writer]:
    def build() -> Writer:
        from fsdplint.rewriting import torch_native

        found: Writer = getattr(torch_native, name)()
        return found

    return build


_WRITERS: dict[str, Callable[[], Writer]] = {
    "accelerate": _accelerate,
    "hf-trainer": _trainer,
    "trl": _trainer,
    "llama-factory": _llama_factory,
    "axolotl": _axolotl,
    "ms-swift": _ms_swift,
    "lightning": _native("Lightning"),
    "torchtitan": _native("Torchtitan"),
    "torchtune": _native("Torchtune"),
    "composer": _native("Composer"),
}
