"""Faults of TrainingArguments and of the Trainer that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.deepspeed import engine_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

TRAINERS = ("hf-trainer", "trl", "llama-factory", "ms-swift")
"""The dialects whose keys go into TrainingArguments."""

PLAIN = ("hf-trainer", "trl", "llama-factory")
"""Those that leave the defaults and the FSDP keys as they are."""


class LoadBestNeedsMatch(Rule):
    """## What it does
    Finds `load_best_model_at_end` with save and evaluation strategies that differ, or with steps that do not fit together, and
    `save_strategy: best` without a metric that says which checkpoint is the best.

    ## Why it matters
    TrainingArguments raise ValueError: the best checkpoint could be one that was never evaluated.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    load_best_model_at_end: true
    eval_strategy: steps
    eval_steps: 300
    save_steps: 400
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    load_best_model_at_end: true
    eval_strategy: steps
    eval_steps: 300
    save_steps: 600
    ```

    ## Versions and evidence
    TRF-LB-01 (run with transformers 4.57.6 and 5.24.0; training_args.py). The metric: Trainer.__init__ of 4.50.3 (read) and 5.24.0 (run).
    """

    code, name = "HFT001", "load-best-needs-match"
    dialects = PLAIN
    scope = "file"
    facts = ("TRF-LB-01",)

    def check(self, context: Context) -> Iterator[Finding]:
        if context.value("load_best_model_at_end") is not True:
            yield from self._without_metric(context)
            return
        evaluated = _strategy(context, "eval_strategy", "evaluation_strategy") or "no"
        fault: str | None
        saved = _strategy(context, "save_strategy") or "steps"
        if is_placeholder(evaluated) or is_placeholder(saved) or saved == "best":
            return
        at, related = context.at(("load_best_model_at_end",)), [(context.at((key,)), key) for key in _STEPS if context.document.has((key,))]
        if evaluated != saved:
            fault = f"evaluates by `{evaluated}` and saves by `{saved}`"
            yield self.finding(
                at, f"load_best_model_at_end {fault}: TrainingArguments raise ValueError", related=related, help="use one strategy for both"
            )
        elif evaluated == "steps" and (fault := _steps_fault(context)):
            yield self.finding(
                at,
                f"load_best_model_at_end with {fault}: TrainingArguments raise ValueError",
                related=related,
                help="write save_steps as a multiple of eval_steps",
            )

    def _without_metric(self, context: Context) -> Iterator[Finding]:
        is_named = context.value("metric_for_best_model") is not None or context.value("lr_scheduler_type") == "reduce_lr_on_plateau"
        if context.value("save_strategy") == "best" and not is_named and not context.versions.is_older("transformers>=4.50"):
            fault = "`save_strategy: best` without `metric_for_best_model`: the Trainer raises ValueError"
            yield self.finding(context.at(("save_strategy",)), fault, help="name the metric, such as `metric_for_best_model: loss`")


_STEPS = ("eval_strategy", "save_strategy", "eval_steps", "save_steps")


def _strategy(context: Context, *keys: str) -> str | None:
    value = next((context.value(key) for key in keys if context.value(key) is not None), None)
    if value is False:
        return "no"
    return value if isinstance(value, str) else None


def _steps_fault(context: Context) -> str | None:
    """Why saving steps are no multiple of evaluation steps; None where they are, and where one cannot be known."""
    saved = context.value("save_steps") if context.document.has(("save_steps",)) else 500
    evaluated = context.value("eval_steps") or context.value("logging_steps") or (500 if context.dialect.name != "trl" else None)
    if not all(isinstance(steps, (int, float)) and not isinstance(steps, bool) and steps > 0 for steps in (saved, evaluated)):
        return None
    assert isinstance(saved, (int, float)) and isinstance(evaluated, (int, float))
    if (saved < 1) is not (evaluated < 1):
        return f"save_steps {saved} and eval_steps {evaluated}, a ratio beside a number of steps"
    whole = (round(saved * 1_000_000), round(evaluated * 1_000_000))
    return f"save_steps {saved}, no multiple of eval_steps {evaluated}" if whole[0] % whole[1] else None


class SaveOnlyModelWithLoadBest(Rule):
    """## What it does
    Finds `save_only_model` with `load_best_model_at_end` under FSDP or DeepSpeed.

    ## Why it matters
    The Trainer raises ValueError when it is built.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    save_only_model: true
    load_best_model_at_end: true
    eval_strategy: steps
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    load_best_model_at_end: true
    eval_strategy: steps
    ```

    ## Versions and evidence
    TRF-FSDP-11, TRF-DS-05 (run with transformers 4.57.6 and 5.24.0; since 4.40).
    """

    code, name = "HFT002", "save-only-model-with-load-best"
    dialects = TRAINERS
    facts = ("TRF-FSDP-11", "TRF-DS-05")

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        engine = plan.fsdp if plan.fsdp.value is True else plan.deepspeed
        if engine.value is not True or plan.save_only_model.value is not True or context.value("load_best_model_at_end") is not True:
            return
        if context.versions.has("transformers>=4.40") and plan.save_only_model.place:
            name = "FSDP" if plan.fsdp.value is True else "DeepSpeed"
            related = [(context.at(("load_best_model_at_end",)), "the other one"), *noted(engine, f"{name} is switched on here")]
            text = f"save_only_model with load_best_model_at_end under {name}: the Trainer raises ValueError when it is built"
            yield self.finding(plan.save_only_model.place, text, related=related, help="drop one of the two")


class AutoFindBatchSize(Rule):
    """## What it does
    Finds `auto_find_batch_size` where the engine forbids it: FSDP in transformers before 4.46, any DeepSpeed before 4.46, ZeRO-3 since.

    ## Why it matters
    The Trainer raises when it is built.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    auto_find_batch_size: true
    deepspeed:
      zero_optimization:
        stage: 3
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    auto_find_batch_size: true
    deepspeed:
      zero_optimization:
        stage: 2
    ```

    ## Versions and evidence
    TRF-FSDP-39 (read in 4.40 to 4.44; run with 4.57.6 and 5.24.0: fine), TRF-DS-04 (run with 5.24.0).
    """

    code, name = "HFT003", "auto-find-batch-size"
    dialects = TRAINERS
    facts = ("TRF-FSDP-39", "TRF-DS-04")

    def check(self, context: Context) -> Iterator[Finding]:
        plan, at = context.plan, context.at(("auto_find_batch_size",))
        if not _is_on(context, "auto_find_batch_size"):
            return
        if context.versions.has("transformers>=4.40,<4.46") and (plan.fsdp.value is True or plan.deepspeed.value is True):
            engine = plan.fsdp if plan.fsdp.value is True else plan.deepspeed
            yield self.finding(
                at, "auto_find_batch_size beside an engine: the Trainer raises NotImplementedError", related=noted(engine, "the engine")
            )
        elif (
            context.versions.has("transformers>=4.46")
            and plan.deepspeed.value is True
            and (stage := _zero_stage(context))
            and stage[1] == 3
        ):
            text = "auto_find_batch_size with ZeRO-3: the Trainer raises ValueError when it is built"
            related = [(stage[0], "ZeRO-3"), *noted(plan.deepspeed, "DeepSpeed")]
            yield self.finding(at, text, related=related, help="use ZeRO-2, or write the batch size")


def _is_on(context: Context, key: str) -> bool:
    value = context.value(key)
    return value is True or (isinstance(value, str) and value.lower() in ("true", "yes", "1"))


def _zero_stage(context: Context) -> tuple[Place, int] | None:
    setting = engine_setting(context, ("zero_optimization", "stage"))
    if setting is not None and isinstance(setting.value, int):
        return setting.place, setting.value
    shipped = context.plan.deepspeed_config
    if shipped.place and isinstance(shipped.value, str) and shipped.value in ("zero1", "zero2", "zero3"):
        return shipped.place, int(shipped.value[-1])
    for file in context.launch.files:
        stage = file.document.value(("deepspeed_config", "zero_stage")) if file.dialect.name == "accelerate" else None
        if isinstance(stage, int):
            return Place(file.document, ("deepspeed_config", "zero_stage")), stage
    return None


class AccumulationTwice(Rule):
    """## What it does
    Finds `num_steps` of `accelerator_config` beside `gradient_accumulation_steps`.

    ## Why it matters
    The Trainer raises ValueError when it is built.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    gradient_accumulation_steps: 4
    accelerator_config:
      gradient_accumulation_kwargs:
        num_steps: 4
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    gradient_accumulation_steps: 4
    ```

    ## Versions and evidence
    TRF-ACFG-02 (run with transformers 4.57.6 and 5.24.0).
    """

    code, name = "HFT004", "accumulation-twice"
    dialects = TRAINERS
    scope = "file"
    facts = ("TRF-ACFG-02",)

    def check(self, context: Context) -> Iterator[Finding]:
        path = ("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
        steps = context.value("gradient_accumulation_steps")
        if context.document.has(path) and isinstance(steps, (int, float)) and steps > 1:
            text = f"num_steps beside gradient_accumulation_steps {steps}: the Trainer raises ValueError when it is built"
            yield self.finding(
                context.at(path),
                text,
                related=[(context.at(("gradient_accumulation_steps",)), "the other one")],
                help="keep one of the two",
            )


class DdpOptionUnderFsdp(Rule):
    """## What it does
    Finds options of DistributedDataParallel in a run under FSDP.

    ## Why it matters
    Nobody reads them there.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    ddp_find_unused_parameters: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    ```

    ## Versions and evidence
    TRF-FSDP-40 (run with transformers 5.24.0).
    """

    code, name, severity = "HFT005", "ddp-option-under-fsdp", Severity.WARNING
    dialects = TRAINERS
    scope = "file"
    facts = ("TRF-FSDP-40",)

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True:
            return
        for item in context.written:
            if item.option is not None and item.option.schema.get("x-ddp") and plain(item.entry.value) not in (None, False):
                related = noted(context.plan.fsdp, "FSDP is switched on here")
                yield self.finding(
                    context.at(item.path, "entry"), f"`{item.path[-1]}` has no effect under FSDP", related=related, help="remove the key"
                )


class GradientCheckpointingUnderFsdp(Rule):
    """## What it does
    Finds the Trainer's gradient checkpointing in a run under FSDP.

    ## Why it matters
    It works, and gathers every parameter once more in the backward pass; FSDP's own activation checkpointing does not.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    gradient_checkpointing: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      activation_checkpointing: true
    gradient_checkpointing: false
    ```

    ## Versions and evidence
    TRF-FSDP-09 (the Trainer logs it since 4.43; run with 4.57.6, 5.9.0 and 5.24.0).
    """

    code, name, severity = "HFT006", "gradient-checkpointing-under-fsdp", Severity.INFO
    dialects = TRAINERS
    facts = ("TRF-FSDP-09",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        checkpointing = plan.gradient_checkpointing
        if context.own.fsdp.value is not True or checkpointing.value is not True or checkpointing.place is None:
            return
        if plan.activation_checkpointing.value is not True and context.versions.has("transformers>=4.43"):
            text = "gradient checkpointing under FSDP gathers every parameter once more in the backward pass"
            yield self.finding(checkpointing.place, text, help="write `activation_checkpointing: true` in `fsdp_config` instead")


RULES = (
    LoadBestNeedsMatch(),
    SaveOnlyModelWithLoadBest(),
    AutoFindBatchSize(),
    AccumulationTwice(),
    DdpOptionUnderFsdp(),
    GradientCheckpointingUnderFsdp(),
)
