"""Core rules that axolotl's table makes speak, and axolotl's own rules on how FSDP is switched on, as literate cases."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

BASE = "base_model: org/model\ndatasets:\n  - path: org/data\n    type: alpaca\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"
BLOCK = "fsdp_config:\n  offload_params: false\n"
FSDP2 = BASE + "fsdp_version: 2\n" + BLOCK
FSDP1 = BASE + BLOCK
LIST = BASE + "fsdp: [full_shard, auto_wrap]\n" + BLOCK


def errors(text: str, **options: object) -> list[tuple[str, str]]:
    """(code, the characters pointed at) of every error."""
    found = lint(text, dialect="axolotl", **options)  # type: ignore[arg-type]
    return [(d.code, marked(text, d)) for d in found if d.severity.word == "error"]


def warnings(text: str, **options: object) -> list[tuple[str, str]]:
    """(code, the characters pointed at) of every warning."""
    found = lint(text, dialect="axolotl", **options)  # type: ignore[arg-type]
    return [(d.code, marked(text, d)) for d in found if d.severity.word == "warning"]


class TestBothEngines:
    def test_the_list_beside_deepspeed_is_refused(self) -> None:
        text = LIST + "deepspeed: zero2.json\n"
        for release in ("0.8.0", "0.12.0", "0.19.0"):
            assert ("FSD101", "zero2.json") in errors(text, target=[f"axolotl=={release}"])
        (found,) = [d for d in lint(text, dialect="axolotl") if d.code == "FSD101"]
        assert "axolotl stops" in found.message and found.related[0].key == "fsdp"

    def test_the_block_beside_deepspeed_is_not_noticed(self) -> None:
        text = FSDP2 + "deepspeed: zero2.json\n"
        assert errors(text) == [("FSD101", "zero2.json")]
        (found,) = [d for d in lint(text, dialect="axolotl") if d.code == "FSD101"]
        assert "does not notice" in found.message

    def test_before_0_12_the_block_loses(self) -> None:
        found = errors(FSDP1 + "deepspeed: zero2.json\n", target=["axolotl==0.11.0"])
        assert [code for code, _ in found] == ["FSD101"] and "offload_params" in found[0][1]

    @pytest.mark.parametrize("off", ["deepspeed:\n", 'deepspeed: ""\n', "deepspeed: {}\n"])
    def test_off_is_off(self, off: str) -> None:
        assert errors(FSDP2 + off) == []

    def test_compile_beside_deepspeed(self) -> None:
        text = BASE + "torch_compile: true\ndeepspeed: zero2.json\n"
        assert errors(text, target=["axolotl==0.12.2"]) == [("FSD502", "true")]
        assert errors(text, target=["axolotl==0.13.0"]) == []
        assert errors(text.replace("true", "auto"), target=["axolotl==0.12.2"]) == [("FSD502", "auto")]


class TestSwitchedOn:
    def test_a_block_without_the_list_before_0_12(self) -> None:
        (found,) = errors(FSDP1, target=["axolotl==0.11.0"])
        assert found[0] == "FSD102" and "offload_params" in found[1]
        assert errors(FSDP1, target=["axolotl==0.12.0"]) == []

    def test_a_version_without_a_block(self) -> None:
        assert warnings(BASE + "fsdp_version: 2\n") == [("FSD102", "2")]
        assert errors(BASE + "fsdp_version: 2\n") == []

    def test_a_list_without_a_block(self) -> None:
        text = BASE + "fsdp: [full_shard]\n"
        assert errors(text) == [("AXO101", "[full_shard]")]
        assert errors(text + "fsdp_config:\n") == [("AXO101", "[full_shard]")]
        assert errors(text + "fsdp_config: {}\n") == []
        assert ("AXO101", "[full_shard]") in errors(text + "fsdp_version: 2\n")

    def test_an_unknown_word(self) -> None:
        text = LIST.replace("auto_wrap", "autowrap")
        assert errors(text) == [("AXO102", "autowrap")]
        assert lint(text, dialect="axolotl")[0].message.startswith("`fsdp` is deprecated")
        assert errors(text, target=["axolotl==0.13.0"]) == []
        assert errors(LIST.replace("full_shard", "FULL_SHARD")) == []
        assert errors(LIST.replace("auto_wrap", "$WRAP")) == []

    def test_two_words_in_one_item(self) -> None:
        (found,) = [
            d for d in lint(LIST.replace("[full_shard, auto_wrap]", "[full_shard auto_wrap]"), dialect="axolotl") if d.code == "AXO102"
        ]
        assert found.key == "fsdp[0]" and found.help == "write one word per item"


class TestFsdp1:
    def test_the_block_alone(self) -> None:
        assert warnings(FSDP1) == [("AXO103", "fsdp_config")]
        assert warnings(BASE + "fsdp_version: 1\n" + BLOCK) == [("AXO103", "1")]
        assert warnings(FSDP2) == warnings(BASE + BLOCK + "  fsdp_version: 2\n") == []

    def test_the_list_says_it_itself(self) -> None:
        assert warnings(LIST) == [("FSD402", "fsdp")]
        assert warnings(LIST, target=["axolotl==0.11.0"]) == [("AXO104", "offload_params")]
        assert warnings(LIST.replace("offload", "fsdp_offload"), target=["axolotl==0.11.0"]) == []

    def test_prefixed_keys(self) -> None:
        text = FSDP2.replace(
            "offload_params: false", "fsdp_offload_params: false\n  fsdp_state_dict_type: FULL_STATE_DICT\n  fsdp_version: 2"
        )
        assert warnings(text) == [("AXO104", "fsdp_offload_params")]
        (found,) = lint(text, dialect="axolotl")
        assert found.help == "write `offload_params`" and [r.key for r in found.related] == ["fsdp_config.fsdp_state_dict_type"]

    @pytest.mark.parametrize("value", ["true", "false"])
    def test_a_boolean_to_reshard(self, value: str) -> None:
        line = f"reshard_after_forward: {value}"
        assert errors(FSDP1 + f"  {line}\n") == [("FSD407", line)]
        assert errors(FSDP2 + f"  {line}\n") == []
        assert ("FSD407", line) in warnings(LIST + f"  {line}\n", target=["axolotl==0.13.0"])

    def test_strategies_of_the_list(self) -> None:
        for word in ("shard_grad_op", "hybrid_shard", "no_shard"):
            assert errors(LIST.replace("full_shard", word)) == [("FSD105", word)]
        assert errors(LIST.replace("full_shard", "shard_grad_op"), target=["axolotl==0.13.0"]) == []

    def test_fsdp2_has_no_hybrid_word(self) -> None:
        text = LIST.replace("full_shard", "hybrid_shard") + "fsdp_version: 2\n"
        assert errors(text) == [("FSD109", "hybrid_shard")]

    def test_offload_here_and_not_there(self) -> None:
        text = LIST.replace("full_shard", "full_shard, offload")
        assert ("FSD104", "false") in warnings(text) and errors(text) == []
        assert "FSD104" not in [code for code, _ in warnings(text, target=["axolotl==0.11.0"])]

    def test_pinned_memory(self) -> None:
        line = "cpu_offload_pin_memory: false"
        assert errors(FSDP1 + f"  {line}\n") == [("FSD407", line)]
        assert errors(FSDP2 + f"  {line}\n") == [("AXO105", "false")]
        assert errors(FSDP2.replace("false", "true") + f"  {line}\n") == []
        assert errors(FSDP2 + "  cpu_offload_pin_memory: true\n") == []

    def test_keys_of_fsdp1_in_fsdp2(self) -> None:
        assert warnings(FSDP2 + "  use_orig_params: false\n") == [("FSD406", "use_orig_params: false")]
        assert warnings(FSDP2 + "  use_orig_params: true\n  sync_module_states: true\n") == []

    def test_local_state_dict(self) -> None:
        line = "  state_dict_type: LOCAL_STATE_DICT\n"
        assert errors(FSDP2 + line) == [("FSD801", "LOCAL_STATE_DICT")]
        assert errors(FSDP1 + line) == []

    def test_saving_the_model_only(self) -> None:
        text = FSDP2 + "  state_dict_type: SHARDED_STATE_DICT\nsave_only_model: true\n"
        assert errors(text) == [("FSD802", "true")]
        assert errors(text.replace("SHARDED", "FULL")) == []


class TestWrapping:
    def test_a_size_policy_without_a_size(self) -> None:
        text = FSDP2 + "  auto_wrap_policy: SIZE_BASED_WRAP\n"
        (found,) = lint(text, dialect="axolotl")
        assert (found.code, found.severity.word, found.key) == ("FSD603", "error", "fsdp_config.min_num_params")
        assert errors(text + "  min_num_params: 1000\n") == []
        assert errors(text, target=["axolotl==0.17.0"]) == []

    def test_a_size_without_its_policy(self) -> None:
        assert warnings(FSDP2 + "  min_num_params: 1000\n") == [("FSD603", "1000")]

    def test_blanks_in_class_names(self) -> None:
        assert errors(FSDP2 + "  transformer_layer_cls_to_wrap: A, B\n") == [("FSD602", "A, B")]
        assert errors(FSDP2 + "  transformer_layer_cls_to_wrap: A,B\n") == []

    def test_a_list_of_class_names_is_told_once(self) -> None:
        assert errors(FSDP2 + "  transformer_layer_cls_to_wrap: [A, B]\n") == [("FSD004", "[A, B]")]

    def test_ram_efficient_loading_without_sync(self) -> None:
        text = LIST + "  cpu_ram_efficient_loading: true\n  sync_module_states: false\n"
        assert "FSD604" in [code for code, _ in warnings(text)] and errors(text) == []
        assert ("FSD604", "false") in errors(text, target=["axolotl==0.14.0"])


class TestTraining:
    def test_two_checkpointings(self) -> None:
        text = FSDP2 + "  activation_checkpointing: true\ngradient_checkpointing: true\n"
        assert errors(text) == [("FSD701", "true")]
        assert errors(text + "activation_offloading: true\n") == []
        assert errors(text + "activation_offloading: hidden_states\n") == [("FSD701", "true")]

    @pytest.mark.parametrize("rl", ["dpo", "kto", "orpo", "ipo"])
    def test_quantized_preference_training(self, rl: str) -> None:
        text = FSDP2 + f"adapter: qlora\nload_in_4bit: true\nrl: {rl}\nremove_unused_columns: false\n"
        assert errors(text) == [("FSD703", "true")]
        assert errors(text.replace("fsdp_version: 2\n", "") + "fsdp_version: 1\n") == []
        assert errors(text.replace("version: 2", 'version: "2"')) == []
        assert errors(text.replace(f"rl: {rl}", "rl: simpo")) == []

    @pytest.mark.parametrize(
        ("release", "four", "eight"), [("0.12.2", True, True), ("0.13.0", False, False), ("0.18.0", False, False), ("0.19.0", True, False)]
    )
    def test_quantized_and_loaded_on_one_rank(self, release: str, four: bool, eight: bool) -> None:
        text = FSDP2 + "  cpu_ram_efficient_loading: true\nadapter: {}\nload_in_{}bit: true\n"
        for bits, adapter, refused in ((4, "qlora", four), (8, "lora", eight)):
            found = errors(text.format(adapter, bits), target=[f"axolotl=={release}"])
            assert found == ([("FSD703", "true")] if refused else [])

    @pytest.mark.parametrize(
        ("optimizer", "lines", "release", "refused"),
        [
            ("adamw_8bit", FSDP2, "0.19.0", True),
            ("adamw_bnb_8bit", FSDP2, "0.12.0", True),
            ("adamw_torch_8bit", FSDP2, "0.19.0", False),
            ("paged_adamw_8bit", FSDP2, "0.19.0", False),
            ("adamw_8bit", FSDP1, "0.19.0", False),
            ("muon", FSDP1, "0.19.0", True),
            ("muon", FSDP2, "0.19.0", False),
            ("muon", FSDP2, "0.13.0", True),
            ("muon", BASE + BLOCK + "  fsdp_version: 2\n", "0.19.0", False),
            ("flash_adamw", FSDP1, "0.19.0", True),
            ("flash_lion", FSDP2, "0.19.0", False),
            ("q_galore_adamw8bit", FSDP1, "0.19.0", True),
            ("q_galore_adamw8bit", FSDP2, "0.19.0", True),
            ("q_galore_adamw8bit", FSDP2 + "  use_orig_params: true\n", "0.19.0", False),
            ("polora", FSDP1 + "adapter: lora\n", "0.19.0", True),
            ("polora", FSDP2 + "adapter: lora\n", "0.19.0", False),
        ],
    )
    def test_optimizers(self, optimizer: str, lines: str, release: str, refused: bool) -> None:
        found = errors(lines + f"optimizer: {optimizer}\n", target=[f"axolotl=={release}"])
        assert found == ([("FSD705", optimizer)] if refused else [])

    def test_fp8_on_another_device(self) -> None:
        assert errors(FSDP2 + "fp8: true\ntorch_compile: true\n", device="mps") == [("FSD202", "fp8: true")]
        assert errors(FSDP2 + "fp8: true\ntorch_compile: true\n", device="cuda") == []


class TestOlderGeneration:
    TEXT = BASE + "adapter: lora\nrelora_steps: 150\ns2_attention: true\nflash_attn_rms_norm: false\n"

    def test_said_once_while_nobody_says_the_release(self) -> None:
        (found,) = lint(self.TEXT, dialect="axolotl")
        assert (found.severity.word, found.code, found.key) == ("warning", "FSD408", "relora_steps")
        assert "written for axolotl<0.12" in found.message and [r.key for r in found.related] == ["s2_attention"]

    def test_each_key_speaks_once_the_release_is_declared(self) -> None:
        found = lint(self.TEXT, dialect="axolotl", target=["axolotl==0.19.0"])
        assert told(found) == [("warning", "FSD403", "relora_steps"), ("error", "FSD403", "s2_attention")]

    def test_silent_on_the_release_that_it_is_written_for(self) -> None:
        assert lint(self.TEXT, dialect="axolotl", target=["axolotl==0.11.0"]) == []

    def test_placeholders_and_nulls_tell_nothing(self) -> None:
        assert lint(BASE + "relora_steps:\ns2_attention: ${S2}\n", dialect="axolotl") == []


def test_an_attention_switch_is_rewritten_where_the_release_is_declared() -> None:
    def fix(*target: str) -> tuple[str, list[str]] | None:
        found = [d for d in lint(BASE + "flash_attention: true\n", dialect="axolotl", target=target) if d.code == "FSD402"]
        return (found[0].fix.applicability, [edit.text for edit in found[0].fix.edits]) if found and found[0].fix else None

    assert fix() == ("unsafe", ["attn_implementation", "flash_attention_2"])
    assert fix("axolotl==0.19.0") == ("safe", ["attn_implementation", "flash_attention_2"])
    assert fix("axolotl==0.16.0") is None
