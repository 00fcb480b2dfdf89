"""The recipes of NeMo AutoModel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_SECTION = ("distributed",)
_STRATEGY = ("distributed", "strategy")
_CLASS = ("distributed", "_target_")
_FSDP_CLASSES = {"FSDP2Manager": "fsdp2", "MegatronFSDPManager": "megatron_fsdp", "NVFSDPManager": "megatron_fsdp", "DDPManager": "ddp"}


class NemoAutomodel(Dialect):
    """A recipe of nemo-automodel 0.1.2 to 0.7.0: what `distributed` says (recipes/_dist_utils.py), and `compile` beside it.

    Options may be given as flags (`--distributed.tp_size 2`) beside the file, which beat it.
    """

    name = "nemo-automodel"
    package = "nemo-automodel"
    title = "NeMo AutoModel recipe"

    def recognise(self, document: Document) -> int:
        """By a class of nemo_automodel that the model or the distributed section names, or by the sections that only its recipes have."""
        root = document.root
        if not isinstance(root, Mapping) or not {"distributed", "model", "step_scheduler"} & set(root.keys()):
            return 0
        if any(
            str(document.value((section, "_target_")) or "").startswith("nemo_automodel.")
            for section in ("model", "distributed", "dataset")
        ):
            return 95
        return 70 if "step_scheduler" in root and ("recipe" in root or isinstance(root.get("distributed"), Mapping)) else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """The strategy decides the engine: the class of old releases, `strategy` since 0.3, `fsdp2` where neither says it."""
        if not isinstance(document.value(_SECTION), dict):
            return
        word, place = strategy(document, versions)
        if is_placeholder(document.value(place.path)):
            plan.fsdp = Fact(None, place, unknown=True)
            return
        if word is not None:
            plan.fsdp = Fact(word != "ddp", place)
        if word == "fsdp2":
            plan.fsdp_version = Fact(2, place)
            plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="AutoModel shards layer by layer")
            _offload(plan, document)
        elif word == "megatron_fsdp":
            plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="AutoModel takes the model's own block classes")


def strategy(document: Document, versions: Versions) -> tuple[str | None, Place]:
    """The strategy that runs (`fsdp2`, `megatron_fsdp`, `ddp`; None for a word that is none of them), and the place that decides it."""
    if versions.has("nemo-automodel<0.3.0"):
        name = str(document.value(_CLASS) or "").rpartition(".")[2]
        return _FSDP_CLASSES.get(name), Place(document, _CLASS)
    if not document.has(_STRATEGY):
        return "fsdp2", Place(document, _SECTION, "key")
    word = str(document.value(_STRATEGY)).lower().replace("-", "_")
    known = {"fsdp2": "fsdp2", "megatron_fsdp": "megatron_fsdp", "mfsdp": "megatron_fsdp", "ddp": "ddp"}
    return known.get(word), Place(document, _STRATEGY)


def _offload(plan: Plan, document: Document) -> None:
    """A mapping is the policy; anything else offloads nothing."""
    path = ("distributed", "offload_policy")
    if isinstance(document.value(path), dict):
        plan.offload = Fact(True, Place(document, path))
