"""Faults that only soup has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, default, is_among, word_bool
from fsdplint.dialects.soup import is_first_generation
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


class SoupRule(Rule):
    """A rule about soup.yaml; it speaks once per file."""

    dialects = ("soup",)
    scope = "launch"


def value_of(context: Context, dotted: str) -> tuple[object, bool]:
    """The value that a key has for soup, its default where it is not written, and whether it is written."""
    path = tuple(dotted.split("."))
    option = context.table.options.get(path)
    if context.document.has(path):
        value = context.document.value(path)
        return (word_bool(value) if option and option.schema.get("format") == "bool-word" else value), True
    return (default(option.schema, context.versions) if option else None), False


def _holds(context: Context, dotted: str, wanted: str | list[Any]) -> bool:
    value, written = value_of(context, dotted)
    if wanted == "on":
        return written and value not in (None, False, "", [], {}) and not is_placeholder(value)
    return isinstance(wanted, list) and is_among(value, wanted)


class OptionsClash(SoupRule):
    """## What it does
    Finds options of one soup.yaml that soup refuses together when it loads the file.

    ## Why it matters
    The run stops before the model is loaded. Some of the pairs hold with defaults: `quantization` is 4bit and `batch_size` is auto where nothing is written.

    ## Example
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: none
      relora_steps: 100
      use_fsdp2_compile: true
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: none
      relora_steps: 100
    ```

    ## Versions and evidence
    soup-relora, soup-unsloth8, soup-pipeline (run with soup-cli 0.77.0); soup-stream, soup-unsloth-task (read in config/schema.py of 56 releases, 0.14.3 to 0.77.0).
    """

    code, name = "SOU001", "soup-options-clash"
    facts = ("soup-relora", "soup-stream", "soup-unsloth8", "soup-unsloth-task", "soup-pipeline")

    def check(self, context: Context) -> Iterator[Finding]:
        for clash in context.table.schema.get("x-clashes", []):
            if not all(_holds(context, key, wanted) for key, wanted in clash["keys"].items()):
                continue
            if any(_holds(context, key, wanted) or is_placeholder(value_of(context, key)[0]) for key, wanted in clash.get("unless", {}).items()):
                continue
            at = tuple(clash["at"].split("."))
            if clash.get("written") and not context.document.has(at):
                continue
            claim = choose(clash["claims"], context.versions, context.plan)
            if claim:
                others = [tuple(key.split(".")) for key in (*clash["keys"], *clash.get("unless", {})) if key != clash["at"]]
                related = [(context.at(path, "entry"), "the other option") for path in others if context.document.has(path)]
                fault = f"`{at[-1]}` clashes with " + " and ".join(f"`{path[-1]}`" for path in others) if others else f"`{at[-1]}`"
                yield self.claimed(claim, context.at(at, "entry"), fault, related=related)


class StagedKey(SoupRule):
    """## What it does
    Finds keys that soup's schema declares and nothing reads.

    ## Why it matters
    The setting has no effect; soup 0.76 warns of it and 0.77 refuses the file.

    ## Example
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      early_stop_patience: 5
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    ```

    ## Versions and evidence
    config/staged_fields.py of soup-cli 0.76.0 and 0.77.0 (read).
    """

    code, name = "SOU002", "soup-staged-key"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            claims = item.option.schema.get("x-staged") if item.option else None
            value = plain(item.entry.value)
            if claims and item.option and value not in (item.option.schema.get("default"), None, [], {}) and not is_placeholder(value):
                claim = choose(claims, context.versions, context.plan)
                if claim:
                    yield self.claimed(claim, context.at(item.path, "key"), f"`{item.path[-1]}` has no effect")


class PipelineNotRun(SoupRule):
    """## What it does
    Finds `parallelism: pipeline`.

    ## Why it matters
    soup checks the stages and then trains data-parallel: no stage is ever placed on a GPU of its own, with or without FSDP.

    ## Example
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      parallelism: pipeline
      pipeline_stages: 2
    ```

    ## Use instead
    `soup train --config soup.yaml --gpus 2 --fsdp full_shard` shards the model over the GPUs.

    ## Versions and evidence
    soup-S7 (read in soup-cli 0.77.0 commands/train.py: live execution is deferred); soup-pipeline (run).
    """

    code, name, severity = "SOU003", "soup-pipeline-not-run", Severity.WARNING
    facts = ("soup-S7", "soup-pipeline")

    def check(self, context: Context) -> Iterator[Finding]:
        if value_of(context, "training.parallelism")[0] != "pipeline" or not context.versions.has("soup-cli>=0.27.0"):
            return
        stages, gpus = value_of(context, "training.pipeline_stages")[0], context.target.gpus
        at = context.at(("training", "parallelism"), "entry")
        if isinstance(stages, int) and gpus is not None and gpus < stages:
            message = f"pipeline parallelism over {stages} stages with {gpus} GPUs: soup stops (Pipeline parallelism needs >= {stages} GPUs)"
            yield self.finding(context.at(("training", "pipeline_stages")), message, outcome="refused", help="write as many stages as there are GPUs, or `parallelism: data`")
        yield self.finding(at, "pipeline parallelism is checked and not run: soup trains data-parallel", outcome="ignored", help="remove it; `--fsdp full_shard` shards the model over the GPUs")


class GaloreSharded(SoupRule):
    """## What it does
    Finds GaLore beside `--fsdp` or `--deepspeed`.

    ## Why it matters
    GaLore projects the gradient of a whole weight matrix. A sharded rank has a slice of it, soup does not check the pair, and what is trained is not GaLore.

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
        if engine.value is True and engine.place and _holds(context, "training.use_galore", "on"):
            at = context.at(("training", "use_galore"), "entry")
            yield self.finding(at, "GaLore over sharded weights projects slices of the gradients", outcome="misleads", help="remove `use_galore`, or train on one GPU", related=[(engine.place, "sharding is switched on here")])


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
        several = next((fact for fact in (plan.fsdp, plan.deepspeed) if fact.value is True), None)
        if several is None and plan.processes.is_written and (plan.processes.value or 0) > 1:
            several = plan.processes
        if several is not None and several.place and _holds(context, "training.quantization_aware", ["quest"]) and context.versions.has("soup-cli>=0.76.0"):
            at = context.at(("training", "quantization_aware"), "entry")
            yield self.finding(at, "quest runs on a single GPU: soup stops when the trainer is set up", outcome="refused", help="drop `--fsdp`, `--deepspeed` and `--gpus`, or remove `quantization_aware`", related=[(several.place, "this asks for several processes")])


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
    Adapters of a compiled model were saved under `_orig_mod.` names, which load as zeros: the final adapter before 0.73.0, the checkpoints before 0.73.1.

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


class MissingKey(SoupRule):
    """## What it does
    Finds soup files without `base` or `data.train`, and files that are written as soup's first examples were.

    ## Why it matters
    soup refuses the file.

    ## Example
    ```yaml
    base: meta-llama/Llama-3.1-8B
    task: sft
    data:
      format: alpaca
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    task: sft
    data:
      train: data.jsonl
      format: alpaca
    ```

    ## Versions and evidence
    config/schema.py of soup-cli 0.14.3 to 0.77.0 (read): both are required in every release.
    """

    code, name = "SOU008", "soup-missing-key"

    def check(self, context: Context) -> Iterator[Finding]:
        if is_first_generation(context.document):
            says = "written as soup's first examples were: no release reads `model` and flat keys"
            yield self.finding(context.at(("model",), "key"), says, outcome="ignored", help="write `base`, `data: {train: ...}` and `training: {...}`")
            return
        for path in (("base",), ("data", "train")):
            if not context.document.has(path) and (len(path) == 1 or context.document.has(path[:1])):
                yield self.finding(context.at(path, "key"), f"`{'.'.join(path)}` is missing: soup refuses the file")


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


RULES: tuple[Rule, ...] = (OptionsClash(), StagedKey(), PipelineNotRun(), GaloreSharded(), QuestOnOneGpu(), AnnouncedFsdp(), CompiledAdapterLost(), MissingKey(), NodesIncomplete())
