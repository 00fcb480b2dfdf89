"""DeepSpeed's settings beside those of the trainer that hands them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint import dialects
from fsdplint.diagnostics import Place
from fsdplint.dialects import default
from fsdplint.plan import Precision, is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.clashes import OptionsClash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Option

TRAINERS = ("hf-trainer", "trl", "llama-factory")
_WORLD = "world size"
_PRECISIONS = {"bf16": Precision.BF16, "fp16": Precision.FP16}


class Setting(NamedTuple):
    """A value of DeepSpeed's settings, and where it is written."""

    value: object
    place: Place


def engine_setting(context: Context, path: tuple[str, ...]) -> Setting | None:
    """What DeepSpeed's settings say at a path: the mapping in the training file, else the JSON of the launch.

    None for nothing and for `auto`.
    """
    inline = context.value("deepspeed")
    sources = [(context.document, ("deepspeed", *path))] if isinstance(inline, dict) else []
    sources += [(file.document, path) for file in context.launch.files if file.dialect.name == "deepspeed"]
    for document, here in sources:
        value = document.value(here)
        if value is not None and not is_placeholder(value):
            return Setting(value, Place(document, here))
    return None


class DeepspeedMismatch(Rule):
    """## What it does
    Finds values of a DeepSpeed JSON that differ from those of the training file that names it.

    ## Why it matters
    transformers compares them and raises, once the model is loaded.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    gradient_accumulation_steps: 2
    deepspeed:
      zero_optimization:
        stage: 2
      gradient_accumulation_steps: 4
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    gradient_accumulation_steps: 2
    deepspeed:
      zero_optimization:
        stage: 2
      gradient_accumulation_steps: auto
    ```

    ## Versions and evidence
    TRF-DS-08, TRF-DS-09 (run with transformers 5.24.0 and DeepSpeed 0.19.8); the compared keys were read in
    transformers/integrations/deepspeed.py.
    """

    code, name = "DSP001", "deepspeed-mismatch"
    dialects = TRAINERS
    facts = ("TRF-DS-08", "TRF-DS-09")

    def check(self, context: Context) -> Iterator[Finding]:
        if context.own.deepspeed.value is not True or ("deepspeed",) not in context.table.options:
            return
        for option in dialects.dialect("deepspeed").table.options.values():
            mirrored = option.schema.get("x-mirrors")
            setting = engine_setting(context, option.path) if mirrored else None
            if setting is None or not mirrored:
                continue
            wanted = self._wanted(context, mirrored)
            if wanted is not None and wanted != setting.value:
                yield self._mismatch(context, option, setting, wanted, mirrored)

    def _wanted(self, context: Context, keys: list[str]) -> object:
        """The trainer's value of what an option mirrors; None where it cannot be known."""
        if keys[0] in _PRECISIONS:
            precision = context.own.precision
            return None if precision.unknown else precision.value is _PRECISIONS[keys[0]] or context.value(f"{keys[0]}_full_eval") is True
        values = [context.plan.processes.value if key == _WORLD else _trainer_value(context, key) for key in keys]
        if None in values:
            return None
        if _WORLD in keys:
            product: Any = 1
            for value in values:
                product *= value
            return product
        return values if len(values) > 1 else values[0]

    def _mismatch(self, context: Context, option: Option, setting: Setting, wanted: object, keys: list[str]) -> Finding:
        written = [key for key in (*keys, *(_PRECISIONS if keys[0] in _PRECISIONS else ())) if context.document.has((key,))]
        key = ".".join(option.path)
        there = f"{key} of DeepSpeed's settings"
        text = (
            f"{_shown(wanted)} here and {_shown(setting.value)} as {there}"
            if written
            else f"{there} is {_shown(setting.value)}, {_shown(wanted)} by default here"
        )
        fault = f"{' and '.join(k for k in keys if k != _WORLD)} {'are' if len(keys) > 1 else 'is'} {text}" if written else text
        return self.finding(
            context.at((written[0] if written else "deepspeed",)),
            f"{fault}: train() raises ValueError",
            outcome="crashes" if written else "ignored",
            help=f"write `auto` for {key}",
            related=[(setting.place, "DeepSpeed's value")],
        )


def _trainer_value(context: Context, key: str) -> Any:
    """A number of the training file, or its default; None for what is no number."""
    option = context.table.options.get((key,))
    value = context.value(key)
    if value is None and option is not None:
        value = default(option.schema, context.versions)
    if isinstance(value, str) and context.dialect.name == "trl":
        try:
            return float(value)
        except ValueError:
            return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


class DeepspeedOptionsClash(OptionsClash):
    """## What it does
    Finds options of a DeepSpeed JSON that exclude each other: both precisions, or an option under its old and its new name.

    ## Why it matters
    DeepSpeed raises AssertionError in every rank when it reads its settings.

    ## Example
    With `--dialect deepspeed`:
    ```json
    {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "fp16": {"enabled": true}}
    ```

    ## Use instead
    ```json
    {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}
    ```

    ## Versions and evidence
    Run with deepspeed 0.19.8 (DeepSpeedConfig).
    """

    code, name = "DSP002", "deepspeed-options-clash"
    dialects = ("deepspeed",)


RULES = (DeepspeedMismatch(), DeepspeedOptionsClash())
