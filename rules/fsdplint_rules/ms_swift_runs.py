"""Faults of ms-swift's files that concern how and where the run takes place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.ms_swift import SwiftRule

if TYPE_CHECKING:
    from collections.abc import Iterator

_VISIBLE = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES")


class OneProcessManyGpus(SwiftRule):
    """## What it does
    Finds FSDP and DeepSpeed in one process that sees several GPUs: NPROC_PER_NODE is neither in ENV nor before the launch line, or too
    small.

    ## Why it matters
    ms-swift would spread the model over the GPUs by a device map, and raises ValueError.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    ENV: {CUDA_VISIBLE_DEVICES: "0,1,2,3", NPROC_PER_NODE: 2}
    fsdp: fsdp2
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    ENV: {CUDA_VISIBLE_DEVICES: "0,1,2,3", NPROC_PER_NODE: 4}
    fsdp: fsdp2
    ```

    ## Versions and evidence
    sw-fsdp-mp, sw-ds-mp (read in swift/arguments/sft_args.py of 4.6.0; the ENV mapping in swift/cli/main.py).
    """

    code, name = "SWF003", "one-process-many-gpus"
    facts = ("sw-fsdp-mp", "sw-ds-mp")

    def check(self, context: Context) -> Iterator[Finding]:
        own, command = context.own, context.launch.command
        engine = own.fsdp if own.fsdp.value is True and context.versions.has("ms-swift>=3.12.0") else own.deepspeed
        started = command is not None and re.search(r"\b(?:torchrun|torch\.distributed\.run|accelerate|deepspeed)\s", command.document.text)
        if engine.value is not True or engine.place is None or started or self.is_on(context, "use_ray"):
            return
        processes = self.setting(context, "NPROC_PER_NODE")
        gpus = self._gpus(context)
        if gpus is None or (processes is None and command is None) or not (processes or "1").isdigit():
            return
        if gpus // max(int(processes or 1), 1) >= 2:
            name = "FSDP" if engine is own.fsdp else "DeepSpeed"
            started_by = "one process" if processes in (None, "1") else f"{processes} processes"
            text = f"{gpus} GPUs for {started_by}: ms-swift raises ValueError, {name} is not compatible with a device map"
            yield self.finding(engine.place, text, help=f"set NPROC_PER_NODE={gpus}")

    def _gpus(self, context: Context) -> int | None:
        for name in _VISIBLE:
            visible = self.setting(context, name)
            if visible is not None:
                return len([part for part in visible.split(",") if part.strip()])
        return context.plan.processes.value if context.launch.command is not None else None


class PaddingFreeNeedsFlash(SwiftRule):
    """## What it does
    Finds `packing` and `padding_free` without a flash attention implementation.

    ## Why it matters
    ms-swift raises ValueError.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    packing: true
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    packing: true
    attn_impl: flash_attn
    ```

    ## Versions and evidence
    sw-pad (read in the argument classes of 3.9.3 to 4.6.0).
    """

    code, name = "SWF004", "padding-free-needs-flash"
    scope = "file"
    facts = ("sw-pad",)

    def check(self, context: Context) -> Iterator[Finding]:
        implementation = context.value("attn_impl")
        flash = str(implementation).startswith("flash") or is_placeholder(implementation)
        key = next((key for key in ("packing", "padding_free") if self.is_on(context, key)), None)
        exports = any(context.document.has((name,)) for name in ("to_cached_dataset", "infer_backend", "export_dir"))
        if key is None or flash or exports or (key,) not in context.table.options or not context.versions.has("ms-swift>=3.9"):
            return
        related = [(context.at(("attn_impl",)), "no flash attention")] if implementation is not None else []
        text = f"`{key}` without flash attention: ms-swift raises ValueError"
        yield self.finding(context.at((key,), "entry"), text, help="write `attn_impl: flash_attn`", related=related)


class RolloutNeedsFsdp2(SwiftRule):
    """## What it does
    Finds GRPO and GKD under FSDP1.

    ## Why it matters
    The trainers with a rollout raise NotImplementedError when they are built.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    rlhf_type: grpo
    dataset: [AI-MO/NuminaMath-TIR#1000]
    fsdp:
      fsdp: full_shard auto_wrap
      fsdp_config:
        fsdp_version: 1
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    rlhf_type: grpo
    dataset: [AI-MO/NuminaMath-TIR#1000]
    fsdp: fsdp2
    ```

    ## Versions and evidence
    sw-fsdp1-rl (read in rollout_mixin.py of 3.12.0 to 4.6.0).
    """

    code, name = "SWF005", "rollout-needs-fsdp2"
    facts = ("sw-fsdp1-rl",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        rollout = context.value("rlhf_type") in ("grpo", "gkd") and context.versions.has("ms-swift>=3.12.0")
        if rollout and plan.fsdp.value is True and plan.fsdp_version.value == 1 and not context.dialect.is_companion:
            at = plan.fsdp_version.place or plan.fsdp.place or context.at(("rlhf_type",))
            related = [(context.at(("rlhf_type",)), "the trainer"), *noted(plan.fsdp, "FSDP is switched on here")]
            text = f"FSDP1 with {context.value('rlhf_type')}: the trainer raises NotImplementedError"
            yield self.finding(at, text, help="write `fsdp_version: 2`", related=related)


class MegatronFsdp(SwiftRule):
    """## What it does
    Finds `use_megatron_fsdp` with an optimizer that it does not know, and with CUDA_DEVICE_MAX_CONNECTIONS at 1, which is what ms-swift
    sets where nobody sets it.

    ## Why it matters
    ms-swift raises ValueError.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-7B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    micro_batch_size: 1
    ENV: {CUDA_DEVICE_MAX_CONNECTIONS: "1"}
    use_megatron_fsdp: true
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-7B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    micro_batch_size: 1
    ENV: {CUDA_DEVICE_MAX_CONNECTIONS: "32"}
    use_megatron_fsdp: true
    ```

    ## Versions and evidence
    sw-mfsdp (read in swift/megatron/arguments/megatron_args.py of 4.5.3 and 4.6.0).
    """

    code, name = "SWF006", "megatron-fsdp"
    scope = "file"
    facts = ("sw-mfsdp",)

    def check(self, context: Context) -> Iterator[Finding]:
        if not self.is_on(context, "use_megatron_fsdp"):
            return
        switch, optimizer = context.at(("use_megatron_fsdp",)), context.value("optimizer")
        if isinstance(optimizer, str) and optimizer not in ("adam", "sgd") and not is_placeholder(optimizer):
            text = f"the optimizer `{optimizer}` with Megatron-FSDP: ms-swift raises ValueError"
            yield self.finding(context.at(("optimizer",)), text, help="write `adam` or `sgd`", related=[(switch, "Megatron-FSDP")])
        connections, help = self.setting(context, "CUDA_DEVICE_MAX_CONNECTIONS"), "set CUDA_DEVICE_MAX_CONNECTIONS to 32 in ENV"
        if connections == "1":
            written = ("ENV", "CUDA_DEVICE_MAX_CONNECTIONS")
            at = context.at(written, "entry") if context.document.has(written) else switch
            text = "Megatron-FSDP with CUDA_DEVICE_MAX_CONNECTIONS at 1: ms-swift raises ValueError"
            yield self.finding(at, text, help=help, related=[] if at is switch else [(switch, "Megatron-FSDP")])
        elif connections is None:
            text = "Megatron-FSDP without CUDA_DEVICE_MAX_CONNECTIONS: unless it is exported, ms-swift sets it to 1 and raises ValueError"
            yield self.finding(switch, text, outcome="ignored", help=help)


RULES: tuple[Rule, ...] = (OneProcessManyGpus(), PaddingFreeNeedsFlash(), RolloutNeedsFsdp2(), MegatronFsdp())
