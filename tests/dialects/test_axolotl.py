"""axolotl's YAML: recognition, what its keys decide together, and the claims of its option table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linting import lint, marked, read

from fsdplint.dialects import dialect, fits, recognise, resolved
from fsdplint.dialects.axolotl import is_on
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap
from fsdplint.target import Versions

if TYPE_CHECKING:
    from fsdplint.plan import Plan

BASE = "base_model: org/model\ndatasets:\n  - path: org/data\n    type: alpaca\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"
FSDP2 = BASE + "fsdp_version: 2\nfsdp_config:\n  offload_params: false\n"
FSDP1 = BASE + "fsdp: [full_shard, auto_wrap]\nfsdp_config:\n  fsdp_offload_params: false\n"


def said(text: str, **options: object) -> list[tuple[str, str, str]]:
    """(severity, code, the characters pointed at) of everything but advice."""
    found = lint(text, dialect="axolotl", **options)  # type: ignore[arg-type]
    return [(d.severity.word, d.code, marked(text, d)) for d in found if d.severity.word != "info"]


def plan_of(text: str, *target: str, gpus: int | None = None) -> Plan:
    return read(text, dialect="axolotl", target=target, gpus=gpus)


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            BASE,
            "base_model: m\npretraining_dataset: org/text\nsequence_len: 2048\n",
            "base_model: m\ndatasets: [{path: a}]\nplugins: [axolotl.integrations.liger.LigerPlugin]\n",
            "base_model: m\nadapter: lora\nlora_r: 8\nnum_epochs: 1\n",
            "base_model: m\ndatasets: [{path: a}]\n",
        ],
    )
    def test_is_axolotl(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "axolotl"

    @pytest.mark.parametrize(
        "text",
        [
            "base_model: m\n",
            "base_model: m\nmodels: [{model: a}]\nmerge_method: slerp\ndatasets: [{path: a}]\n",
            "model_name_or_path: m\nbase_model: m\nadapter: lora\nnum_epochs: 1\nlora_r: 1\n",
            "datasets: [{path: a}]\nsequence_len: 2048\n",
            "base_model: m\ndatasets: alpaca\n",
            "- base_model\n",
        ],
    )
    def test_is_not_axolotl(self, text: str) -> None:
        assert dialect("axolotl").recognise(parse(text, "x.yaml")) == 0


@pytest.mark.parametrize("value", [None, "", [], {}, False, 0, "false", "off", "no"])
def test_off(value: object) -> None:
    assert is_on(value) is False


@pytest.mark.parametrize("value", [True, 1, "true", "x.json", [0], {"a": 1}])
def test_on(value: object) -> None:
    assert is_on(value) is True


def test_of_a_placeholder_nobody_knows() -> None:
    assert is_on("${DEEPSPEED}") is None


class TestSwitch:
    def test_the_block_switches_fsdp_on_since_0_12(self) -> None:
        new, old = plan_of(FSDP2, "axolotl==0.12.0").fsdp, plan_of(FSDP2, "axolotl==0.11.0").fsdp
        assert new.value is True and new.place is not None and new.place.path == ("fsdp_config",)
        assert old.value is False and old.place is None

    def test_the_list_always_did(self) -> None:
        for release in ("0.8.0", "0.11.0", "0.19.0"):
            fsdp = plan_of(FSDP1, f"axolotl=={release}").fsdp
            assert fsdp.value is True and fsdp.place is not None and fsdp.place.path == ("fsdp",)

    @pytest.mark.parametrize("lines", ["fsdp:\nfsdp_config:\n", "fsdp: []\nfsdp_config: {}\n", ""])
    def test_nothing_written_decides_nothing(self, lines: str) -> None:
        plan = plan_of(BASE + lines)
        assert plan.fsdp.value is None and not plan.fsdp_options.value and plan.fsdp_version.value is None

    def test_a_block_of_nulls_is_a_block(self) -> None:
        assert plan_of(BASE + "fsdp_config:\n  offload_params:\n").fsdp.value is True

    def test_a_placeholder_is_unknown(self) -> None:
        assert plan_of(BASE + "fsdp_config: ${FSDP_CONFIG}\n").fsdp.unknown

    def test_a_version_alone_is_an_option_without_fsdp(self) -> None:
        plan = plan_of(BASE + "fsdp_version: 2\n")
        assert plan.fsdp.value is False and plan.fsdp_options.value is True
        assert plan.fsdp_options.place is not None and plan.fsdp_options.place.path == ("fsdp_version",)

    def test_deepspeed(self) -> None:
        plan = plan_of(BASE + "deepspeed: zero2.json\n")
        assert plan.deepspeed.value is True and plan.deepspeed_config.value == "zero2.json"
        assert plan_of(BASE + 'deepspeed: ""\n').deepspeed.value is False

    def test_companions(self) -> None:
        axolotl = dialect("axolotl")
        assert axolotl.companions(parse("deepspeed: a/zero2.json\n", "x.yaml")) == [("deepspeed", "a/zero2.json")]
        for none in ("deepspeed:\n", "deepspeed: {a: 1}\n", "deepspeed: ${DS}\n", 'deepspeed: ""\n'):
            assert axolotl.companions(parse(none, "x.yaml")) == []


class TestVersion:
    @pytest.mark.parametrize(
        ("lines", "value", "path"),
        [
            ("fsdp_version: 2\nfsdp_config: {offload_params: true}\n", 2, ("fsdp_version",)),
            ('fsdp_version: "2"\nfsdp_config: {offload_params: true}\n', 2, ("fsdp_version",)),
            ("fsdp_config: {fsdp_version: 2}\n", 2, ("fsdp_config", "fsdp_version")),
            ("fsdp_config: {version: 2}\n", 2, ("fsdp_config", "version")),
            ("fsdp_version:\nfsdp_config: {fsdp_version: 2}\n", 2, ("fsdp_config", "fsdp_version")),
            ("fsdp_version: 3\nfsdp_config: {offload_params: true}\n", None, ("fsdp_version",)),
            ("fsdp_version: ${V}\nfsdp_config: {offload_params: true}\n", None, ("fsdp_version",)),
        ],
    )
    def test_where_it_is_read(self, lines: str, value: int | None, path: tuple[str, ...]) -> None:
        version = plan_of(BASE + lines).fsdp_version
        assert version.value == value and version.place is not None and version.place.path == path

    def test_nowhere_is_fsdp1(self) -> None:
        version = plan_of(BASE + "fsdp_config: {offload_params: true}\n").fsdp_version
        assert version.value == 1 and version.place is None and version.source == "axolotl's default"

    CONFLICT = BASE + "fsdp_version: 2\nfsdp_config:\n  fsdp_version: 1\n"

    def test_a_conflict_settles_nothing_since_0_14(self) -> None:
        version = plan_of(self.CONFLICT).fsdp_version
        assert version.value is None and version.contradicted is not None
        assert said(self.CONFLICT) == [("error", "FSD103", "1")]

    def test_before_0_14_the_nested_one_wins(self) -> None:
        version = plan_of(self.CONFLICT, "axolotl==0.13.0").fsdp_version
        assert version.value == 1 and version.place is not None and version.place.path == ("fsdp_config", "fsdp_version")
        assert ("error", "FSD103", "2") in said(self.CONFLICT, target=["axolotl==0.13.0"])

    def test_before_0_12_the_top_level_does_not_count(self) -> None:
        version = plan_of(self.CONFLICT, "axolotl==0.11.0").fsdp_version
        assert version.value == 1 and version.contradicted is None


class TestSharding:
    def test_resharding(self) -> None:
        text = BASE + "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: {}\n"
        assert plan_of(text.format("true")).sharding.value is Sharding.FULL_SHARD
        fact = plan_of(text.format("false")).sharding
        assert (
            fact.value is Sharding.SHARD_GRAD_OP and fact.place is not None and fact.place.path == ("fsdp_config", "reshard_after_forward")
        )

    def test_fsdp2_by_default(self) -> None:
        assert plan_of(FSDP2).sharding.value is Sharding.FULL_SHARD
        assert plan_of(FSDP2, "axolotl==0.14.0").sharding.value is Sharding.SHARD_GRAD_OP

    def test_a_word_of_the_list_does_not_run_under_fsdp1(self) -> None:
        text = FSDP1.replace("full_shard", "shard_grad_op")
        fact = plan_of(text).sharding
        assert fact.value is Sharding.FULL_SHARD and fact.written is Sharding.SHARD_GRAD_OP
        assert fact.place is not None and fact.place.path == ("fsdp", 0)
        assert plan_of(text, "axolotl==0.13.0").sharding.value is Sharding.SHARD_GRAD_OP

    def test_case_does_not_matter(self) -> None:
        assert plan_of(FSDP1.replace("full_shard", "FULL_SHARD")).sharding.value is Sharding.FULL_SHARD

    def test_reshard_beats_the_list(self) -> None:
        text = BASE + "fsdp: [shard_grad_op]\nfsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n"
        fact = plan_of(text).sharding
        assert fact.value is Sharding.FULL_SHARD and fact.contradicted is not None and fact.contradicted.value is Sharding.SHARD_GRAD_OP


class TestOptions:
    def test_both_spellings(self) -> None:
        plain, prefixed = plan_of(FSDP2.replace("false", "true")), plan_of(FSDP1.replace("false", "true"))
        assert plain.offload.value is True and prefixed.offload.value is True
        assert prefixed.offload.place is not None and prefixed.offload.place.path == ("fsdp_config", "fsdp_offload_params")

    def test_offload_of_the_list_wins(self) -> None:
        fact = plan_of(FSDP1.replace("full_shard", "offload")).offload
        assert fact.value is True and fact.place is not None and fact.place.path == ("fsdp", 0) and fact.contradicted is not None

    def test_wrapping(self) -> None:
        assert plan_of(FSDP2).wrap_policy.value is Wrap.TRANSFORMER
        assert plan_of(FSDP2, "axolotl==0.13.0").wrap_policy.value is None
        assert plan_of(FSDP1, "axolotl==0.11.0").wrap_policy.value is Wrap.TRANSFORMER
        assert plan_of(FSDP2 + "  auto_wrap_policy: SIZE_BASED_WRAP\n  min_num_params: 1000\n").min_num_params.value == 1000

    def test_the_rest_of_the_block(self) -> None:
        plan = plan_of(
            FSDP2 + "  state_dict_type: SHARDED_STATE_DICT\n  cpu_ram_efficient_loading: true\n  transformer_layer_cls_to_wrap: A,B\n"
        )
        assert plan.state_dict.value is StateDict.SHARDED and plan.ram_efficient.value is True and plan.wrap_classes.value == ("A", "B")

    @pytest.mark.parametrize(
        ("line", "value"), [("bf16: true", Precision.BF16), ("bf16: auto", Precision.BF16), ("fp16: true", Precision.FP16)]
    )
    def test_precision(self, line: str, value: Precision) -> None:
        assert plan_of(BASE + line + "\n").precision.value is value

    def test_bf16_beats_fp16_without_a_word(self) -> None:
        text = BASE + "bf16: true\nfp16: true\n"
        assert plan_of(text).precision.value is Precision.BF16 and said(text) == []

    def test_quantization_and_adapter(self) -> None:
        plan = plan_of(BASE + "adapter: qlora\nload_in_4bit: true\nrl: dpo\n")
        assert (plan.quantization.value, plan.adapter.value, plan.task.value) == ("4bit", "qlora", "dpo")
        assert plan_of(BASE + "load_in_4bit: false\nload_in_8bit: true\nadapter: lora\n").quantization.value == "8bit"

    def test_compile_auto_is_compile(self) -> None:
        assert plan_of(BASE + "torch_compile: auto\n").compile.value is True
        assert plan_of(BASE + "torch_compile: auto\n", "torch==2.5.0").compile.value is None

    @pytest.mark.parametrize(
        ("lines", "release", "value"),
        [
            ("gradient_checkpointing: true\n", "0.19.0", True),
            ("gradient_checkpointing: true\nactivation_offloading: true\n", "0.19.0", False),
            ("gradient_checkpointing: true\nactivation_offloading: legacy\n", "0.19.0", False),
            ("gradient_checkpointing: true\nactivation_offloading: legacy\n", "0.17.0", True),
            ("gradient_checkpointing: true\nactivation_offloading: hidden_states\n", "0.19.0", True),
            ("gradient_checkpointing: offload\n", "0.19.0", False),
            ("gradient_checkpointing: offload\n", "0.11.0", True),
        ],
    )
    def test_offloading_takes_the_place_of_checkpointing(self, lines: str, release: str, value: bool) -> None:
        assert plan_of(BASE + lines, f"axolotl=={release}").gradient_checkpointing.value is value


class TestUnknownKeys:
    def test_dropped(self) -> None:
        assert said(BASE + "sequence_length: 10\n") == [("warning", "FSD003", "sequence_length")]

    def test_null_asks_for_nothing(self) -> None:
        assert said(BASE + "sequence_length:\n") == []

    def test_a_plugin_from_elsewhere_may_bring_keys(self) -> None:
        plugins = "plugins: [my.Plugin]\n"
        assert said(BASE + plugins + "my_own_switch: 1\nliger_rms_norm: true\n") == []
        assert said(BASE + plugins + "gradient_checkpoint: true\n") == [("warning", "FSD003", "gradient_checkpoint")]

    def test_a_key_of_the_block_at_the_top(self) -> None:
        assert said(BASE + "offload_params: true\n") == [("warning", "FSD006", "offload_params")]

    def test_in_the_block_since_0_13(self) -> None:
        text = FSDP2 + "  transformer_layer_cls: A\n"
        assert said(text) == [("warning", "FSD003", "transformer_layer_cls")]
        assert said(text, target=["axolotl==0.12.2"]) == []

    @pytest.mark.parametrize(
        "name",
        ["sharding_strategy: FULL_SHARD", "fsdp_sharding_strategy: SHARD_GRAD_OP", "backward_prefetch: BACKWARD_PRE", "cpu_offload: true"],
    )
    def test_gone_from_the_block_since_0_13(self, name: str) -> None:
        text = FSDP2 + f"  {name}\n"
        assert ("warning", "FSD403", name.split(":")[0]) in said(text)
        assert [code for _, code, _ in said(text, target=["axolotl==0.12.2"]) if code == "FSD403"] == []

    def test_help_of_a_dropped_strategy(self) -> None:
        (found,) = lint(FSDP2 + "  sharding_strategy: SHARD_GRAD_OP\n", dialect="axolotl")
        assert found.help == "write `fsdp_version: 2` and `reshard_after_forward: false`"

    def test_an_idle_key_is_advice(self) -> None:
        (found,) = lint(FSDP2 + "  forward_prefetch: false\n", dialect="axolotl")
        assert (found.severity.word, found.code) == ("info", "FSD403")

    def test_a_key_that_nothing_reads(self) -> None:
        assert said(FSDP2 + "  mixed_precision_policy: bf16\n") == [("warning", "FSD006", "mixed_precision_policy")]

    @pytest.mark.parametrize(
        ("line", "release"),
        [("fp32_norms: true", "0.16.0"), ("torch_compile_options: {shape_padding: true}", "0.17.0"), ("qat: {a: 1}", "0.9.2")],
    )
    def test_newer_than_the_target(self, line: str, release: str) -> None:
        assert ("warning", "FSD401", line.split(":")[0]) in said(FSDP2 + line + "\n", target=[f"axolotl=={release}"])


class TestValues:
    @pytest.mark.parametrize(
        ("line", "slice_"),
        [
            ("fsdp: full_shard auto_wrap", "full_shard auto_wrap"),
            ("fsdp: true", "true"),
            ("fsdp: false", "false"),
            ("deepspeed: [a]", "[a]"),
            ("bf16: full", "full"),
            ("torch_compile: inductor", "inductor"),
            ("torch_compile_mode: max-autotune-no-cudagraphs", "max-autotune-no-cudagraphs"),
            ("gradient_checkpointing: unsloth", "unsloth"),
            ("gradient_checkpointing: everything", "everything"),
            ("attn_implementation: flash", "flash"),
            ("attn_implementation: SDPA", "SDPA"),
            ("warmup_steps: 0.1", "0.1"),
            ("sample_packing: maybe", "maybe"),
            ("save_safetensors: false", "false"),
        ],
    )
    def test_refused(self, line: str, slice_: str) -> None:
        assert ("error", "FSD004", slice_) in said(BASE + line + "\n")

    @pytest.mark.parametrize(
        "line",
        [
            "bf16: auto",
            'bf16: "true"',
            "torch_compile: 1",
            'micro_batch_size: "2"',
            "warmup_steps: 10.0",
            "num_epochs: 1.5",
            "gradient_checkpointing: 'yes'",
            "attn_implementation: kernels-community/flash-attn2",
            "sample_packing:",
            "val_set_size: ${VAL}",
            "fsdp:",
        ],
    )
    def test_taken(self, line: str) -> None:
        assert said(BASE.replace("micro_batch_size: 1\n", "" if "micro" in line else "micro_batch_size: 1\n") + line + "\n") == []

    @pytest.mark.parametrize(
        ("line", "old", "new"),
        [
            ("gradient_checkpointing: unsloth", "0.8.1", "0.9.2"),
            ("attn_implementation: flash", "0.16.0", "0.17.0"),
        ],
    )
    def test_taken_by_older_releases(self, line: str, old: str, new: str) -> None:
        word = line.split(": ")[1]
        assert said(BASE + line + "\n", target=[f"axolotl=={old}"]) in ([], [("warning", "FSD401", "attn_implementation")])
        assert said(BASE + line + "\n", target=[f"axolotl=={new}"]) == [("error", "FSD004", word)]

    @pytest.mark.parametrize(
        ("line", "slice_"),
        [
            ("auto_wrap_policy: NO_WRAP", "NO_WRAP"),
            ("auto_wrap_policy: transformer_based_wrap", "transformer_based_wrap"),
            ("state_dict_type: full", "full"),
            ("reshard_after_forward: FULL_SHARD", "FULL_SHARD"),
            ("reshard_after_forward: 4", "4"),
            ("transformer_layer_cls_to_wrap: [A]", "[A]"),
            ("fsdp_transformer_layer_cls_to_wrap: [A]", "[A]"),
            ("min_num_params: 0", "0"),
        ],
    )
    def test_typed_block_since_0_13(self, line: str, slice_: str) -> None:
        text = FSDP2 + f"  {line}\n"
        errors = [found for found in said(text) if found[0] == "error"]
        assert errors == [("error", "FSD004", slice_)]
        assert ("error", "FSD004", slice_) not in said(text, target=["axolotl==0.12.2"])

    def test_a_version_that_is_none(self) -> None:
        assert said(FSDP2.replace("2", "3")) == [("error", "FSD004", "3")]
        assert said(FSDP2.replace("2", "two")) == [("error", "FSD004", "two")]
        assert said(BASE + "fsdp_version: 3\n") == [("warning", "FSD102", "3")]

    def test_an_optimizer_that_is_too_new(self) -> None:
        text = FSDP2 + "optimizer: flash_adamw\n"
        assert said(text, target=["axolotl==0.15.0"]) == [("error", "FSD004", "flash_adamw")]
        assert said(text, target=["axolotl==0.16.0"]) == []

    def test_options_that_inductor_has_and_axolotl_does_not_list(self) -> None:
        text = BASE + "torch_compile: true\ntorch_compile_options:\n  foo: 1\n  triton.cudagraphs: true\n"
        assert said(text) == [("error", "FSD003", "foo")]
        assert said(text, target=["axolotl==0.17.0"]) == [("warning", "FSD401", "torch_compile_options")]

    def test_lax_values_are_pydantics(self) -> None:
        table = dialect("axolotl").table
        schema = resolved(table.options["sequence_len",].schema, Versions({"axolotl": (0, 19)}))
        assert all(fits(schema, value) for value in (1, 2.0, "2", " 3 ", True))
        assert not any(fits(schema, value) for value in (1.5, "1e3", "x", None, []))


class TestOlderAndGoing:
    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("evaluation_strategy: 'no'", "FSD404"),
            ("sequence_parallel_degree: 1", "FSD404"),
            ("gradient_checkpointing: offload", "FSD402"),
            ("flash_attention: true", "FSD402"),
            ("eval_max_new_tokens: 128", "FSD402"),
        ],
    )
    def test_deprecated(self, line: str, code: str) -> None:
        assert said(BASE + line + "\n") == [("warning", code, line.split(":")[0])]

    def test_deprecated_plugin_key(self) -> None:
        text = BASE + "plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_swiglu: true\n"
        assert said(text) == [("warning", "FSD404", "liger_swiglu")]

    @pytest.mark.parametrize(
        ("line", "release"),
        [("flash_attention: true", "0.16.0"), ("gradient_checkpointing: offload", "0.11.0"), ("flash_attention: false", "0.19.0")],
    )
    def test_not_deprecated(self, line: str, release: str) -> None:
        assert said(BASE + line + "\n", target=[f"axolotl=={release}"]) == []

    @pytest.mark.parametrize(
        "key", ["s2_attention", "flash_attn_rms_norm", "unsloth_lora_mlp", "unsloth_rope", "unsloth_cross_entropy_loss"]
    )
    def test_removed_in_0_17(self, key: str) -> None:
        text = BASE + f"{key}: true\n"
        assert said(text, target=["axolotl==0.19.0"]) == [("error", "FSD403", key)]
        assert said(text, target=["axolotl==0.16.0"]) == []
        assert said(text.replace("true", "false"), target=["axolotl==0.19.0"]) == []
        assert said(text.replace("true", "${X}"), target=["axolotl==0.19.0"]) == []

    def test_final_state_dict_type(self) -> None:
        text = FSDP2 + "fsdp_final_state_dict_type: FULL_STATE_DICT\n"
        assert [code for _, code, _ in said(text)] == ["FSD803"]
        assert said(text.replace(" FULL_STATE_DICT", "")) == []

    def test_torch_is_too_old_for_fsdp2(self) -> None:
        assert said(FSDP2, target=["torch==2.6.0"]) == [("error", "FSD401", "2")]
        assert said(FSDP2, target=["torch==2.7.0"]) == []
        assert said(BASE + "fsdp_config: {fsdp_version: 2}\n", target=["torch==2.6.0"]) == []
