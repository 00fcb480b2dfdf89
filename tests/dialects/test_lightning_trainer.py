"""The keys of Lightning's Trainer and of Fabric: values, releases, and what the core rules make of them."""

from __future__ import annotations

import pytest
from lightning_files import NEWEST, faults, fsdp, helps, trainer
from linting import lint, marked, told


class TestTrainer:
    @pytest.mark.parametrize(
        "line",
        [
            *(
                "gradient_clip_val: 1e-4",
                "sync_batchnorm: yes",
                "sync_batchnorm: 'no'",
                "num_nodes: '2'",
                "max_epochs: '3'",
                "precision: null",
            ),
            *("devices: [0, 1]", "max_time: 00:12:00:00", "max_time: {hours: 2}", "val_check_interval: '0.5'", "limit_train_batches: 2"),
            *("deterministic: warn", "profiler: simple", "profiler: SimpleProfiler", "plugins: AsyncCheckpointIO", "logger: true"),
            *("callbacks: {class_path: LearningRateMonitor}", "gradient_clip_algorithm: NORM", "accumulate_grad_batches: '4'"),
        ],
    )
    def test_values_that_run(self, line: str) -> None:
        text = f"trainer:\n  strategy: ddp\n  {line}\n"
        assert faults(text) == []

    @pytest.mark.parametrize(
        "line",
        [
            *("sync_batchnorm: 1", "sync_batchnorm: maybe", "num_nodes: 0", "num_nodes: null", "num_nodes: 1.5", "max_steps: null"),
            *("max_epochs: ten", "devices: 0", "devices: '0'", "devices: []", "devices: null", "devices: all", "devices: 2.0"),
            *("accumulate_grad_batches: {0: 2}", "gradient_clip_val: text", "gradient_clip_algorithm: l2", "limit_train_batches: 1.5"),
            *("profiler: nope", "plugins: ddp_sharded", "plugins: [ddp_sharded]", "overfit_batches: null", "accelerator: null"),
            *("accelerator: GPU", "accelerator: rocm", "precision: fp16", "precision: BF16-mixed", "precision: 8"),
        ],
    )
    def test_values_that_are_refused(self, line: str) -> None:
        text = f"trainer:\n  strategy: ddp\n  {line}\n"
        key = line.partition(":")[0]
        found = [d for d in lint(text, dialect="lightning", target=NEWEST) if d.severity.word == "error"]
        assert [(d.code, d.key) for d in found] == [("FSD004", f"trainer.{key}")]
        assert marked(text, found[0]) == line.partition(": ")[2]

    @pytest.mark.parametrize("name", ["hpu", "xpu", "npu"])
    def test_an_accelerator_that_a_package_may_bring(self, name: str) -> None:
        assert faults(f"trainer:\n  strategy: ddp\n  accelerator: {name}\n") == [("warning", "FSD004", "trainer.accelerator")]

    def test_old_numbers_of_machines(self) -> None:
        assert faults("trainer:\n  strategy: ddp\n  num_nodes: 0\n", "lightning==2.0.9", "torch==2.0.1") == []

    @pytest.mark.parametrize("value", ["16", "'16'", "bf16"])
    def test_historical_precisions(self, value: str) -> None:
        assert faults(trainer("strategy: ddp", f"precision: {value}")) == [("warning", "FSD402", "trainer.precision")]
        assert "-mixed" in helps(trainer("strategy: ddp", f"precision: {value}"))

    @pytest.mark.parametrize(("value", "help"), [("fp16", "16-mixed"), ("bfloat16", "bf16-mixed"), ("fp32", "32-true"), ("no", "32-true")])
    def test_precisions_of_other_frameworks(self, value: str, help: str) -> None:
        assert help in helps(trainer("strategy: ddp", f"precision: {value}"))

    def test_half_precision_is_younger_than_2_0(self) -> None:
        text = trainer("strategy: ddp", "precision: bf16-true")
        assert faults(text, "lightning==2.0.9", "torch==2.0.1") == [("error", "FSD004", "trainer.precision")]
        assert faults(text, "lightning==2.1.4", "torch==2.1.0") == []

    @pytest.mark.parametrize("key", ["gpus", "amp_backend", "weights_summary", "distributed_backend", "track_grad_norm"])
    def test_keys_that_left(self, key: str) -> None:
        text = trainer("strategy: ddp", f"{key}: 1")
        assert faults(text) == [("error", "FSD403", f"trainer.{key}")]

    def test_a_key_with_a_successor(self) -> None:
        text = trainer("strategy: ddp", "replace_sampler_ddp: false")
        assert faults(text) == [("error", "FSD404", "trainer.replace_sampler_ddp")]
        assert "use_distributed_sampler" in helps(text)

    def test_an_old_file_while_nobody_names_a_release(self) -> None:
        text = trainer("strategy: ddp_sharded", "gpus: 2", "auto_lr_find: true")
        found = [d for d in lint(text, dialect="lightning") if d.severity.word != "info"]
        assert told(found) == [("warning", "FSD408", "trainer.gpus")]
        assert [related.key for related in found[0].related] == ["trainer.auto_lr_find", "trainer.strategy"]
        assert "lightning<2.0.0" in found[0].message

    def test_an_old_file_for_an_old_release(self) -> None:
        text = trainer("strategy: fsdp_native", "gpus: 2", "precision: 16")
        assert faults(text, "lightning==1.9.5", "torch==1.13.1") == []

    def test_a_young_key(self) -> None:
        text = trainer("strategy: ddp", "enable_autolog_hparams: false")
        assert faults(text, "lightning==2.5.6") == [("error", "FSD401", "trainer.enable_autolog_hparams")]
        assert faults(text) == []

    def test_unknown_keys(self) -> None:
        found = [
            d for d in lint(trainer("strategy: ddp", "max_epoch: 1"), dialect="lightning", target=NEWEST) if d.severity.word == "error"
        ]
        assert [(d.code, d.key, d.help) for d in found] == [("FSD003", "trainer.max_epoch", "did you mean `max_epochs`?")]

    def test_own_keys_at_the_top_of_a_cli_file(self) -> None:
        assert faults("our_option: 1\nseed_everything: 1\n" + trainer("strategy: ddp")) == []

    @pytest.mark.parametrize("key", ["strategy", "devices", "precision"])
    def test_keys_of_the_trainer_at_the_top(self, key: str) -> None:
        text = f"{key}: 2\nseed_everything: 1\n" + trainer("max_epochs: 2")
        assert faults(text) == [("error", "FSD006", key)]

    @pytest.mark.parametrize("line", ["gpus: 2", "project: x"])
    def test_keys_that_a_project_reads_itself(self, line: str) -> None:
        text = f"own: 1\ntrainer:\n  strategy: ddp\n  devices: 2\n  {line}\n"
        assert faults(text) == []

    @pytest.mark.parametrize("line", ["gpus: 2", "project: x"])
    def test_keys_that_hydra_hands_to_the_stock_trainer(self, line: str) -> None:
        text = f"_target_: lightning.pytorch.Trainer\nstrategy: ddp\n{line}\n"
        assert [row[0] for row in faults(text)] == ["error"]

    def test_python_converts_nothing_and_checks_little(self) -> None:
        head = "_target_: lightning.pytorch.Trainer\nstrategy: ddp\n"
        assert faults(head + "sync_batchnorm: 1\nmax_epochs: '3'\naccumulate_grad_batches: {0: 2}\n") == []
        assert faults(head + "num_nodes: '2'\n") == [("error", "FSD005", "num_nodes")]


class TestStrategyName:
    @pytest.mark.parametrize(
        "name", ["fsdp", "Fsdp_Cpu_Offload", "ddp_find_unused_parameters_true", "deepspeed_stage_3", "auto", "single_tpu"]
    )
    def test_registered(self, name: str) -> None:
        assert faults(trainer(f"strategy: {name}")) == []

    @pytest.mark.parametrize(
        ("value", "help"),
        [
            ("fsdp_native", "write `fsdp`"),
            ("fsdp_full_shard_offload", "`fsdp_cpu_offload`"),
            ("ddp_sharded_spawn", "`fsdp`"),
            ("dp", "`ddp`"),
            ("fsdp2", "ModelParallelStrategy"),
            ("model_parallel", "ModelParallelStrategy"),
            ("xla_fsdp", "`xla`"),
            ("null", "`auto`"),
            ("[fsdp]", "remove the dash"),
            ("FSDPStrategy", "class_path"),
            ("deepspeed_stage_4", "deepspeed_stage"),
            ("2", ""),
        ],
    )
    def test_refused(self, value: str, help: str) -> None:
        text = trainer(f"strategy: {value}")
        assert faults(text) == [("error", "FSD004", "trainer.strategy")]
        assert help in helps(text)

    @pytest.mark.parametrize("value", ["our_engine", "hpu_parallel"])
    def test_a_name_that_a_package_may_register(self, value: str) -> None:
        assert faults(trainer(f"strategy: {value}")) == [("warning", "FSD004", "trainer.strategy")]

    def test_names_that_left_later(self) -> None:
        text = trainer("strategy: colossalai")
        assert faults(text, "lightning==2.2.5", "torch==2.2.0") == []
        assert faults(text, "lightning==2.3.3", "torch==2.3.0") == [("error", "FSD004", "trainer.strategy")]

    def test_fabric_has_names_of_its_own(self) -> None:
        for name in ("dp", "xla_fsdp", "deepspeed_stage_1_offload"):
            assert faults(f"fabric:\n  devices: 2\n  strategy: {name}\n") == []
        assert faults("fabric:\n  devices: 2\n  strategy: fsdp_native\n") == [("error", "FSD004", "fabric.strategy")]


class TestCoreRules:
    @pytest.mark.parametrize("text", ["strategy: fsdp", "strategy: fsdp_cpu_offload", "strategy:\n  class_path: FSDPStrategy"])
    @pytest.mark.parametrize("accelerator", ["cpu", "mps", "tpu"])
    def test_needs_a_gpu(self, text: str, accelerator: str) -> None:
        found = faults(trainer(f"accelerator: {accelerator}", text, gpu=False))
        assert [row[:2] for row in found] == [("error", "FSD201")]

    def test_a_device_that_is_only_told(self) -> None:
        text = trainer("strategy: fsdp", gpu=False)
        assert [row[1] for row in told(lint(text, device="cpu")) if row[0] == "error"] == ["FSD201"]
        assert [row[1] for row in told(lint(text, device="rocm")) if row[0] == "error"] == []

    @pytest.mark.parametrize(
        "line", ["gradient_clip_val: 1.0", "gradient_clip_val: '0.5'", "gradient_clip_val: 1\ngradient_clip_algorithm: norm"]
    )
    def test_clipping_by_norm(self, line: str) -> None:
        text = trainer("strategy: fsdp", line)
        found = [d for d in lint(text, target=NEWEST) if d.severity.word == "error"]
        assert [(d.code, d.key) for d in found] == [("FSD706", "trainer.gradient_clip_val")]
        assert "configure_gradient_clipping" in found[0].message

    @pytest.mark.parametrize(
        "line",
        [
            "gradient_clip_val: 0",
            "gradient_clip_val: null",
            "gradient_clip_val: 1\ngradient_clip_algorithm: value",
            "gradient_clip_val: ${clip}",
        ],
    )
    def test_clipping_that_runs(self, line: str) -> None:
        assert faults(trainer("strategy: fsdp", line)) == []

    def test_clipping_without_fsdp(self) -> None:
        assert faults(trainer("strategy: ddp", "gradient_clip_val: 1.0")) == []

    @pytest.mark.parametrize("precision", ["64", "'64'", "64-true", "transformer-engine"])
    def test_precisions_that_fsdp_lacks(self, precision: str) -> None:
        assert faults(trainer("strategy: fsdp", f"precision: {precision}")) == [("error", "FSD004", "trainer.precision")]
        assert faults(trainer("strategy: ddp", f"precision: {precision}")) == []

    def test_settings_of_deepspeed_that_nothing_reads(self) -> None:
        assert faults("seed_everything: 1\n" + trainer("strategy: fsdp") + "deepspeed_config: ds.json\n") == [
            ("warning", "FSD101", "deepspeed_config")
        ]

    def test_one_device(self) -> None:
        assert faults("trainer:\n  strategy: fsdp\n  devices: 1\n") == [("warning", "FSD106", "trainer.devices")]

    def test_no_policy_is_a_remark(self) -> None:
        assert next(row for row in told(lint(trainer("strategy: fsdp"))) if row[1] == "FSD601")[0] == "info"
        assert [row for row in told(lint(fsdp("auto_wrap_policy: [a.Block]"))) if row[1] == "FSD601"] == []

    def test_a_torch_that_is_too_old(self) -> None:
        assert faults(trainer("strategy: fsdp"), "lightning==2.5.6", "torch==2.0.1") == [("warning", "FSD401", "trainer.strategy")]
