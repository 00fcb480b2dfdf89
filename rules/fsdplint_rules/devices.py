"""What needs an accelerator, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class FsdpNeedsAccelerator(Rule):
    """## What it does
    Finds FSDP on a device where the framework does not shard: cpu, mps and mlx under accelerate, the HF Trainer and Lightning; anything
    but cuda under soup.

    Speaks only where a file, the launch or `--device` names the device. ROCm, XPU, NPU, HPU, MLU and MUSA are fine under accelerate.

    ## Why it matters
    torch itself can shard on CPU, but accelerate starts independent processes there that never talk to each other.

    ## Example
    With `--device cpu`:
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_CPU
    num_processes: 2
    ```

    ## Versions and evidence
    acc-fsdp-no-accelerator, acc-fsdp-use-cpu, TRF-FSDP-37, soup-device (run).
    """

    code, name = "FSD201", "fsdp-needs-accelerator"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.fsdp.value is not True or plan.device.value is None:
            return
        claim = context.consequence(self, plan.fsdp, across=True)
        if claim:
            related = noted(plan.device, f"the device is {plan.device.value}")
            fault = f"FSDP on {plan.device.value}" + ("" if plan.device.place else f" ({plan.device.source})")
            yield self.claimed(claim, context.home("fsdp"), fault, related=related)


class FeatureNeedsCuda(Rule):
    """## What it does
    Finds other features of a file that the named device lacks: 8-bit optimizers and bitsandbytes quantization, tf32, NCCL options, soup's
    pipeline parallelism.

    ## Why it matters
    The feature's library fails at import or at the first step.

    ## Example
    With `--device mps`:
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    training:
      use_fsdp2_compile: true
    ```

    ## Use instead
    ```yaml
    base: meta-llama/Llama-3.1-8B
    data:
      train: data.jsonl
    ```

    ## Versions and evidence
    soup-compile-device (run with soup-cli 0.77.0), TRF-MP-03, axo-fp8-device.
    """

    code, name = "FSD202", "feature-needs-cuda"
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        device = context.plan.device
        if device.value is None:
            return
        for item in context.written:
            needs = item.option.schema.get("x-needs-device", []) if item.option else []
            for need in needs:
                if device.value in need["not-on"] and _asks(context, item.path, need):
                    at = context.at(item.path, "entry")
                    yield self.finding(
                        at,
                        f"`{item.path[-1]}` on {device.value}: {need['says']}",
                        outcome=need["outcome"],
                        help=need.get("help"),
                    )
                    break


def _asks(context: Context, path: tuple[str | int, ...], need: dict[str, object]) -> bool:
    value = context.document.value(path)
    wanted = need.get("value", [True])
    if "when" in need and not context.versions.has(str(need["when"])):
        return False
    return isinstance(wanted, list) and any(value == w and type(value) is type(w) for w in wanted)


RULES = (FsdpNeedsAccelerator(), FeatureNeedsCuda())
