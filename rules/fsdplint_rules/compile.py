"""torch.compile beside the engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class CompileNeedsFsdp(Rule):
    """## What it does
    Finds soup's `use_fsdp2_compile` without FSDP on the command line. Plain `torch_compile` without FSDP is fine and not reported.

    ## Why it matters
    soup refuses the pair.

    ## Example
    `soup train --config soup.yaml` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    `soup train --config soup.yaml --gpus 2 --fsdp full_shard`

    ## Versions and evidence
    soup-compile-nofsdp (run with soup-cli 0.77.0).
    """

    code, name = "FSD501", "compile-needs-fsdp"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        at = plan.fsdp2_compile.place
        if plan.fsdp2_compile.value is not True or at is None or plan.fsdp.value is True:
            return
        claim = context.consequence(self, plan.fsdp2_compile)
        if not claim:
            return
        if context.is_whole_launch:
            yield self.claimed(claim, at, f"`{at.path[-1]}` without FSDP")
        else:
            yield self.finding(at, f"`{at.path[-1]}` needs FSDP on the command line: {claim.says}", outcome="advice", help=claim.help)


class CompileWithDeepspeed(Rule):
    """## What it does
    Finds FSDP's compile switch beside DeepSpeed, and `torch_compile` beside DeepSpeed where the framework refuses it.

    ## Why it matters
    soup and axolotl before 0.13 stop. The HF Trainer accepts the pair, so it is not reported there.

    ## Example
    `soup train --config soup.yaml --deepspeed zero3` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    `soup train --config soup.yaml --gpus 2 --fsdp full_shard`

    ## Versions and evidence
    soup-compile-ds, axo-compile-ds (run), TRF-DS-06 (run: fine).
    """

    code, name = "FSD502", "compile-with-deepspeed"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        switch = plan.fsdp2_compile if plan.fsdp2_compile.value is True else plan.compile
        if switch.value is not True or switch.place is None or not (plan.deepspeed.value or plan.deepspeed_config.value):
            return
        claim = context.consequence(self, switch, across=True)
        if claim:
            place = plan.deepspeed.place or plan.deepspeed_config.place
            yield self.claimed(
                claim,
                switch.place,
                f"`{switch.place.path[-1]}` with DeepSpeed",
                related=[(place, "DeepSpeed is chosen here")] if place else [],
            )


class CompileWithBackend(Rule):
    """## What it does
    Finds FSDP's compile switch with a backend that cannot use it.

    ## Why it matters
    unsloth compiles its own kernels; mlx is not torch at all. soup refuses both.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: unsloth
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: transformers
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Versions and evidence
    soup-compile-backend (run with soup-cli 0.77.0).
    """

    code, name = "FSD503", "compile-with-backend"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.fsdp2_compile.value is not True or plan.fsdp2_compile.place is None or plan.backend.value in (None, "transformers"):
            return
        claim = context.consequence(self, plan.fsdp2_compile)
        if claim:
            related = noted(plan.backend, f"the backend is {plan.backend.value}")
            yield self.claimed(
                claim,
                plan.fsdp2_compile.place,
                f"`use_fsdp2_compile` with the {plan.backend.value} backend",
                related=related,
            )


class CompileNeedsOrigParams(Rule):
    """## What it does
    Finds torch.compile with FSDP1 and `use_orig_params: false` where torch refuses it.

    ## Why it matters
    torch before 2.1 asserts on flat parameters under compile. Newer releases train the pair correctly, so they are not reported.

    ## Example
    With `--target torch==2.0.1 --target accelerate==0.24.0`:
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    dynamo_config:
      dynamo_backend: INDUCTOR
    fsdp_config:
      fsdp_use_orig_params: false
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    dynamo_config:
      dynamo_backend: INDUCTOR
    fsdp_config:
      fsdp_use_orig_params: true
    ```

    ## Versions and evidence
    acc-compile-noorig (run with torch 2.13: trains; asserted by torch of the 2.0 era, from an issue thread).
    """

    code, name, severity = "FSD504", "compile-needs-orig-params", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if (
            plan.fsdp.value is not True
            or plan.fsdp_version.value != 1
            or plan.compile.value is not True
            or plan.orig_params.value is not False
        ):
            return
        claim = context.consequence(self, plan.orig_params)
        if claim:
            yield self.claimed(claim, context.home("orig_params"), "torch.compile with FSDP1 and flat parameters")


class CompileIgnored(Rule):
    """## What it does
    Finds compile switches that nothing reads.

    ## Why it matters
    The run is as slow as before, and the file says otherwise.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    task: dpo
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    task: sft
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Versions and evidence
    soup-S1 (read in soup-cli 0.77.0).
    """

    code, name, severity = "FSD505", "compile-ignored", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        may_run = plan.fsdp.value is True or (plan.fsdp.is_silent and not context.is_whole_launch)
        if plan.fsdp2_compile.value is True and plan.fsdp2_compile.place and may_run:
            claim = context.consequence(self, plan.fsdp2_compile)
            if claim:
                yield self.claimed(claim, plan.fsdp2_compile.place, "`use_fsdp2_compile` has no effect here")


RULES = (CompileNeedsFsdp(), CompileWithDeepspeed(), CompileWithBackend(), CompileNeedsOrigParams(), CompileIgnored())
