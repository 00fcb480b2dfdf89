"""Faults of LLaMA-Factory's training files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from fsdplint.diagnostics import Severity
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.zero_stages import is_zero3, zero_stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Place

DIALECTS = ("llama-factory",)


class ClassicRule(Rule):
    """A rule about files of the classic trainer, whose top level is flat."""

    dialects = DIALECTS

    def is_on(self, context: Context, key: str) -> bool:
        """Whether a switch of the top level is on: nothing converts it, so that every text is."""
        value = context.value(key)
        return bool(value) and not is_placeholder(value) and (key,) in context.table.options

    def engines(self, context: Context) -> list[tuple[Place, str]]:
        """Where the engines of the launch are switched on, as related places."""
        plan = context.plan
        found = noted(plan.fsdp, "FSDP is switched on here") if plan.fsdp.value is True else []
        return found + (noted(plan.deepspeed, "DeepSpeed is switched on here") if plan.deepspeed.value is True else [])


class Zero3Unsupported(ClassicRule):
    """## What it does
    Finds features that LLaMA-Factory refuses under DeepSpeed ZeRO-3: KTransformers, pure bf16, generation while evaluating, PiSSA
    initialisation, and weights that are quantized to 8 bit, by HQQ or by EETQ.

    The stage is read in DeepSpeed's JSON; where that is not to be found, its name tells it (`ds_z3_config.json`).

    ## Why it matters
    The parser, or the model loader, raises ValueError in every process.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    deepspeed: examples/deepspeed/ds_z3_config.json
    pure_bf16: true
    ```

    ## Use instead
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    deepspeed: examples/deepspeed/ds_z3_config.json
    bf16: true
    ```

    ## Versions and evidence
    lf-kt-z3, lf-purebf16-z3, lf-pred-z3, lf-pissa-z3 (run with llamafactory 0.9.5, read in 0.9.0 to 0.9.4), lf-8bit-fsdp, lf-hqq-fsdp,
    lf-eetq-fsdp (read in model/model_utils/quantization.py of 0.8.3 to 0.9.5).
    """

    code, name = "LLF001", "zero3-unsupported"
    facts = ("lf-kt-z3", "lf-purebf16-z3", "lf-pred-z3", "lf-pissa-z3", "lf-8bit-fsdp", "lf-hqq-fsdp", "lf-eetq-fsdp")
    switches: ClassVar[dict[str, tuple[str, str]]] = {
        "use_kt": ("llamafactory>=0.9.4", "drop one of the two"),
        "pure_bf16": ("", "write `bf16: true`"),
        "predict_with_generate": ("llamafactory>=0.9.0", "generate in a run of its own, without DeepSpeed"),
        "pissa_init": ("", "initialise the adapter with scripts/pissa_init.py"),
    }

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.deepspeed.value is not True or not is_zero3(context):
            return
        stage = zero_stage(context)
        related = [(stage.place, "ZeRO-3")] if stage else []
        for key, (when, help) in self.switches.items():
            if self.is_on(context, key) and context.versions.has(when):
                yield self.finding(
                    context.at((key,), "entry"), f"`{key}` with ZeRO-3: LLaMA-Factory raises ValueError", help=help, related=related
                )
        quantization = context.plan.quantization
        if quantization.place and quantization.value in ("8bit", "hqq", "eetq") and context.plan.fsdp.value is not True:
            text = f"{quantization.value} quantization with ZeRO-3: the model loader raises ValueError, only 4-bit weights can be sharded"
            yield self.finding(quantization.place, text, help="write `quantization_bit: 4` and no other method", related=related)


class OptimizerOnOneProcess(ClassicRule):
    """## What it does
    Finds optimizers that LLaMA-Factory refuses in distributed runs: BAdam (its layer mode wants ZeRO-3), layer-wise GaLore and APOLLO,
    and any GaLore or APOLLO beside DeepSpeed.

    ## Why it matters
    The parser raises ValueError in every process.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    fsdp: full_shard auto_wrap
    use_badam: true
    ```

    ## Use instead
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    fsdp: full_shard auto_wrap
    ```

    ## Versions and evidence
    lf-badam, lf-galore-layerwise, lf-galore-ds (run with llamafactory 0.9.5, read in 0.8.3 to 0.9.4).
    """

    code, name = "LLF002", "optimizer-on-one-process"
    facts = ("lf-badam", "lf-galore-layerwise", "lf-galore-ds")

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        sharded = plan.fsdp.value is True or plan.deepspeed.value is True
        if sharded or (plan.processes.value or 0) > 1:
            yield from self._distributed(context)
        if plan.deepspeed.value is True:
            for key in ("use_galore", "use_apollo"):
                if self.is_on(context, key):
                    yield self._refused(context, key, f"`{key}` with DeepSpeed", "drop one of the two")

    def _distributed(self, context: Context) -> Iterator[Finding]:
        for kind in ("galore", "apollo"):
            if self.is_on(context, f"use_{kind}") and self.is_on(context, f"{kind}_layerwise"):
                yield self._refused(
                    context, f"{kind}_layerwise", f"layer-wise {kind} over several processes", f"write `{kind}_layerwise: false`"
                )
        if not self.is_on(context, "use_badam"):
            return
        deepspeed = context.plan.deepspeed.value is True
        if context.value("badam_mode") == "ratio":
            yield self._refused(context, "badam_mode", "BAdam by ratio over several processes", "write `badam_mode: layer` and use ZeRO-3")
        elif not deepspeed or (zero_stage(context) is not None and not is_zero3(context)):
            yield self._refused(
                context,
                "use_badam",
                "layer-wise BAdam over several processes without ZeRO-3",
                "use a ZeRO-3 config of DeepSpeed, or drop `use_badam`",
            )

    def _refused(self, context: Context, key: str, fault: str, help: str) -> Finding:
        related = self.engines(context)
        return self.finding(context.at((key,), "entry"), f"{fault}: LLaMA-Factory raises ValueError", help=help, related=related)


class Fp8WithQuantization(ClassicRule):
    """## What it does
    Finds `fp8` together with `quantization_bit`.

    ## Why it matters
    The parser raises ValueError.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: qwen3
    fp8: true
    quantization_bit: 4
    ```

    ## Use instead
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: qwen3
    bf16: true
    quantization_bit: 4
    ```

    ## Versions and evidence
    lf-fp8-quant (run with LLaMA-Factory@ff6d4d12; since 0.9.4).
    """

    code, name = "LLF003", "fp8-with-quantization"
    scope = "file"
    facts = ("lf-fp8-quant",)

    def check(self, context: Context) -> Iterator[Finding]:
        if self.is_on(context, "fp8") and context.value("quantization_bit") is not None and context.versions.has("llamafactory>=0.9.4"):
            related = [(context.at(("quantization_bit",)), "the quantization")]
            text = "`fp8` with `quantization_bit`: LLaMA-Factory raises ValueError"
            yield self.finding(context.at(("fp8",), "entry"), text, help="drop one of the two", related=related)


class Fp8GatherWithoutFp8(ClassicRule):
    """## What it does
    Finds `fp8_enable_fsdp_float8_all_gather` without `fp8`.

    ## Why it matters
    LLaMA-Factory logs that it sets `fp8`, and sets it on another object: fp8 stays off.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    fp8_enable_fsdp_float8_all_gather: true
    ```

    ## Use instead
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    fp8: true
    fp8_enable_fsdp_float8_all_gather: true
    ```

    ## Versions and evidence
    lf-fp8-ag (run with LLaMA-Factory@ff6d4d12; so since 0.9.4).
    """

    code, name, severity = "LLF004", "fp8-gather-without-fp8", Severity.WARNING
    scope = "file"
    facts = ("lf-fp8-ag",)

    def check(self, context: Context) -> Iterator[Finding]:
        key = "fp8_enable_fsdp_float8_all_gather"
        if self.is_on(context, key) and not context.value("fp8") and context.versions.has("llamafactory>=0.9.4"):
            text = f"`{key}` without `fp8`: it has no effect, fp8 stays off whatever the log says"
            yield self.finding(context.at((key,), "entry"), text, help="add `fp8: true`")


class QuantizationNeedsAdapter(ClassicRule):
    """## What it does
    Finds `quantization_bit` with a finetuning type that trains the quantized weights themselves, and with a device map in a training run.

    ## Why it matters
    The parser raises ValueError.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    quantization_bit: 4
    ```

    ## Use instead
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: qwen3
    quantization_bit: 4
    ```

    ## Versions and evidence
    lf-quant-method, lf-quant-map (run with LLaMA-Factory@ff6d4d12; in hparams/parser.py since 0.8.3).
    """

    code, name = "LLF005", "quantization-needs-adapter"
    scope = "file"
    facts = ("lf-quant-method", "lf-quant-map")

    def check(self, context: Context) -> Iterator[Finding]:
        method, bits = context.value("finetuning_type"), context.value("quantization_bit")
        if bits is not None and method in ("full", "freeze") and ("quantization_bit",) in context.table.options:
            related = [(context.at(("quantization_bit",)), "the quantization")]
            text = f"`finetuning_type: {method}` with `quantization_bit`: LLaMA-Factory raises ValueError"
            yield self.finding(
                context.at(("finetuning_type",)), text, help="write `finetuning_type: lora`, or drop `quantization_bit`", related=related
            )
        if context.value("quantization_device_map") == "auto" and self.is_on(context, "do_train"):
            text = "a device map for a quantized model in training: LLaMA-Factory raises ValueError"
            yield self.finding(context.at(("quantization_device_map",), "entry"), text, help="remove the key")


class KtWithActivationCheckpointing(ClassicRule):
    """## What it does
    Finds KTransformers together with FSDP's activation checkpointing, of this file or of the accelerate file.

    ## Why it matters
    The parser raises ValueError.

    ## Example
    ```yaml
    model_name_or_path: deepseek-ai/DeepSeek-V2-Lite
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: deepseek
    use_kt: true
    fsdp: full_shard auto_wrap
    fsdp_config:
      activation_checkpointing: true
    ```

    ## Use instead
    ```yaml
    model_name_or_path: deepseek-ai/DeepSeek-V2-Lite
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: deepseek
    use_kt: true
    fsdp: full_shard auto_wrap
    ```

    ## Versions and evidence
    lf-kt-fsdp-ac (run with LLaMA-Factory@ff6d4d12; not in 0.9.5).
    """

    code, name = "LLF006", "kt-with-activation-checkpointing"
    facts = ("lf-kt-fsdp-ac",)

    def check(self, context: Context) -> Iterator[Finding]:
        checkpointing = context.plan.activation_checkpointing
        if (
            checkpointing.value is True
            and checkpointing.place
            and self.is_on(context, "use_kt")
            and context.versions.has("llamafactory>=0.9.6")
        ):
            text = "FSDP's activation checkpointing with `use_kt`: LLaMA-Factory raises ValueError"
            yield self.finding(
                checkpointing.place, text, help="remove activation_checkpointing", related=[(context.at(("use_kt",)), "KTransformers")]
            )


class QuantizedCheckpointSharded(ClassicRule):
    """## What it does
    Finds models whose name says that they are quantized by GPTQ, AWQ or AQLM under FSDP or ZeRO-3. MXFP4 and FP8 checkpoints are fine.

    ## Why it matters
    The model loader raises ValueError: such weights cannot be sharded.

    ## Example
    ```yaml
    model_name_or_path: TechxGenus/Meta-Llama-3-8B-Instruct-GPTQ
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: llama3
    fsdp: full_shard auto_wrap
    ```

    ## Use instead
    ```yaml
    model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: identity
    template: llama3
    quantization_bit: 4
    fsdp: full_shard auto_wrap
    ```

    ## Versions and evidence
    lf-ptq-fsdp (read in model/model_utils/quantization.py of 0.8.3 to 0.9.5).
    """

    code, name = "LLF007", "quantized-checkpoint-sharded"
    facts = ("lf-ptq-fsdp",)
    names = re.compile(r"(?:^|[-_./\\])(gptq|awq|aqlm)(?=$|[-_./\\\d])", re.IGNORECASE)

    def check(self, context: Context) -> Iterator[Finding]:
        model = context.plan.model
        found = self.names.search(model.value) if isinstance(model.value, str) else None
        if found and model.place and (context.plan.fsdp.value is True or is_zero3(context)):
            name = "FSDP" if context.plan.fsdp.value is True else "ZeRO-3"
            text = f"a {found[1].upper()} checkpoint under {name}: the model loader raises ValueError"
            yield self.finding(
                model.place, text, help="name the unquantized model and write `quantization_bit: 4`", related=self.engines(context)
            )


RULES: tuple[Rule, ...] = (
    Zero3Unsupported(),
    OptimizerOnOneProcess(),
    Fp8WithQuantization(),
    Fp8GatherWithoutFp8(),
    QuantizationNeedsAdapter(),
    KtWithActivationCheckpointing(),
    QuantizedCheckpointSharded(),
)
