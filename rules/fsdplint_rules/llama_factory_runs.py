"""Faults that lie between a file of LLaMA-Factory and how the run is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.llama_factory import ClassicRule

if TYPE_CHECKING:
    from collections.abc import Iterator

_YES = r"(?:1|y|yes|t|true|on)\b"
_DISTRIBUTED = re.compile(
    rf"(?i)\b(?:FORCE_TORCHRUN|USE_RAY|USE_MCA)={_YES}|(?:^|[\s/])(?:torchrun|accelerate|deepspeed|mpirun|mpiexec|srun)\s|torch\.distributed\.(?:run|launch)\b"
)
_CLI = re.compile(r"(?:^|[\s/])(?:llamafactory-cli|llamafactory|lmf)\s+(?:train|sft)\b")
_PYTHON = re.compile(r"(?:^|[\s/])python[\d.]*\s")
_VISIBLE = re.compile(r"\b(?:CUDA|ASCEND_RT|HIP|MUSA)_VISIBLE_DEVICES=[\"']?([\d,]+)")


class HyperParallelNeedsFsdp2(ClassicRule):
    """## What it does
    Finds `use_hyper_parallel` in a run that accelerate does not shard by FSDP2. Until the launch is known it is a remark.

    ## Why it matters
    HyperParallel's trainer raises once the model is loaded: it wants accelerate's FSDP2 mode.

    ## Example
    ```yaml
    model_name_or_path: Qwen/Qwen3-4B
    stage: sft
    do_train: true
    finetuning_type: full
    dataset: identity
    template: qwen3
    use_hyper_parallel: true
    deepspeed: examples/deepspeed/ds_z2_config.json
    ```

    ## Use instead
    An accelerate file with `distributed_type: FSDP` and `fsdp_version: 2`, which `accelerate launch` reads.

    ## Versions and evidence
    lf-hp-fsdp2 (read in LLaMA-Factory@ff6d4d12 train/hyper_parallel).
    """

    code, name = "LLF008", "hyper-parallel-needs-fsdp2"
    facts = ("lf-hp-fsdp2",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if not self.is_on(context, "use_hyper_parallel") or plan.fsdp.unknown or not context.versions.has("llamafactory>=0.9.5"):
            return
        at, help = context.at(("use_hyper_parallel",), "entry"), "start by accelerate with `distributed_type: FSDP` and `fsdp_version: 2`"
        raises = "the trainer raises ValueError, it requires accelerate's FSDP2 mode"
        if plan.deepspeed.value is True:
            yield self.finding(at, f"`use_hyper_parallel` with DeepSpeed: {raises}", help=help, related=self.engines(context))
        elif plan.fsdp.value is True and plan.fsdp_version.value == 1:
            related = [*noted(plan.fsdp_version, "FSDP1"), *self.engines(context)]
            yield self.finding(at, f"`use_hyper_parallel` with FSDP1: {raises}", help=help, related=related)
        elif plan.fsdp.value is not True and len(context.launch.members) > 1:
            yield self.finding(at, f"`use_hyper_parallel` without FSDP: {raises}", help=help)
        elif plan.fsdp.value is not True:
            yield self.finding(at, "`use_hyper_parallel` needs accelerate's FSDP2 mode", outcome="advice", help=help)


class MegatronBridgeConflict(Rule):
    """## What it does
    Finds DeepSpeed and quantization in a run on Megatron Bridge (`use_megatron_bridge`, or USE_MEGATRON_BRIDGE=1 before the launch line).

    ## Why it matters
    The parser raises ValueError.

    ## Example
    ```yaml
    model_name_or_path: meta-llama/Llama-3.2-1B-Instruct
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: alpaca_en_demo
    template: llama3
    use_megatron_bridge: true
    deepspeed: examples/deepspeed/ds_z3_config.json
    ```

    ## Use instead
    ```yaml
    model_name_or_path: meta-llama/Llama-3.2-1B-Instruct
    stage: sft
    do_train: true
    finetuning_type: lora
    dataset: alpaca_en_demo
    template: llama3
    use_megatron_bridge: true
    ```

    ## Versions and evidence
    lf-mbridge-ds (read in hparams/parser.py of LLaMA-Factory@ff6d4d12; not in 0.9.5).
    """

    code, name = "LLF009", "megatron-bridge-conflict"
    dialects = ("llama-factory",)
    facts = ("lf-mbridge-ds",)

    def check(self, context: Context) -> Iterator[Finding]:
        by_line = re.search(rf"(?i)\bUSE_MEGATRON_BRIDGE={_YES}", _line(context)) is not None
        if not (context.value("use_megatron_bridge") is True or by_line) or not context.versions.has("llamafactory>=0.9.6"):
            return
        for key in ("deepspeed", "quantization_bit"):
            if context.value(key):
                related = [] if by_line else [(context.at(("use_megatron_bridge",)), "Megatron Bridge")]
                text = f"`{key}` with Megatron Bridge: LLaMA-Factory raises ValueError"
                yield self.finding(context.at((key,), "entry"), text, help="drop one of the two", related=related)


class NotDistributed(ClassicRule):
    """## What it does
    Finds launch lines that start one process where the file, or several visible GPUs, want more: `deepspeed` on one GPU without
    FORCE_TORCHRUN=1, and a plain `python` on several GPUs.

    ## Why it matters
    The parser raises ValueError before anything is loaded.

    ## Example
    `llamafactory-cli train config.yaml` on one GPU, with `deepspeed: ds_z3_config.json` in the file.

    ## Use instead
    `FORCE_TORCHRUN=1 llamafactory-cli train config.yaml`

    ## Versions and evidence
    lf-ds-launch, lf-not-launched (read in hparams/parser.py and launcher.py of 0.8.3 to 0.9.5).
    """

    code, name = "LLF010", "not-distributed"
    facts = ("lf-ds-launch", "lf-not-launched")

    def check(self, context: Context) -> Iterator[Finding]:
        line = _line(context)
        if not line or _DISTRIBUTED.search(line):
            return
        by_cli, gpus = _CLI.search(line) is not None, _gpus(context, line)
        deepspeed = context.own.deepspeed
        if not by_cli and not _PYTHON.search(line):
            return
        if not by_cli and (gpus or 0) > 1 and not self.is_on(context, "use_kt"):
            text = f"a plain python on {gpus} GPUs: LLaMA-Factory raises ValueError"
            yield self.finding(_whole_line(context, line), text, help="start with `llamafactory-cli train` or torchrun")
        elif deepspeed.value is True and deepspeed.place and (gpus == 1 or not by_cli):
            text = "`deepspeed` in a single process: LLaMA-Factory raises ValueError"
            related = [(_whole_line(context, line), "this starts one process")]
            yield self.finding(deepspeed.place, text, help="put FORCE_TORCHRUN=1 before the launch line", related=related)
        elif deepspeed.value is True and deepspeed.place and gpus is None:
            text = "on a host with one GPU `deepspeed` needs FORCE_TORCHRUN=1 before the launch line"
            yield self.finding(deepspeed.place, text, outcome="advice")


class JsonNotRead(Rule):
    """## What it does
    Finds files in JSON for llamafactory 0.9.5, and for the v1 trainer of 0.9.4.

    ## Why it matters
    `llamafactory-cli` hands the path itself to the JSON reader: AttributeError, 'PosixPath' object has no attribute 'read'. A script that
    reads the file by itself is not concerned.

    ## Example
    A file `config.json`, with `--target llamafactory==0.9.5`.

    ## Use instead
    The same keys in `config.yaml`, or another release.

    ## Versions and evidence
    hparams/parser.py and v1/config/arg_parser.py of 0.9.4 and 0.9.5 (0.9.5 run); 0.9.3 and the classic trainer of 0.9.4 read JSON.
    """

    code, name, severity = "LLF011", "json-not-read", Severity.WARNING
    dialects = ("llama-factory",)
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        is_v1 = ("dist_config",) in context.table.options
        if context.document.format == "json" and context.versions.has("llamafactory>=0.9.4,<0.9.6" if is_v1 else "llamafactory==0.9.5"):
            text = "llamafactory-cli cannot read JSON: AttributeError before any key is looked at"
            yield self.finding(context.at(()), text, help="write the file as YAML")


def _line(context: Context) -> str:
    """The launch line; empty where none is known."""
    command = context.launch.command
    return command.document.text if command is not None else ""


def _whole_line(context: Context, line: str) -> Place:
    command = context.launch.command
    return Place(command.document, (), (0, len(line))) if command is not None else context.at(())


def _gpus(context: Context, line: str) -> int | None:
    """How many GPUs the process sees: by CUDA_VISIBLE_DEVICES before the launch line, else by ``--gpus``."""
    visible = _VISIBLE.search(line)
    return len([part for part in visible[1].split(",") if part]) if visible else context.plan.processes.value


RULES: tuple[Rule, ...] = (HyperParallelNeedsFsdp2(), MegatronBridgeConflict(), NotDistributed(), JsonNotRead())
