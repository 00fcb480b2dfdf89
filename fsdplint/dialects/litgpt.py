"""Files of ``litgpt pretrain`` and ``litgpt finetune`` (litgpt 0.3.1 to 0.5.13): no key switches FSDP on, several processes do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.lightning_plan import device_count
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Precision, Sharding, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_TELLING = frozenset(
    [
        *("out_dir", "precision", "devices", "eval", "logger_name", "lora_r", "lora_alpha", "quantize"),
        *("tokenizer_dir", "initial_checkpoint_dir"),
    ]
)
_BATCH = frozenset({"global_batch_size", "micro_batch_size", "lr_warmup_steps", "save_interval"})
_PRETRAIN = ("model_name", "model_config", "tokenizer_dir", "initial_checkpoint_dir")
_LORA = ("lora_r", "lora_alpha", "lora_dropout")
_PRECISIONS = {"16": Precision.FP16, "bf16": Precision.BF16, "32": Precision.NONE, "64": Precision.NONE, "transformer": Precision.FP8}


class Litgpt(Dialect):
    """The arguments of litgpt's own scripts, read by jsonargparse."""

    name = "litgpt"
    package = "litgpt"
    title = "litgpt"

    def recognise(self, document: Document) -> int:
        """By the model that a run starts from, beside a section ``train`` with batch sizes or other keys of litgpt."""
        root = document.root
        if not isinstance(root, Mapping) or "trainer" in root:
            return 0
        keys = set(root.keys())
        data = document.value(("data", "class_path"))
        is_ours = isinstance(data, str) and data.startswith("litgpt.")
        if not (is_ours or keys & {"checkpoint_dir", "model_name"}):
            return 0
        train = root.get("train")
        trains = isinstance(train, Mapping) and not _BATCH.isdisjoint(train.keys())
        telling = len(_TELLING & keys) + is_ours
        if trains and telling:
            return 96 if telling >= 3 else 75
        return 70 if telling >= 3 and "checkpoint_dir" in keys else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Which script reads the file, how many processes it starts, and what it shards with then."""
        keys = set(document.root.keys()) if isinstance(document.root, Mapping) else set()
        if not plan.task.is_written:
            kind = "finetune" if "checkpoint_dir" in keys else "pretrain" if not keys.isdisjoint(_PRETRAIN) else None
            plan.task = Fact(kind, source="the model that the run starts from")
        _processes(plan, document)
        _precision(plan)
        if plan.fsdp.value is True:
            _sharding(plan, versions, is_lora=not keys.isdisjoint(_LORA))
        if plan.quantization.value is None and plan.adapter.value is None and not keys.isdisjoint(_LORA):
            plan.adapter = Fact("lora", Place(document, (next(key for key in _LORA if key in keys),)))


def _processes(plan: Plan, document: Document) -> None:
    """More than one process makes litgpt shard, whatever the file says."""
    devices, machines = document.value(("devices",)), plan.machines
    count = device_count(devices)
    place = Place(document, ("devices",))
    if count is not None and not machines.unknown:
        plan.processes = Fact(count * (machines.value or 1), place)
        plan.fsdp = Fact((plan.processes.value or 1) > 1, place)
    elif document.has(("devices",)):
        plan.fsdp = Fact(None, place, unknown=is_placeholder(devices) or devices == -1)


def _precision(plan: Plan) -> None:
    fact: Fact[Any] = plan.precision
    if fact.place and not fact.unknown:
        written = fact.place.document.value(fact.place.path)
        plan.precision = Fact(_PRECISIONS.get(str(written).partition("-")[0]), fact.place)


def _sharding(plan: Plan, versions: Versions, *, is_lora: bool) -> None:
    """What the scripts build (pretrain.py, finetune/*.py); the adapter scripts stay with FSDP1, which a file does not tell."""
    plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="litgpt wraps its blocks")
    if plan.task.value == "pretrain":
        plan.sharding = Fact(Sharding.HYBRID_SHARD, source="litgpt pretrain")
    elif plan.task.value == "finetune":
        plan.sharding = Fact(Sharding.FULL_SHARD, source="litgpt finetune")
    second = is_lora and versions.has("litgpt>=0.5.9")
    plan.fsdp_version = Fact(2 if second else 1, source="litgpt finetune_lora" if second else "litgpt")
    plan.offload = Fact(False, source="litgpt never offloads")
