"""Faults that only Lightning's files have: classes of strategies, plugins and callbacks, and what they do to FSDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, fits
from fsdplint.dialects.lightning import Form
from fsdplint.plan import Sharding, is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.lightning_shapes import Shape
    from fsdplint.document import Path

_FABRIC = ("lightning.fabric.", "lightning_fabric.")
_TRAINER = ("lightning.pytorch.", "pytorch_lightning.", "lightning_pytorch.")
_CLASS = ("class_path", "_target_")
_COMPONENTS = ("strategy", "callbacks", "plugins", "logger", "profiler")


class LightningRule(Rule):
    """A rule about one form of Lightning's files; it speaks once per file."""

    dialects = ("lightning",)
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        if isinstance(context.dialect, Form):
            yield from self.judge(context, context.dialect.shape)

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        """Yield a finding for every fault of a document in that form."""
        raise NotImplementedError


def components(context: Context, at: Path) -> Iterator[tuple[Path, str]]:
    """The classes that a value names, each with its place: as text, as a mapping that builds one, in a list, or in a mapping of several."""
    value = context.document.value(at)
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from components(context, (*at, index))
    elif isinstance(value, dict):
        key = next((key for key in _CLASS if isinstance(value.get(key), str)), None)
        if key is not None:
            yield (*at, key), value[key]
        elif not any(key in value for key in _CLASS):
            inner = (name for name, item in value.items() if isinstance(item, dict) and isinstance(item.get("_target_"), str))
            for name in inner:
                yield (*at, name, "_target_"), value[name]["_target_"]


def _is_declared(context: Context) -> bool:
    pin = context.target.pins.get(context.table.package)
    return pin is not None and pin.declared


class StrategyClass(LightningRule):
    """## What it does
    Finds classes that are no strategy of this Trainer: Fabric's, those that left Lightning, and misspelt ones.

    ## Why it matters
    LightningCLI stops before any training code runs, with a message about a union of types.

    ## Example
    ```yaml
    trainer:
      accelerator: gpu
      devices: 2
      strategy:
        class_path: lightning.fabric.strategies.FSDPStrategy
    ```

    ## Use instead
    ```yaml
    trainer:
      accelerator: gpu
      devices: 2
      strategy:
        class_path: lightning.pytorch.strategies.FSDPStrategy
    ```

    ## Versions and evidence
    LT025-fabric-class-in-trainer, LT007-strategy-name-removed (LightningCLI run with lightning 2.0.9 to 2.6.6, Hydra with 2.6.6).
    """

    code, name = "LIT001", "lightning-strategy-class"
    facts = ("LT025-fabric-class-in-trainer", "LT007-strategy-name-removed")

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        at = (*shape.strategy_at, "class_path" if shape.reader == "cli" else "_target_")
        value = context.document.value(at)
        if not isinstance(value, str) or is_placeholder(value) or not context.versions.has("lightning>=2.0.0"):
            return
        name, names = value.rpartition(".")[2], context.table.schema["x-strategies"]
        if shape.host == "trainer" and value.startswith(_FABRIC):
            help = f"write `lightning.pytorch.strategies.{name}`"
            yield self.finding(context.at(at), "a strategy of Fabric is none of the Trainer's: the run stops before training", outcome="refused", help=help)
        elif shape.host == "fabric" and value.startswith(_TRAINER):
            help = f"write `lightning.fabric.strategies.{name}`"
            yield self.finding(context.at(at), "a strategy of the Trainer is none of Fabric's: the run stops before training", outcome="refused", help=help)
        elif shape.is_stock and name in names["gone"]:
            outcome = "refused" if _is_declared(context) else "ignored"
            says = f"`{name}` left Lightning with 2.0.0: the run stops before training"
            yield self.finding(context.at(at), says, outcome=outcome, help=f"write `{names['gone'][name]}`")
        elif shape.is_stock and name not in names["known"]:
            close = _close(name, names["known"])
            if close or "." in value:
                says = f"Lightning has no `{name}`: the run stops before training"
                yield self.finding(context.at(at), says, outcome="refused", help=f"did you mean `{close}`?" if close else f"write one of {', '.join(names['known'][:5])}")


def _close(word: str, names: list[str]) -> str | None:
    from difflib import get_close_matches

    folded = {name.lower(): name for name in names}
    found = get_close_matches(word.lower(), folded, n=1, cutoff=0.85)
    return folded[found[0]] if found else None


class MixedNamespaces(LightningRule):
    """## What it does
    Finds classes of `lightning` and of `pytorch_lightning` in one Trainer, and classes of the twin package that the project does not name.

    ## Why it matters
    Both packages bring the same code under two names, and neither takes the other's classes: "not a subclass".

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: pytorch_lightning.strategies.FSDPStrategy
      callbacks:
      - class_path: lightning.pytorch.callbacks.LearningRateMonitor
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: FSDPStrategy
      callbacks:
      - class_path: LearningRateMonitor
    ```

    ## Versions and evidence
    LT026-mixed-namespaces (LightningCLI run with a class of the other package, lightning 2.6.6; so was Hydra).
    """

    code, name, severity = "LIT002", "mixed-namespaces", Severity.ERROR
    facts = ("LT026-mixed-namespaces",)

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        if shape.host != "trainer" or not context.versions.has("lightning>=2.0.0"):
            return
        named = [(at, value.partition(".")[0]) for key in _COMPONENTS for at, value in components(context, (*shape.at, key)) if value.startswith(_TRAINER[:2])]
        target = context.document.value((*shape.at, "_target_"))
        if isinstance(target, str) and target.startswith(("lightning.", "pytorch_lightning.")):
            named.insert(0, ((*shape.at, "_target_"), target.partition(".")[0]))
        packages = list(dict.fromkeys(package for _, package in named))
        if len(packages) > 1:
            first = named[0]
            for at, package in named:
                if package != first[1]:
                    says = f"a class of `{package}` beside one of `{first[1]}`: neither takes the other's classes, the run stops before training"
                    yield self.finding(context.at(at), says, related=[(context.at(first[0]), f"this one is of `{first[1]}`")], help="take all classes from one package")
                    return
        elif named and shape.reader == "cli":
            yield from self._foreign(context, *named[0])

    def _foreign(self, context: Context, at: Path, package: str) -> Iterator[Finding]:
        """The project names only the twin package. It brings this one along, so that the script may well import it."""
        pin = context.target.pins.get(package.replace("_", "-"))
        if pin is not None and pin.declared and pin.package != package.replace("_", "-"):
            says = f"a class of `{package}`, while the project is said to run {pin.package}: the CLI of `lightning.pytorch` refuses it"
            help = "name the class alone, without a package, or take it from the package whose CLI the script imports"
            yield self.finding(context.at(at), says, outcome="ignored", help=help)


class HybridWithoutGroups(LightningRule):
    """## What it does
    Finds hybrid sharding without a wrap policy, a device mesh or a process group.

    ## Why it matters
    FSDPStrategy raises RuntimeError when it is built.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: FSDPStrategy
        init_args:
          sharding_strategy: HYBRID_SHARD
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: FSDPStrategy
        init_args:
          sharding_strategy: HYBRID_SHARD
          auto_wrap_policy: [package.module.Block]
    ```

    ## Versions and evidence
    LT013-hybrid-needs-policy-or-mesh (run with lightning 2.1.4 to 2.6.6; fabric/strategies/fsdp.py).
    """

    code, name = "LIT003", "hybrid-without-groups"
    facts = ("LT013-hybrid-needs-policy-or-mesh",)

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        plan = context.plan
        hybrid = plan.sharding.written in (Sharding.HYBRID_SHARD, Sharding.HYBRID_SHARD_ZERO2)
        if plan.fsdp.value is not True or not hybrid or plan.sharding.place is None or not context.versions.has("lightning>=2.1.0"):
            return
        homes = (shape.arguments_at, (*shape.strategy_at, "dict_kwargs"))
        if all(context.document.value((*at, key)) is None for at in homes for key in ("auto_wrap_policy", "device_mesh", "process_group")):
            says = "hybrid sharding without a wrap policy, a device mesh or a process group: FSDPStrategy raises RuntimeError"
            yield self.finding(plan.sharding.place, says, outcome="refused", help="add `auto_wrap_policy` with the layer classes, or `device_mesh`")


class OffloadNotAsWritten(LightningRule):
    """## What it does
    Finds CPU offload that is asked for and stays off, or is denied and runs.

    ## Why it matters
    torch's CPUOffload offloads nothing unless it is told to, and where Hydra builds the strategy, any text or mapping counts as true.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: FSDPStrategy
        init_args:
          cpu_offload: CPUOffload
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy:
        class_path: FSDPStrategy
        init_args:
          cpu_offload: true
    ```

    ## Versions and evidence
    LT022-cpu-offload-silent-off (run with lightning 2.0.9 to 2.6.6, Hydra with 2.6.6; `_init_cpu_offload` of fabric/strategies/fsdp.py).
    """

    code, name = "LIT004", "offload-not-as-written"
    facts = ("LT022-cpu-offload-silent-off",)

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:  # noqa: ARG002
        offload = context.plan.offload
        if context.plan.fsdp.value is True and offload.place and offload.because and not offload.as_written:
            asked = "CPU offload is asked for and stays off" if offload.written else "CPU offload is denied and runs"
            yield self.finding(offload.place, f"{asked}: {offload.because}", outcome="misleads", help="write true or false")


class PrecisionPlugin(LightningRule):
    """## What it does
    Finds a precision plugin beside `precision`, and one that FSDP does not work with.

    ## Why it matters
    The Trainer raises when it is built.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      plugins:
      - class_path: lightning.pytorch.plugins.MixedPrecision
        init_args: {precision: bf16-mixed, device: cuda}
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      precision: bf16-mixed
    ```

    ## Versions and evidence
    LT030-precision-plugin-clash, LT031-wrong-precision-plugin (run with lightning 2.1.4 to 2.6.6).
    """

    code, name = "LIT005", "precision-plugin"
    facts = ("LT030-precision-plugin-clash", "LT031-wrong-precision-plugin")

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        precision = (*shape.at, "precision")
        for at, value in components(context, (*shape.at, "plugins")):
            name = value.rpartition(".")[2]
            if not name.endswith(("Precision", "PrecisionPlugin")) or not context.versions.has("lightning>=2.0.0"):
                continue
            if context.document.value(precision) is not None:
                says = f"`{name}` beside `precision`: the Trainer raises ValueError"
                yield self.finding(context.at(at), says, outcome="refused", related=[(context.at(precision), "the precision")], help="keep one of the two")
            elif context.plan.fsdp.value is True and not name.startswith("FSDP") and context.versions.has("lightning>=2.1.0"):
                says = f"`{name}` with FSDP: the Trainer raises TypeError, FSDP works with FSDPPrecision alone"
                yield self.finding(context.at(at), says, outcome="refused", related=noted(context.plan.fsdp, "FSDP"), help="remove it, and write `precision`")


class AveragingSharded(LightningRule):
    """## What it does
    Finds StochasticWeightAveraging over a sharded model.

    ## Why it matters
    The callback raises when the fit is set up, after the model was loaded.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      callbacks:
      - class_path: StochasticWeightAveraging
        init_args: {swa_lrs: 0.01}
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
    ```

    ## Versions and evidence
    LT029-swa-with-sharded (run with lightning 2.6.6; callbacks/stochastic_weight_avg.py).
    """

    code, name = "LIT006", "averaging-sharded-weights"
    facts = ("LT029-swa-with-sharded",)

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        plan = context.plan
        engine = plan.fsdp if plan.fsdp.value is True else plan.deepspeed
        if engine.value is not True or not context.versions.has("lightning>=2.0.0"):
            return
        for at, value in components(context, (*shape.at, "callbacks")):
            if value.rpartition(".")[2] == "StochasticWeightAveraging":
                says = "StochasticWeightAveraging over a sharded model: the fit stops with MisconfigurationException"
                yield self.finding(context.at(at), says, outcome="crashes", related=noted(engine, "this shards the model"), help="remove the callback, or write `strategy: ddp`")


class OptionsClash(Rule):
    """## What it does
    Finds options of one object that Lightning, litgpt or NeMo refuses together.

    ## Why it matters
    The run stops when the object is built.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      barebones: true
      enable_checkpointing: true
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      enable_checkpointing: true
    ```

    ## Versions and evidence
    LT021-activation-checkpointing-both, LT047-barebones-checkpointing (run with lightning 2.6.6); LG001-quantize-multi-gpu to LG005-pretrain-unsupported
    (litgpt 0.3.1 to 0.5.13 read, its parser and checks run in 0.5.13); NM002-fsdp-sharded-tp to NM007-fsdp-overrides (read in nemo-toolkit 1.23.0).
    """

    code, name = "LIT007", "lightning-options-clash"
    dialects = ("lightning", "litgpt")
    scope = "file"
    facts = ("LT021-activation-checkpointing-both", "LT047-barebones-checkpointing")

    def check(self, context: Context) -> Iterator[Finding]:
        owners = {item.path[:-1]: item.owner for item in context.written if "x-clashes" in item.owner}
        for at, owner in owners.items():
            values = context.document.value(at)
            for clash in owner["x-clashes"] if isinstance(values, dict) else ():
                yield from self._clash(context, at, values, clash)

    def _clash(self, context: Context, at: Path, values: dict[str, Any], clash: dict[str, Any]) -> Iterator[Finding]:
        others = {**clash.get("with", {}), **clash.get("and", {})}
        if not all(_holds(values, key, wanted) for key, wanted in others.items()):
            return
        for key, wanted in clash["at"].items():
            claim = choose(clash["claims"], context.versions, context.plan, values.get(key)) if _holds(values, key, wanted) else None
            if claim:
                related = [(context.at((*at, *other.split("."))), "the other option") for other in others]
                fault = f"`{key.rpartition('.')[2]}` beside " + " and ".join(f"`{other}`" for other in others) if others else f"`{key.rpartition('.')[2]}`"
                yield self.claimed(claim, context.at((*at, *key.split(".")), "entry"), fault, related=related)


def _holds(values: dict[str, Any], dotted: str, wanted: Any) -> bool:
    """Whether a key is written so that it clashes: ``on`` asks for something, ``set`` is not null, else by a schema."""
    value: Any = values
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None or is_placeholder(value):
        return False
    return (bool(value) if wanted == "on" else True) if isinstance(wanted, str) else fits(wanted, value)


class TensorParallelByDefault(LightningRule):
    """## What it does
    Points out a ModelParallelStrategy without sizes.

    ## Why it matters
    Its defaults make one tensor parallel group of all devices of a machine: no data is spread inside a machine, and nothing is sharded as FSDP2 does.
    Either way the module has to override `configure_model()`.

    ## Example
    ```yaml
    trainer:
      devices: 8
      strategy:
        class_path: ModelParallelStrategy
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 8
      strategy:
        class_path: ModelParallelStrategy
        init_args:
          data_parallel_size: 8
          tensor_parallel_size: 1
    ```

    ## Versions and evidence
    LT037-model-parallel-defaults-to-tp, LT038-model-parallel-needs-configure_model (strategies/model_parallel.py of lightning 2.3.3 to 2.6.6; the latter run).
    """

    code, name, severity = "LIT008", "tensor-parallel-by-default", Severity.INFO
    facts = ("LT037-model-parallel-defaults-to-tp", "LT038-model-parallel-needs-configure_model")

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        plan = context.plan
        sizes = [context.document.value((*shape.arguments_at, key)) for key in ("data_parallel_size", "tensor_parallel_size")]
        if plan.fsdp_version.value == 2 and plan.fsdp_version.place and all(size in (None, "auto") for size in sizes):
            says = "without sizes all devices of a machine form one tensor parallel group"
            yield self.finding(plan.fsdp_version.place, says, help="for FSDP2 write `data_parallel_size` and `tensor_parallel_size: 1`")


class TrueHalfPrecision(LightningRule):
    """## What it does
    Points out `16-true` and `bf16-true` with FSDP.

    ## Why it matters
    FSDP keeps the copy of the parameters that the optimizer updates in the lower precision's place only partly: memory is not halved as expected, and `16-true`
    trains without a gradient scaler.

    ## Example
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      precision: 16-true
    ```

    ## Use instead
    ```yaml
    trainer:
      devices: 2
      strategy: fsdp
      precision: bf16-mixed
    ```

    ## Versions and evidence
    LT042-bf16-true-keeps-fp32, LT043-16-true-no-scaler (read in plugins/precision/fsdp.py of lightning 2.6.6).
    """

    code, name, severity = "LIT009", "true-half-precision", Severity.INFO
    facts = ("LT042-bf16-true-keeps-fp32", "LT043-16-true-no-scaler")

    def judge(self, context: Context, shape: Shape) -> Iterator[Finding]:
        at = (*shape.at, "precision")
        value = context.document.value(at)
        if context.plan.fsdp.value is not True or value not in ("16-true", "bf16-true") or not context.versions.has("lightning>=2.1.0"):
            return
        says = "FSDP with 16-true has no gradient scaler" if value == "16-true" else "FSDP warns that it keeps a full-precision copy of the parameters"
        yield self.finding(context.at(at), says, help=f"`{value.partition('-')[0]}-mixed` keeps the master weights in float32")


RULES = (
    StrategyClass(),
    MixedNamespaces(),
    HybridWithoutGroups(),
    OffloadNotAsWritten(),
    PrecisionPlugin(),
    AveragingSharded(),
    OptionsClash(),
    TensorParallelByDefault(),
    TrueHalfPrecision(),
)
