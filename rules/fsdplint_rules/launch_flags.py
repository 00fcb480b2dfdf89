"""Faults of the flags of `accelerate launch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("--cpu", "--multi_gpu", "--tpu", "--use_deepspeed", "--use_fsdp")
"""The flags of which accelerate takes one (accelerate 0.21.0 to 1.15.0 commands/launch.py, read; 1.15.0 run)."""


class FlagRule(Rule):
    """A rule about a launch line that accelerate reads."""

    dialects = ("accelerate", "trl")
    scope = "file"

    def flags(self, context: Context) -> dict[str, tuple[str | int, ...]]:
        """The path of every flag that accelerate knows by its canonical name; empty for files."""
        if context.dialect.starts != "processes":
            return {}
        return {item.option.name: item.path for item in context.written if item.option}


class LaunchKindsClash(FlagRule):
    """## What it does
    Finds two flags that each say what accelerate is to start.

    ## Why it matters
    The launcher raises ValueError before any process starts.

    ## Example
    `accelerate launch --use_fsdp --multi_gpu train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Use instead
    `accelerate launch --use_fsdp train.py config.yaml`

    ## Versions and evidence
    Run with accelerate 1.15.0; read in 0.21.0, 1.5.2 and 1.10.0.
    """

    code, name = "ACC201", "launch-kinds-clash"

    def check(self, context: Context) -> Iterator[Finding]:
        written = self.flags(context)
        kinds = [kind for kind in KINDS if kind in written]
        if len(kinds) > 1:
            first, last = sorted((written[kinds[0]], written[kinds[-1]]), key=lambda path: _start(context, path))
            fault = f"{' and '.join(f'`{kind}`' for kind in kinds)} together: the launcher raises ValueError"
            yield self.finding(
                context.at(last, "key"), fault, help="keep one of them", related=[(context.at(first, "key"), "the other one")]
            )


def _start(context: Context, path: tuple[str | int, ...]) -> int:
    span = context.document.key_span(path)
    return span.start if span else 0


class ParallelismNeedsFsdpFlag(FlagRule):
    """## What it does
    Finds `--use_parallelism_config` without `--use_fsdp`.

    ## Why it matters
    The launcher raises ValueError: it looks at the flags before it reads the config file, even if that has FSDP.

    ## Example
    `accelerate launch --use_parallelism_config --parallelism_config_tp_size 2 train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Use instead
    `accelerate launch --use_fsdp --fsdp_version 2 --use_parallelism_config --parallelism_config_tp_size 2 train.py config.yaml`

    ## Versions and evidence
    Run with accelerate 1.15.0; read in 1.10.0.
    """

    code, name = "ACC202", "parallelism-needs-fsdp-flag"

    def check(self, context: Context) -> Iterator[Finding]:
        written = self.flags(context)
        if "--use_parallelism_config" in written and "--use_fsdp" not in written and context.versions.has("accelerate>=1.10.0"):
            at = context.at(written["--use_parallelism_config"], "key")
            fault = "`--use_parallelism_config` without `--use_fsdp`: the launcher raises ValueError, whatever the config file says"
            yield self.finding(at, fault, help="add `--use_fsdp --fsdp_version 2`, or write the sizes as `parallelism_config` in the file")


class ParallelFlagsIdle(FlagRule):
    """## What it does
    Finds parallel sizes among the flags while neither a flag nor the config file turns a parallelism config on.

    ## Why it matters
    The sizes are dropped without a word: plain data parallelism runs.

    ## Example
    `accelerate launch --use_fsdp --fsdp_version 2 --parallelism_config_tp_size 2 train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Use instead
    `accelerate launch --use_fsdp --fsdp_version 2 --use_parallelism_config --parallelism_config_tp_size 2 train.py config.yaml`

    ## Versions and evidence
    Run with accelerate 1.15.0 (launcher and its environment).
    """

    code, name, severity = "ACC203", "parallel-flags-idle", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        written = self.flags(context)
        sizes = [path for flag, path in written.items() if flag.startswith("--parallelism_config_") and flag.endswith("_size")]
        files = [file for file in context.launch.files if file.dialect.name == "accelerate"]
        unknown = not files and ("--config_file" in written or "--accelerate_config" in written)
        if (
            not sizes
            or unknown
            or "--use_parallelism_config" in written
            or any(file.document.value(("parallelism_config",)) for file in files)
        ):
            return
        fault = f"`{sizes[0][-1]}` without `--use_parallelism_config`: the launcher drops the sizes"
        help = "add `--use_parallelism_config --use_fsdp`, or write the sizes as `parallelism_config` in the config file"
        yield self.finding(context.at(sizes[0], "entry"), fault, outcome="misleads" if files else "ignored", help=help)


RULES = (LaunchKindsClash(), ParallelismNeedsFsdpFlag(), ParallelFlagsIdle())
