"""Features of axolotl that do not go with FSDP, or with one FSDP version only."""

from __future__ import annotations

from fsdplint.plan import is_placeholder
from fsdplint_rules.axolotl_clash import Clash, Keys, MultiGpuClash

LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")


class FalconWithFsdpList(Clash):
    """## What it does
    Finds a Falcon model with an `fsdp` list. Every name with `falcon` in it counts, Falcon3 and Falcon-H1 too.

    ## Why it matters
    axolotl stops. It does not look at `fsdp_config`, so a block without the list passes.

    ## Example
    ```yaml
    base_model: tiiuae/falcon-7b
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp: [full_shard, auto_wrap]
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: tiiuae/falcon-7b
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-falcon (run with axolotl 0.8.0 to 0.19.0; the block alone, too).
    """

    code, name = "AXO106", "falcon-with-fsdp-list"
    facts = ("axo-falcon",)
    fault = "a Falcon model with an `fsdp` list"
    says = "axolotl stops: FSDP is not supported for falcon models"
    use = "write `fsdp_version: 2` and an `fsdp_config` block instead of the list"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        return ("fsdp", "base_model") if "falcon" in keys.text("base_model").lower() and keys.on("fsdp") else ()


class SpectrumWithFsdpList(Clash):
    """## What it does
    Finds the SpectrumPlugin with an `fsdp` list and without `use_orig_params: true`.

    ## Why it matters
    Spectrum freezes layers, and one flat parameter cannot be half frozen: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.spectrum.SpectrumPlugin]
    fsdp: [full_shard, auto_wrap]
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.spectrum.SpectrumPlugin]
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-spectrum (run with axolotl 0.18.0 and 0.19.0, read in 0.8.0 to 0.17.0).
    """

    code, name = "AXO107", "spectrum-with-fsdp-list"
    facts = ("axo-spectrum",)
    when = "axolotl>=0.8.0"
    fault = "the SpectrumPlugin with an `fsdp` list and without `use_orig_params: true`"
    use = "write `fsdp_version: 2` and an `fsdp_config` block instead of the list"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        listed = keys.has_plugin("SpectrumPlugin") and keys.on("fsdp") and keys.on("fsdp_config")
        return ("fsdp", "plugins") if listed and keys.off("fsdp_config.use_orig_params") else ()


class Fp32NormsNeedFsdp2(Clash):
    """## What it does
    Finds `fp32_norms` without an `fsdp_config` block, and with FSDP1.

    ## Why it matters
    FSDP1's flat parameters have one dtype: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fp32_norms: true
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fp32_norms: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-fp32-norms (run with axolotl 0.17.0 and 0.19.0).
    """

    code, name = "AXO108", "fp32-norms-need-fsdp2"
    facts = ("axo-fp32-norms",)
    when = "axolotl>=0.17.0"
    fault = "`fp32_norms` without FSDP2"
    says = "axolotl stops"
    use = "write `fsdp_version: 2` and an `fsdp_config` block, or delete `fp32_norms`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        if not keys.on("fp32_norms"):
            return ()
        if keys.value("fsdp_config") is None:
            return ("fp32_norms", "fsdp")
        block = isinstance(keys.value("fsdp_config"), dict)
        version = keys.plan.fsdp_version
        return ("fp32_norms", "fsdp_version", "fsdp_config") if block and (version.value == 1 or not version.is_written) else ()


class Fp8AllGatherNeedsFsdp2(Clash):
    """## What it does
    Finds `fp8_enable_fsdp_float8_all_gather` without an unquoted `fsdp_version: 2` at the top level.

    ## Why it matters
    axolotl stops. It looks nowhere else: neither `fsdp_config.fsdp_version: 2` nor `"2"` will do.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fp8: true
    torch_compile: true
    fp8_enable_fsdp_float8_all_gather: true
    fsdp_config:
      fsdp_version: 2
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fp8: true
    torch_compile: true
    fp8_enable_fsdp_float8_all_gather: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-fp8-allgather (run with axolotl 0.12.0 to 0.19.0, quoted and nested, too).
    """

    code, name = "AXO109", "fp8-all-gather-needs-fsdp2"
    facts = ("axo-fp8-allgather",)
    when = "axolotl>=0.12.0"
    fault = "`fp8_enable_fsdp_float8_all_gather` without `fsdp_version: 2` at the top level"
    says = "axolotl stops; a nested or quoted version does not count"
    use = "write `fsdp_version: 2` at the top level, without quotes"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        version = keys.value("fsdp_version")
        if not keys.on("fp8_enable_fsdp_float8_all_gather") or version == 2 or is_placeholder(version):
            return ()
        return ("fp8_enable_fsdp_float8_all_gather", "fsdp_version", "fsdp_config.fsdp_version")


class LoraKernelsWithFsdp1(MultiGpuClash):
    """## What it does
    Finds LoRA kernels that are switched on under FSDP1. axolotl asks the top level only: with `fsdp_config.fsdp_version: 2` it
    refuses them, too.

    ## Why it matters
    The kernels read the weights past FSDP1's hooks: on several GPUs axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    lora_mlp_kernel: true
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    lora_mlp_kernel: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-lora-kernels-fsdp1 (run with axolotl 0.8.0 to 0.19.0 and two GPUs; nested version, empty block: run with 0.19.0).
    """

    code, name = "AXO110", "lora-kernels-with-fsdp1"
    facts = ("axo-lora-kernels-fsdp1",)
    when = "axolotl>=0.7.0"
    fault = "LoRA kernels with FSDP1"
    says = "axolotl stops on several GPUs"
    use = "write `fsdp_version: 2` at the top level, or set the kernels to false"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        has = keys.context.versions.has
        names = (*LORA_KERNELS, "lora_embedding_kernel") if has("axolotl>=0.16.0") else LORA_KERNELS
        kernel = next((name for name in names if keys.on(name)), "")
        if not kernel or keys.plan.processes.value == 1 or not self._refuses(keys):
            return ()
        return (kernel, "fsdp_config", "fsdp", "fsdp_version")

    def _refuses(self, keys: Keys) -> bool:
        has, version = keys.context.versions.has, keys.value("fsdp_version")
        if has("axolotl>=0.12.0"):
            return isinstance(keys.value("fsdp_config"), dict) and str(version) != "2" and not is_placeholder(version)
        return keys.on("fsdp") and (has("axolotl<0.9.0") or keys.plan.fsdp_version.value == 1)


class ReloraWithSharding(Clash):
    """## What it does
    Finds ReLoRA together with FSDP or DeepSpeed.

    ## Why it matters
    ReLoRA merges the adapter into whole weights: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    relora: true
    jagged_restart_steps: 100
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: lora
    relora: true
    jagged_restart_steps: 100
    ```

    ## Versions and evidence
    axo-relora (run with axolotl 0.19.0; before 0.12 the key was `relora_steps`, read in 0.5.2 to 0.11.0).
    """

    code, name = "AXO111", "relora-with-sharding"
    facts = ("axo-relora",)
    fault = "ReLoRA with FSDP or DeepSpeed"
    use = "delete `relora`, or train without sharding"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        if keys.context.versions.has("axolotl>=0.12.0"):
            return ("relora", *keys.sharders) if keys.on("relora") and keys.sharders else ()
        old = tuple(key for key in keys.sharders if key != "fsdp_config")
        return ("relora_steps", *old) if keys.on("relora_steps") and old else ()


class PleOffloadWithSharding(Clash):
    """## What it does
    Finds `ple_cpu_offload` together with FSDP or DeepSpeed. An empty `fsdp` list or `fsdp_config` block counts, only null does not.

    ## Why it matters
    Both place parameters themselves: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    ple_cpu_offload: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    adapter: qlora
    load_in_4bit: true
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-ple (run with axolotl 0.19.0).
    """

    code, name = "AXO112", "ple-offload-with-sharding"
    facts = ("axo-ple",)
    when = "axolotl>=0.19.0"
    fault = "`ple_cpu_offload` with FSDP or DeepSpeed"
    use = "delete `ple_cpu_offload`, or train without sharding"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        present = tuple(key for key in ("fsdp_config", "fsdp") if keys.value(key) is not None and not is_placeholder(keys.value(key)))
        engines = (*present, *(("deepspeed",) if keys.on("deepspeed") else ()))
        return ("ple_cpu_offload", *engines) if keys.on("ple_cpu_offload") and engines else ()


RULES = (
    FalconWithFsdpList(),
    SpectrumWithFsdpList(),
    Fp32NormsNeedFsdp2(),
    Fp8AllGatherNeedsFsdp2(),
    LoraKernelsWithFsdp1(),
    ReloraWithSharding(),
    PleOffloadWithSharding(),
)
