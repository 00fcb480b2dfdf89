"""Attention, cross entropy and compilation in axolotl, as far as they decide whether a run starts."""

from __future__ import annotations

from fsdplint_rules.axolotl_clash import Clash, Keys
from fsdplint_rules.axolotl_parallel import LEGACY_ATTENTION

CROSS_ENTROPIES = ("cut_cross_entropy", "chunked_cross_entropy", "liger_cross_entropy", "liger_fused_linear_cross_entropy")


class CompileOptionsWithoutCompile(Clash):
    """## What it does
    Finds `torch_compile_options` without `torch_compile`.

    ## Why it matters
    axolotl stops, also over an empty mapping.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    torch_compile_options:
      shape_padding: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    torch_compile: true
    torch_compile_options:
      shape_padding: true
    ```

    ## Versions and evidence
    axo-compile-options (run with axolotl 0.18.0 and 0.19.0; 0.17.0 drops the key).
    """

    code, name = "AXO501", "compile-options-without-compile"
    facts = ("axo-compile-options",)
    when = "axolotl>=0.18.0"
    fault = "`torch_compile_options` without `torch_compile`"
    use = "write `torch_compile: true`, or delete the options"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        compiled = keys.on("torch_compile") or keys.value("torch_compile") == "auto" or not keys.off("torch_compile")
        return ("torch_compile_options", "torch_compile") if keys.value("torch_compile_options") is not None and not compiled else ()


class DeepcompileWithoutDeepspeed(Clash):
    """## What it does
    Finds `deepcompile` without `deepspeed`.

    ## Why it matters
    DeepCompile is a pass of DeepSpeed's: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    deepcompile: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    torch_compile: true
    ```

    ## Versions and evidence
    axo-deepcompile (run with axolotl 0.12.0 and 0.19.0).
    """

    code, name = "AXO502", "deepcompile-without-deepspeed"
    facts = ("axo-deepcompile",)
    when = "axolotl>=0.12.0"
    fault = "`deepcompile` without `deepspeed`"
    use = "delete it, or write `torch_compile: true`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        return ("deepcompile", "deepspeed") if keys.on("deepcompile") and keys.off("deepspeed") else ()


class TwoAttentions(Clash):
    """## What it does
    Finds `attn_implementation` beside one of the older switches (`flash_attention: true` and its like).

    ## Why it matters
    axolotl stops, even where both mean the same.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    attn_implementation: flash_attention_2
    flash_attention: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    attn_implementation: flash_attention_2
    ```

    ## Versions and evidence
    axo-attn-conflict (run with axolotl 0.17.0 to 0.19.0).
    """

    code, name = "AXO503", "two-attentions"
    facts = ("axo-attn-conflict",)
    when = "axolotl>=0.17.0"
    fault = "`attn_implementation` beside an older attention switch"
    use = "delete the older switch"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        switches = tuple(key for key in LEGACY_ATTENTION if keys.on(key))
        return (switches[0], "attn_implementation") if switches and keys.on("attn_implementation") else ()


class TwoCrossEntropies(Clash):
    """## What it does
    Finds two of the cross entropy patches: Cut Cross Entropy, the chunked one, and Liger's two.

    ## Why it matters
    They patch the same place: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    bf16: true
    plugins:
      - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin
      - axolotl.integrations.liger.LigerPlugin
    cut_cross_entropy: true
    liger_fused_linear_cross_entropy: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    bf16: true
    plugins:
      - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin
    cut_cross_entropy: true
    ```

    ## Versions and evidence
    axo-ce-conflict (run with axolotl 0.18.0 and 0.19.0; read in 0.13.1 to 0.17.0).
    """

    code, name = "AXO505", "two-cross-entropies"
    facts = ("axo-ce-conflict",)
    when = "axolotl>=0.13.1"
    fault = "two cross entropy patches"
    use = "keep one of them"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        patches = tuple(key for key in CROSS_ENTROPIES if keys.on(key))
        return patches if len(patches) > 1 else ()


class CutCrossEntropyPrecision(Clash):
    """## What it does
    Finds Cut Cross Entropy without `bf16` and `fp16`.

    ## Why it matters
    Its backward pass needs half precision: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]
    cut_cross_entropy: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    bf16: true
    plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]
    cut_cross_entropy: true
    ```

    ## Versions and evidence
    axo-cce-half (run with axolotl 0.18.0 and 0.19.0; read in 0.6.0 to 0.17.0).
    """

    code, name = "AXO506", "cut-cross-entropy-precision"
    facts = ("axo-cce-half",)
    when = "axolotl>=0.6.0"
    fault = "Cut Cross Entropy without `bf16` and `fp16`"
    use = "write `bf16: true`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        full = keys.value("bf16") != "auto" and keys.off("bf16") and keys.off("fp16")
        cut = keys.on("cut_cross_entropy") and keys.has_plugin("CutCrossEntropyPlugin")
        return ("cut_cross_entropy", "bf16") if cut and full else ()


RULES = (
    CompileOptionsWithoutCompile(),
    DeepcompileWithoutDeepspeed(),
    TwoAttentions(),
    TwoCrossEntropies(),
    CutCrossEntropyPrecision(),
)
