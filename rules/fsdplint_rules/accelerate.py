"""Faults that only files of `accelerate launch` have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.dialects import choose, is_known, word_bool
from fsdplint.dialects.accelerate import Keys
from fsdplint.document import Mapping, plain
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
    Finds keys that nothing reads beside what else is written: `fp8_config` without `mixed_precision: fp8`, `use_cpu` with FSDP, the block of another engine.

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
    acc-fp8-config-without-fp8, acc-fsdp-use-cpu (run with accelerate 1.15.0).
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
    Finds parallel sizes in `parallelism_config` that lack the prefix `parallelism_config_`. Other blocks of the file may leave their prefix out, this one may not.

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
            yield self.finding(context.at(item.path, "key"), f"`{name}` lacks its prefix: {says}", outcome=outcome, help=f"write `{_PREFIX}{name}`")


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


class QuotedLaunchBoolean(AccelerateRule):
    """## What it does
    Finds quoted booleans in the launcher's check of RAM-efficient loading against `fsdp_sync_module_states`. The check looks at the truth of the YAML value, and any text is true.

    ## Why it matters
    `'false'` for RAM-efficient loading raises an error about a combination that is not there; `'false'` for `fsdp_sync_module_states` passes the check, and accelerate then
    overrules it.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_cpu_ram_efficient_loading: 'false'
      fsdp_sync_module_states: false
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_cpu_ram_efficient_loading: false
      fsdp_sync_module_states: false
    ```

    ## Versions and evidence
    acc-quoted-bool (run with accelerate 0.24.0 to 1.15.0).
    """

    code, name = "ACC004", "quoted-launch-boolean"
    facts = ("acc-quoted-bool",)
    ram = ("fsdp_config", "fsdp_cpu_ram_efficient_loading")
    sync = ("fsdp_config", "fsdp_sync_module_states")

    def check(self, context: Context) -> Iterator[Finding]:
        keys, plan = self.keys(context), context.own
        if plan.fsdp.value is not True or self.sync not in keys or not context.versions.has("accelerate>=0.24.0"):
            return
        ram, sync = keys.value(*self.ram), keys.value(*self.sync)
        if self.ram in keys and _is_false_text(ram) and not sync:
            at, related = keys.place(*self.ram), [(keys.place(*self.sync), "and this is false")]
            fault = f"the text '{ram}' counts as true in the launcher's check: it raises ValueError"
            yield self.finding(at, fault, outcome="refused", related=related, help="write `false` without quotes")
        elif _is_false_text(sync) and plan.fsdp_version.value == 1 and plan.ram_efficient.value is True:
            forced = context.versions.has("accelerate>=0.30.0")
            says = "accelerate turns it on" if forced else "ranks other than 0 keep the weights they were built with"
            fault = f"the text '{sync}' passes the launcher's check, but RAM-efficient loading needs true: {says}"
            yield self.finding(keys.place(*self.sync), fault, outcome="ignored", related=noted(plan.ram_efficient, "RAM-efficient loading"), help="write `true`")


def _is_false_text(value: object) -> bool:
    return isinstance(value, str) and word_bool(value) is False


class ActivationOffloadNeedsCheckpointing(AccelerateRule):
    """## What it does
    Finds `fsdp_activation_checkpointing_offload` without `fsdp_activation_checkpointing`.

    ## Why it matters
    Every worker raises ValueError when the plugin is built.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
      fsdp_activation_checkpointing_offload: true
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
      fsdp_activation_checkpointing: true
      fsdp_activation_checkpointing_offload: true
    ```

    ## Versions and evidence
    acc-ac-offload (run with accelerate 1.14.0 and 1.15.0).
    """

    code, name = "ACC005", "activation-offload-needs-checkpointing"
    facts = ("acc-ac-offload",)
    path = ("fsdp_config", "fsdp_activation_checkpointing_offload")

    def check(self, context: Context) -> Iterator[Finding]:
        keys, plan = self.keys(context), context.plan
        if plan.fsdp.value is not True or plan.fsdp_version.value != 2 or plan.activation_checkpointing.value is not False:
            return
        if self.path in keys and word_bool(keys.value(*self.path)):
            help = "write `fsdp_activation_checkpointing: true`, or remove the key"
            fault = "activation offloading without activation checkpointing: every worker raises ValueError"
            yield self.finding(keys.place(*self.path), fault, related=noted(plan.activation_checkpointing, "it is off"), help=help)


class MultiNodeWithoutAddress(AccelerateRule):
    """## What it does
    Finds several machines without the address of the first one. A warning until the launch line is known, since flags often bring it.

    ## Why it matters
    The launcher accepts it and makes the rendezvous endpoint `None:29500`: the machines wait for each other until they time out.

    ## Example
    ```yaml
    distributed_type: FSDP
    num_machines: 2
    num_processes: 16
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    num_machines: 2
    num_processes: 16
    main_process_ip: 10.0.0.1
    main_process_port: 29500
    ```

    ## Versions and evidence
    acc-multi-node-no-ip (run with accelerate 0.21.0 to 1.15.0).
    """

    code, name, severity = "ACC006", "multi-node-without-address", Severity.WARNING
    facts = ("acc-multi-node-no-ip",)

    def check(self, context: Context) -> Iterator[Finding]:
        keys, machines = self.keys(context), context.own.machines
        if machines.place is None or machines.value is None or machines.value < 2 or context.own.launcher.value not in ("fsdp", "ddp", "megatron-lm"):
            return
        command = context.launch.command.document if context.launch.command else None
        if keys.value("main_process_ip") or (command and (command.has(("--main_process_ip",)) or command.has(("--main-process-ip",)))):
            return
        outcome = "crashes" if command else "ignored"
        help = "write `main_process_ip` and `main_process_port`, or pass `--main_process_ip` and `--main_process_port`"
        fault = f"{machines.value} machines without `main_process_ip`: the rendezvous endpoint becomes None:29500"
        yield self.finding(machines.place, fault, outcome=outcome, help=help)


class SingleGpuId(AccelerateRule):
    """## What it does
    Finds `distributed_type: MULTI_GPU` with a single GPU in `gpu_ids`.

    ## Why it matters
    The launcher raises ValueError: less than two GPU ids were configured.

    ## Example
    ```yaml
    distributed_type: MULTI_GPU
    num_processes: 2
    gpu_ids: '0'
    ```

    ## Use instead
    ```yaml
    distributed_type: MULTI_GPU
    num_processes: 2
    gpu_ids: '0,1'
    ```

    ## Versions and evidence
    acc-gpu-ids-too-few (run with accelerate 0.21.0 to 1.15.0).
    """

    code, name = "ACC007", "single-gpu-id"
    facts = ("acc-gpu-ids-too-few",)

    def check(self, context: Context) -> Iterator[Finding]:
        keys, plan = self.keys(context), context.plan
        ids = keys.value("gpu_ids")
        if plan.launcher.value != "ddp" or not isinstance(ids, str) or ids == "all" or "," in ids or is_placeholder(ids):
            return
        if plan.machines.value == 1:
            related = noted(plan.launcher, "several GPUs are asked for")
            help = "list at least two, or write `gpu_ids: all`"
            yield self.finding(keys.place("gpu_ids"), f"one GPU id ({ids}): the launcher raises ValueError", related=related, help=help)


class NotAMapping(AccelerateRule):
    """## What it does
    Finds config files that are empty, or whose top level is no mapping. Such a file tells no dialect, so `--dialect accelerate` or a launch line must name it.

    ## Why it matters
    The launcher raises AttributeError on the first key that it looks for.

    ## Example
    With `--dialect accelerate`:
    ```yaml
    - FSDP
    ```

    ## Use instead
    With `--dialect accelerate`:
    ```yaml
    distributed_type: FSDP
    num_processes: 2
    ```

    ## Versions and evidence
    acc-empty-file (run with accelerate 0.21.0 to 1.15.0).
    """

    code, name = "ACC008", "not-a-mapping"
    facts = ("acc-empty-file",)

    def check(self, context: Context) -> Iterator[Finding]:
        document = context.document
        if document.format == "command" or isinstance(document.root, Mapping):
            return
        what = "an empty file" if document.root is None else "a file that is no mapping"
        yield self.finding(Place(document, ()), f"{what}: the launcher raises AttributeError", help="write at least `distributed_type: FSDP` and `num_processes`")


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
    QuotedLaunchBoolean(),
    ActivationOffloadNeedsCheckpointing(),
    MultiNodeWithoutAddress(),
    SingleGpuId(),
    NotAMapping(),
    DynamoKeyWithoutPrefix(),
)
