"""Optimizers that axolotl refuses beside DeepSpeed, offloading, adapters or tensor parallelism (under FSDP: optimizer-with-fsdp)."""

from __future__ import annotations

from fsdplint_rules.axolotl_clash import Clash, Keys

FLASH = "flash_"
_WITHOUT_DEEPSPEED = {"muon": "axolotl>=0.8.0", "q_galore_adamw8bit": "axolotl>=0.17.0", "polora": "axolotl>=0.19.0"}


class OptimizerWithDeepspeed(Clash):
    """## What it does
    Finds `muon`, the `flash_*` optimizers, `q_galore_adamw8bit` and `polora` together with DeepSpeed.

    ## Why it matters
    ZeRO takes the optimizer's step apart; these need whole matrices. axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: muon
    deepspeed: deepspeed_configs/zero2.json
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: muon
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-muon, axo-flash-optim, axo-qgalore, axo-polora (run with axolotl 0.19.0 and with the first release of each).
    """

    code, name = "AXO201", "optimizer-with-deepspeed"
    facts = ("axo-muon", "axo-flash-optim", "axo-qgalore", "axo-polora")
    fault = "this optimizer with DeepSpeed"
    use = "write `fsdp_version: 2` and an `fsdp_config` block instead of `deepspeed`, or take another optimizer"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        name = keys.text("optimizer")
        since = "axolotl>=0.16.0" if name.startswith(FLASH) else _WITHOUT_DEEPSPEED.get(name)
        refused = since is not None and keys.context.versions.has(since)
        return ("optimizer", "deepspeed") if refused and keys.on("deepspeed") else ()


class EightBitOptimizerWithOffload(Clash):
    """## What it does
    Finds an optimizer with `8bit` in its name beside `offload_params: true` under FSDP1. The word `offload` in the `fsdp` list is not
    looked at.

    ## Why it matters
    The 8-bit states live on the GPU only: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: paged_adamw_8bit
    fsdp_config:
      offload_params: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: adamw_torch_fused
    fsdp_version: 2
    fsdp_config:
      offload_params: true
    ```

    ## Versions and evidence
    axo-fsdp1-offload-8bit (run with axolotl 0.8.0 to 0.19.0; list and quoted value run with 0.19.0).
    """

    code, name = "AXO202", "8bit-optimizer-with-offload"
    facts = ("axo-fsdp1-offload-8bit",)
    fault = "an 8-bit optimizer with FSDP1's offloading"
    use = "write `optimizer: adamw_torch_fused`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        refused = "8bit" in keys.text("optimizer") and keys.runs_fsdp1 and keys.on("fsdp_config.offload_params")
        return ("optimizer", "fsdp_config.offload_params", "fsdp", "fsdp_version") if refused else ()


class OptimizerWithAdapter(Clash):
    """## What it does
    Finds `q_galore_adamw8bit` with an adapter, and `polora` without one.

    ## Why it matters
    Q-GaLore works on whole parameters, PoLoRA on adapters only: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    optimizer: q_galore_adamw8bit
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    optimizer: adamw_torch_fused
    ```

    ## Versions and evidence
    axo-qgalore (run with axolotl 0.17.0 and 0.19.0), axo-polora (run with 0.19.0).
    """

    code, name = "AXO203", "optimizer-with-adapter"
    facts = ("axo-qgalore", "axo-polora")
    fault = "this optimizer and this adapter"
    use = "take another optimizer"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        has, name, adapter = keys.context.versions.has, keys.text("optimizer"), keys.text("adapter")
        whole = name == "q_galore_adamw8bit" and bool(adapter) and has("axolotl>=0.17.0")
        low = name == "polora" and has("axolotl>=0.19.0") and (bool(adapter) or keys.off("adapter")) and adapter not in ("lora", "qlora")
        return ("optimizer", "adapter") if whole or low else ()


class OptimizerWithTensorParallel(Clash):
    """## What it does
    Finds `polora` with tensor parallelism.

    ## Why it matters
    PoLoRA needs whole factors: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    optimizer: polora
    tensor_parallel_size: 2
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    optimizer: polora
    ```

    ## Versions and evidence
    axo-polora (run with axolotl 0.19.0).
    """

    code, name = "AXO204", "optimizer-with-tensor-parallel"
    facts = ("axo-polora",)
    when = "axolotl>=0.19.0"
    fault = "`polora` with tensor parallelism"
    use = "delete `tensor_parallel_size`, or take another optimizer"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        return (
            ("optimizer", "tensor_parallel_size") if keys.text("optimizer") == "polora" and keys.above_one("tensor_parallel_size") else ()
        )


class BitsandbytesWithTensorParallel(Clash):
    """## What it does
    Finds bitsandbytes' 8-bit AdamW with tensor parallelism. Advice: axolotl has a check for it that no release calls.

    ## Why it matters
    axolotl's authors hold the pair to be unsupported; what happens in training was not seen.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: adamw_bnb_8bit
    tensor_parallel_size: 2
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    optimizer: adamw_torch_8bit
    tensor_parallel_size: 2
    ```

    ## Versions and evidence
    axo-tp-8bit (accepted by axolotl 0.8.0 to 0.19.0; the check was read in 0.12.0 and 0.19.0).
    """

    code, name = "AXO205", "bitsandbytes-with-tensor-parallel"
    facts = ("axo-tp-8bit",)
    outcome = "advice"
    fault = "bitsandbytes' 8-bit AdamW with tensor parallelism"
    says = "axolotl's authors hold it to be unsupported"
    use = "write `optimizer: adamw_torch_8bit`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        named = keys.text("optimizer") in ("paged_adamw_8bit", "adamw_8bit", "adamw_bnb_8bit")
        return ("optimizer", "tensor_parallel_size") if named and keys.above_one("tensor_parallel_size") else ()


RULES = (
    OptimizerWithDeepspeed(),
    EightBitOptimizerWithOffload(),
    OptimizerWithAdapter(),
    OptimizerWithTensorParallel(),
    BitsandbytesWithTensorParallel(),
)
