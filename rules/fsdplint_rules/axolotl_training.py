"""Checkpointing, batches, plugins and older patches in axolotl, as far as they decide whether a distributed run starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.axolotl_clash import Clash, Keys, MultiGpuClash
from fsdplint_rules.clashes import OptionsClash

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_FIELDS = ("micro_batch_size", "gradient_accumulation_steps", "batch_size")


class OffloadingWithoutCheckpointing(Clash):
    """## What it does
    Finds `activation_offloading` without `gradient_checkpointing`.

    ## Why it matters
    axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    activation_offloading: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    activation_offloading: true
    gradient_checkpointing: true
    ```

    ## Versions and evidence
    axo-act-offload (run with axolotl 0.12.0 to 0.19.0).
    """

    code, name = "AXO504", "offloading-without-checkpointing"
    facts = ("axo-act-offload",)
    when = "axolotl>=0.12.0"
    fault = "`activation_offloading` without `gradient_checkpointing`"
    use = "write `gradient_checkpointing: true`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        needs = keys.on("activation_offloading") and keys.off("gradient_checkpointing")
        return ("activation_offloading", "gradient_checkpointing") if needs else ()


class Zero3QloraReentrant(Clash):
    """## What it does
    Finds QLoRA under a DeepSpeed file with `zero3` in its name and `use_reentrant: false`.

    ## Why it matters
    axolotl warns that the recomputed activations may not match the saved ones (a CheckpointError in training).

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    deepspeed: deepspeed_configs/zero3_bf16.json
    gradient_checkpointing: true
    gradient_checkpointing_kwargs:
      use_reentrant: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    deepspeed: deepspeed_configs/zero3_bf16.json
    gradient_checkpointing: true
    gradient_checkpointing_kwargs:
      use_reentrant: true
    ```

    ## Versions and evidence
    axo-zero3-qlora-reentrant (the warning was run with axolotl 0.19.0, read in 0.6.0 to 0.18.0; the crash was not seen).
    """

    code, name, severity = "AXO507", "zero3-qlora-reentrant", Severity.WARNING
    facts = ("axo-zero3-qlora-reentrant",)
    when = "axolotl>=0.6.0"
    outcome = "ignored"
    fault = "QLoRA under ZeRO-3 with `use_reentrant: false`"
    says = "axolotl warns of a CheckpointError in training"
    use = "write `use_reentrant: true`, or use ZeRO-2 or FSDP2"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        if keys.text("adapter") != "qlora" or "zero3" not in keys.text("deepspeed"):
            return ()
        reentrant = keys.value("gradient_checkpointing_kwargs.use_reentrant")
        return ("deepspeed", "gradient_checkpointing_kwargs.use_reentrant") if reentrant is False else ()


class UnslothPatchesOnSeveralGpus(MultiGpuClash):
    """## What it does
    Finds `unsloth_lora_*` patches in a run on several GPUs, before axolotl 0.17. (Later releases stop at the keys at all, see removed-key.)

    ## Why it matters
    The patches are made for one GPU: axolotl stops.

    ## Example
    With `--target axolotl==0.16.0`:
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    gradient_accumulation_steps: 1
    adapter: qlora
    load_in_4bit: true
    unsloth_lora_mlp: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    gradient_accumulation_steps: 1
    adapter: qlora
    load_in_4bit: true
    lora_mlp_kernel: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-unsloth-multigpu (run with axolotl 0.8.0 to 0.16.1 and two GPUs).
    """

    code, name = "AXO508", "unsloth-patches-on-several-gpus"
    facts = ("axo-unsloth-multigpu",)
    when = "axolotl<0.17.0"
    fault = "unsloth's patches on several GPUs"
    use = "use the `lora_*_kernel` keys"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        patch = next((key for key in ("unsloth_lora_mlp", "unsloth_lora_qkv", "unsloth_lora_o") if keys.on(key)), "")
        processes = keys.plan.processes.value
        several = processes > 1 if processes else bool(keys.sharders)
        return (patch, *keys.sharders) if patch and several else ()


class BatchFields(Clash):
    """## What it does
    Finds fewer than two of `micro_batch_size`, `gradient_accumulation_steps` and `batch_size`, before axolotl 0.19; since then,
    `batch_size` alone.

    ## Why it matters
    axolotl stops.

    ## Example
    With `--target axolotl==0.18.0`:
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    gradient_accumulation_steps: 1
    ```

    ## Versions and evidence
    axo-batch-fields (run with axolotl 0.8.0 to 0.19.0).
    """

    code, name = "AXO509", "batch-fields"
    facts = ("axo-batch-fields",)
    fault = "at least two of `micro_batch_size`, `gradient_accumulation_steps` and `batch_size` are needed"
    use = "write `micro_batch_size` and `gradient_accumulation_steps`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        written = [key for key in BATCH_FIELDS if not keys.off(key)]
        enough = len(written) > 1 if keys.context.versions.has("axolotl<0.19.0") else written != ["batch_size"]
        missing = tuple(key for key in BATCH_FIELDS[:2] if key not in written)
        return () if enough else (*written, *missing)


class PluginNotListed(Rule):
    """## What it does
    Finds keys that a plugin brings along, such as Liger's, without that plugin in `plugins`.

    ## Why it matters
    axolotl drops them without a word: the kernels do not run.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    liger_rms_norm: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.liger.LigerPlugin]
    liger_rms_norm: true
    ```

    ## Versions and evidence
    axo-unknown-top-level, the notes on `plugins` (run with axolotl 0.19.0). Which plugin brings which key: the classes that its
    `get_input_args` names, axolotl 0.5.2 to 0.19.0.
    """

    code, name, severity = "AXO510", "plugin-not-listed", Severity.WARNING
    dialects = ("axolotl",)
    scope = "file"
    facts = ("axo-unknown-top-level",)

    def check(self, context: Context) -> Iterator[Finding]:
        keys = Keys(context)
        if context.dialect.is_open(context.document):
            return
        for item in context.written:
            plugin = item.option.schema.get("x-plugin") if item.option else None
            if plugin and keys.on(str(item.path[0])) and not keys.has_plugin(f"integrations.{plugin}"):
                name = f"axolotl.integrations.{plugin}"
                fault = f"`{item.path[0]}` without its plugin: axolotl drops it without a word"
                yield self.finding(context.at(item.path, "key"), fault, help=f"list the plugin of `{name}` in `plugins`")


class ScheduleClash(OptionsClash):
    """## What it does
    Finds steps at which to save, evaluate, warm up or stop early that contradict each other.

    ## Why it matters
    axolotl refuses the file.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    save_steps: 100
    saves_per_epoch: 1
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    saves_per_epoch: 1
    ```

    ## Versions and evidence
    The validators of axolotl 0.5.2, 0.8.0 and 0.12.2 (read, utils/schemas) and of 0.19.0 (run).
    """

    code, name = "AXO511", "schedule-clash"
    dialects = ("axolotl",)

    def check(self, context: Context) -> Iterator[Finding]:
        yield from super().check(context)
        keys = Keys(context)
        save, evaluate = keys.value("save_steps"), keys.value("eval_steps")
        if keys.on("early_stopping_patience") and isinstance(save, int) and isinstance(evaluate, int) and evaluate > 0 and save % evaluate:
            fault = "early stopping with `save_steps` that are no multiple of `eval_steps`: axolotl stops"
            yield self.finding(context.at(("save_steps",)), fault, outcome="refused", help="write a multiple of `eval_steps`")


RULES = (
    OffloadingWithoutCheckpointing(),
    Zero3QloraReentrant(),
    UnslothPatchesOnSeveralGpus(),
    BatchFields(),
    PluginNotListed(),
    ScheduleClash(),
)
