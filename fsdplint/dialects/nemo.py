"""Training files of NeMo 1.x (nemo-toolkit 1.23.0, read: megatron_trainer_builder.py, nlp_overrides.py, megatron_base_model.py)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.lightning_plan import device_count
from fsdplint.dialects.table import Table
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Precision, Sharding, Wrap

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_MEGATRON = frozenset(
    [
        *("tensor_model_parallel_size", "pipeline_model_parallel_size", "megatron_amp_O2", "micro_batch_size"),
        *("mcore_gpt", "fsdp", "fsdp_sharding_strategy"),
    ]
)
_STRATEGIES = {"full": Sharding.FULL_SHARD, "grad": Sharding.SHARD_GRAD_OP, "hybrid": Sharding.HYBRID_SHARD}


def is_nemo(document: Document) -> bool:
    """Whether a document has NeMo's sections: a Trainer, its experiment manager, and a model of Megatron's."""
    root = document.root
    if not isinstance(root, Mapping) or not {"trainer", "exp_manager", "model"} <= set(root.keys()):
        return False
    model = root.get("model")
    return isinstance(model, Mapping) and not _MEGATRON.isdisjoint(model.keys())


class Nemo(Dialect):
    """NeMo 1.x builds the Trainer and its strategy itself: `model.fsdp` switches FSDP on."""

    name = "lightning"
    package = "nemo-toolkit"
    title = "NeMo 1.x"
    loader = "omegaconf"

    @cached_property
    def table(self) -> Table:
        """NeMo's own options."""
        return Table.load("nemo")

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        """The words of `fsdp_sharding_strategy` and `precision`, and the processes that the Trainer starts."""
        if plan.fsdp.value is True:
            plan.fsdp_version = Fact(1, source="NeMo wraps with FSDP1")
            written = document.value(("model", "fsdp_sharding_strategy")) or "full"
            plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="NeMo wraps its transformer layers")
            plan.sharding = Fact(_STRATEGIES.get(str(written)), plan.sharding.place, source=plan.sharding.source)
        count, machines = device_count(document.value(("trainer", "devices"))), plan.machines
        if count is not None and not machines.unknown:
            plan.processes = Fact(count * (machines.value or 1), Place(document, ("trainer", "devices")))
        precision = str(document.value(("trainer", "precision"))).partition("-")[0]
        known = {"16": Precision.FP16, "bf16": Precision.BF16, "32": Precision.NONE}
        plan.precision = Fact(known.get(precision), plan.precision.place)
