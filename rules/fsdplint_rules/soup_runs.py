"""Faults that only soup has, and that show in a run: what `soup train` starts from the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint_rules.soup import SoupRule, holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.plan import Fact
    from fsdplint.rule import Context, Finding, Rule


class GaloreSharded(SoupRule):
    """## What it does
    Finds GaLore beside `--fsdp` or `--deepspeed`.

    ## Why it matters
    GaLore projects the gradient of a whole weight matrix. A sharded rank has a slice of it, soup does not check the
    pair, and what is trained is not GaLore.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: none
      use_galore: true
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: none
    ```

    ## Versions and evidence
    soup-S5 (run with soup-cli 0.77.0: accepted).
    """

    code, name = "SOU004", "soup-galore-sharded"
    facts = ("soup-S5",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        engine = plan.fsdp if plan.fsdp.value is True else plan.deepspeed
        if engine.value is True and engine.place and holds(context, "training.use_galore", "on"):
            at = context.at(("training", "use_galore"), "entry")
            yield self.finding(
                at,
                "GaLore over sharded weights projects slices of the gradients",
                outcome="misleads",
                help="remove `use_galore`, or train on one GPU",
                related=[(engine.place, "sharding is switched on here")],
            )


class QuestOnOneGpu(SoupRule):
    """## What it does
    Finds `quantization_aware: quest` in a run over several processes.

    ## Why it matters
    soup stops when the trainer is set up, after the model was loaded.

    ## Example
    `soup train --config soup.yaml --gpus 2 --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: none
      quantization_aware: quest
      batch_size: 1
      lora: {r: 0}
    ```

    ## Use instead
    `soup train --config soup.yaml` on one GPU.

    ## Versions and evidence
    soup-quest (read in soup-cli 0.77.0 trainer/sft.py).
    """

    code, name = "SOU005", "soup-quest-on-one-gpu"
    facts = ("soup-quest",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        several: Fact[Any] | None = next((fact for fact in (plan.fsdp, plan.deepspeed) if fact.value is True), None)
        if several is None and plan.processes.is_written and (plan.processes.value or 0) > 1:
            several = plan.processes
        if (
            several is not None
            and several.place
            and holds(context, "training.quantization_aware", ["quest"])
            and context.versions.has("soup-cli>=0.76.0")
        ):
            at = context.at(("training", "quantization_aware"), "entry")
            yield self.finding(
                at,
                "quest runs on a single GPU: soup stops when the trainer is set up",
                outcome="refused",
                help="drop `--fsdp`, `--deepspeed` and `--gpus`, or remove `quantization_aware`",
                related=[(several.place, "this asks for several processes")],
            )


class AnnouncedFsdp(SoupRule):
    """## What it does
    Finds `--fsdp` with a transformers that builds FSDP1 from soup's presets. soup prints "FSDP2 enabled" all the same.

    ## Why it matters
    Memory, checkpoints and LoRA behave as in FSDP1.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with `--target transformers==4.57.6`.

    ## Use instead
    transformers 5.10 or newer, which builds FSDP2 from the same preset.

    ## Versions and evidence
    soup-S8 (read); the presets were run through transformers 4.57.6, 5.8.0 and 5.24.0.
    """

    code, name, severity = "SOU006", "soup-announced-fsdp", Severity.WARNING
    facts = ("soup-S8",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.fsdp.value is True and plan.fsdp.place and plan.fsdp_version.value == 1:
            says = f"soup announces FSDP2 and transformers {context.versions.text('transformers')} builds FSDP1 of the preset"
            yield self.finding(plan.fsdp.place, says, outcome="ignored", help="require transformers>=5.10 for FSDP2")


class CompiledAdapterLost(SoupRule):
    """## What it does
    Finds `use_fsdp2_compile` with a soup-cli older than 0.73.1.

    ## Why it matters
    Adapters of a compiled model were saved under `_orig_mod.` names, which load as zeros: the final adapter before
    0.73.0, the checkpoints before 0.73.1.

    ## Example
    With `--target soup-cli==0.72.0`:
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    soup-cli 0.73.1 or newer.

    ## Versions and evidence
    Upstream's changelog of 0.73.0 and 0.73.1 (heard).
    """

    code, name, severity = "SOU007", "soup-compiled-adapter-lost", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        switch = context.plan.fsdp2_compile
        if switch.value is True and switch.place and context.versions.has("soup-cli>=0.27.0") and context.versions.has("soup-cli<0.73.1"):
            says = "adapters of the compiled model are saved under names that load as zeros"
            yield self.finding(switch.place, says, help="require soup-cli>=0.73.1", versions="soup-cli<0.73.1")


class NodesIncomplete(SoupRule):
    """## What it does
    Finds `soup train --nodes N` without `--gpus` or `--master-addr`.

    ## Why it matters
    soup stops before it starts a process.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard --gpus 8 --nodes 2`

    ## Use instead
    `soup train --config soup.yaml --fsdp full_shard --gpus 8 --nodes 2 --node-rank 0 --master-addr 10.0.0.1`

    ## Versions and evidence
    Run with soup-cli 0.77.0 (commands/train.py, utils/launcher.py).
    """

    code, name = "SOU009", "soup-nodes-incomplete"

    def check(self, context: Context) -> Iterator[Finding]:
        command, machines = context.launch.command, context.plan.machines
        if command is None or command.dialect.name != "soup" or machines.place is None or (machines.value or 1) < 2:
            return
        absent = [flag for flag in ("--gpus", "--master-addr") if not command.document.has((flag,))]
        if absent:
            names = " and ".join(f"`{flag}`" for flag in absent)
            yield self.finding(machines.place, f"several machines without {names}: soup stops", help=f"add {names}")


RULES: tuple[Rule, ...] = (GaloreSharded(), QuestOnOneGpu(), AnnouncedFsdp(), CompiledAdapterLost(), NodesIncomplete())
