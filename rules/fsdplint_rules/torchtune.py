"""Faults of a torchtune config that only torchtune has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.document import Mapping, plain
from fsdplint.plan import Fact, is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.clashes import clashes
from fsdplint_rules.generations import spoken_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Path
    from fsdplint.plan import Plan

_TRAINS = ("full", "dpo", "lora", "kd", "ppo", "grpo")
_CONFIG = 10
"""The number of keys that all recipes read from which on a file is taken for a whole config, not for a piece of one."""


class TorchtuneRule(Rule):
    """A rule about torchtune's YAML; it speaks once per file."""

    dialects = ("torchtune",)
    scope = "file"


def recipe(context: Context) -> str | None:
    """The recipe of a ``tune run`` launch line: the last word before ``--config``; None without such a line."""
    words = _line(context).split()
    if "run" not in words or "--config" not in words or words.index("--config") < 1:
        return None
    return words[words.index("--config") - 1].rpartition("/")[2].removesuffix(".py")


def plan_of(context: Context) -> Plan:
    """The plan of the launch, the recipe of the launch line taken into account."""
    name = recipe(context)
    if name is None:
        return context.plan
    plan = context.plan.copy()
    kinds = context.table.schema["x-recipes"]
    plan.task = Fact(next((kind for start, kind in kinds.items() if name.startswith(start)), "custom"), source=f"the recipe {name}")
    if "distributed" in name or "single_device" in name:
        plan.fsdp = Fact("distributed" in name, source=f"the recipe {name}")
    return plan


def is_overridden(context: Context, path: Path) -> bool:
    """Whether the launch line gives a key, or what holds it, another value (``key=value``) or takes it away (``~key``)."""
    names = [re.escape(".".join(map(str, path[: end + 1]))) for end in range(len(path))]
    return re.search(rf"(?:^|\s)(?:~(?:{'|'.join(names)})\b|(?:{'|'.join(names)})=)", _line(context)) is not None


def is_declared(context: Context) -> bool:
    """Whether somebody has said which torchtune is meant."""
    pin = context.target.pins.get("torchtune")
    return pin is not None and pin.declared


def is_newer(context: Context) -> bool:
    """Whether a file has keys that only releases after the newest known one read, while nobody has said which release is meant."""
    known = (item.option.schema.get("x-known") for item in context.written if item.option)
    return not is_declared(context) and any(context.versions.is_older(requirement) for requirement in known if requirement)


def _is_old(context: Context) -> bool:
    """Whether a file is of an older generation as a whole, which is said elsewhere."""
    return bool(spoken_for(context)) or (not is_declared(context) and any(moved_components(context)))


def _line(context: Context) -> str:
    command = context.launch.command
    return command.document.text if command is not None else ""


def moved_components(context: Context) -> Iterator[tuple[Path, str, str]]:
    """The components that stand where torchtune no longer has them: (path, the name as written, the name today)."""
    root = context.document.root
    for key, entry in root.items() if isinstance(root, Mapping) else ():
        component = entry.value.get("_component_") if isinstance(entry.value, Mapping) else None
        name = plain(component) if component is not None else None
        for move in context.table.schema["x-moved"]:
            if isinstance(name, str) and not is_placeholder(name) and name.startswith(move["from"]) and context.versions.has(move["when"]):
                yield (key, "_component_"), name, move["to"] + name[len(move["from"]) :]


class OptionsClash(TorchtuneRule):
    """## What it does
    Finds options that torchtune's recipes refuse, drop or let cancel each other: activation offloading without activation
    checkpointing, the optimizer in the backward pass with clipping or accumulation, fp16, tensor parallelism without a plan,
    FSDP options for a single_device recipe.

    ## Why it matters
    Recipes check a few pairs when they are constructed, on every rank. The others cost memory or quality without a word:
    `enable_activation_checkpointing: True` beside `ac_mode` checkpoints nothing.

    ## Example
    ```yaml
    model: {_component_: torchtune.models.llama3_1.llama3_1_8b}
    dataset: {_component_: torchtune.datasets.alpaca_dataset}
    optimizer: {_component_: torch.optim.AdamW, lr: 2e-5}
    enable_activation_checkpointing: False
    enable_activation_offloading: True
    ```

    ## Use instead
    ```yaml
    model: {_component_: torchtune.models.llama3_1.llama3_1_8b}
    dataset: {_component_: torchtune.datasets.alpaca_dataset}
    optimizer: {_component_: torch.optim.AdamW, lr: 2e-5}
    enable_activation_checkpointing: True
    enable_activation_offloading: True
    ```

    ## Versions and evidence
    TN001, TN003, TN005, TN006, TN015, TN016 (recipe constructors of torchtune 0.6.1 were run); TN007, TN009, TN010, TN011,
    TN014, TN017 to TN021 (read in the recipes of torchtune 0.1.0 to 0.6.1 and of the main branch); TN008 (from an issue, so it
    is a warning).
    """

    code, name = "TUN001", "torchtune-options-clash"
    facts = (
        *("TN001-fp16-distributed", "TN003-offloading-needs-ac", "TN005-optim-in-bwd-clip", "TN006-optim-in-bwd-accum"),
        *("TN007-optim-in-bwd-compiled-step", "TN008-optim-in-bwd-offload", "TN009-ac-mode-cancels", "TN010-ac-option-alone"),
        *("TN011-qat-compile", "TN014-fsdp-keys-in-single-device", "TN015-tp-plan", "TN016-tp-fused", "TN017-fp8-cp"),
        *("TN018-tp-offload-no-dp", "TN019-tp-act-offload", "TN020-offload-clip-old", "TN021-val-dataset"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for clash in clashes(context, plan_of(context)):
            if not any(is_overridden(context, path) for path in (clash.at, *clash.others)):
                related = [(context.at(path, "entry"), "the other option") for path in clash.others]
                is_past = "<" in (clash.claim.versions or "") and is_newer(context)
                claim = clash.claim._replace(outcome="ignored") if is_past else clash.claim
                yield self.claimed(claim, context.at(clash.at), clash.fault, related=related)


class MissingKey(TorchtuneRule):
    """## What it does
    Finds keys that the recipe reads without a default and the file lacks, and sections without `_component_`.

    What the launch line gives as `key=value` counts as written; while no launch line is known the rule only warns.

    ## Why it matters
    OmegaConf raises ConfigAttributeError, torchtune InstantiationError, on every rank, some of them after the model was loaded.

    ## Example
    ```yaml
    output_dir: out
    model: {_component_: torchtune.models.llama3_1.llama3_1_8b}
    tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: tokenizer.model}
    dataset: {_component_: torchtune.datasets.alpaca_dataset}
    checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer, checkpoint_dir: ckpt}
    optimizer: {_component_: torch.optim.AdamW, lr: 2e-5}
    loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}
    metric_logger: {_component_: torchtune.training.metric_logging.DiskLogger, log_dir: out}
    resume_from_checkpoint: False
    seed: null
    shuffle: True
    batch_size: 2
    epochs: 1
    max_steps_per_epoch: null
    gradient_accumulation_steps: 1
    device: cuda
    ```

    ## Use instead
    The same file with `dtype: bf16`.

    ## Versions and evidence
    TN023 (run with torchtune 0.6.1), TN022 (read in config/_instantiate.py); the keys are those that the recipes of every
    release read as attributes.
    """

    code, name = "TUN002", "torchtune-missing-key"
    facts = ("TN022-component-missing", "TN023-moe/all")

    def check(self, context: Context) -> Iterator[Finding]:
        root, plan = context.document.root, plan_of(context)
        if not isinstance(root, Mapping) or plan.task.value not in _TRAINS or _is_old(context):
            return
        outcome = "refused" if recipe(context) else "ignored"
        needs = context.table.schema["x-needs"]
        wanted = [*needs["every"], *(needs["most"] if plan.task.value not in ("ppo", "grpo") else ())]
        lacking = [key for key in wanted if key not in root and not is_overridden(context, (key,))]
        if len(wanted) - len(lacking) >= _CONFIG:
            for key in lacking:
                says = f"`{key}` is missing: the recipe raises ConfigAttributeError"
                help = f"add `{key}`, or give it as `{key}=...` on the command line"
                yield self.finding(context.at((key,), "key"), says, outcome=outcome, help=help)
        for key in context.table.schema["x-sections"]:
            section = root.get(key)
            path = (key, "_component_")
            if isinstance(section, Mapping) and section.entries and "_component_" not in section and not is_overridden(context, path):
                says = f"`{key}` without `_component_`: the recipe raises InstantiationError"
                yield self.finding(context.at(path, "key"), says, outcome=outcome, help="name the class or function as `_component_`")


class MovedComponent(TorchtuneRule):
    """## What it does
    Finds components at a place that torchtune has moved them from. While no release is declared it says so once, as a warning:
    the file is older.

    ## Why it matters
    torchtune cannot import the path and raises InstantiationError.

    ## Example
    ```yaml
    model: {_component_: torchtune.models.llama2.llama2_7b}
    metric_logger: {_component_: torchtune.utils.metric_logging.DiskLogger, log_dir: out}
    ```

    ## Use instead
    ```yaml
    model: {_component_: torchtune.models.llama2.llama2_7b}
    metric_logger: {_component_: torchtune.training.metric_logging.DiskLogger, log_dir: out}
    ```

    ## Versions and evidence
    The packages of torchtune 0.1.0 to 0.6.1 (read): `torchtune.utils` lost its checkpointers and loggers in 0.3.0, `torchtune.modules` its
    schedule in 0.5.0.
    """

    code, name = "TUN003", "torchtune-moved-component"

    def check(self, context: Context) -> Iterator[Finding]:
        declared, moved = is_declared(context), list(moved_components(context))
        for path, old, new in moved if declared else moved[:1]:
            related = [] if declared else [(context.at(other), "so is this") for other, _, _ in moved[1:]]
            message = f"`{old}` has moved: torchtune raises InstantiationError"
            outcome = "refused" if declared else "ignored"
            yield self.finding(context.at(path), message, outcome=outcome, help=f"write `{new}`", related=related)


RULES = (OptionsClash(), MissingKey(), MovedComponent())
