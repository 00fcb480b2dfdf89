"""Lightning's files: recognition, the forms they come in, and the plan that is read."""

from __future__ import annotations

import pytest
from lightning_files import faults, fsdp, hydra, trainer
from linting import read

from fsdplint.dialects import dialect, recognise
from fsdplint.dialects.lightning_shapes import Shape, shape_of
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap


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
        [
            ("16", Precision.FP16),
            ("16-mixed", Precision.FP16),
            ("bf16", Precision.BF16),
            ("bf16-true", Precision.BF16),
            ("32-true", Precision.NONE),
            ("64", Precision.NONE),
            ("transformer-engine", Precision.FP8),
        ],
    )
    def test_precision(self, written: str, precision: Precision) -> None:
        assert read(trainer("strategy: ddp", f"precision: {written}")).precision.value is precision

    def test_mesh(self) -> None:
        plan = read(fsdp("sharding_strategy: HYBRID_SHARD", "device_mesh: [1, 2]"))
        assert (plan.dp_replicate.value, plan.dp_shard.value) == (1, 2)


class TestOffload:
    @pytest.mark.parametrize(
        ("written", "runs"),
        [
            ("true", True),
            ("false", False),
            ("'true'", True),
            ("null", False),
            ("{offload_params: true}", True),
            ("{offload_params: false}", False),
            ("{class_path: torch.distributed.fsdp.CPUOffload, init_args: {offload_params: true}}", True),
        ],
    )
    def test_by_the_command_line_interface(self, written: str, runs: bool) -> None:
        offload = read(fsdp(f"cpu_offload: {written}")).offload
        assert offload.value is runs and offload.as_written

    @pytest.mark.parametrize(
        ("written", "asked", "runs"),
        [
            ("true", True, True),
            ("false", False, False),
            ("'no'", False, True),
            ("{offload_params: false}", False, True),
            ("{_target_: torch.distributed.fsdp.CPUOffload, offload_params: true}", True, True),
            ("{_target_: torch.distributed.fsdp.CPUOffload}", True, False),
        ],
    )
    def test_by_hydra(self, written: str, asked: bool, runs: bool) -> None:
        offload = read(hydra(f"cpu_offload: {written}")).offload
        assert (offload.written, offload.value) == (asked, runs)
