"""What the keys of a Trainer, a Fabric or a strategy decide together.

Source: accelerator_connector.py, strategies/fsdp.py and strategies/model_parallel.py of lightning 2.0.9 to 2.6.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import is_int_text, word_bool
from fsdplint.plan import NOWHERE, Fact, Precision, StateDict, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.dialects.lightning_shapes import Shape
    from fsdplint.document import Document
    from fsdplint.plan import Plan

_OPTIONS = (
    *("sharding", "offload", "wrap_policy", "wrap_classes", "state_dict", "activation_checkpointing"),
    *("orig_params", "backward_prefetch", "forward_prefetch", "limit_all_gathers", "sync_module_states"),
)
_STATE_DICTS = {"full": StateDict.FULL, "sharded": StateDict.SHARDED}
_PRECISIONS = {"16": Precision.FP16, "bf16": Precision.BF16, "32": Precision.NONE, "64": Precision.NONE, "transformer": Precision.FP8}
_NOT_CUDA = ("cpu", "mps", "tpu", "hpu", "xpu", "npu")
_LEFTOVERS = ("deepspeed", "deepspeed_config")
_NAMED = ("ddp", "single_", "xla", "auto", "dp")


class Reading:
    """One document in one form."""

    def __init__(self, plan: Plan, document: Document, shape: Shape) -> None:
        self.plan = plan
        self.document = document
        self.shape = shape

    def settle(self) -> None:
        """Put the facts in force into the plan."""
        self._engine()
        self._device()
        self._processes()
        self._precision()
        if self.plan.fsdp.value is True:
            self._options()
        else:
            for decision in _OPTIONS:
                if not self.plan.fact(decision).is_written:
                    self.plan.set(decision, NOWHERE)
        if self.plan.fsdp_version.value == 2:
            self._groups()

    def value(self, *path: str) -> Any:
        """The plain value at a path below the host."""
        return self.document.value((*self.shape.at, *path))

    def argument(self, name: str) -> Any:
        """The plain value of an argument of the strategy; under LightningCLI it may stand in ``dict_kwargs``, too."""
        return self.document.value(self._argument_at(name))

    def _argument_at(self, name: str) -> tuple[str, ...]:
        path = (*self.shape.arguments_at, name)
        other = (*self.shape.strategy_at, "dict_kwargs", name)
        return other if self.shape.reader == "cli" and not self.document.has(path) and self.document.has(other) else path

    def _at(self, *path: str) -> Place:
        return Place(self.document, path)

    def _engine(self) -> None:
        """Which strategy runs: the name, whose case does not count, or the class."""
        plan, at = self.plan, self.shape.strategy_at
        written = self.document.value(at) if at else {}
        plan.fsdp = plan.deepspeed = Fact()
        if isinstance(written, str):
            self._named(written.lower(), Place(self.document, at))
        elif isinstance(written, dict):
            self._classed(self._at(*at, "class_path" if self.shape.reader == "cli" else "_target_"))
        if plan.fsdp.value is True:
            plan.fsdp_version = Fact(1, source="FSDPStrategy wraps with FSDP1")
            left = next((key for key in _LEFTOVERS if self.shape.at and self.document.value((key,))), None)
            if left:
                plan.deepspeed_config = Fact(self.document.value((left,)), self._at(left))

    def _named(self, name: str, place: Place) -> None:
        plan = self.plan
        if is_placeholder(name) and name != "auto":
            plan.fsdp = Fact(None, place, unknown=True)
        elif name in ("fsdp", "fsdp_cpu_offload"):
            plan.fsdp = Fact(True, place)
            plan.offload = Fact(True, place) if name == "fsdp_cpu_offload" else Fact(False, source="the strategy `fsdp`")
        elif name.startswith("deepspeed"):
            plan.fsdp, plan.deepspeed = Fact(False, place), Fact(True, place)
        else:
            plan.fsdp = Fact(False if name.startswith(_NAMED) else None, place)

    def _classed(self, place: Place) -> None:
        plan, name = self.plan, self.shape.strategy
        if not name or not self.shape.is_stock:
            plan.fsdp = Fact(None, place)
        elif name == "FSDPStrategy":
            plan.fsdp = Fact(True, place)
        elif name == "ModelParallelStrategy":
            plan.fsdp, plan.fsdp_version = Fact(None, place), Fact(2, place)
        elif name == "DeepSpeedStrategy":
            plan.fsdp, plan.deepspeed = Fact(False, place), Fact(True, place)
        else:
            plan.fsdp = Fact(False if name.endswith("Strategy") else None, place)

    def _device(self) -> None:
        """gpu, cuda and auto take what is there, so that only other words name a device."""
        written = self.value("accelerator")
        self.plan.device = Fact(written, self._at(*self.shape.at, "accelerator")) if written in _NOT_CUDA else NOWHERE
        if self.shape.host == "fabric" and written == "tpu" and self.plan.fsdp.value is True:
            self.plan.fsdp = self.plan.fsdp.overruled(None, "Fabric takes xla_fsdp on a TPU")

    def _processes(self) -> None:
        count, machines = device_count(self.value("devices")), self.plan.machines
        if count is not None and not machines.unknown:
            self.plan.processes = Fact(count * (machines.value or 1), self._at(*self.shape.at, "devices"))

    def _precision(self) -> None:
        fact: Fact[Any] = self.plan.precision
        written = self.value("precision") if fact.is_written else "32"
        if not fact.unknown:
            found = _PRECISIONS.get(str(written).partition("-")[0])
            self.plan.precision = Fact(found, fact.place, source=fact.source)

    def _options(self) -> None:
        plan = self.plan
        if self.shape.strategy:
            self._offload()
        self._wrapping()
        state = plan.state_dict
        if not state.unknown:
            written = self.argument("state_dict_type") if state.is_written else "sharded" if self.shape.host == "fabric" else "full"
            plan.state_dict = Fact(_STATE_DICTS.get(written), state.place, source=state.source)
        checkpointing = plan.activation_checkpointing
        if checkpointing.is_written and not checkpointing.unknown:
            written = self.document.value(checkpointing.place.path) if checkpointing.place else None
            plan.activation_checkpointing = Fact(None if isinstance(written, bool) else bool(written), checkpointing.place)
        mesh = self.argument("device_mesh")
        if isinstance(mesh, list) and len(mesh) == 2 and all(is_int_text(size) for size in mesh):
            place = self._at(*self._argument_at("device_mesh"))
            plan.dp_replicate, plan.dp_shard = (Fact(int(size), place) for size in mesh)

    def _offload(self) -> None:
        """CPUOffload offloads nothing by itself; and what is no CPUOffload counts by its truth where Python alone reads it."""
        raw = self.argument("cpu_offload")
        place = self._at(*self._argument_at("cpu_offload"))
        if raw is None or is_placeholder(raw):
            self.plan.offload = Fact(None, place, unknown=True) if raw else Fact(False, source=f"default of {self.shape.strategy}")
            return
        asked, runs, because = _offloaded(raw, by_truth=self.shape.reader != "cli")
        fact: Fact[bool] = Fact(asked, place)
        self.plan.offload = fact if asked is runs else fact.overruled(runs, because)

    def _wrapping(self) -> None:
        plan, raw = self.plan, self.argument("auto_wrap_policy")
        place = self._at(*self._argument_at("auto_wrap_policy"))
        if raw is None:
            plan.wrap_policy = Fact(Wrap.NONE, source="no `auto_wrap_policy`")
        elif isinstance(raw, list):
            plan.wrap_policy = Fact(Wrap.TRANSFORMER, place)
            if all(isinstance(name, str) for name in raw):
                plan.wrap_classes = Fact(tuple(raw), place)
        else:
            plan.wrap_policy = Fact(Wrap.SIZE if "size_based_auto_wrap_policy" in str(raw) else None, place, unknown=is_placeholder(raw))

    def _groups(self) -> None:
        """ModelParallelStrategy: by default one data parallel group per machine, and tensor parallelism inside."""
        plan, count = self.plan, device_count(self.value("devices"))
        machines = plan.machines.value or 1
        if self.argument("data_parallel_size") in (None, "auto"):
            plan.dp_shard = Fact(machines, source="one group per machine")
        if self.argument("tensor_parallel_size") in (None, "auto"):
            plan.tp = Fact(count, source="the devices of a machine", unknown=count is None)


def device_count(devices: object) -> int | None:
    """How many devices a value of ``devices`` takes on every machine; None where the machine decides."""
    if isinstance(devices, list):
        return len(devices)
    if isinstance(devices, str) and "," in devices:
        return len([part for part in devices.split(",") if part.strip()])
    return int(str(devices)) if is_int_text(devices) and int(str(devices)) > 0 else None


def _offloaded(raw: object, *, by_truth: bool) -> tuple[bool | None, bool | None, str]:
    """Whether offload is asked for, whether it runs, and why that differs."""
    unsaid = "CPUOffload offloads nothing unless `offload_params: true` is written"
    if isinstance(raw, bool):
        return raw, raw, ""
    if isinstance(raw, dict):
        built = "class_path" in raw or "_target_" in raw
        arguments = raw.get("init_args") or {} if "class_path" in raw else raw
        said = arguments.get("offload_params") if isinstance(arguments, dict) else None
        if by_truth and not built:
            return bool(said), bool(raw), "a mapping without `_target_` counts as true"
        return (True, False, unsaid) if built and said is None else (bool(said), bool(said), "")
    if isinstance(raw, str) and not by_truth:
        return (True, False, unsaid) if raw.rpartition(".")[2] == "CPUOffload" else (word_bool(raw), word_bool(raw), "")
    return (word_bool(raw), bool(raw), "Python takes any text for true") if isinstance(raw, str) else (None, None, "")
