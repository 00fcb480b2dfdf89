"""axolotl's rules about keys that do not go together, as literate cases: bad with its place, good silent, over the releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linting import lint, marked

from fsdplint_rules.axolotl import RULES
from fsdplint_rules.axolotl_parallel import mesh

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic

BASE = "base_model: org/model\ndatasets:\n  - path: org/data\n    type: alpaca\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"
BLOCK = "fsdp_config:\n  offload_params: false\n"
FSDP2 = "fsdp_version: 2\n" + BLOCK
LIST = "fsdp: [full_shard, auto_wrap]\n" + BLOCK
LORA = "adapter: lora\n"
QLORA = "adapter: qlora\nload_in_4bit: true\n"
LIGER = "plugins: [axolotl.integrations.liger.LigerPlugin]\n"
CUT = "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n"
SPECTRUM = "plugins: [axolotl.integrations.spectrum.SpectrumPlugin]\n"


def own(lines: str, **options: object) -> list[Diagnostic]:
    """What axolotl's own rules say beyond advice, without those on FSDP1's end and on prefixes."""
    found = lint(BASE + lines, dialect="axolotl", **options)  # type: ignore[arg-type]
    return [d for d in found if d.code.startswith("AXO") and d.code not in ("AXO103", "AXO104") and d.severity.word != "info"]


def said(lines: str, **options: object) -> list[tuple[str, str, str]]:
    return [(d.severity.word, d.code, marked(BASE + lines, d)) for d in own(lines, **options)]


REFUSED = [
    # lines, code, characters, related keys
    (LIST, None, "", []),
    (SPECTRUM + LIST, "AXO107", "[full_shard, auto_wrap]", ["plugins"]),
    (SPECTRUM + LIST + "  use_orig_params: true\n", None, "", []),
    (SPECTRUM + FSDP2, None, "", []),
    ("fp32_norms: true\n", "AXO108", "true", []),
    ("fp32_norms: true\n" + BLOCK, "AXO108", "true", ["fsdp_config"]),
    ("fp32_norms: true\nfsdp_config: {}\n", "AXO108", "true", ["fsdp_config"]),
    ("fp32_norms: true\n" + FSDP2, None, "", []),
    ("fp32_norms: true\n" + BLOCK + "  fsdp_version: 2\n", None, "", []),
    ("fp32_norms: false\n", None, "", []),
    ("fp8_enable_fsdp_float8_all_gather: true\n" + FSDP2, None, "", []),
    ("fp8_enable_fsdp_float8_all_gather: true\n" + BLOCK, "AXO109", "true", []),
    ("fp8_enable_fsdp_float8_all_gather: true\n" + BLOCK + "  fsdp_version: 2\n", "AXO109", "true", ["fsdp_config.fsdp_version"]),
    ('fp8_enable_fsdp_float8_all_gather: true\nfsdp_version: "2"\n' + BLOCK, "AXO109", "true", ["fsdp_version"]),
    (LORA + "relora: true\njagged_restart_steps: 5\n" + FSDP2, "AXO111", "true", ["fsdp_config"]),
    (LORA + "relora: true\njagged_restart_steps: 5\ndeepspeed: a.json\n", "AXO111", "true", ["deepspeed"]),
    (LORA + "relora: true\njagged_restart_steps: 5\n", None, "", []),
    (QLORA + "ple_cpu_offload: true\n" + FSDP2, "AXO112", "true", ["fsdp_config"]),
    (QLORA + "ple_cpu_offload: true\nfsdp_config: {}\n", "AXO112", "true", ["fsdp_config"]),
    (QLORA + "ple_cpu_offload: true\ndeepspeed: a.json\n", "AXO112", "true", ["deepspeed"]),
    (QLORA + "ple_cpu_offload: true\nfsdp_config:\n", None, "", []),
    ("optimizer: muon\ndeepspeed: a.json\n", "AXO201", "muon", ["deepspeed"]),
    ("optimizer: flash_adamw\ndeepspeed: a.json\n", "AXO201", "flash_adamw", ["deepspeed"]),
    ("optimizer: adamw_torch_fused\ndeepspeed: a.json\n", None, "", []),
    ("optimizer: paged_adamw_8bit\n" + BLOCK.replace("false", "true"), "AXO202", "paged_adamw_8bit", ["fsdp_config.offload_params"]),
    (
        "optimizer: paged_adamw_8bit\nfsdp_config:\n  fsdp_offload_params: true\n",
        "AXO202",
        "paged_adamw_8bit",
        ["fsdp_config.fsdp_offload_params"],
    ),
    ("optimizer: paged_adamw_8bit\n" + BLOCK, None, "", []),
    ("optimizer: paged_adamw_8bit\n" + FSDP2.replace("false", "true"), None, "", []),
    ("optimizer: paged_adamw_8bit\n" + LIST.replace("full_shard", "offload"), None, "", []),
    (LORA + "optimizer: q_galore_adamw8bit\n", "AXO203", "q_galore_adamw8bit", ["adapter"]),
    ("optimizer: polora\n", "AXO203", "polora", []),
    (LORA + "optimizer: polora\n", None, "", []),
    (LORA + "optimizer: polora\ntensor_parallel_size: 2\n", "AXO204", "polora", ["tensor_parallel_size"]),
    ("load_in_8bit: true\n", "AXO301", "true", []),
    ("load_in_8bit: true\ninference: true\n", None, "", []),
    ("load_in_4bit: false\n", None, "", []),
    ("load_in_4bit: true\nadapter: ${ADAPTER}\n", None, "", []),
    ("adapter: qlora\n", "AXO302", "qlora", []),
    ("adapter: qlora\nload_in_8bit: true\n", "AXO302", "true", ["adapter"]),
    (QLORA + "gptq: true\n", "AXO302", "true", ["adapter"]),
    ("adapter: qlora\nmerge_lora: true\n", None, "", []),
    (LORA + "load_in_8bit: true\nlora_qkv_kernel: true\n", "AXO303", "true", ["load_in_8bit", "adapter"]),
    (LORA + "load_in_8bit: true\nlora_qkv_kernel: false\n", None, "", []),
    (QLORA + "model_quantization_config: Mxfp4Config\n", "AXO304", "Mxfp4Config", ["load_in_4bit"]),
    (
        "model_quantization_config: Mxfp4Config\n" + FSDP2 + "  cpu_ram_efficient_loading: true\n",
        "AXO305",
        "true",
        ["model_quantization_config"],
    ),
    (
        "model_quantization_config: Mxfp4Config\n" + FSDP2 + "  fsdp_cpu_ram_efficient_loading: true\n",
        "AXO305",
        "true",
        ["model_quantization_config"],
    ),
    ("model_quantization_config: Mxfp4Config\n" + FSDP2, None, "", []),
    (QLORA + "qat: {weight_dtype: int8}\n", "AXO306", "true", ["qat"]),
    ("qat: {weight_dtype: int8}\n", None, "", []),
    ("context_parallel_size: 2\n" + FSDP2, "AXO401", "2", []),
    ("context_parallel_size: 2\nsdp_attention: true\n" + FSDP2, "AXO401", "2", ["sdp_attention"]),
    ("context_parallel_size: 2\nattn_implementation: flash_attention_3\n" + FSDP2, "AXO401", "2", ["attn_implementation"]),
    ("context_parallel_size: 2\nattn_implementation: flash_attention_2\n" + FSDP2, None, "", []),
    ("context_parallel_size: 2\nflash_attention: true\n" + FSDP2, None, "", []),
    ("context_parallel_size: 1\n" + FSDP2, None, "", []),
    ("sequence_parallel_degree: 2\n" + FSDP2, "AXO401", "2", []),
    (LIGER + "liger_rms_norm: true\ntensor_parallel_size: 2\n", "AXO403", "true", ["tensor_parallel_size"]),
    (LIGER + "liger_fused_linear_cross_entropy: true\ntensor_parallel_size: 2\n", "AXO403", "true", ["tensor_parallel_size"]),
    (LIGER + "liger_rms_norm: true\ntensor_parallel_size: 1\n", None, "", []),
    (
        "tensor_parallel_size: 2\ndeepspeed: {zero_optimization: {stage: 2}}\n",
        "AXO404",
        "{zero_optimization: {stage: 2}}",
        ["tensor_parallel_size"],
    ),
    ("deepcompile: true\ndeepspeed: {zero_optimization: {stage: 2}}\n", "AXO404", "{zero_optimization: {stage: 2}}", ["deepcompile"]),
    ("deepspeed: {zero_optimization: {stage: 2}}\n", None, "", []),
    ("dp_shard_size: 2\n", "AXO405", "2", []),
    ("dp_shard_size: 2\n" + FSDP2, None, "", []),
    ("dp_shard_size: 1\n", None, "", []),
    ("torch_compile_options: {shape_padding: true}\n", "AXO501", "{shape_padding: true}", []),
    ("torch_compile_options: {}\n", "AXO501", "{}", []),
    ("torch_compile: auto\ntorch_compile_options: {shape_padding: true}\n", None, "", []),
    ("torch_compile_options:\n", None, "", []),
    ("deepcompile: true\n", "AXO502", "true", []),
    ("deepcompile: true\n" + FSDP2, "AXO502", "true", []),
    ("deepcompile: true\ndeepspeed: a.json\n", None, "", []),
    ("attn_implementation: flash_attention_2\nflash_attention: true\n", "AXO503", "true", ["attn_implementation"]),
    ("attn_implementation: flash_attention_2\nflash_attention: false\n", None, "", []),
    ("activation_offloading: legacy\n", "AXO504", "legacy", []),
    ("activation_offloading: true\ngradient_checkpointing: false\n", "AXO504", "true", ["gradient_checkpointing"]),
    ("activation_offloading: true\ngradient_checkpointing: true\n", None, "", []),
    (CUT + "bf16: true\ncut_cross_entropy: true\nchunked_cross_entropy: true\n", "AXO505", "true", ["chunked_cross_entropy"]),
    (CUT + "bf16: auto\ncut_cross_entropy: true\n", None, "", []),
    (CUT + "cut_cross_entropy: true\n", "AXO506", "true", []),
    (CUT + "fp16: true\ncut_cross_entropy: true\n", None, "", []),
    ("batch_size: 4\n", None, "", []),
]


@pytest.mark.parametrize(("lines", "code", "characters", "related"), REFUSED)
def test_refused(lines: str, code: str | None, characters: str, related: list[str]) -> None:
    found = own(lines)
    assert [(d.severity.word, d.code, marked(BASE + lines, d)) for d in found] == ([("error", code, characters)] if code else [])
    assert [r.key for d in found for r in d.related] == related


def test_falcon() -> None:
    for model in ("tiiuae/falcon-7b", "tiiuae/Falcon3-7B-Base"):
        text = BASE.replace("org/model", model)
        assert [(d.code, d.key) for d in lint(text + LIST, dialect="axolotl") if d.severity.word == "error"] == [("AXO106", "fsdp")]
        assert lint(text + FSDP2, dialect="axolotl") == []


class TestOverReleases:
    @pytest.mark.parametrize(
        ("lines", "code", "before", "since"),
        [
            ("optimizer: muon\ndeepspeed: a.json\n", "AXO201", None, "0.8.0"),
            ("optimizer: flash_adamw\ndeepspeed: a.json\n", "AXO201", "0.15.0", "0.16.0"),
            (LORA + "optimizer: q_galore_adamw8bit\n", "AXO203", "0.16.0", "0.17.0"),
            ("fp32_norms: true\n", "AXO108", "0.16.0", "0.17.0"),
            ("context_parallel_size: 2\n", "AXO401", "0.11.0", "0.12.0"),
            ("sequence_parallel_degree: 2\n", "AXO401", None, "0.8.0"),
            ("deepcompile: true\n", "AXO502", "0.11.0", "0.12.0"),
            ("activation_offloading: true\n", "AXO504", "0.11.0", "0.12.0"),
            ("torch_compile_options: {shape_padding: true}\n", "AXO501", "0.17.0", "0.18.0"),
            ("attn_implementation: sdpa\nflash_attention: true\n", "AXO503", "0.16.0", "0.17.0"),
            (QLORA + "qat: {weight_dtype: int8}\n", "AXO306", "0.9.2", "0.10.0"),
            (QLORA + "ple_cpu_offload: true\nfsdp_config: {a: 1}\n", "AXO112", "0.18.0", "0.19.0"),
            ("load_in_4bit: true\n", "AXO301", None, "0.8.0"),
            ("fsdp: [full_shard]\n", "AXO101", None, "0.11.0"),
        ],
    )
    def test_since(self, lines: str, code: str, before: str | None, since: str) -> None:
        assert code in [d.code for d in own(lines, target=[f"axolotl=={since}"])]
        assert before is None or code not in [d.code for d in own(lines, target=[f"axolotl=={before}"])]

    @pytest.mark.parametrize(
        ("attention", "release", "fits"),
        [
            ("flash_attention: true\n", "0.16.0", True),
            ("attn_implementation: flash_attention_2\n", "0.16.0", False),
            ("attn_implementation: flash_attention_3\n", "0.18.0", True),
            ("attn_implementation: kernels-community/flash-attn3\n", "0.18.0", True),
            ("attn_implementation: kernels-community/flash-attn2\n", "0.19.0", False),
            ("flash_attention: true\nsage_attention: true\n", "0.18.0", False),
        ],
    )
    def test_attention_of_context_parallelism(self, attention: str, release: str, fits: bool) -> None:
        codes = [d.code for d in own("context_parallel_size: 2\n" + attention + FSDP2, target=[f"axolotl=={release}"])]
        assert codes == ([] if fits else ["AXO401"])

    def test_relora_of_old(self) -> None:
        lines = LORA + "relora_steps: 5\nfsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: false}\n"
        assert said(lines, target=["axolotl==0.11.0"]) == [("error", "AXO111", "5")]
        assert said(lines, target=["axolotl==0.12.0"]) == []

    def test_offload_of_old(self) -> None:
        lines = "optimizer: adamw_8bit\nfsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: true}\n"
        assert said(lines, target=["axolotl==0.8.0"]) == [("error", "AXO202", "adamw_8bit")]

    def test_batch_fields(self) -> None:
        one = BASE.replace("gradient_accumulation_steps: 1\n", "")
        (found,) = lint(one, dialect="axolotl", target=["axolotl==0.18.0"])
        assert (found.code, found.severity.word, found.key) == ("AXO509", "error", "micro_batch_size")
        assert lint(one, dialect="axolotl") == []
        none = one.replace("micro_batch_size: 1\n", "") + "num_epochs: 1\n"
        assert lint(none, dialect="axolotl") == []
        assert [d.code for d in lint(none + "batch_size: 4\n", dialect="axolotl")] == ["AXO509"]
        assert lint(one.replace("1", "${MICRO}") + "batch_size: 4\n", dialect="axolotl", target=["axolotl==0.18.0"]) == []


class TestSeveralGpus:
    KERNEL = LORA + "lora_mlp_kernel: true\n" + BLOCK

    def test_kernels_under_fsdp1(self) -> None:
        assert said(self.KERNEL, gpus=2) == [("error", "AXO110", "true")]
        assert said(self.KERNEL) == [("warning", "AXO110", "true")]
        assert "AXO110" not in [code for _, code, _ in said(self.KERNEL, gpus=1)]
        assert said(self.KERNEL + "fsdp_version: 2\n", gpus=2) == []

    def test_a_nested_version_does_not_count(self) -> None:
        assert said(self.KERNEL + "  fsdp_version: 2\n", gpus=2) == [("error", "AXO110", "true")]

    def test_the_embedding_kernel_is_new(self) -> None:
        lines = self.KERNEL.replace("mlp", "embedding")
        assert said(lines, gpus=2) == [("error", "AXO110", "true")]
        assert said(lines, gpus=2, target=["axolotl==0.15.0"]) == []

    def test_before_0_9_any_fsdp(self) -> None:
        lines = LORA + "lora_mlp_kernel: true\nfsdp: [full_shard]\nfsdp_config: {fsdp_version: 2}\n"
        assert said(lines, gpus=2, target=["axolotl==0.8.0"]) == [("error", "AXO110", "true")]
        assert said(lines, gpus=2, target=["axolotl==0.9.0"]) == []

    def test_unsloths_patches(self) -> None:
        lines = QLORA + "unsloth_lora_o: true\n"
        old = ["axolotl==0.16.0"]
        assert said(lines, gpus=2, target=old) == [("error", "AXO508", "true")]
        assert said(lines, gpus=1, target=old) == said(lines, target=old) == []
        assert said(lines + FSDP2, target=old) == [("warning", "AXO508", "true")]

    @pytest.mark.parametrize(
        ("lines", "gpus", "fits"),
        [
            ("tensor_parallel_size: 2\n", 8, True),
            ("tensor_parallel_size: 3\n", 8, False),
            ("dp_shard_size: 4\ndp_replicate_size: 2\n", 8, True),
            ("dp_shard_size: 4\n", 8, True),
            ("dp_shard_size: 3\n", 8, False),
            ("dp_replicate_size: 4\n", 2, False),
        ],
    )
    def test_the_mesh(self, lines: str, gpus: int, fits: bool) -> None:
        found = own(lines + FSDP2, gpus=gpus)
        assert [(d.code, d.severity.word) for d in found] == ([] if fits else [("AXO406", "error")])
        assert own(lines + FSDP2) == []

    def test_the_mesh_without_fsdp(self) -> None:
        assert said("tensor_parallel_size: 3\n", gpus=8) == [("error", "AXO406", "3")]
        assert said("tensor_parallel_size: 2\n", gpus=8) == said("dp_replicate_size: 3\n", gpus=8) == []
        assert said("tensor_parallel_size: 2\ndp_replicate_size: 2\n", gpus=8) == [("error", "AXO406", "2")]


def test_what_mesh_axolotl_makes() -> None:
    sizes = {"tensor_parallel_size": 2, "context_parallel_size": None, "dp_shard_size": None, "dp_replicate_size": None}
    assert mesh(sizes, 8) == {"tensor_parallel_size": 2, "dp_shard_size": 4}
    assert mesh({**sizes, "dp_shard_size": 2}, 8) == {"tensor_parallel_size": 2, "dp_shard_size": 2, "dp_replicate_size": 2}
    assert mesh({**sizes, "dp_shard_size": 3}, 8) is None


class TestWarningsAndAdvice:
    def test_zero3_qlora(self) -> None:
        lines = QLORA + "deepspeed: a/zero3_bf16.json\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: {}\n"
        assert said(lines.format("false")) == [("warning", "AXO507", "a/zero3_bf16.json")]
        assert said(lines.format("true")) == []
        assert said(lines.format("false").replace("zero3", "zero2")) == []

    def test_bitsandbytes_with_tensor_parallelism_is_advice(self) -> None:
        found = lint(BASE + "optimizer: adamw_bnb_8bit\ntensor_parallel_size: 2\n", dialect="axolotl")
        assert [(d.severity.word, d.code) for d in found] == [("info", "AXO205")]

    def test_a_plugins_key_without_the_plugin(self) -> None:
        assert said("liger_rms_norm: true\n") == [("warning", "AXO510", "liger_rms_norm")]
        assert said(LIGER + "liger_rms_norm: true\n") == []
        assert said("liger_rms_norm: false\ncut_cross_entropy:\n") == []
        assert said("plugins: [my.Plugin]\nliger_rms_norm: true\n") == []


def test_every_rule_names_its_evidence() -> None:
    assert all((rule.facts or "of 0.19.0 (run)" in (rule.__doc__ or "")) and rule.dialects == ("axolotl",) for rule in RULES)
