"""Faults of a soup.yaml that only soup has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, default, is_among, word_bool
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


def holds(context: Context, dotted: str, wanted: str | list[Any]) -> bool:
    """Whether a key has one of some values; ``on``: whether something is written that asks for it."""
    value, written = value_of(context, dotted)
    if wanted == "on":
        return written and value not in (None, False, "", [], {}) and not is_placeholder(value)
    return isinstance(wanted, list) and is_among(value, wanted)


class OptionsClash(SoupRule):
    """## What it does
    Finds options of one soup.yaml that soup refuses together when it loads the file.

    ## Why it matters
    The run stops before the model is loaded. Some of the pairs hold with defaults: `quantization` is 4bit and
    `batch_size` is auto where nothing is written.

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
    soup-relora, soup-unsloth8, soup-pipeline (run with soup-cli 0.77.0); soup-stream, soup-unsloth-task (read in
    config/schema.py of 56 releases, 0.14.3 to 0.77.0).
    """

    code, name = "SOU001", "soup-options-clash"
    facts = ("soup-relora", "soup-stream", "soup-unsloth8", "soup-unsloth-task", "soup-pipeline")

    def check(self, context: Context) -> Iterator[Finding]:
        for clash in context.table.schema.get("x-clashes", []):
            if not all(holds(context, key, wanted) for key, wanted in clash["keys"].items()):
                continue
            if any(
                holds(context, key, wanted) or is_placeholder(value_of(context, key)[0]) for key, wanted in clash.get("unless", {}).items()
            ):
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
            message = (
                f"pipeline parallelism over {stages} stages with {gpus} GPUs: soup stops (Pipeline parallelism needs >= {stages} GPUs)"
            )
            yield self.finding(
                context.at(("training", "pipeline_stages")),
                message,
                outcome="refused",
                help="write as many stages as there are GPUs, or `parallelism: data`",
            )
        yield self.finding(
            at,
            "pipeline parallelism is checked and not run: soup trains data-parallel",
            outcome="ignored",
            help="remove it; `--fsdp full_shard` shards the model over the GPUs",
        )


class MissingKey(SoupRule):
    """## What it does
    Finds soup files without `base` or `data.train`, and files that are written as soup's first examples were.

    ## Why it matters
    soup refuses the file.

    ## Example
    With `--dialect soup`:
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
        if context.dialect.predates(context.document):
            says = "written as soup's first examples were: no release reads `model` and flat keys"
            yield self.finding(
                context.at(("model",), "key"), says, outcome="ignored", help="write `base`, `data: {train: ...}` and `training: {...}`"
            )
            return
        for path in (("base",), ("data", "train")):
            if not context.document.has(path) and (len(path) == 1 or context.document.has(path[:1])):
                yield self.finding(context.at(path, "key"), f"`{'.'.join(path)}` is missing: soup refuses the file")


RULES: tuple[Rule, ...] = (OptionsClash(), StagedKey(), PipelineNotRun(), MissingKey())
