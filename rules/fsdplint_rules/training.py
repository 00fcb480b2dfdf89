"""What training itself adds to sharding: checkpointing of activations, precision, quantization, optimizers, clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, fits, is_among
from fsdplint.document import plain
from fsdplint.plan import Precision
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Written


class DoubleCheckpointing(Rule):
    """## What it does
    Finds FSDP's activation checkpointing and the trainer's gradient checkpointing both on (TRL turns the latter on by default).

    ## Why it matters
    transformers refuses the pair when the Trainer is built; elsewhere every activation is recomputed twice.

    ## Example
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      activation_checkpointing: true
    gradient_checkpointing: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      activation_checkpointing: true
    ```

    ## Versions and evidence
    TRF-FSDP-08, TRF-MF-02, TRF-TRL-01 (run), acc-ac-and-gc (run: double recompute).
    """

    code, name = "FSD701", "double-checkpointing"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        ours, theirs = plan.activation_checkpointing, plan.gradient_checkpointing
        if plan.fsdp.value is not True or ours.value is not True or theirs.value is not True or not (ours.place or theirs.place):
            return
        claim = context.consequence(self, theirs, across=True)
        if not claim:
            return
        at, other, name = (theirs.place, ours.place, "FSDP's activation checkpointing") if theirs.place else (ours.place, None, "")
        fault = "activation checkpointing and gradient checkpointing are both on" + ("" if theirs.place else f" ({theirs.source})")
        if at:
            yield self.claimed(claim, at, fault, related=[(other, name)] if other else [])


class PrecisionConflict(Rule):
    """## What it does
    Finds bf16 and fp16 together, and a precision that the engine refuses.

    ## Why it matters
    The trainer refuses the pair.

    ## Example
    ```yaml
    output_dir: out
    bf16: true
    fp16: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    bf16: true
    ```

    ## Versions and evidence
    TRF-MP-01 (run with transformers 4.57.6 and 5.24.0).
    """

    code, name = "FSD702", "precision-conflict"

    def check(self, context: Context) -> Iterator[Finding]:
        precision = context.plan.precision
        rival = precision.contradicted
        if rival and rival.place and precision.place and rival.place.document is precision.place.document:
            claim = context.consequence(self, rival)
            if claim:
                names = f"`{precision.place.path[-1]}` and `{rival.place.path[-1]}`"
                yield self.claimed(claim, rival.place, f"{names} together", related=[(precision.place, "the other one")])


class QuantizationWithFsdp(Rule):
    """## What it does
    Finds quantizations that cannot be sharded.

    ## Why it matters
    The quantized tensors have no flattening or DTensor support: the run is refused, or crashes when the model is wrapped.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: hqq
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      quantization: 4bit
    ```

    ## Versions and evidence
    soup-hqq, soup-eetq, soup-aqlm, soup-S2 (run with soup-cli 0.77.0), axo-fsdp2-quant-rl, axo-fsdp2-ramload-4bit (run).
    """

    code, name = "FSD703", "quantization-with-fsdp"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        quantization = plan.quantization
        sharded = plan.fsdp.value is True or plan.deepspeed.value is True
        if not sharded or not quantization.value or quantization.place is None:
            return
        claim = context.consequence(self, quantization)
        if claim:
            engine = plan.fsdp if plan.fsdp.value is True else plan.deepspeed
            related = noted(engine, "sharding is switched on here")
            name = "FSDP" if plan.fsdp.value is True else "DeepSpeed"
            yield self.claimed(claim, quantization.place, f"{quantization.value} quantization with {name}", related=related)


class QuantStorageDtype(Rule):
    """## What it does
    Finds 4-bit weights under FSDP whose storage dtype cannot be flattened (FSDP1) or sharded (FSDP2).

    ## Why it matters
    With the default uint8 storage FSDP1 fails when it flattens; accelerate 1.15 leaves those weights unsharded on every rank under FSDP2.

    ## Example
    A QLoRA run under FSDP with `bnb_4bit_quant_storage: uint8`.

    ## Use instead
    `bnb_4bit_quant_storage: bfloat16`

    ## Versions and evidence
    TRF-BNB-03 (from issue threads), TRF-BNB-04 (read in accelerate 1.15.0).
    """

    code, name, severity = "FSD704", "quant-storage-dtype", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        storage = plan.quant_storage
        if (
            plan.fsdp.value is not True
            or plan.quantization.value != "4bit"
            or storage.unknown
            or storage.value in ("bfloat16", "float16", "float32")
        ):
            return
        claim = context.consequence(self, storage)
        at = storage.place or plan.quantization.place
        if claim and at:
            fault = f"4-bit weights stored as {storage.value}" if storage.value else "4-bit weights without a storage dtype"
            yield self.claimed(claim, at, fault)


class OptimizerWithFsdp(Rule):
    """## What it does
    Finds optimizers that fail under FSDP in the target.

    ## Why it matters
    bitsandbytes' kernels have no DTensor sharding strategy: the first step raises under FSDP2.

    ## Example
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      version: 2
    optim: adamw_bnb_8bit
    ```

    ## Use instead
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      version: 2
    optim: adamw_torch_fused
    ```

    ## Versions and evidence
    TRF-BNB-01, TRF-BNB-02, axo-fsdp2-bnb-adam8bit, axo-fsdp1-offload-8bit, axo-muon (run).
    """

    code, name = "FSD705", "optimizer-with-fsdp"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        optimizer = plan.optimizer
        if plan.fsdp.value is not True or not optimizer.value or optimizer.place is None:
            return
        for family in context.table.schema.get("x-optimizers", []):
            if optimizer.value in family["names"]:
                claim = choose(family["claims"], context.versions, plan)
                if claim:
                    related = noted(plan.fsdp, "FSDP is switched on here")
                    yield self.claimed(
                        claim,
                        optimizer.place,
                        f"`{optimizer.value}` with FSDP{plan.fsdp_version.value or ''}",
                        related=related,
                    )
                    return


class ClippingWithFsdp(Rule):
    """## What it does
    Finds gradient clipping that the engine refuses.

    ## Why it matters
    Clipping by norm needs the norm over all shards; an engine that cannot compute it stops.

    ## Example
    A Lightning trainer with the FSDP strategy and `gradient_clip_val` with the norm algorithm.

    ## Use instead
    `gradient_clip_algorithm: value`, or no clipping.

    ## Versions and evidence
    The frameworks' tables name the releases.
    """

    code, name = "FSD706", "clipping-with-fsdp"
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True:
            return
        for item in context.written:
            claims = item.option.schema.get("x-clipping") if item.option else None
            if claims and _clips(context, item):
                claim = choose(claims, context.versions, context.plan, plain(item.entry.value))
                if claim:
                    yield self.claimed(claim, context.at(item.path, "entry"), "gradient clipping under FSDP")


def _clips(context: Context, item: Written) -> bool:
    """Whether a bound of clipping is a number above 0, and its sibling keys are as the claims want them (``x-clipping-with``)."""
    value = plain(item.entry.value)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    if not fits({"format": "number-text"}, value) or float(value) <= 0:
        return False
    siblings = item.option.schema.get("x-clipping-with", {}) if item.option else {}
    return all(is_among(context.value(*item.path[:-1], key), values) for key, values in siblings.items())


class Fp8WithFsdp(Rule):
    """## What it does
    Finds fp8 settings that the framework refuses under FSDP.

    ## Why it matters
    Every worker stops, after the nodes were allocated and the model was built.

    ## Example
    ```yaml
    distributed_type: FSDP
    mixed_precision: fp8
    fp8_config:
      backend: MSAMP
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    mixed_precision: fp8
    fp8_config:
      backend: TE
    ```

    ## Versions and evidence
    acc-fp8-msamp-fsdp, acc-fp8-ao-cpu-ram (read in accelerate 1.15.0 accelerator.py).
    """

    code, name = "FSD707", "fp8-with-fsdp"
    scope = "file"
    facts = ("acc-fp8-msamp-fsdp", "acc-fp8-ao-cpu-ram")

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True or context.plan.precision.value is not Precision.FP8:
            return
        for item in context.written:
            claims = item.option.schema.get("x-fp8") if item.option else None
            value = context.value(*item.path)
            claim = choose(claims, context.versions, context.plan, value) if claims else None
            if claim:
                yield self.claimed(claim, context.at(item.path), f"fp8 by {value} under FSDP")


RULES = (
    DoubleCheckpointing(),
    PrecisionConflict(),
    QuantizationWithFsdp(),
    QuantStorageDtype(),
    OptimizerWithFsdp(),
    ClippingWithFsdp(),
    Fp8WithFsdp(),
)
