"""What the rest of a Trainer's section does to FSDP, and options that exclude each other in Lightning, litgpt and NeMo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, noted
from fsdplint_rules.clashes import OptionsClash
from fsdplint_rules.lightning import LightningRule, components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.lightning_shapes import Shape


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
                related = [(context.at(precision), "the precision")]
                yield self.finding(context.at(at), says, related=related, help="keep one of the two")
            elif context.plan.fsdp.value is True and not name.startswith("FSDP") and context.versions.has("lightning>=2.1.0"):
                says = f"`{name}` with FSDP: the Trainer raises TypeError, FSDP works with FSDPPrecision alone"
                yield self.finding(context.at(at), says, related=noted(context.plan.fsdp, "FSDP"), help="remove it, and write `precision`")


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
                related = noted(engine, "this shards the model")
                yield self.finding(context.at(at), says, related=related, help="remove the callback, or write `strategy: ddp`")


class LightningOptionsClash(OptionsClash):
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
    LT021-activation-checkpointing-both, LT047-barebones-checkpointing (run with lightning 2.6.6); LG002-quantize-mixed to
    LG005-pretrain-unsupported (litgpt 0.3.1 to 0.5.13 read, its parser and its checks run in 0.5.13); NM002-fsdp-sharded-tp to
    NM007-fsdp-overrides (read in nemo-toolkit 1.23.0).
    """

    code, name = "LIT007", "lightning-options-clash"
    dialects = ("lightning", "litgpt")
    scope = "file"
    facts = (
        "LT021-activation-checkpointing-both",
        "LT047-barebones-checkpointing",
        "LG002-quantize-mixed",
        "LG003-warmup-both",
        "LG004-finetune-unsupported",
        "LG005-pretrain-unsupported",
        "NM002-fsdp-sharded-tp",
        "NM003-fsdp-pp",
        "NM004-fsdp-fp8",
        "NM006-fsdp-o2",
        "NM007-fsdp-overrides",
    )


class TensorParallelByDefault(LightningRule):
    """## What it does
    Points out a ModelParallelStrategy without sizes.

    ## Why it matters
    Its defaults make one tensor parallel group of all devices of a machine: no data is spread inside a machine, and nothing is sharded
    as FSDP2 does. Either way the module has to override `configure_model()`.

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
    LT037-model-parallel-defaults-to-tp (read in strategies/model_parallel.py of lightning 2.3.3 to 2.6.6),
    LT038-model-parallel-needs-configure_model (run with lightning 2.6.6).
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
    FSDP warns that it keeps a full-precision copy of the parameters for sharding: memory is not halved as expected. `16-true` trains
    without a gradient scaler.

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
        copy = "FSDP warns that it keeps a full-precision copy of the parameters"
        says = "FSDP with 16-true has no gradient scaler" if value == "16-true" else copy
        yield self.finding(context.at(at), says, help=f"`{value.partition('-')[0]}-mixed` keeps the master weights in float32")


RULES = (PrecisionPlugin(), AveragingSharded(), LightningOptionsClash(), TensorParallelByDefault(), TrueHalfPrecision())
