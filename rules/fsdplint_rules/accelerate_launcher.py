"""What the launcher of accelerate and its workers refuse, beyond single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place, Severity
from fsdplint.dialects import word_bool
from fsdplint.document import Mapping
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.accelerate_blocks import AccelerateRule

if TYPE_CHECKING:
    from collections.abc import Iterator


class QuotedLaunchBoolean(AccelerateRule):
    """## What it does
    Finds quoted booleans in the launcher's check of RAM-efficient loading against `fsdp_sync_module_states`. The check looks
    at the truth of the YAML value, and any text is true.

    ## Why it matters
    `'false'` for RAM-efficient loading raises an error about a combination that is not there; `'false'` for
    `fsdp_sync_module_states` passes the check, and accelerate then
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
            yield self.finding(
                keys.place(*self.sync),
                fault,
                outcome="ignored",
                related=noted(plan.ram_efficient, "RAM-efficient loading"),
                help="write `true`",
            )


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
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
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
            related = noted(plan.activation_checkpointing, "it is off")
            yield self.finding(keys.place(*self.path), fault, outcome="refused", related=related, help=help)


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
        if (
            machines.place is None
            or machines.value is None
            or machines.value < 2
            or context.own.launcher.value not in ("fsdp", "ddp", "megatron-lm")
        ):
            return
        command = context.launch.command
        if command and "--main_process_ip" not in command.dialect.table.schema.get("properties", {}):
            return
        given = command and (command.document.has(("--main_process_ip",)) or command.document.has(("--main-process-ip",)))
        if keys.value("main_process_ip") or given:
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
            fault = f"one GPU id ({ids}): the launcher raises ValueError"
            yield self.finding(keys.place("gpu_ids"), fault, outcome="refused", related=related, help=help)


class NotAMapping(AccelerateRule):
    """## What it does
    Finds config files that are empty, or whose top level is no mapping. Such a file tells no dialect, so `--dialect
    accelerate` or a launch line must name it.

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
        help = "write at least `distributed_type: FSDP` and `num_processes`"
        fault = f"{what}: the launcher raises AttributeError"
        yield self.finding(Place(document, ()), fault, outcome="refused", help=help)


class DeepSpeedFileAndFields(AccelerateRule):
    """## What it does
    Finds fields of DeepSpeed, or `mixed_precision`, beside `deepspeed_config_file`.

    ## Why it matters
    Every worker raises ValueError ("the following accelerate config variables will be ignored"): the JSON alone is to say it.

    ## Example
    ```yaml
    distributed_type: DEEPSPEED
    num_processes: 2
    mixed_precision: bf16
    deepspeed_config:
      deepspeed_config_file: ds.json
      zero_stage: 3
    ```

    ## Use instead
    ```yaml
    distributed_type: DEEPSPEED
    num_processes: 2
    deepspeed_config:
      deepspeed_config_file: ds.json
      zero3_init_flag: true
    ```

    ## Versions and evidence
    Run with accelerate 1.15.0, each field alone; read in 0.21.0, 0.26.1, 1.0.1 and 1.7.0 (commands/launch.py, utils/dataclasses.py).
    """

    code, name = "ACC010", "deepspeed-file-and-fields"
    fields = (
        *("zero_stage", "offload_optimizer_device", "offload_param_device", "offload_optimizer_nvme_path", "offload_param_nvme_path"),
        *("zero3_save_16bit_model", "gradient_accumulation_steps", "gradient_clipping"),
    )

    def check(self, context: Context) -> Iterator[Finding]:
        block, precision = context.value("deepspeed_config"), context.plan.precision.place
        named = block.get("deepspeed_config_file") if isinstance(block, dict) else None
        if context.plan.launcher.value != "deepspeed" or not isinstance(named, str) or named in ("", "none") or is_placeholder(named):
            return
        found = [context.at(("deepspeed_config", key), "entry") for key in self.fields if context.document.has(("deepspeed_config", key))]
        is_flag = precision is not None and precision.document.format == "command"
        if context.value("mixed_precision") is not None and not is_flag:
            found.append(context.at(("mixed_precision",), "entry"))
        if found:
            fault = f"`{found[0].path[-1]}` beside `deepspeed_config_file`: every worker raises ValueError"
            related = [(place, "so does this") for place in found[1:]]
            help = "say it in the DeepSpeed JSON, and remove it here"
            yield self.finding(found[0], fault, outcome="refused", related=related, help=help)


RULES: tuple[Rule, ...] = (
    QuotedLaunchBoolean(),
    ActivationOffloadNeedsCheckpointing(),
    MultiNodeWithoutAddress(),
    SingleGpuId(),
    NotAMapping(),
    DeepSpeedFileAndFields(),
)
