"""Faults that only Lightning's files have: the strategy and its class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.plan import Sharding, is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.lightning_shapes import Shape
    from fsdplint.document import Path

_FABRIC = ("lightning.fabric.", "lightning_fabric.")
_TRAINER = ("lightning.pytorch.", "pytorch_lightning.", "lightning_pytorch.")
_CLASS = ("class_path", "_target_")
_STOPS = "the run stops before training"
_COMPONENTS = ("strategy", "callbacks", "plugins", "logger", "profiler")


class LightningRule(Rule):
    """A rule about one form of Lightning's files; it speaks once per file."""

    dialects = ("lightning",)
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        shape: Shape | None = getattr(context.dialect, "shape", None)
        if shape is not None:
            yield from self.judge(context, shape)

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
            says = f"a strategy of Fabric is none of the Trainer's: {_STOPS}"
            yield self.finding(context.at(at), says, help=f"write `lightning.pytorch.strategies.{name}`")
        elif shape.host == "fabric" and value.startswith(_TRAINER):
            says = f"a strategy of the Trainer is none of Fabric's: {_STOPS}"
            yield self.finding(context.at(at), says, help=f"write `lightning.fabric.strategies.{name}`")
        elif shape.is_stock and name in names["gone"]:
            outcome = "refused" if _is_declared(context) else "ignored"
            says = f"`{name}` left Lightning with 2.0.0: {_STOPS}"
            yield self.finding(context.at(at), says, outcome=outcome, help=f"write `{names['gone'][name]}`")
        elif shape.is_stock and name not in names["known"]:
            close = _close(name, names["known"])
            if close or "." in value:
                help = f"did you mean `{close}`?" if close else f"write one of {', '.join(names['known'][:4])}"
                yield self.finding(context.at(at), f"Lightning has no `{name}`: {_STOPS}", help=help)


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
        named = list(_packages(context, shape))
        other = next(((at, package) for at, package in named if package != named[0][1]), None)
        if other is not None:
            first, here = named[0]
            says = f"a class of `{other[1]}` beside one of `{here}`: neither takes the other's classes, {_STOPS}"
            related = [(context.at(first), f"this one is of `{here}`")]
            yield self.finding(context.at(other[0]), says, related=related, help="take all classes from one package")
        elif named and shape.reader == "cli":
            yield from self._foreign(context, *named[0])

    def _foreign(self, context: Context, at: Path, package: str) -> Iterator[Finding]:
        """The project names only the twin package. It brings this one along, so that the script may well import it."""
        pin = context.target.pins.get(package.replace("_", "-"))
        if pin is not None and pin.declared and pin.package != package.replace("_", "-"):
            says = f"a class of `{package}`, while the project is said to run {pin.package}: the CLI of `lightning.pytorch` refuses it"
            help = "name the class alone, without a package, or take it from the package whose CLI the script imports"
            yield self.finding(context.at(at), says, outcome="ignored", help=help)


def _packages(context: Context, shape: Shape) -> Iterator[tuple[Path, str]]:
    """The classes of Lightning's twin packages in a Trainer, each with its package; the Trainer's own class first."""
    target: Path = (*shape.at, "_target_")
    places: list[tuple[Path, object]] = [(target, context.document.value(target))]
    places += [found for key in _COMPONENTS for found in components(context, (*shape.at, key))]
    for at, value in places:
        if isinstance(value, str) and (value.startswith(_TRAINER[:2]) or (at == target and value.startswith("lightning."))):
            yield at, value.partition(".")[0]


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
        if plan.fsdp.value is not True or plan.sharding.place is None or not context.versions.has("lightning>=2.1.0"):
            return
        if plan.sharding.written not in (Sharding.HYBRID_SHARD, Sharding.HYBRID_SHARD_ZERO2):
            return
        homes = (shape.arguments_at, (*shape.strategy_at, "dict_kwargs"))
        if all(context.document.value((*at, key)) is None for at in homes for key in ("auto_wrap_policy", "device_mesh", "process_group")):
            says = "hybrid sharding without a wrap policy, a device mesh or a process group: FSDPStrategy raises RuntimeError"
            yield self.finding(plan.sharding.place, says, help="add `auto_wrap_policy` with the layer classes, or `device_mesh`")


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
            yield self.finding(offload.place, f"{asked}: {offload.because}", help="write true or false")


RULES = (StrategyClass(), MixedNamespaces(), HybridWithoutGroups(), OffloadNotAsWritten())
