"""Blocks and keys of an accelerate file that are not read as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import Keys, choose, is_known
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects import Written

_PREFIX = "parallelism_config_"
_SIZES = ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size", "sp_size")


class AccelerateRule(Rule):
    """A rule about the config file of `accelerate launch`, also where a training file belongs to the launch."""

    dialects = ("accelerate",)
    scope = "file"

    def keys(self, context: Context) -> Keys:
        """The file's keys by canonical path; of a launch line there are none."""
        return Keys(context.table, context.document, context.versions)


class UnreadKey(AccelerateRule):
    """## What it does
    Finds keys that nothing reads beside what else is written: `fp8_config` without `mixed_precision: fp8`, `use_cpu` with
    FSDP, the block of another engine.

    ## Why it matters
    The file asks for something that does not happen, and no message says so.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    mixed_precision: bf16
    fp8_config:
      backend: TE
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    mixed_precision: fp8
    fp8_config:
      backend: TE
    ```

    ## Versions and evidence
    acc-fp8-config-without-fp8, acc-fsdp-use-cpu (run with accelerate 1.15.0). A DeepSpeed or Megatron block beside a launcher that shards
    nothing: the run trains unsharded replicas (commands/launch.py).
    """

    code, name, severity = "ACC001", "unread-key", Severity.WARNING
    facts = ("acc-fp8-config-without-fp8", "acc-fsdp-use-cpu", "acc-ignored-modules-floor")

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            value = plain(item.entry.value)
            if item.option is None or value in (None, "", [], {}) or is_placeholder(value) or not is_known(item.option, context.versions):
                continue
            claim = choose(item.option.schema.get("x-unread", []), context.versions, context.plan, value)
            if claim:
                yield self.claimed(claim, context.at(item.path, "key"), f"`{item.path[-1]}` has no effect")


class ParallelismKeyWithoutPrefix(AccelerateRule):
    """## What it does
    Finds parallel sizes in `parallelism_config` that lack the prefix `parallelism_config_`. Other blocks of the file may
    leave their prefix out, this one may not.

    ## Why it matters
    accelerate does not read such a key. All sizes stay 1, so that plain FSDP over all processes trains.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_processes: 4
    fsdp_config:
      fsdp_version: 2
    parallelism_config:
      dp_shard_size: 2
      tp_size: 2
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 4
    fsdp_config:
      fsdp_version: 2
    parallelism_config:
      parallelism_config_dp_shard_size: 2
      parallelism_config_tp_size: 2
    ```

    ## Versions and evidence
    acc-pc-noprefix (run with accelerate 1.10.0 to 1.15.0, two processes).
    """

    code, name = "ACC002", "parallelism-key-without-prefix"
    facts = ("acc-pc-noprefix",)

    def check(self, context: Context) -> Iterator[Finding]:
        bare = [item for item in context.written if item.owner_path == ("parallelism_config",) and _lacks_prefix(item)]
        if not bare or context.plan.fsdp.value is False or not context.versions.has("accelerate>=1.10.0"):
            return
        lost = _is_lost({str(item.path[-1]): plain(item.entry.value) for item in bare}, context.plan.processes.value)
        for item in bare:
            name = str(item.path[-1])
            value = plain(item.entry.value)
            asks = name in _SIZES and isinstance(value, int) and value > 1
            says = "accelerate does not read it" + (", the size stays 1" if asks else "")
            outcome = "misleads" if lost and asks else "ignored"
            yield self.finding(
                context.at(item.path, "key"), f"`{name}` lacks its prefix: {says}", outcome=outcome, help=f"write `{_PREFIX}{name}`"
            )


def _lacks_prefix(item: Written) -> bool:
    return item.option is not None and not item.option.name.startswith(_PREFIX)


def _is_lost(sizes: dict[str, object], processes: int | None) -> bool:
    """Whether plain FSDP over all processes is something else than the sizes ask for."""
    above = {name: value for name, value in sizes.items() if name in _SIZES and isinstance(value, int) and value > 1}
    return set(above) != {"dp_shard_size"} or (processes is not None and above["dp_shard_size"] != processes) if above else False


class ParallelismNeedsFsdp2(AccelerateRule):
    """## What it does
    Finds parallel sizes above 1 with FSDP1, which is also what an absent `fsdp_version` means.

    ## Why it matters
    The launcher has a check for this that never fires from a file; every worker raises instead.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 1
    parallelism_config:
      parallelism_config_dp_shard_size: 2
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
    parallelism_config:
      parallelism_config_dp_shard_size: 2
    ```

    ## Versions and evidence
    acc-pc-fsdp1 (run with accelerate 1.10.0 to 1.15.0).
    """

    code, name = "ACC003", "parallelism-needs-fsdp2"
    facts = ("acc-pc-fsdp1",)

    def check(self, context: Context) -> Iterator[Finding]:
        plan, keys = context.plan, self.keys(context)
        sizes = (plan.dp_replicate, plan.dp_shard, plan.tp, plan.cp, plan.sp)
        if ("parallelism_config",) not in keys or plan.fsdp.value is not True or plan.fsdp_version.value != 1:
            return
        if any(size.is_written and size.value is not None and size.value > 1 for size in sizes):
            at = keys.place("parallelism_config", part="key")
            related = noted(plan.fsdp_version, "FSDP1 is in force")
            fault = "parallel sizes with FSDP1" + ("" if plan.fsdp_version.place else f" ({plan.fsdp_version.source})")
            help = "write `fsdp_version: 2` in `fsdp_config`"
            yield self.finding(at, f"{fault}: every worker raises ValueError", outcome="refused", related=related, help=help)


class DynamoKeyWithoutPrefix(AccelerateRule):
    """## What it does
    Finds keys of `dynamo_config` without their prefix `dynamo_` for accelerate before 1.14.0.

    ## Why it matters
    Those releases read the prefixed keys only: nothing is compiled, without a message.

    ## Example
    With `--target accelerate==1.13.0`:
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    dynamo_config:
      backend: inductor
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    dynamo_config:
      dynamo_backend: inductor
    ```

    ## Versions and evidence
    commands/launch.py (run with 20 releases from accelerate 0.21.0 to 1.15.0).
    """

    code, name, severity = "ACC009", "dynamo-key-without-prefix", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        if not context.versions.has("accelerate<1.14.0"):
            return
        for item in context.written:
            key = str(item.path[-1])
            if item.owner_path == ("dynamo_config",) and item.option and key != item.option.name:
                fault = f"`{key}` lacks its prefix: accelerate reads it since 1.14.0 only"
                yield self.finding(context.at(item.path, "key"), fault, outcome="ignored", help=f"write `{item.option.name}`")


RULES: tuple[Rule, ...] = (
    UnreadKey(),
    ParallelismKeyWithoutPrefix(),
    ParallelismNeedsFsdp2(),
    DynamoKeyWithoutPrefix(),
)
