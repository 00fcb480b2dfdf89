"""The arguments of Lightning's strategies, under LightningCLI and where Hydra builds them."""

from __future__ import annotations

import pytest
from lightning_files import NEWEST, faults, fsdp, helps, hydra, trainer
from linting import lint, marked


class TestFsdpArguments:
    """Under LightningCLI; every text was run with lightning 2.1.4 to 2.6.6."""

    @pytest.mark.parametrize(
        "argument",
        [
            *("sharding_strategy: NO_SHARD", "state_dict_type: full", "cpu_offload: 'yes'", "auto_wrap_policy: [torch.nn.Linear]"),
            *("auto_wrap_policy: torch.distributed.fsdp.wrap.always_wrap_policy", "auto_wrap_policy: null", "auto_wrap_policy: []"),
            "auto_wrap_policy: {class_path: torch.distributed.fsdp.wrap.ModuleWrapPolicy, init_args: {module_classes: [torch.nn.Linear]}}",
            *("activation_checkpointing_policy: [torch.nn.Linear]", "mixed_precision: null", "process_group_backend: foo"),
            "mixed_precision: {class_path: torch.distributed.fsdp.MixedPrecision, init_args: {param_dtype: torch.bfloat16}}",
            *("timeout: 0:30:00", "timeout: '1 day, 0:00:00'", "timeout: null"),
        ],
    )
    def test_accepted(self, argument: str) -> None:
        assert faults(fsdp(argument)) == []

    @pytest.mark.parametrize(
        "argument",
        [
            *("sharding_strategy: full_shard", "sharding_strategy: 1", "sharding_strategy: ShardingStrategy.FULL_SHARD"),
            *(
                "sharding_strategy: null",
                "state_dict_type: FULL_STATE_DICT",
                "state_dict_type: local",
                "cpu_offload: 1",
                "cpu_offload: cpu",
            ),
            *("auto_wrap_policy: torch.nn.Linear", "auto_wrap_policy: [LlamaDecoderLayer]", "auto_wrap_policy: TRANSFORMER_BASED_WRAP"),
            *("auto_wrap_policy: true", "auto_wrap_policy: LlamaDecoderLayer", "activation_checkpointing_policy: true"),
            *("mixed_precision: bf16", "mixed_precision: true", "timeout: 1800", "timeout: '1800'", "timeout: 1:00:00"),
            *("process_group_backend: 1", "device_mesh: 2", "device_mesh: [1, 2, 1]", "device_mesh: [1.5, 2]"),
        ],
    )
    def test_refused(self, argument: str) -> None:
        key, _, value = argument.partition(": ")
        text = fsdp(argument)
        found = [d for d in lint(text, dialect="lightning", target=NEWEST) if d.severity.word == "error"]
        assert [(d.code, d.key) for d in found] == [("FSD004", f"trainer.strategy.init_args.{key}")]
        assert marked(text, found[0]) == value

    @pytest.mark.parametrize(
        ("argument", "help"),
        [
            ("sharding_strategy: shard_grad_op", "`SHARD_GRAD_OP`"),
            ("sharding_strategy: 2", "`SHARD_GRAD_OP`"),
            ("state_dict_type: SHARDED_STATE_DICT", "`sharded`"),
            ("auto_wrap_policy: torch.nn.Linear", "[package.module.Block]"),
        ],
    )
    def test_help(self, argument: str, help: str) -> None:
        assert help in helps(fsdp(argument))

    @pytest.mark.parametrize("value", ["true", "false"])
    def test_activation_checkpointing_is_no_switch(self, value: str) -> None:
        key = "trainer.strategy.init_args.activation_checkpointing"
        assert faults(fsdp(f"activation_checkpointing: {value}")) == [("warning", "FSD402", key), ("error", "FSD004", key)]

    def test_activation_checkpointing_is_deprecated(self) -> None:
        key = "trainer.strategy.init_args.activation_checkpointing"
        assert faults(fsdp("activation_checkpointing: torch.nn.Linear")) == [("warning", "FSD402", key)]
        assert faults(fsdp("activation_checkpointing: torch.nn.Linear"), "lightning==2.0.9", "torch==2.0.1") == []

    @pytest.mark.parametrize("key", ["limit_all_gathers", "use_orig_params", "backward_prefetch", "sync_module_states", "process_group"])
    def test_options_of_torch_stand_in_dict_kwargs(self, key: str) -> None:
        text = fsdp(f"{key}: null")
        assert faults(text) == [("error", "FSD006", f"trainer.strategy.init_args.{key}")]
        assert "dict_kwargs" in helps(text)

    def test_before_2_1_they_did_not(self) -> None:
        assert faults(fsdp("limit_all_gathers: true"), "lightning==2.0.9", "torch==2.0.1") == []

    @pytest.mark.parametrize(("key", "help"), [("reshard_after_forward", "SHARD_GRAD_OP"), ("offload_params", "cpu_offload")])
    def test_options_of_others(self, key: str, help: str) -> None:
        text = fsdp(f"{key}: true")
        assert faults(text) == [("error", "FSD006", f"trainer.strategy.init_args.{key}")]
        assert help in helps(text)

    def test_a_misspelt_option(self) -> None:
        text = fsdp("sharding_stratgy: FULL_SHARD")
        assert faults(text) == [("error", "FSD003", "trainer.strategy.init_args.sharding_stratgy")]

    def test_options_beside_the_class(self) -> None:
        text = trainer("strategy:\n  class_path: FSDPStrategy\n  sharding_strategy: FULL_SHARD")
        assert faults(text) == [("error", "FSD003", "trainer.strategy.sharding_strategy")]
        assert "init_args" in helps(text)

    def test_arguments_without_a_class(self) -> None:
        """Another file of the same command may name it."""
        assert faults(trainer("strategy:\n  init_args: {}")) == [("warning", "FSD007", "trainer.strategy.class_path")]

    @pytest.mark.parametrize(
        ("release", "codes"),
        [("2.1.4", ["FSD401"]), ("2.2.5", ["FSD401"]), ("2.3.3", ["FSD004"]), ("2.6.1", ["FSD004"]), ("2.6.4", []), ("2.6.6", [])],
    )
    def test_the_mesh_of_each_release(self, release: str, codes: list[str]) -> None:
        text = fsdp("sharding_strategy: HYBRID_SHARD", "device_mesh: [1, 2]")
        assert [row[1] for row in faults(text, f"lightning=={release}", "torch==2.13.0")] == codes

    def test_the_product_of_the_mesh(self) -> None:
        text = fsdp("sharding_strategy: HYBRID_SHARD", "device_mesh: [4, 4]")
        assert faults(text) == [("error", "FSD107", "trainer.strategy.init_args.device_mesh")]

    def test_younger_options(self) -> None:
        assert faults(fsdp("state_dict_type: full"), "lightning==2.0.9", "torch==2.0.1") == [
            ("error", "FSD401", "trainer.strategy.init_args.state_dict_type")
        ]

    def test_dict_kwargs(self) -> None:
        text = fsdp(more="    dict_kwargs:\n      bogus: 1\n      backward_prefetch: BACKWARD_PRE\n      use_orig_params: false\n")
        assert faults(text) == [
            ("error", "FSD003", "trainer.strategy.dict_kwargs.bogus"),
            ("warning", "FSD004", "trainer.strategy.dict_kwargs.backward_prefetch"),
            ("warning", "FSD004", "trainer.strategy.dict_kwargs.use_orig_params"),
        ]

    def test_own_strategies_are_left_alone(self) -> None:
        assert faults(fsdp("reshard_after_forward: true", "cpu_offload: 7", cls="our.FSDPStrategy")) == []

    def test_ddp_has_no_options_of_fsdp(self) -> None:
        assert faults(fsdp("sharding_strategy: FULL_SHARD", cls="DDPStrategy")) == [
            ("error", "FSD006", "trainer.strategy.init_args.sharding_strategy")
        ]
        assert faults(fsdp("find_unused_parameters: true", cls="DDPStrategy")) == []

    def test_deepspeed_has_options_of_its_own(self) -> None:
        assert faults(fsdp("stage: 3", "offload_optimizer: true", cls="DeepSpeedStrategy")) == []
        assert faults(fsdp("auto_wrap_policy: null", cls="DeepSpeedStrategy")) == [
            ("error", "FSD003", "trainer.strategy.init_args.auto_wrap_policy")
        ]


class TestHydraStrategy:
    """A strategy that Hydra builds; every text was run with lightning 2.6.6, wrapping a small model."""

    @pytest.mark.parametrize(
        "argument",
        [
            *("sharding_strategy: full_shard", "limit_all_gathers: true", "backward_prefetch: null", "process_group_backend: nccl"),
            "auto_wrap_policy:\n  _target_: torch.distributed.fsdp.wrap.size_based_auto_wrap_policy\n  _partial_: true",
            "sharding_strategy: ${strategy}",
        ],
    )
    def test_runs(self, argument: str) -> None:
        assert faults(hydra(argument)) == []

    @pytest.mark.parametrize(
        ("argument", "code"),
        [
            *(("sharding_strategy: 1", "FSD004"), ("sharding_strategy: ZERO3", "FSD004"), ("auto_wrap_policy: transformer", "FSD004")),
            *(("auto_wrap_policy: [torch.nn.Linear]", "FSD004"), ("activation_checkpointing_policy: true", "FSD004")),
            *(("mixed_precision: bf16", "FSD004"), ("timeout: 1800", "FSD004"), ("state_dict_type: FULL_STATE_DICT", "FSD004")),
            *(("device_mesh: [1, 2]", "FSD004"), ("bogus: 1", "FSD003"), ("init_args: {}", "FSD003")),
            *(("reshard_after_forward: true", "FSD006"), ("device_id: 0", "FSD006")),
        ],
    )
    def test_fails(self, argument: str, code: str) -> None:
        assert faults(hydra(argument)) == [("error", code, argument.partition(":")[0])]

    @pytest.mark.parametrize(
        ("body", "key"),
        [
            ("_target_: torch.distributed.fsdp.MixedPrecision\n  _partial_: true", "mixed_precision._partial_"),
            ("_target_: torch.distributed.fsdp.MixedPrecision\n  param_dtype: bfloat16", "mixed_precision.param_dtype"),
        ],
    )
    def test_mixed_precision(self, body: str, key: str) -> None:
        assert faults(hydra(f"mixed_precision:\n  {body}")) == [("error", "FSD004", key)]

    def test_mixed_precision_of_nothing(self) -> None:
        assert faults(hydra("mixed_precision: {}")) == [("error", "FSD007", "mixed_precision._target_")]

    def test_a_text_prefetches_nothing(self) -> None:
        assert faults(hydra("backward_prefetch: BACKWARD_PRE")) == [("warning", "FSD004", "backward_prefetch")]

    def test_a_strategy_in_a_trainer(self) -> None:
        text = "_target_: lightning.Trainer\nstrategy:\n  _target_: lightning.pytorch.strategies.FSDPStrategy\n  bogus: 1\n"
        assert faults(text) == [("error", "FSD003", "strategy.bogus")]


class TestModelParallel:
    @pytest.mark.parametrize(("key", "help"), [("state_dict_type", "save_distributed_checkpoint"), ("cpu_offload", "configure_model")])
    def test_foreign_options(self, key: str, help: str) -> None:
        text = fsdp("data_parallel_size: 2", "tensor_parallel_size: 1", f"{key}: null", cls="ModelParallelStrategy")
        assert faults(text) == [("error", "FSD006", f"trainer.strategy.init_args.{key}")]
        assert help in helps(text)

    @pytest.mark.parametrize("precision", ["16-mixed", "16", "64-true"])
    def test_precisions(self, precision: str) -> None:
        text = fsdp("data_parallel_size: 2", "tensor_parallel_size: 1", cls="ModelParallelStrategy") + f"  precision: {precision}\n"
        assert ("error", "FSD004", "trainer.precision") in faults(text)

    @pytest.mark.parametrize(
        ("sizes", "is_whole"), [((2, 1), True), ((1, 2), True), ((1, 1), False), ((2, 2), False), ((2, "auto"), False), (("auto", 2), True)]
    )
    def test_the_product(self, sizes: tuple[object, object], is_whole: bool) -> None:
        text = fsdp(f"data_parallel_size: {sizes[0]}", f"tensor_parallel_size: {sizes[1]}", cls="ModelParallelStrategy")
        assert [row[1] for row in faults(text)] == ([] if is_whole else ["FSD107"])

    def test_it_is_younger_than_2_3(self) -> None:
        text = fsdp("data_parallel_size: 2", "tensor_parallel_size: 1", cls="ModelParallelStrategy")
        assert ("error", "FSD401", "trainer.strategy.class_path") in faults(text, "lightning==2.2.5", "torch==2.4.0")
        assert ("error", "FSD401", "trainer.strategy.class_path") in faults(text, "lightning==2.3.3", "torch==2.3.0")
        assert faults(text, "lightning==2.3.3", "torch==2.4.0") == []

    def test_it_clips_by_norm_and_runs_on_cpus(self) -> None:
        text = fsdp("data_parallel_size: 2", "tensor_parallel_size: 1", cls="ModelParallelStrategy") + "  gradient_clip_val: 1.0\n"
        assert faults(text.replace("accelerator: gpu", "accelerator: cpu")) == []
