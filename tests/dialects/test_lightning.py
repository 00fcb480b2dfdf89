"""Lightning's files: recognition, the forms they come in, the plan that is read, and the claims of the option table."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.dialects.lightning_shapes import Shape, shape_of
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

NEWEST = ("lightning==2.6.6", "torch==2.13.0")


def trainer(*lines: str, gpu: bool = True) -> str:
    """A LightningCLI file of a Trainer on two GPUs."""
    head = "trainer:\n" + ("  accelerator: gpu\n  devices: 2\n" if gpu else "")
    return head + "".join(f"  {line}\n" for text in lines for line in text.splitlines())


def fsdp(*arguments: str, cls: str = "FSDPStrategy", more: str = "") -> str:
    """A LightningCLI file with a strategy class and its arguments."""
    text = f"strategy:\n  class_path: {cls}\n"
    if arguments:
        text += "  init_args:\n" + "".join(f"    {line}\n" for argument in arguments for line in argument.splitlines())
    return trainer(text) + more


def hydra(*arguments: str, cls: str = "lightning.pytorch.strategies.FSDPStrategy") -> str:
    """A strategy group of Hydra."""
    return f"_target_: {cls}\n" + "".join(f"{argument}\n" for argument in arguments)


def faults(text: str, *target: str, dialect: str | None = "lightning") -> list[tuple[str, str, str | None]]:
    """What is told of a text at or above a warning."""
    return [row for row in told(lint(text, dialect=dialect, target=target or NEWEST)) if row[0] != "info"]


def helps(text: str, *target: str) -> str:
    """All help texts of what is told at or above a warning."""
    return " | ".join(d.help or "" for d in lint(text, dialect="lightning", target=target or NEWEST) if d.severity.word != "info")


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            trainer("strategy: fsdp"),
            "trainer:\n  strategy: fsdp\n  accelerator: auto\n",
            "seed_everything: 1\ntrainer:\n  devices: 2\nmodel:\n  class_path: a.B\n",
            "out: 1\ntrainer:\n  max_epochs: 2\n  callbacks:\n  - class_path: RichProgressBar\n",
            "fit:\n  trainer:\n    strategy: ddp\n    devices: 2\n  model: {}\n",
            "_target_: lightning.pytorch.trainer.Trainer\nmax_epochs: 3\n",
            "_target_: pytorch_lightning.Trainer\n",
            "_target_: lightning.fabric.Fabric\ndevices: 2\n",
            "trainer:\n  _target_: lightning.Trainer\n  devices: 2\nloader: {}\n",
            hydra(),
            hydra(cls="our.package.OwnFSDPStrategy"),
            "defaults:\n- gpu\nstrategy:\n  _target_: lightning.pytorch.strategies.FSDPStrategy\n  cpu_offload: true\nnum_nodes: 1\n",
            "defaults: [default]\naccelerator: gpu\ndevices: ???\nsync_batchnorm: false\n",
            "fabric:\n  strategy: fsdp\n  devices: 4\n",
            "trainer: {devices: 8}\nexp_manager: {}\nmodel:\n  tensor_model_parallel_size: 1\n",
        ],
    )
    def test_is_lightning(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "lightning"

    @pytest.mark.parametrize(
        "text",
        [
            "trainer:\n  strategy: fsdp2\n  placement: {policy_num_nodes: 1}\n  project_name: a\n  epochs: 2\ndata: {}\n",
            "trainer:\n  nnodes: 1\n  n_gpus_per_node: 8\n  total_epochs: 3\nactor_rollout_ref: {}\n",
            "trainer: BasicTrainer\nstrategy: x\n",
            "trainer:\n  _target_: composer.Trainer\n  precision: amp_bf16\n  max_duration: 3ep\n",
            "_target_: torch.optim.AdamW\nlr: 0.1\n",
            "_target_: lightning.pytorch.callbacks.ModelCheckpoint\n",
            "jobs:\n  build:\n    strategy: {matrix: {python: [3.11]}}\n",
            "defaults: [a]\nlr: 1\nname: x\n",
            "fabric: cotton\n",
            "strategy: fsdp\ndevices: 2\n",
            "- trainer\n",
        ],
    )
    def test_is_not_lightning(self, text: str) -> None:
        assert dialect("lightning").recognise(parse(text, "x.yaml")) == 0

    def test_an_empty_text(self) -> None:
        assert recognise(parse("", "x.yaml")) is None


class TestShapes:
    @pytest.mark.parametrize(
        ("text", "shape"),
        [
            (trainer("strategy: fsdp"), Shape()),
            (fsdp(cls="lightning.pytorch.strategies.DDPStrategy"), Shape(strategy="DDPStrategy")),
            (fsdp(cls="our.Strategy"), Shape(strategy="Strategy", is_stock=False)),
            ("fit:\n  trainer:\n    devices: 1\n", Shape(at=("fit", "trainer"))),
            ("own: 1\ntrainer:\n  devices: 1\n", Shape(reader="own")),
            ("own: 1\nseed_everything: 1\ntrainer:\n  devices: 1\n", Shape()),
            ("defaults: [x]\ntrainer:\n  devices: 1\n", Shape(reader="own")),
            ("trainer:\n  _target_: lightning.Trainer\n", Shape(reader="stock")),
            ("trainer:\n  _target_: our.Trainer\n", Shape(reader="own")),
            ("_target_: pytorch_lightning.Trainer\n", Shape(at=(), reader="stock")),
            (hydra(), Shape("strategy", (), "stock", "FSDPStrategy")),
            (hydra(cls="a.b.OwnFSDPStrategy"), Shape("strategy", (), "own", "OwnFSDPStrategy", is_stock=False)),
            ("fabric:\n  devices: 2\n", Shape("fabric", ("fabric",), "own")),
        ],
    )
    def test_shape(self, text: str, shape: Shape) -> None:
        assert shape_of(parse(text, "x.yaml")) == shape

    def test_hydra_is_read_as_omegaconf_does(self) -> None:
        """LightningCLI takes the last of two keys, OmegaConf refuses the file; of jsonargparse's readers PyYAML's is the nearest."""
        assert faults(trainer("strategy: ddp", "max_epochs: 1", "max_epochs: 2")) == [("warning", "FSD002", "trainer.max_epochs")]
        text = "_target_: lightning.Trainer\nmax_epochs: 1\nmax_epochs: 2\n"
        assert faults(text) == [("error", "FSD002", "max_epochs")]


class TestPlan:
    def test_a_name(self) -> None:
        plan = read(trainer("strategy: FSDP", "precision: bf16-mixed"))
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 1, Sharding.FULL_SHARD)
        assert (plan.offload.value, plan.wrap_policy.value, plan.state_dict.value) == (False, Wrap.NONE, StateDict.FULL)
        assert (plan.precision.value, plan.processes.value) == (Precision.BF16, 2)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("trainer", "strategy")

    def test_offload_by_name(self) -> None:
        plan = read(trainer("strategy: fsdp_cpu_offload"))
        assert plan.offload.value is True and plan.offload.place is not None and plan.offload.place.path == ("trainer", "strategy")

    def test_a_class(self) -> None:
        plan = read(
            fsdp(
                "sharding_strategy: SHARD_GRAD_OP",
                "cpu_offload: true",
                "auto_wrap_policy: [a.Block, a.Head]",
                "activation_checkpointing_policy: [a.Block]",
                "state_dict_type: sharded",
            )
        )
        assert (plan.sharding.value, plan.offload.value, plan.wrap_policy.value) == (Sharding.SHARD_GRAD_OP, True, Wrap.TRANSFORMER)
        assert (plan.wrap_classes.value, plan.activation_checkpointing.value) == (("a.Block", "a.Head"), True)
        assert plan.state_dict.value is StateDict.SHARDED
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("trainer", "strategy", "class_path")

    def test_hydra(self) -> None:
        plan = read(hydra("sharding_strategy: shard_grad_op", "use_orig_params: true", "limit_all_gathers: false"))
        assert (plan.fsdp.value, plan.sharding.value) == (True, Sharding.SHARD_GRAD_OP)
        assert (plan.orig_params.value, plan.limit_all_gathers.value) == (True, False)

    def test_dict_kwargs(self) -> None:
        text = fsdp(more="    dict_kwargs:\n      limit_all_gathers: false\n      sharding_strategy: SHARD_GRAD_OP\n")
        assert read(text).limit_all_gathers.value is False

    @pytest.mark.parametrize("name", ["ddp", "auto", "ddp_spawn", "single_device"])
    def test_without_fsdp(self, name: str) -> None:
        plan = read(trainer(f"strategy: {name}"))
        assert plan.fsdp.value is False
        assert plan.sharding.is_silent and plan.offload.is_silent and plan.state_dict.is_silent

    @pytest.mark.parametrize("name", ["deepspeed", "deepspeed_stage_3_offload"])
    def test_deepspeed_by_name(self, name: str) -> None:
        plan = read(trainer(f"strategy: {name}"))
        assert (plan.fsdp.value, plan.deepspeed.value) == (False, True)

    def test_deepspeed_by_class_names_its_file(self) -> None:
        text = fsdp("config: ds.json", cls="DeepSpeedStrategy")
        assert read(text).deepspeed_config.value == "ds.json"
        document = parse(text, "x.yaml")
        form = dialect("lightning").for_document(document)
        assert form.companions(document) == [("trainer.strategy.init_args.config", "ds.json")]

    @pytest.mark.parametrize("text", [fsdp(cls="our.own.ShardedStrategy"), trainer("strategy: ${engine}"), trainer("strategy: our_engine")])
    def test_who_knows(self, text: str) -> None:
        assert read(text).fsdp.value is None

    def test_model_parallel(self) -> None:
        plan = read(fsdp("data_parallel_size: 2", "tensor_parallel_size: 1", cls="ModelParallelStrategy"))
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.dp_shard.value, plan.tp.value) == (None, 2, 2, 1)

    def test_model_parallel_by_default(self) -> None:
        plan = read("trainer:\n  devices: 4\n  num_nodes: 2\n  strategy:\n    class_path: ModelParallelStrategy\n")
        assert (plan.dp_shard.value, plan.tp.value, plan.processes.value) == (2, 4, 8)

    @pytest.mark.parametrize(
        ("devices", "processes"), [("4", 4), ("'4'", 4), ("0,1", 2), ("[1, 3, 5]", 3), ("-1", None), ("auto", None), ("${n}", None)]
    )
    def test_processes(self, devices: str, processes: int | None) -> None:
        assert read(f"trainer:\n  strategy: fsdp\n  devices: {devices}\n").processes.value == processes

    def test_unknown_machines(self) -> None:
        assert read("trainer:\n  strategy: fsdp\n  devices: 4\n  num_nodes: ${nodes}\n").processes.value is None

    @pytest.mark.parametrize(("accelerator", "device"), [("cpu", "cpu"), ("mps", "mps"), ("gpu", None), ("cuda", None), ("auto", None)])
    def test_device(self, accelerator: str, device: str | None) -> None:
        assert read(f"trainer:\n  strategy: fsdp\n  accelerator: {accelerator}\n").device.value == device

    @pytest.mark.parametrize(
        ("written", "precision"),
        [("16", Precision.FP16), ("16-mixed", Precision.FP16), ("bf16", Precision.BF16), ("bf16-true", Precision.BF16)]
        + [("32-true", Precision.NONE), ("64", Precision.NONE), ("transformer-engine", Precision.FP8)],
    )
    def test_precision(self, written: str, precision: Precision) -> None:
        assert read(trainer("strategy: ddp", f"precision: {written}")).precision.value is precision

    def test_mesh(self) -> None:
        plan = read(fsdp("sharding_strategy: HYBRID_SHARD", "device_mesh: [1, 2]"))
        assert (plan.dp_replicate.value, plan.dp_shard.value) == (1, 2)


class TestOffload:
    @pytest.mark.parametrize(
        ("written", "runs"),
        [("true", True), ("false", False), ("'true'", True), ("null", False), ("{offload_params: true}", True)]
        + [("{offload_params: false}", False), ("{class_path: torch.distributed.fsdp.CPUOffload, init_args: {offload_params: true}}", True)],
    )
    def test_by_the_command_line_interface(self, written: str, runs: bool) -> None:
        offload = read(fsdp(f"cpu_offload: {written}")).offload
        assert offload.value is runs and offload.as_written

    @pytest.mark.parametrize(
        ("written", "asked", "runs"),
        [("true", True, True), ("false", False, False), ("'no'", False, True), ("{offload_params: false}", False, True)]
        + [("{_target_: torch.distributed.fsdp.CPUOffload, offload_params: true}", True, True)]
        + [("{_target_: torch.distributed.fsdp.CPUOffload}", True, False)],
    )
    def test_by_hydra(self, written: str, asked: bool, runs: bool) -> None:
        offload = read(hydra(f"cpu_offload: {written}")).offload
        assert (offload.written, offload.value) == (asked, runs)


class TestTrainer:
    @pytest.mark.parametrize(
        "line",
        [
            *("gradient_clip_val: 1e-4", "sync_batchnorm: yes", "sync_batchnorm: 'no'", "num_nodes: '2'", "max_epochs: '3'", "precision: null"),
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
        assert told(found) == [("warning", "FSD408", "trainer.strategy")] or told(found) == [("warning", "FSD408", "trainer.gpus")]
        assert "lightning<2.0.0" in found[0].message

    def test_an_old_file_for_an_old_release(self) -> None:
        text = trainer("strategy: fsdp_native", "gpus: 2", "precision: 16")
        assert faults(text, "lightning==1.9.5", "torch==1.13.1") == []

    def test_a_young_key(self) -> None:
        text = trainer("strategy: ddp", "enable_autolog_hparams: false")
        assert faults(text, "lightning==2.5.6") == [("error", "FSD401", "trainer.enable_autolog_hparams")]
        assert faults(text) == []

    def test_unknown_keys(self) -> None:
        found = [d for d in lint(trainer("strategy: ddp", "max_epoch: 1"), dialect="lightning", target=NEWEST) if d.severity.word == "error"]
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
    @pytest.mark.parametrize("name", ["fsdp", "Fsdp_Cpu_Offload", "ddp_find_unused_parameters_true", "deepspeed_stage_3", "auto", "single_tpu"])
    def test_registered(self, name: str) -> None:
        assert faults(trainer(f"strategy: {name}")) == []

    @pytest.mark.parametrize(
        ("value", "help"),
        [("fsdp_native", "write `fsdp`"), ("fsdp_full_shard_offload", "`fsdp_cpu_offload`"), ("ddp_sharded_spawn", "`fsdp`"), ("dp", "`ddp`")]
        + [("fsdp2", "ModelParallelStrategy"), ("model_parallel", "ModelParallelStrategy"), ("xla_fsdp", "`xla`"), ("null", "`auto`")]
        + [("[fsdp]", "remove the dash"), ("FSDPStrategy", "class_path"), ("deepspeed_stage_4", "deepspeed_stage"), ("2", "")],
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
            *("sharding_strategy: null", "state_dict_type: FULL_STATE_DICT", "state_dict_type: local", "cpu_offload: 1", "cpu_offload: cpu"),
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
        [("sharding_strategy: shard_grad_op", "`SHARD_GRAD_OP`"), ("sharding_strategy: 2", "`SHARD_GRAD_OP`")]
        + [("state_dict_type: SHARDED_STATE_DICT", "`sharded`"), ("auto_wrap_policy: torch.nn.Linear", "[package.module.Block]")],
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

    @pytest.mark.parametrize("line", ["gradient_clip_val: 1.0", "gradient_clip_val: '0.5'", "gradient_clip_val: 1\ngradient_clip_algorithm: norm"])
    def test_clipping_by_norm(self, line: str) -> None:
        text = trainer("strategy: fsdp", line)
        found = [d for d in lint(text, target=NEWEST) if d.severity.word == "error"]
        assert [(d.code, d.key) for d in found] == [("FSD706", "trainer.gradient_clip_val")]
        assert "configure_gradient_clipping" in found[0].message

    @pytest.mark.parametrize(
        "line", ["gradient_clip_val: 0", "gradient_clip_val: null", "gradient_clip_val: 1\ngradient_clip_algorithm: value", "gradient_clip_val: ${clip}"]
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
        assert [row for row in told(lint(trainer("strategy: fsdp"))) if row[1] == "FSD601"][0][0] == "info"
        assert [row for row in told(lint(fsdp("auto_wrap_policy: [a.Block]"))) if row[1] == "FSD601"] == []

    def test_a_torch_that_is_too_old(self) -> None:
        assert faults(trainer("strategy: fsdp"), "lightning==2.5.6", "torch==2.0.1") == [("warning", "FSD401", "trainer.strategy")]


class TestNemo:
    HEAD = "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nexp_manager: {}\nmodel:\n  tensor_model_parallel_size: 2\n"

    def text(self, *lines: str) -> str:
        return self.HEAD + "  fsdp: true\n" + "".join(f"  {line}\n" for line in lines)

    def test_plan(self) -> None:
        plan = read(self.text("fsdp_sharding_strategy: grad"))
        assert (plan.fsdp.value, plan.sharding.value, plan.processes.value) == (True, Sharding.SHARD_GRAD_OP, 16)
        assert plan.precision.value is Precision.BF16

    @pytest.mark.parametrize(
        ("line", "finding"),
        [
            ("fsdp_sharding_strategy: hybrid", ("error", "FSD004", "model.fsdp_sharding_strategy")),
            ("optim: {name: distributed_fused_adam}", ("error", "FSD705", "model.optim.name")),
            ("fsdp_sharded_checkpoint: true", ("error", "LIT007", "model.fsdp_sharded_checkpoint")),
            ("pipeline_model_parallel_size: 2", ("error", "LIT007", "model.pipeline_model_parallel_size")),
            ("fp8: true", ("error", "LIT007", "model.fp8")),
            ("megatron_amp_O2: true", ("warning", "LIT007", "model.megatron_amp_O2")),
            ("ub_tp_comm_overlap: true", ("warning", "LIT007", "model.ub_tp_comm_overlap")),
            ("fsdp_cpu_offload: true", ("error", "FSD605", "model.fsdp_cpu_offload")),
        ],
    )
    def test_faults(self, line: str, finding: tuple[str, str, str]) -> None:
        assert faults(self.text(line), "nemo-toolkit==1.23.0") == [finding]
        assert faults(self.text(line).replace("fsdp: true", "fsdp: false"), "nemo-toolkit==1.23.0") == []

    def test_good(self) -> None:
        assert faults(self.text("fsdp_sharding_strategy: full", "fsdp_cpu_offload: false", "fp8: false")) == []
