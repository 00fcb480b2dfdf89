"""soup.yaml, the config file of soup-cli."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.document import Mapping
from fsdplint.plan import Fact

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_SECTIONS = frozenset({"task", "training", "modality"})
_BACKENDS = ("transformers", "unsloth", "mlx")


class Soup(Dialect):
    """soup.yaml (soup-cli 0.14.3 to 0.77.0). Nothing in it switches FSDP or DeepSpeed on: that is the command line's alone."""

    name = "soup"
    package = "soup-cli"
    title = "soup.yaml"

    def recognise(self, document: Document) -> int:
        """By `base` beside `data: {train: ...}` and a section or value that only soup has; by `model` and `data: {path:
        ...}` for its first examples.
        """
        root = document.root
        if not isinstance(root, Mapping):
            return 0
        keys = set(root.keys())
        data = root.get("data")
        if "base" in keys and isinstance(data, Mapping) and "train" in data:
            return 95 if keys & _SECTIONS or document.value(("backend",)) in _BACKENDS else 60
        return 70 if self.predates(document) else 0

    def predates(self, document: Document) -> bool:
        """Whether it is written as soup's first examples were: `model`, `data: {path: ...}`, flat LoRA keys."""
        root = document.root
        if not isinstance(root, Mapping) or "base" in root or not {"model", "task", "lora_r", "backend"} <= set(root.keys()):
            return False
        data = root.get("data")
        return isinstance(data, Mapping) and "path" in data and "format" in data and document.value(("backend",)) in _BACKENDS

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Quantization by family (`hqq:4bit` is hqq, `none` nothing), the `load_in_8bit` alias, and the adapter that `lora.r` makes."""
        if document.value(("training", "load_in_8bit")) is True and versions.has("soup-cli>=0.41.0"):
            plan.quantization = Fact("8bit", Place(document, ("training", "load_in_8bit"))).beating(plan.quantization)
        elif plan.quantization.value is not None:
            family = plan.quantization.value.partition(":")[0]
            written = plan.quantization
            plan.quantization = Fact(None if family == "none" else family, written.place, source=written.source)
        lora = ("training", "lora") if document.has(("training", "lora")) else ("lora",)
        if document.value((*lora, "r")) != 0:
            kind = "qlora" if plan.quantization.value == "4bit" else "lora"
            plan.adapter = Fact(
                kind, Place(document, lora) if document.has(lora) else None, source="" if document.has(lora) else "soup's default"
            )
