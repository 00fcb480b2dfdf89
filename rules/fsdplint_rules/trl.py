"""Faults of TRL's configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class LauncherKeyInScript(Rule):
    """## What it does
    Finds keys of `accelerate launch` in a TRL config that a script reads by itself.

    ## Why it matters
    The `trl` command hands such keys to `accelerate launch`; TrlParser in a script stops on them.

    ## Example
    `python train.py --config config.yaml` with `num_processes: 2` in the file.

    ## Use instead
    `trl sft --config config.yaml`, or the key as a flag of `accelerate launch`.

    ## Versions and evidence
    TRF-TRL-03 (run with TRL 1.16.0).
    """

    code, name = "TRL001", "launcher-key-in-script"
    dialects = ("trl",)
    scope = "file"
    facts = ("TRF-TRL-03",)

    def check(self, context: Context) -> Iterator[Finding]:
        command = context.launch.command
        if command is None or command.dialect.name == "trl":
            return
        for item in context.written:
            if item.option is not None and item.option.schema.get("x-launcher"):
                text = f"`{item.path[-1]}` is a flag of accelerate launch: without the trl command TrlParser raises ValueError"
                yield self.finding(
                    context.at(item.path, "key"), text, help="start with the trl command, or move the key to the launch line"
                )


class PeftIgnoresWrapClasses(Rule):
    """## What it does
    Finds layer classes in `fsdp_config` of a run with adapters.

    ## Why it matters
    PEFT builds a wrap policy of its own, from the model or from the environment that `accelerate launch` sets; TrainingArguments of
    5.x set none.

    ## Example
    ```yaml
    model_name_or_path: meta-llama/Llama-3.1-8B
    dataset_name: trl-lib/Capybara
    learning_rate: 1.0e-4
    use_peft: true
    fsdp: true
    fsdp_config:
      transformer_layer_cls_to_wrap: LlamaDecoderLayer
    ```

    ## Use instead
    ```yaml
    model_name_or_path: meta-llama/Llama-3.1-8B
    dataset_name: trl-lib/Capybara
    learning_rate: 1.0e-4
    use_peft: true
    fsdp: true
    ```

    ## Versions and evidence
    TRF-PEFT-01 (read in peft 0.21.2 utils/other.py).
    """

    code, name, severity = "TRL002", "peft-ignores-wrap-classes", Severity.WARNING
    dialects = ("trl",)
    facts = ("TRF-PEFT-01",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        classes = plan.wrap_classes
        if context.own.fsdp.value is not True or not plan.adapter.value or not classes.value or classes.place is None:
            return
        if context.versions.has("transformers>=5.0") and not any(file.dialect.name == "accelerate" for file in context.launch.members):
            text = "PEFT wraps by its own policy: these layer classes are not used"
            yield self.finding(
                classes.place,
                text,
                related=noted(plan.adapter, "the adapter"),
                help="name them in the accelerate file, where the model does not do it itself",
            )


RULES = (LauncherKeyInScript(), PeftIgnoresWrapClasses())
