"""Faults of files for LLaMA-Factory's v1 trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.plan import Fact


class V1Rule(Rule):
    """A rule about files of the v1 trainer, in which `dist_config` names the engine."""

    dialects = ("llama-factory",)

    def is_v1(self, context: Context) -> bool:
        """Whether the file is one."""
        return ("dist_config",) in context.table.options


class ContextParallelNeedsFsdp2(V1Rule):
    """## What it does
    Finds context parallelism (`cp_size` above 1) without `dist_config.name: fsdp2`.

    ## Why it matters
    The v1 trainer raises ValueError when it is built.

    ## Example
    ```yaml
    model: Qwen/Qwen3-0.6B
    model_class: llm
    dist_config:
      name: deepspeed
      config_file: examples/deepspeed/ds_z3_config.json
    cp_size: 2
    train_dataset: data/v1_sft_demo.yaml
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen3-0.6B
    model_class: llm
    dist_config:
      name: fsdp2
    cp_size: 2
    train_dataset: data/v1_sft_demo.yaml
    ```

    ## Versions and evidence
    lf1-cp-ds (read in v1/core/base_trainer.py of LLaMA-Factory@ff6d4d12, and in v1/plugins/trainer_plugins/distributed/hub.py of 0.9.5).
    """

    code, name = "LLF101", "context-parallel-needs-fsdp2"
    facts = ("lf1-cp-ds",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if not self.is_v1(context) or plan.cp.place is None or (plan.cp.value or 1) < 2 or plan.fsdp.unknown:
            return
        if plan.deepspeed.value is True or plan.fsdp.is_silent:
            what = "with DeepSpeed" if plan.deepspeed.value is True else "without `dist_config`"
            text = f"context parallelism {what}: the v1 trainer raises ValueError"
            yield self.finding(
                plan.cp.place, text, help="write `dist_config: {name: fsdp2}`", related=noted(plan.deepspeed, "DeepSpeed is chosen here")
            )


class DeepspeedFp16(V1Rule):
    """## What it does
    Finds `fp16` in the DeepSpeed JSON that a v1 file names.

    ## Why it matters
    The v1 trainer knows bf16 alone and raises ValueError.

    ## Example
    A v1 file with `dist_config: {name: deepspeed, config_file: ds.json}`, and `"fp16": {"enabled": true}` in ds.json.

    ## Use instead
    `"bf16": {"enabled": true}`

    ## Versions and evidence
    lf1-ds-fp16 (read in v1/plugins/model_plugins/deepspeed_utils.py of 0.9.5 and ff6d4d12).
    """

    code, name = "LLF102", "deepspeed-fp16"
    facts = ("lf1-ds-fp16",)

    def check(self, context: Context) -> Iterator[Finding]:
        if not self.is_v1(context) or context.plan.deepspeed.value is not True:
            return
        for file in context.launch.files:
            path = ("fp16", "enabled")
            if file.dialect.name == "deepspeed" and str(file.document.value(path)).lower() == "true":
                related = noted(context.plan.deepspeed_config, "the file is named here")
                text = "fp16 in DeepSpeed's settings: the v1 trainer raises ValueError, only bf16 is supported"
                yield self.finding(Place(file.document, path), text, help="write `bf16` in its place", related=related)


class NoDistConfig(V1Rule):
    """## What it does
    Finds v1 files without `dist_config` in a run of several processes (`--gpus`).

    ## Why it matters
    The v1 trainer falls back to DistributedDataParallel: every rank holds the whole model.

    ## Example
    `dist_config: null`, started on eight GPUs.

    ## Use instead
    ```yaml
    model: Qwen/Qwen3-0.6B
    model_class: llm
    dist_config:
      name: fsdp2
    train_dataset: data/v1_sft_demo.yaml
    ```

    ## Versions and evidence
    lf1-none-dist (read in v1/core/base_trainer.py of 0.9.5 and ff6d4d12).
    """

    code, name = "LLF103", "no-dist-config"
    facts = ("lf1-none-dist",)

    def check(self, context: Context) -> Iterator[Finding]:
        processes = context.plan.processes.value or 1
        if self.is_v1(context) and context.value("dist_config") is None and processes > 1:
            text = f"no `dist_config` for {processes} processes: plain DistributedDataParallel runs, nothing is sharded"
            written = context.document.has(("dist_config",))
            yield self.finding(
                context.at(("dist_config",), "key"),
                text,
                outcome="misleads" if written else "ignored",
                help="write `dist_config: {name: fsdp2}`",
            )


class V1Mesh(V1Rule):
    """## What it does
    Finds parallel sizes of the v1 trainer that do not multiply to the number of processes (`--gpus`).

    ## Why it matters
    Every process raises before the model is loaded.

    ## Example
    `mp_replicate_size: 2` with `mp_shard_size: 2`, started on eight GPUs.

    ## Use instead
    ```yaml
    model: Qwen/Qwen3-0.6B
    model_class: llm
    dist_config:
      name: fsdp2
    mp_replicate_size: 2
    train_dataset: data/v1_sft_demo.yaml
    ```

    ## Versions and evidence
    v1/accelerator/interface.py of 0.9.5 (read).
    """

    code, name = "LLF104", "v1-mesh"

    def check(self, context: Context) -> Iterator[Finding]:
        plan, processes = context.plan, context.plan.processes.value
        if not self.is_v1(context) or not processes or processes < 2:
            return
        data = next((path for path in (("dp_size",), ("dist_config", "dp_size")) if context.document.has(path)), None)
        size = context.value(*data) if data else None
        yield from self._product(
            plan.dp_replicate, plan.dp_shard.value, plan.dp_shard.place, processes, ("mp_replicate_size", "mp_shard_size")
        )
        place = context.at(data) if data else None
        yield from self._product(plan.cp, size if isinstance(size, int) else None, place, processes, ("cp_size", "dp_size"))

    def _product(
        self, first: Fact[int], second: int | None, place: Place | None, processes: int, names: tuple[str, str]
    ) -> Iterator[Finding]:
        one = first.value or 1
        at = place or first.place
        if at is None or first.unknown or one < 1 or (second is None and place is not None):
            return
        if one * second != processes if second is not None else processes % one:
            asked = f"{names[0]} {one} times {names[1]} {second} is not" if second is not None else f"{names[0]} {one} does not divide"
            yield self.finding(
                at,
                f"{asked} the world size {processes}: every process raises",
                help=f"leave `{names[1]}` out, or make the product the number of processes",
            )


RULES = (ContextParallelNeedsFsdp2(), DeepspeedFp16(), NoDistConfig(), V1Mesh())
