"""Quantized base models and adapters that axolotl does not take together."""

from __future__ import annotations

from fsdplint_rules.axolotl_clash import Clash, Keys
from fsdplint_rules.axolotl_features import LORA_KERNELS

BITS = ("load_in_4bit", "load_in_8bit")


class QuantizationWithoutAdapter(Clash):
    """## What it does
    Finds `load_in_4bit` or `load_in_8bit` without an adapter.

    ## Why it matters
    Quantized weights cannot be trained: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    load_in_8bit: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    load_in_8bit: true
    ```

    ## Versions and evidence
    axo-quant-no-adapter (run with axolotl 0.8.0 to 0.19.0; `inference: true` lifts the check, run with 0.19.0).
    """

    code, name = "AXO301", "quantization-without-adapter"
    facts = ("axo-quant-no-adapter",)
    fault = "a quantized base model without an adapter"
    use = "write `adapter: qlora` (4-bit) or `adapter: lora` (8-bit), or delete the quantization"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        bits = tuple(key for key in BITS if keys.on(key))
        return (bits[0], "adapter") if bits and keys.off("adapter") and keys.off("inference") else ()


class QloraBits(Clash):
    """## What it does
    Finds `adapter: qlora` without `load_in_4bit: true`, with `load_in_8bit` and with `gptq`.

    ## Why it matters
    axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_8bit: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    ```

    ## Versions and evidence
    axo-qlora-bits (run with axolotl 0.8.0 to 0.19.0; `gptq` and `merge_lora` run with 0.19.0).
    """

    code, name = "AXO302", "qlora-bits"
    facts = ("axo-qlora-bits",)
    fault = "`adapter: qlora` is 4-bit alone"
    use = "write `load_in_4bit: true` and no other quantization, or `adapter: lora`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        if keys.text("adapter") != "qlora" or not keys.off("merge_lora"):
            return ()
        other = next((key for key in ("load_in_8bit", "gptq") if keys.on(key)), "")
        if other:
            return (other, "adapter")
        return ("adapter", "load_in_4bit") if keys.off("load_in_4bit") else ()


class LoraKernelsWith8bit(Clash):
    """## What it does
    Finds LoRA kernels that are switched on with an 8-bit LoRA.

    ## Why it matters
    The kernels do not read 8-bit weights: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    load_in_8bit: true
    lora_mlp_kernel: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    load_in_8bit: true
    ```

    ## Versions and evidence
    axo-lora-kernels-8bit (run with axolotl 0.8.0 to 0.19.0).
    """

    code, name = "AXO303", "lora-kernels-with-8bit"
    facts = ("axo-lora-kernels-8bit",)
    when = "axolotl>=0.8.0"
    fault = "LoRA kernels with 8-bit LoRA"
    use = "delete the kernels, or `load_in_8bit`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        kernel = next((name for name in LORA_KERNELS if keys.on(name)), "")
        return (kernel, "load_in_8bit", "adapter") if kernel and keys.text("adapter") == "lora" and keys.on("load_in_8bit") else ()


class TwoQuantizations(Clash):
    """## What it does
    Finds `model_quantization_config` beside `load_in_4bit` or `load_in_8bit`.

    ## Why it matters
    Only one of them can load the weights: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    model_quantization_config: Mxfp4Config
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    model_quantization_config: Mxfp4Config
    ```

    ## Versions and evidence
    axo-mxfp4-bnb (run with axolotl 0.12.0 to 0.19.0).
    """

    code, name = "AXO304", "two-quantizations"
    facts = ("axo-mxfp4-bnb",)
    when = "axolotl>=0.12.0"
    fault = "`model_quantization_config` beside bitsandbytes"
    use = "keep one of the two"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        bits = tuple(key for key in BITS if keys.on(key))
        return ("model_quantization_config", *bits) if keys.on("model_quantization_config") and bits else ()


class Mxfp4WithRamLoading(Clash):
    """## What it does
    Finds `model_quantization_config: Mxfp4Config` with `cpu_ram_efficient_loading`.

    ## Why it matters
    The weights cannot be loaded on one rank and handed round: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    model_quantization_config: Mxfp4Config
    fsdp_version: 2
    fsdp_config:
      cpu_ram_efficient_loading: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    model_quantization_config: Mxfp4Config
    fsdp_version: 2
    fsdp_config:
      cpu_ram_efficient_loading: false
    ```

    ## Versions and evidence
    axo-mxfp4-ramload (run with axolotl 0.12.0 to 0.19.0).
    """

    code, name = "AXO305", "mxfp4-with-ram-loading"
    facts = ("axo-mxfp4-ramload",)
    when = "axolotl>=0.12.0"
    fault = "Mxfp4Config with `cpu_ram_efficient_loading`"
    use = "write `cpu_ram_efficient_loading: false`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        loading = keys.text("model_quantization_config") == "Mxfp4Config" and keys.on("fsdp_config.cpu_ram_efficient_loading")
        return ("fsdp_config.cpu_ram_efficient_loading", "model_quantization_config") if loading else ()


class QatWithQuantization(Clash):
    """## What it does
    Finds a `qat` block beside `load_in_4bit` or `load_in_8bit`.

    ## Why it matters
    Quantization-aware training starts from whole weights: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    qat:
      weight_dtype: int8
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    qat:
      weight_dtype: int8
    ```

    ## Versions and evidence
    axo-qat-4bit (run with axolotl 0.10.0 to 0.19.0; 8-bit run with 0.19.0).
    """

    code, name = "AXO306", "qat-with-quantization"
    facts = ("axo-qat-4bit",)
    when = "axolotl>=0.10.0"
    fault = "`qat` with a quantized base model"
    use = "keep one of the two"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        bits = tuple(key for key in BITS if keys.on(key))
        return (bits[0], "qat") if keys.on("qat") and bits else ()


RULES = (QuantizationWithoutAdapter(), QloraBits(), LoraKernelsWith8bit(), TwoQuantizations(), Mxfp4WithRamLoading(), QatWithQuantization())
