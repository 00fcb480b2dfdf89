"""The variables before a command that accelerate reads in every process, whoever starts it.

``ACCELERATE_USE_FSDP=true FSDP_VERSION=2 torchrun train.py a.yaml``.

The switch, which only the word true turns on, and the default version were read in accelerate 1.15.0 accelerator.py and
utils/dataclasses.py. ``accelerate launch`` writes the same variables itself.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import word_bool
from fsdplint.dialects.launchers import AccelerateLaunch
from fsdplint.dialects.reading import read_options
from fsdplint.dialects.table import Table
from fsdplint.plan import Fact, Plan, Sharding

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.target import Versions

SWITCH = "ACCELERATE_USE_FSDP"
_OWN = {"ACCELERATE_MIXED_PRECISION": "--mixed_precision", "FSDP_TRANSFORMER_CLS_TO_WRAP": "--fsdp_transformer_layer_cls_to_wrap"}


def environment_plan(document: Document, versions: Versions) -> Plan | None:
    """What the variables before a command decide; None where they decide nothing."""
    plan = Plan()
    read_options(plan, _table(), document, versions)
    switch = str(document.value((SWITCH,), "false")).lower()
    if switch == "true":
        plan.fsdp = plan.fsdp_options = Fact(True, Place(document, (SWITCH,)))
        _sharded(plan, document, versions)
    elif switch != "false" or not plan.precision.is_written:
        return None
    else:
        precision, plan = plan.precision, Plan()
        plan.precision = precision
    return plan


def _sharded(plan: Plan, document: Document, versions: Versions) -> None:
    """The FSDP version, and what is sharded by the one variable that it reads."""
    if not plan.fsdp_version.is_written:
        plan.fsdp_version = Fact(1, source=f"default of accelerate {versions.text('accelerate')}")
    if plan.fsdp_version.value == 2:
        key = "FSDP_RESHARD_AFTER_FORWARD"
        freed = word_bool(document.value((key,)))
        kind = None if freed is None else Sharding.FULL_SHARD if freed else Sharding.SHARD_GRAD_OP
        plan.sharding = Fact(kind, Place(document, (key,)), unknown=kind is None) if document.has((key,)) else Fact()
    elif plan.sharding.place is not None and "RESHARD" in str(plan.sharding.place.path[-1]):
        plan.sharding = Fact()


@cache
def _table() -> Table:
    """The flags of ``accelerate launch`` under the names of their variables."""
    schema = AccelerateLaunch().table.schema
    names = {name[2:].upper(): name for name in schema["properties"] if name.startswith("--fsdp_")}
    return Table({**schema, "x-aliases": {**names, **_OWN}})
