"""What is said about files of TrainingArguments, by release; each case is a fact that was run."""

from __future__ import annotations

import pytest
import yaml
from linting import lint, marked, told

HEAD = "output_dir: out\nper_device_train_batch_size: 8\n"
NEWEST = "5.24.0"
ALL = ("4.50.3", "4.57.6", "5.0.0", "5.9.0", "5.10.4", NEWEST)


def at(version: str, text: str, **options: object) -> list[tuple[str, str, str | None]]:
    """Errors and warnings of a text below the usual head, for one release of transformers."""
    target = [f"transformers=={version}"]
    return [found for found in told(lint(HEAD + text, dialect="hf-trainer", target=target, **options)) if found[0] != "info"]  # type: ignore[arg-type]


def codes(version: str, text: str, **options: object) -> list[str]:
    return [code for _, code, _ in at(version, text, **options)]


class TestFsdpValue:
    """The words of ``fsdp``."""

    @pytest.mark.parametrize("version", ALL)
    @pytest.mark.parametrize("value", ['"FULL_SHARD AUTO_WRAP"', '"full_shard,auto_wrap"', '"true"', "banana", "12"])
    def test_no_word_is_refused(self, version: str, value: str) -> None:
        found = at(version, f"fsdp: {value}\n")
        assert [(severity, key) for severity, code, key in found if code in ("FSD004", "FSD005")] == [("error", "fsdp")]

    @pytest.mark.parametrize(
        ("version", "value", "severity"),
        [
            ("4.56.2", "null", "error"),
            ("4.57.6", "null", None),
            ("4.57.6", "false", "error"),
            ("4.50.3", "false", None),
            ("5.0.0", "false", None),
            ("5.9.0", "offload", "error"),
            ("4.40.2", "offload", "error"),
            (NEWEST, "''", None),
            ("4.57.6", "[]", None),
        ],
    )
    def test_values_that_only_some_releases_take(self, version: str, value: str, severity: str | None) -> None:
        assert [s for s, code, _ in at(version, f"fsdp: {value}\n") if code in ("FSD004", "FSD005")] == ([severity] if severity else [])

    def test_words_of_a_list(self) -> None:
        assert at("5.9.0", "fsdp: [full_shard, auto_wrapp]\n") == [("warning", "HFT009", "fsdp[1]")]
        assert at("5.9.0", "fsdp: [FULL_SHARD, auto_wrap]\n") == []
        assert ("error", "FSD004", "fsdp") in at(NEWEST, "fsdp: [full_shard, auto_wrapp]\n")

    @pytest.mark.parametrize(("version", "said"), [("5.9.0", []), ("5.10.4", ["FSD402"]), (NEWEST, ["FSD402"])])
    def test_words_are_deprecated_from_5_10_on(self, version: str, said: list[str]) -> None:
        assert codes(version, "fsdp: full_shard auto_wrap\n") == said
        assert codes(version, "fsdp: [full_shard, auto_wrap]\n") == said
        assert codes(version, "fsdp: true\n") == []

    @pytest.mark.parametrize(("version", "severity"), [("4.57.6", "error"), ("5.9.0", "error"), ("5.10.4", "warning"), (NEWEST, "warning")])
    def test_both_strategies(self, version: str, severity: str) -> None:
        assert [s for s, code, key in at(version, "fsdp: full_shard shard_grad_op auto_wrap\n") if code == "FSD104"] == [severity]

    def test_other_pairs_are_no_refusal(self) -> None:
        assert ("warning", "FSD104", "fsdp") in at("4.57.6", "fsdp: full_shard no_shard\n")


class TestSharding:
    """What is written and what runs."""

    @pytest.mark.parametrize(
        ("version", "text", "marks"),
        [
            ("5.9.0", "fsdp: shard_grad_op auto_wrap\n", "shard_grad_op"),
            ("5.4.0", "fsdp: hybrid_shard auto_wrap\n", "hybrid_shard"),
            (NEWEST, "fsdp: auto_wrap no_shard\nfsdp_config: {version: 1}\n", "no_shard"),
            (NEWEST, "fsdp: full_shard\nfsdp_config: {version: 1, reshard_after_forward: SHARD_GRAD_OP}\n", "SHARD_GRAD_OP"),
            ("5.0.0", "fsdp: full_shard auto_wrap\nfsdp_config: {version: 2}\n", "full_shard"),
            ("5.9.0", "fsdp: hybrid_shard\nfsdp_config: {version: 2}\n", "hybrid_shard"),
        ],
    )
    def test_another_sharding_runs(self, version: str, text: str, marks: str) -> None:
        found = [d for d in lint(HEAD + text, dialect="hf-trainer", target=[f"transformers=={version}"]) if d.code == "FSD105"]
        assert [(d.severity.word, marked(HEAD + text, d)) for d in found] == [("error", marks)]

    @pytest.mark.parametrize(
        ("version", "text"),
        [
            ("4.57.6", "fsdp: shard_grad_op auto_wrap\n"),
            ("5.0.0", "fsdp: hybrid_shard auto_wrap\n"),
            ("5.9.0", "fsdp: shard_grad_op auto_wrap\nfsdp_config: {version: 2}\n"),
            ("5.0.0", "fsdp: full_shard auto_wrap\nfsdp_config: {version: 2, reshard_after_forward: true}\n"),
            (NEWEST, "fsdp: true\nfsdp_config: {reshard_after_forward: false}\n"),
        ],
    )
    def test_runs_as_written(self, version: str, text: str) -> None:
        assert codes(version, text) == []

    def test_fsdp2_refuses_other_strategies(self) -> None:
        assert ("error", "FSD109", "fsdp") in at(NEWEST, "fsdp: hybrid_shard auto_wrap\n")
        assert ("error", "FSD109", "fsdp") in at(NEWEST, "fsdp: shard_grad_op no_shard\n")
        assert "FSD109" not in codes(NEWEST, "fsdp: hybrid_shard\nfsdp_config: {version: 1}\n")

    @pytest.mark.parametrize(
        ("version", "block", "said"),
        [
            (NEWEST, "{version: 2, reshard_after_forward: FULL_SHARD}", ["FSD004"]),
            ("5.0.0", "{version: 2, reshard_after_forward: FULL_SHARD}", ["FSD004"]),
            ("5.9.0", "{version: 1, reshard_after_forward: true}", ["FSD004"]),
            (NEWEST, "{version: 2, reshard_after_forward: 'no'}", []),
            ("4.57.6", "{reshard_after_forward: true}", ["FSD401"]),
        ],
    )
    def test_the_type_of_reshard_after_forward(self, version: str, block: str, said: list[str]) -> None:
        assert codes(version, f"fsdp: true\nfsdp_config: {block}\n") == said


class TestOptions:
    """The keys of ``fsdp_config``."""

    @pytest.mark.parametrize(
        ("version", "block", "expected"),
        [
            ("4.57.6", "version: 2", [("error", "FSD401")]),
            ("4.57.6", "version: 1", []),
            (NEWEST, "version: 1", [("warning", "FSD402")]),
            (NEWEST, "version: 3", [("error", "FSD103")]),
            (NEWEST, "version: two", [("error", "FSD004")]),
            (NEWEST, "version:", [("error", "FSD004")]),
            ("5.9.0", "cpu_offload: true", [("warning", "FSD401")]),
            ("5.9.0", "cpu_offload: false", []),
            (NEWEST, "cpu_offload: 'false'", [("error", "FSD005")]),
            (NEWEST, "auto_wrap_policy: transformer_based_wrap", [("error", "FSD004")]),
            ("5.9.0", "auto_wrap_policy: TRANSFORMER_BASED_WRAP", [("warning", "FSD401")]),
            (NEWEST, "state_dict_type: SHARDED", [("error", "FSD004")]),
            (NEWEST, "state_dict_type: sharded_state_dict", []),
            (NEWEST, "state_dict_type: LOCAL_STATE_DICT", [("error", "FSD801")]),
            ("5.9.0", "state_dict_type: SHARDED_STATE_DICT", [("warning", "FSD401")]),
            ("5.9.0", "state_dict_type: FULL_STATE_DICT", []),
            ("4.57.6", "backward_prefetch: pre", [("error", "FSD004")]),
            ("4.57.6", "backward_prefetch: backward_post", []),
            ("4.57.6", "use_orig_params: maybe", [("error", "FSD004")]),
            ("4.40.2", "use_orig_params: true", [("error", "FSD005")]),
            ("4.40.2", "use_orig_params: 'true'", []),
            (NEWEST, "use_orig_params: maybe", [("warning", "FSD406")]),
            (NEWEST, "use_orig_params: true", []),
            (NEWEST, "limit_all_gathers: false", [("warning", "FSD406")]),
            (NEWEST, "forward_prefetch: true", [("warning", "FSD406")]),
            (NEWEST, "backward_prefetch: NO_PREFETCH", []),
            ("5.9.0", "forward_prefetch: true", []),
            (NEWEST, "activation_checkpointing: maybe", [("error", "FSD004")]),
            ("5.9.0", "activation_checkpointing: 'false'", [("error", "FSD005")]),
            (NEWEST, "offload_params: true", [("warning", "FSD006")]),
            (NEWEST, "offload_params: false", []),
            (NEWEST, "sharding_strategy: SHARD_GRAD_OP", [("warning", "FSD006")]),
            (NEWEST, "sharding_strategy: FULL_SHARD", []),
            (NEWEST, "transformer_cls_names_to_wrap: A", [("warning", "FSD006")]),
            (NEWEST, "bananas: 1", [("warning", "FSD003")]),
            (NEWEST, "transformer_layer_cls_to_wrap: [A, B]", []),
            (NEWEST, "transformer_layer_cls_to_wrap: 'A, B'", [("error", "FSD602")]),
            (NEWEST, "min_num_params: 100", [("warning", "FSD603")]),
            (NEWEST, "auto_wrap_policy: SIZE_BASED_WRAP", [("warning", "FSD603")]),
            (NEWEST, "xla_fsdp_grad_ckpt: true", [("warning", "HFT010")]),
            (NEWEST, "cpu_ram_efficient_loading: true", [("warning", "HFT008")]),
        ],
    )
    def test_one_key(self, version: str, block: str, expected: list[tuple[str, str]]) -> None:
        assert [found[:2] for found in at(version, f"fsdp: true\nfsdp_config:\n  {block}\n")] == expected

    def test_size_and_classes(self) -> None:
        text = "fsdp: full_shard auto_wrap\nfsdp_config: {min_num_params: 9, transformer_layer_cls_to_wrap: A}\n"
        assert at("5.9.0", text) == [("error", "FSD603", "fsdp_config.min_num_params")]
        assert ("warning", "FSD603", "fsdp_config.min_num_params") in at(NEWEST, text)

    def test_ram_efficient_loading_needs_sync(self) -> None:
        block = "cpu_ram_efficient_loading: true, sync_module_states: false"
        assert ("error", "FSD604", "fsdp_config.sync_module_states") in at("5.9.0", f"fsdp: true\nfsdp_config: {{{block}}}\n")
        assert ("warning", "FSD604", "fsdp_config.sync_module_states") in at(NEWEST, f"fsdp: true\nfsdp_config: {{version: 1, {block}}}\n")
        assert ("warning", "FSD406", "fsdp_config.sync_module_states") in at(NEWEST, f"fsdp: true\nfsdp_config: {{{block}}}\n")

    def test_two_spellings(self) -> None:
        text = "fsdp: true\nfsdp_config:\n  fsdp_version: 2\n  version: 1\n"
        assert ("warning", "HFT007", "fsdp_config.version") in at(NEWEST, text)
        assert at(NEWEST, "fsdp: true\nfsdp_config:\n  fsdp_version: 2\n  version: 2\n") == []

    def test_the_prefix_in_a_mapping(self) -> None:
        text = "fsdp: full_shard auto_wrap\nfsdp_config: {fsdp_use_orig_params: maybe}\n"
        assert at("4.50.3", text) == [("warning", "HFT011", "fsdp_config.fsdp_use_orig_params")]
        assert at("4.57.6", text) == [("error", "FSD004", "fsdp_config.fsdp_use_orig_params")]

    @pytest.mark.parametrize("version", ALL)
    def test_without_fsdp(self, version: str) -> None:
        assert ("error", "FSD102", "fsdp_config") in at(version, "fsdp_config: {min_num_params: 5}\n")

    @pytest.mark.parametrize("value", ["fsdp.yaml", "[1]"])
    def test_what_is_no_mapping_and_no_json(self, value: str) -> None:
        assert ("error", "FSD004", "fsdp_config") in at(NEWEST, f"fsdp: true\nfsdp_config: {value}\n")

    def test_another_file_is_judged_by_itself(self) -> None:
        assert at(NEWEST, "fsdp: true\nfsdp_config: fsdp.json\n") == []
        found = told(lint('{"transformer_layer_cls_to_wrap": "A", "forward_prefetch": true}', dialect="hf-trainer", path="f.json"))
        assert found == [("warning", "FSD406", "forward_prefetch")]


class TestTrainer:
    """What the Trainer itself refuses."""

    @pytest.mark.parametrize("version", ALL)
    def test_double_checkpointing(self, version: str) -> None:
        text = "fsdp: true\ngradient_checkpointing: true\nfsdp_config: {activation_checkpointing: true}\n"
        assert ("error", "FSD701", "gradient_checkpointing") in at(version, text)

    def test_the_new_name_of_gradient_checkpointing(self) -> None:
        assert at(NEWEST, "gradient_checkpointing: true\n") == [("warning", "FSD404", "gradient_checkpointing")]
        assert at(NEWEST, "gradient_checkpointing: false\n") == []
        text = "fsdp: true\nactivation_checkpointing: true\nfsdp_config: {activation_checkpointing: true}\n"
        assert at(NEWEST, text) == [("error", "FSD701", "activation_checkpointing")]

    def test_gradient_checkpointing_alone_is_a_hint(self) -> None:
        found = told(lint(HEAD + "fsdp: true\ngradient_checkpointing: true\n", dialect="hf-trainer", target=["transformers==5.10.4"]))
        assert found == [("info", "HFT006", "gradient_checkpointing")]

    @pytest.mark.parametrize(
        ("version", "block", "said"),
        [
            (NEWEST, "state_dict_type: SHARDED_STATE_DICT", True),
            (NEWEST, "version: 2", False),
            ("5.9.0", "version: 2", True),
            ("5.9.0", "version: 1", False),
            ("4.57.6", "use_orig_params: true", False),
        ],
    )
    def test_save_only_model_needs_whole_weights(self, version: str, block: str, said: bool) -> None:
        found = at(version, f"fsdp: full_shard auto_wrap\nsave_only_model: true\nfsdp_config: {{{block}}}\n")
        assert (("error", "FSD802", "save_only_model") in found) is said

    @pytest.mark.parametrize("engine", ["fsdp: true", "deepspeed: {zero_optimization: {stage: 2}}"])
    def test_save_only_model_and_the_best_one(self, engine: str) -> None:
        text = f"{engine}\nsave_only_model: true\nload_best_model_at_end: true\neval_strategy: steps\n"
        assert at(NEWEST, text) == [("error", "HFT002", "save_only_model")]
        assert at(NEWEST, text.replace(engine, "bf16: true")) == []

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("eval_strategy: steps\neval_steps: 3\nsave_steps: 4\n", True),
            ("eval_strategy: steps\neval_steps: 2\nsave_steps: 4\n", False),
            ("eval_strategy: epoch\n", True),
            ("eval_strategy: epoch\nsave_strategy: epoch\n", False),
            ("eval_strategy: epoch\nsave_strategy: best\n", False),
            ("eval_strategy: steps\neval_steps: 0.1\nsave_steps: 0.2\n", False),
            ("eval_strategy: steps\neval_steps: 0.1\nsave_steps: 20\n", True),
            ("eval_strategy: steps\neval_steps: 0.1\nsave_steps: 0.25\n", True),
            ("eval_strategy: ${STRATEGY}\n", False),
        ],
    )
    def test_load_best_model(self, text: str, said: bool) -> None:
        assert (("error", "HFT001", "load_best_model_at_end") in at("4.57.6", "load_best_model_at_end: true\n" + text)) is said

    @pytest.mark.parametrize(
        ("version", "engine", "said"),
        [
            ("4.42.4", "fsdp: full_shard", True),
            ("4.57.6", "fsdp: full_shard", False),
            (NEWEST, "deepspeed: {zero_optimization: {stage: 3}}", True),
            (NEWEST, "deepspeed: {zero_optimization: {stage: 2}}", False),
        ],
    )
    def test_auto_find_batch_size(self, version: str, engine: str, said: bool) -> None:
        assert (("error", "HFT003", "auto_find_batch_size") in at(version, f"auto_find_batch_size: true\n{engine}\n")) is said

    def test_accumulation_twice(self) -> None:
        text = "gradient_accumulation_steps: 2\naccelerator_config: {gradient_accumulation_kwargs: {num_steps: 2}}\n"
        assert at("4.57.6", text) == [("error", "HFT004", "accelerator_config.gradient_accumulation_kwargs.num_steps")]
        assert at(NEWEST, "accelerator_config: {bananas: 1}\n") == [("error", "FSD003", "accelerator_config.bananas")]

    def test_ddp_options(self) -> None:
        text = "fsdp: true\nddp_find_unused_parameters: true\nddp_bucket_cap_mb: 25\nddp_timeout: 9\n"
        assert at(NEWEST, text) == [("warning", "HFT005", "ddp_find_unused_parameters"), ("warning", "HFT005", "ddp_bucket_cap_mb")]
        assert at(NEWEST, "ddp_find_unused_parameters: true\n") == []

    @pytest.mark.parametrize("name", ["adamw_bnb_8bit", "paged_adamw_8bit", "adamw_8bit"])
    def test_bitsandbytes_optimizers(self, name: str) -> None:
        assert at(NEWEST, f"fsdp: true\noptim: {name}\n") == [("error", "FSD705", "optim")]
        assert ("warning", "FSD705", "optim") in at("5.9.0", f"fsdp: full_shard auto_wrap\noptim: {name}\n")
        assert at(NEWEST, f"optim: {name}\n") == []

    def test_devices(self) -> None:
        assert at(NEWEST, "fsdp: true\nuse_cpu: true\n") == [("error", "FSD201", "fsdp")]
        assert at(NEWEST, "fsdp: true\n", device="cpu") == [("error", "FSD201", "fsdp")]
        assert at(NEWEST, "fsdp: true\n", device="xpu") == []
        assert at(NEWEST, "tf32: true\n", device="cpu") == [("error", "FSD202", "tf32")]
        assert at(NEWEST, "fsdp: true\n", gpus=1) == [("error", "FSD106", "fsdp")]

    def test_engines(self) -> None:
        inline = "deepspeed: {zero_optimization: {stage: 2}}\n"
        assert at(NEWEST, inline + "fsdp: true\n") == [("error", "FSD101", "deepspeed")]
        assert at(NEWEST, inline + "fsdp: false\n") == []
        assert at(NEWEST, inline + "fsdp_config: {min_num_params: 1}\n") == [("warning", "FSD101", "fsdp_config")]
        assert at(NEWEST, "deepspeed: ds.yaml\n") == [("error", "FSD004", "deepspeed")]

    def test_both_precisions(self) -> None:
        assert at(NEWEST, "bf16: true\nfp16: true\n") == [("error", "FSD702", "fp16")]
        assert at(NEWEST, "bf16: true\nfp16: false\n") == []


class TestKeysAndValues:
    """Keys of other releases, misspelt keys, and values that YAML reads differently."""

    @pytest.mark.parametrize(
        ("key", "value", "last", "first_without"),
        [
            ("no_cuda", "false", "4.57.6", "5.0.0"),
            ("save_safetensors", "true", "4.57.6", "5.0.0"),
            ("overwrite_output_dir", "true", "4.57.6", "5.0.0"),
            ("evaluation_strategy", "steps", "4.50.3", "4.51.3"),
            ("group_by_length", "true", "5.1.0", "5.2.0"),
            ("warmup_ratio", "0.1", "5.14.1", "5.15.1"),
            ("logging_dir", "x", "5.14.1", NEWEST),
            ("fsdp_min_num_params", "5", "4.57.6", "5.0.0"),
        ],
    )
    def test_removed_keys(self, key: str, value: str, last: str, first_without: str) -> None:
        assert at(last, f"{key}: {value}\n") == []
        assert [(s, k) for s, code, k in at(first_without, f"{key}: {value}\n") if code in ("FSD403", "FSD404")] == [("error", key)]

    def test_newer_keys(self) -> None:
        assert at("5.22.2", "activation_checkpointing: true\n") == [("error", "FSD401", "activation_checkpointing")]
        assert at("4.50.3", "parallelism_config: {dp_shard_size: 2}\n") == [("error", "FSD401", "parallelism_config")]
        assert at("4.57.6", "fsdp: full_shard auto_wrap\nfsdp_min_num_params: 5\n") == [("warning", "FSD402", "fsdp_min_num_params")]

    def test_own_keys_of_the_script_make_it_a_warning(self) -> None:
        assert at(NEWEST, "warmup_ratio: 0.1\nmodel_name_or_path: x\n") == [("error", "FSD403", "warmup_ratio")]
        assert at(NEWEST, "warmup_ratio: 0.1\nmy_dataset: x\n") == [("warning", "FSD403", "warmup_ratio")]
        assert at(NEWEST, "learning_rat: 1.0\nmy_dataset: x\n") == [("warning", "FSD003", "learning_rat")]

    @pytest.mark.parametrize(
        "key", ["learning_rat", "per_device_train_batchsize", "num_train_epoch", "fsdp_confg", "gradient_acumulation_steps"]
    )
    def test_misspelt_keys(self, key: str) -> None:
        assert at(NEWEST, f"{key}: 1\n") == [("error", "FSD003", key)]

    @pytest.mark.parametrize(
        "key", ["num_epochs", "train_batch_size", "model_name", "fp32", "lr", "max_seq_length", "eval_file", "hub_name", "task"]
    )
    def test_own_keys_are_nobodys_business(self, key: str) -> None:
        assert at(NEWEST, f"{key}: 1\n") == []

    def test_options_at_the_top_level(self) -> None:
        assert at(NEWEST, "fsdp: true\nfsdp_version: 2\n") == [("error", "FSD006", "fsdp_version")]
        assert at(NEWEST, "fsdp: true\nreshard_after_forward: true\nown: 1\n") == [("warning", "FSD006", "reshard_after_forward")]

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("learning_rate: 2e-5\n", "FSD005"),
            ("max_steps: '100'\n", "FSD005"),
            ("learning_rate: fast\n", "FSD004"),
            ('bf16: "false"\n', "FSD005"),
            ("eval_strategy: no\n", "FSD005"),
            ("save_strategy: never\n", "FSD004"),
            ("optim: adamw_9bit\n", "FSD004"),
            ("torch_compile_backend: banana\n", "FSD004"),
            ("lr_scheduler_type: banana\n", "FSD004"),
        ],
    )
    def test_values(self, text: str, code: str) -> None:
        assert at(NEWEST, text) == [("error", code, text.partition(":")[0])]

    @pytest.mark.parametrize(
        "text",
        [
            "learning_rate: 2.0e-5\n",
            'bf16: "true"\n',
            "eval_strategy: 'no'\n",
            "torch_compile_backend: INDUCTOR\n",
            "learning_rate: ${LR}\n",
            "save_total_limit:\n",
        ],
    )
    def test_good_values(self, text: str) -> None:
        assert at(NEWEST, text) == []


def test_a_default_that_changes_inside_the_target() -> None:
    text = HEAD + "fsdp: true\n"
    found = [d for d in lint(text, dialect="hf-trainer", target=["transformers>=5.4,<=5.24"]) if d.code == "FSD405"]
    assert [(d.severity.word, d.key, marked(text, d)) for d in found] == [("warning", "fsdp_config.version", "output_dir")]
    assert "1 with transformers 5.4.0-5.9.0, 2 with transformers 5.10" in found[0].message
    assert "FSD405" not in [
        d.code for d in lint(text + "fsdp_config: {version: 2}\n", dialect="hf-trainer", target=["transformers>=5.4,<=5.24"])
    ]
    assert "FSD405" not in [d.code for d in lint(text, dialect="hf-trainer", target=["transformers>=5.10,<=5.24"])]
    assert "FSD405" not in [d.code for d in lint(HEAD, dialect="hf-trainer", target=["transformers>=5.4,<=5.24"])]


def test_the_example_files_of_an_older_release_say_where_they_came_from() -> None:
    text = (
        HEAD + "fsdp: full_shard auto_wrap\nfsdp_config: {backward_prefetch: backward_pre, forward_prefetch: true, use_orig_params: true}\n"
    )
    assert told(lint(text, dialect="hf-trainer", target=["transformers==4.57.6"])) == []
    newest = lint(text, dialect="hf-trainer", target=["transformers==5.24.0"])
    assert [(d.code, marked(text, d)) for d in newest if d.code == "FSD406"] == [
        ("FSD406", "backward_prefetch: backward_pre"),
        ("FSD406", "forward_prefetch: true"),
    ]


@pytest.mark.parametrize(
    ("version", "written", "mended"),
    [
        ("5.24.0", "fsdp: shard_grad_op\nfsdp_config:\n  version: 1\n", {"version": 2, "reshard_after_forward": False}),
        (
            "5.5.0",
            "fsdp: shard_grad_op\nfsdp_config:\n  min_num_params: 0\n",
            {"min_num_params": 0, "version": 2, "reshard_after_forward": False},
        ),
        ("5.2.0", "fsdp: full_shard\nfsdp_config:\n  version: 2\n", {"version": 2, "reshard_after_forward": True}),
    ],
)
def test_sharding_that_is_lost_can_be_written_for_fsdp2(version: str, written: str, mended: dict[str, object]) -> None:
    text = HEAD + written
    (found,) = [d for d in lint(text, dialect="hf-trainer", target=[f"transformers=={version}"]) if d.code == "FSD105"]
    assert found.fix is not None
    assert found.fix.applicability == "unsafe"
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    assert yaml.safe_load(text)["fsdp_config"] == mended


@pytest.mark.parametrize("version", ["4.57.6", "5.24.0"])
def test_a_key_that_moved_into_the_block_is_moved(version: str) -> None:
    found = lint(
        HEAD + "fsdp: full_shard\nfsdp_transformer_layer_cls_to_wrap: X\n", dialect="hf-trainer", target=[f"transformers=={version}"]
    )
    (fix,) = [d.fix for d in found if d.fix and d.key == "fsdp_transformer_layer_cls_to_wrap"]
    assert fix is not None
    assert (fix.applicability, fix.message) == (
        "safe",
        "move `fsdp_transformer_layer_cls_to_wrap` to `fsdp_config.transformer_layer_cls_to_wrap`",
    )


@pytest.mark.parametrize(
    ("words", "options"), [("full_shard auto_wrap", None), ("full_shard auto_wrap offload", {"cpu_offload": True}), ("full_shard", ...)]
)
def test_words_that_say_what_true_means_become_true(words: str, options: object) -> None:
    text = HEAD + f"fsdp: {words}\n"
    (found,) = [d for d in lint(text, dialect="hf-trainer", target=["transformers==5.24.0"]) if d.code == "FSD402"]
    if options is ...:
        assert found.fix is None
        return
    assert found.fix is not None
    assert found.fix.applicability == "safe"
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    mended = yaml.safe_load(text)
    assert (mended["fsdp"], mended.get("fsdp_config")) == (True, options)


@pytest.mark.parametrize(
    ("version", "lines", "expected"),
    [
        (NEWEST, "save_strategy: best\n", [("error", "HFT001", "save_strategy")]),
        (NEWEST, "save_strategy: best\nmetric_for_best_model: loss\n", []),
        (NEWEST, "save_strategy: epoch\n", []),
        ("4.46.3", "save_strategy: best\n", []),
    ],
)
def test_the_best_is_measured(version: str, lines: str, expected: list[tuple[str, str, str]]) -> None:
    assert [found for found in at(version, lines) if found[1] == "HFT001"] == expected
