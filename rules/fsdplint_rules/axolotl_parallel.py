"""Context, tensor and data parallelism in axolotl."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fsdplint_rules.axolotl_clash import Clash, Keys

if TYPE_CHECKING:
    from collections.abc import Mapping

LEGACY_ATTENTION = {
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "flex_attention": "flex_attention",
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
}
"""What the older switches mean; of several the first counts."""

_FLASH_LIBRARIES = ("flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2", "kernels-community/flash-attn3")
_SIZES = ("tensor_parallel_size", "context_parallel_size", "dp_shard_size", "dp_replicate_size")


def attention(keys: Keys) -> str | None:
    """The attention that runs, without a kernel's revision; None for a placeholder."""
    written = keys.value("attn_implementation")
    if written:
        text = keys.text("attn_implementation")
        return text.partition(":")[0].partition("@")[0].strip() if text else None
    return next((meant for key, meant in LEGACY_ATTENTION.items() if keys.on(key)), "")


def context_size(keys: Keys) -> str:
    """The key that asks for context parallelism; empty where none does."""
    names = (
        ("context_parallel_size", "sequence_parallel_degree")
        if keys.context.versions.has("axolotl>=0.12.0")
        else ("sequence_parallel_degree",)
    )
    return next((name for name in names if keys.above_one(name)), "")


class ContextParallelNeedsFlash(Clash):
    """## What it does
    Finds context parallelism without the attention that it is built on: FlashAttention 2 since axolotl 0.19, 2 or 3 in 0.17 and 0.18,
    `flash_attention: true` before.

    ## Why it matters
    Ring attention replaces that attention's kernel: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    context_parallel_size: 2
    attn_implementation: sdpa
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    context_parallel_size: 2
    attn_implementation: flash_attention_2
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-cp-flash (run with axolotl 0.12.0 to 0.19.0; `sequence_parallel_degree` of 0.8.0 to 0.11.0 read).
    """

    code, name = "AXO401", "context-parallel-needs-flash"
    facts = ("axo-cp-flash",)
    when = "axolotl>=0.8.0"
    fault = "context parallelism without FlashAttention 2"
    use = "write `attn_implementation: flash_attention_2` (before axolotl 0.17: `flash_attention: true`)"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        size = context_size(keys)
        if not size or self._fits(keys):
            return ()
        chosen = next((key for key in ("attn_implementation", *LEGACY_ATTENTION) if keys.on(key)), "attn_implementation")
        return (size, chosen)

    def _fits(self, keys: Keys) -> bool:
        has = keys.context.versions.has
        if has("axolotl<0.17.0"):
            return not keys.off("flash_attention")
        running = attention(keys)
        allowed = _FLASH_LIBRARIES if has("axolotl<0.19.0") else _FLASH_LIBRARIES[:1]
        return running is None or running in allowed or not keys.off("use_glm_dsa_kernels")


class ContextParallelPacking(Clash):
    """## What it does
    Finds context parallelism with sample packing and a micro batch above 1.

    ## Why it matters
    ring-flash-attn takes one packed row at a time: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 2
    sample_packing: true
    context_parallel_size: 2
    attn_implementation: flash_attention_2
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    sample_packing: true
    context_parallel_size: 2
    attn_implementation: flash_attention_2
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-cp-packing (run with axolotl 0.12.0 to 0.19.0; 0.9.0 to 0.11.0 read).
    """

    code, name = "AXO402", "context-parallel-packing"
    facts = ("axo-cp-packing",)
    when = "axolotl>=0.9.0"
    fault = "context parallelism and sample packing with a micro batch above 1"
    use = "write `micro_batch_size: 1`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        size = context_size(keys)
        return (
            ("micro_batch_size", "sample_packing", size)
            if size and keys.on("sample_packing") and keys.above_one("micro_batch_size")
            else ()
        )


class TensorParallelWithLiger(Clash):
    """## What it does
    Finds tensor parallelism with Liger's RMSNorm or fused linear cross entropy.

    ## Why it matters
    Those kernels read whole tensors: axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.liger.LigerPlugin]
    liger_rms_norm: true
    tensor_parallel_size: 2
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    plugins: [axolotl.integrations.liger.LigerPlugin]
    liger_rope: true
    tensor_parallel_size: 2
    ```

    ## Versions and evidence
    axo-tp-liger (run with axolotl 0.18.0 and 0.19.0; 0.12.0 to 0.17.0 read).
    """

    code, name = "AXO403", "tensor-parallel-with-liger"
    facts = ("axo-tp-liger",)
    when = "axolotl>=0.12.0"
    fault = "tensor parallelism with Liger kernels that need whole tensors"
    use = "set the kernel to false, or delete `tensor_parallel_size`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        kernel = next((key for key in ("liger_rms_norm", "liger_fused_linear_cross_entropy") if keys.on(key)), "")
        return (
            (kernel, "tensor_parallel_size") if kernel and keys.above_one("tensor_parallel_size") and keys.has_plugin("LigerPlugin") else ()
        )


class DeepspeedMapping(Clash):
    """## What it does
    Finds a `deepspeed` mapping beside `tensor_parallel_size` or `deepcompile`.

    ## Why it matters
    axolotl opens `deepspeed` as a file to change it, and stops with a TypeError.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    tensor_parallel_size: 2
    deepspeed:
      zero_optimization:
        stage: 2
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    tensor_parallel_size: 2
    deepspeed: deepspeed_configs/zero2.json
    ```

    ## Versions and evidence
    axo-tp-ds-dict (run with axolotl 0.12.0 and 0.19.0; `deepcompile` run with 0.19.0).
    """

    code, name = "AXO404", "deepspeed-mapping"
    facts = ("axo-tp-ds-dict",)
    when = "axolotl>=0.12.0"
    fault = "`deepspeed` as a mapping beside `tensor_parallel_size` or `deepcompile`"
    says = "axolotl opens it as a file and stops with a TypeError"
    use = "put it into a JSON file and write the path"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        opened = "tensor_parallel_size" if keys.above_one("tensor_parallel_size") else "deepcompile" if keys.on("deepcompile") else ""
        return ("deepspeed", opened) if opened and isinstance(keys.value("deepspeed"), dict) and keys.on("deepspeed") else ()


class ShardSizeWithoutFsdp(Clash):
    """## What it does
    Finds `dp_shard_size` above 1 without FSDP.

    ## Why it matters
    Nothing shards: beside tensor or context parallelism the model loader stops, else training is plain DDP or stops over the size of
    the mesh.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    tensor_parallel_size: 2
    dp_shard_size: 2
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    tensor_parallel_size: 2
    dp_shard_size: 2
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-dp-shard-no-fsdp (read in axolotl 0.12.0 to 0.19.0).
    """

    code, name = "AXO405", "shard-size-without-fsdp"
    facts = ("axo-dp-shard-no-fsdp",)
    when = "axolotl>=0.12.0"
    outcome = "crashes"
    fault = "`dp_shard_size` without FSDP"
    says = "nothing shards, and beside tensor or context parallelism the model loader stops"
    use = "write `fsdp_version: 2` and an `fsdp_config` block, or delete `dp_shard_size`"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        off = keys.plan.fsdp.value is not True and not keys.plan.fsdp.unknown and keys.plan.deepspeed.value is not True
        return ("dp_shard_size", "fsdp_config") if off and keys.above_one("dp_shard_size") else ()


def mesh(sizes: Mapping[str, int | None], processes: int, *, sharded: bool = True) -> Mapping[str, int] | None:
    """The mesh that axolotl 0.19.0 makes of the written sizes (None: not written; utils/distributed.py), ``sharded`` where FSDP is on.

    None where they do not make up the number of processes.
    """
    rest, found = processes, {}
    for name in ("tensor_parallel_size", "context_parallel_size"):
        if (sizes[name] or 1) > 1:
            found[name] = sizes[name] or 1
            rest //= found[name]
    shard, replicate = sizes["dp_shard_size"], sizes["dp_replicate_size"] or 1
    if shard is None and replicate == 1 and rest > 1:
        found["dp_shard_size"], rest = rest, 1
    if replicate > 1:
        found["dp_replicate_size"] = replicate
        rest //= replicate
    if rest > 1 and (shard or 1) > 1:
        found["dp_shard_size"] = shard or 1
        rest //= found["dp_shard_size"]
        if rest > 1 and replicate == 1:
            found["dp_replicate_size"], rest = rest, 1
    if rest > 1 and "dp_shard_size" not in found and sharded:
        found["dp_shard_size"], rest = rest, 1
    return found if rest <= 1 and prod(found.values()) == processes else None


class MeshOfAnotherSize(Clash):
    """## What it does
    Finds parallel sizes that cannot make up the world size. Speaks only where the launch or `--gpus` says how many processes there are.

    ## Why it matters
    The mesh is built in the workers: every rank stops once the model is to be loaded.

    ## Example
    A file with `tensor_parallel_size: 3`, checked with `--gpus 8`.

    ## Use instead
    Sizes whose product divides the number of processes; what is left over, axolotl adds to the sharded dimension.

    ## Versions and evidence
    axo-mesh-world-size (read in axolotl 0.12.0 to 0.19.0).
    """

    code, name = "AXO406", "mesh-of-another-size"
    facts = ("axo-mesh-world-size",)
    when = "axolotl>=0.12.0"
    outcome = "crashes"
    fault = "parallel sizes that do not make up the world size"
    says = "every rank stops when the mesh is built"
    use = "choose sizes whose product divides the number of processes"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        processes, written = keys.plan.processes.value, tuple(name for name in _SIZES if keys.above_one(name))
        if not processes or not written or self._is_unread(keys) or any(not self._is_size(keys.value(name)) for name in _SIZES):
            return ()
        sizes = {name: value if isinstance(value := keys.value(name), int) else None for name in _SIZES}
        return written if mesh(sizes, processes, sharded=keys.plan.fsdp.value is True) is None else ()

    def _is_size(self, value: object) -> bool:
        return value is None or (isinstance(value, int) and not isinstance(value, bool))

    def _is_unread(self, keys: Keys) -> bool:
        """The mesh is built under FSDP2, and without FSDP for tensor and context parallelism; expert parallelism adds a dimension."""
        if keys.plan.fsdp.value is True:
            built = keys.plan.fsdp_version.value == 2
        else:
            built = keys.above_one("tensor_parallel_size") or keys.above_one("context_parallel_size")
        return not built or keys.plan.deepspeed.value is True or not keys.off("expert_parallel_size")


RULES = (
    ContextParallelNeedsFlash(),
    ContextParallelPacking(),
    TensorParallelWithLiger(),
    DeepspeedMapping(),
    ShardSizeWithoutFsdp(),
    MeshOfAnotherSize(),
)
