"""DeepSpeed's own JSON, which other files name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.hf_trainer import top_level
from fsdplint.plan import Fact

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_BATCHES = frozenset({"train_batch_size", "train_micro_batch_size_per_gpu"})
_PARTS = frozenset(
    "optimizer scheduler fp16 bf16 gradient_clipping steps_per_print wall_clock_breakdown zero_allow_untested_optimizer autotuning".split()  # noqa: SIM905
)


class Deepspeed(Dialect):
    """A DeepSpeed configuration; it starts nothing by itself."""

    name = "deepspeed"
    package = "deepspeed"
    title = "DeepSpeed"
    formats = ("json", "yaml")
    is_companion = True

    def recognise(self, document: Document) -> int:
        """By the block of ZeRO, or by a batch size beside other blocks of DeepSpeed; other frameworks' files have many keys more."""
        keys = set(top_level(document))
        is_zero = isinstance(document.value(("zero_optimization",)), dict)
        if not is_zero and _BATCHES.isdisjoint(keys):
            return 0
        telling = 2 * is_zero + len(keys & _BATCHES) + len(keys & _PARTS)
        foreign = sum(key not in self.table.schema["properties"] for key in keys)
        return 80 if telling >= 2 and 3 * foreign <= len(keys) else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        """Whoever reads the file has DeepSpeed on."""
        path = ("zero_optimization",) if document.has(("zero_optimization",)) else ()
        plan.deepspeed = Fact(True, Place(document, path, "key"))
