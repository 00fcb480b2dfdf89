"""Training backends that cannot be sharded: unsloth, mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnslothWithFsdp(Rule):
    """## What it does
    Finds unsloth together with FSDP: unsloth before 2026.10.7, and soup's `backend: unsloth` always. A model id `unsloth/...` is not the
    backend.

    ## Why it matters
    unsloth's kernels own the parameters; sharded by FSDP they crash, or train on one process.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: unsloth
    data:
      train: data.jsonl
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: transformers
    data:
      train: data.jsonl
    ```

    ## Versions and evidence
    US-01 to US-04 (read), soup-unsloth (run with soup-cli 0.77.0).
    """

    code, name = "FSD301", "unsloth-with-fsdp"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.backend.value != "unsloth" or plan.backend.place is None or plan.fsdp.value is not True:
            return
        claim = context.consequence(self, plan.backend, across=True)
        if claim:
            related = noted(plan.fsdp, "FSDP is switched on here")
            yield self.claimed(claim, plan.backend.place, "unsloth with FSDP", related=related)


class UnslothWithDeepspeed(Rule):
    """## What it does
    Finds unsloth together with DeepSpeed ZeRO-3.

    ## Why it matters
    ZeRO-3 partitions the parameters that unsloth's kernels want whole.

    ## Example
    `soup train --config soup.yaml --deepspeed zero3` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: unsloth
    data:
      train: data.jsonl
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: transformers
    data:
      train: data.jsonl
    ```

    ## Versions and evidence
    soup-S4 (run with soup-cli 0.77.0).
    """

    code, name = "FSD302", "unsloth-with-deepspeed"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.backend.value != "unsloth" or plan.backend.place is None or not _shards_parameters(context):
            return
        claim = context.consequence(self, plan.backend, across=True)
        if claim:
            related = noted(plan.deepspeed_config, "ZeRO-3 is chosen here")
            yield self.claimed(claim, plan.backend.place, "unsloth with DeepSpeed ZeRO-3", related=related)


def _shards_parameters(context: Context) -> bool:
    word = str(context.plan.deepspeed_config.value or "").lower()
    if "zero++" in word or "zero_pp" in word:
        return True
    from fsdplint_rules.zero_stages import is_zero3

    return is_zero3(context)


class BackendWithoutFsdp(Rule):
    """## What it does
    Finds FSDP with a backend that has none (mlx).

    ## Why it matters
    The backend does not use torch at all.

    ## Example
    `soup train --config soup.yaml --fsdp full_shard` with
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: mlx
    data:
      train: data.jsonl
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    backend: transformers
    data:
      train: data.jsonl
    ```

    ## Versions and evidence
    soup-device: mlx is a device of its own to soup-cli 0.77.0 (run).
    """

    code, name = "FSD303", "backend-without-fsdp"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.backend.value in (None, "unsloth", "transformers") or plan.backend.place is None or plan.fsdp.value is not True:
            return
        claim = context.consequence(self, plan.backend, across=True)
        if claim:
            related = noted(plan.fsdp, "FSDP is switched on here")
            yield self.claimed(claim, plan.backend.place, f"FSDP with the {plan.backend.value} backend", related=related)


RULES = (UnslothWithFsdp(), UnslothWithDeepspeed(), BackendWithoutFsdp())
