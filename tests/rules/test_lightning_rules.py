"""Lightning's own faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

NEWEST = ("lightning==2.6.6", "torch==2.13.0")
STRATEGIES = "lightning.pytorch.strategies."


def trainer(*lines: str) -> str:
    """A LightningCLI file of a Trainer on two GPUs."""
    return "trainer:\n  accelerator: gpu\n  devices: 2\n" + "".join(f"  {line}\n" for text in lines for line in text.splitlines())


def strategy(cls: str, *arguments: str) -> str:
    """The lines of a strategy class with its arguments."""
    head = f"strategy:\n  class_path: {cls}\n"
    return head + ("  init_args:\n" + "".join(f"    {line}\n" for line in arguments) if arguments else "")


def faults(text: str, *target: str, code: str = "LIT", dialect: str | None = "lightning") -> list[tuple[str, str, str | None]]:
    """What rules of some codes tell."""
    return [row for row in told(lint(text, dialect=dialect, target=target or NEWEST)) if row[1].startswith(code)]


class TestStrategyClass:
    """LIT001."""

    AT = "trainer.strategy.class_path"

    @pytest.mark.parametrize(
        "cls",
        [
            *("lightning.fabric.strategies.FSDPStrategy", "lightning_fabric.strategies.FSDPStrategy", STRATEGIES + "FSDP2Strategy"),
            *(STRATEGIES + "DDPFullyShardedNativeStrategy", "DDPShardedStrategy", "FsdpStrategy", "lightning.pytorch.plugins.DDPPlugin"),
        ],
    )
    def test_bad(self, cls: str) -> None:
        text = trainer(strategy(cls))
        found = [d for d in lint(text, target=NEWEST) if d.code == "LIT001"]
        assert told(found) == [("error", "LIT001", self.AT)]
        assert marked(text, found[0]) == cls

    @pytest.mark.parametrize(
        "cls", ["FSDPStrategy", STRATEGIES + "FSDPStrategy", STRATEGIES + "fsdp.FSDPStrategy", "our.FSDPStrategy", "OurStrategy", "${cls}"]
    )
    def test_good(self, cls: str) -> None:
        assert faults(trainer(strategy(cls))) == []

    def test_help(self) -> None:
        found = [lint(trainer(strategy(cls)), target=NEWEST) for cls in ("FsdpStrategy", STRATEGIES + "DDPShardedStrategy")]
        assert [next(d.help for d in row if d.code == "LIT001") for row in found] == [
            "did you mean `FSDPStrategy`?",
            "write `FSDPStrategy`",
        ]

    def test_a_class_that_left_is_a_warning_while_nobody_names_a_release(self) -> None:
        text = trainer(strategy("pytorch_lightning.strategies.DDPFullyShardedStrategy"))
        assert [row for row in told(lint(text)) if row[1] == "LIT001"] == [("warning", "LIT001", self.AT)]
        assert faults(text, "lightning==1.9.5", "torch==1.13.1") == []

    def test_hydra(self) -> None:
        text = "_target_: pytorch_lightning.strategies.DDPFullyShardedNativeStrategy\n"
        assert faults(text) == [("error", "LIT001", "_target_")]

    def test_a_class_of_the_trainer_in_fabric(self) -> None:
        text = "_target_: lightning.fabric.Fabric\nstrategy:\n  _target_: lightning.pytorch.strategies.FSDPStrategy\n"
        assert faults(text) == [("error", "LIT001", "strategy._target_")]
        assert faults(text.replace(".pytorch.", ".fabric.")) == []


class TestMixedNamespaces:
    """LIT002."""

    BOTH = trainer(
        strategy("pytorch_lightning.strategies.DDPStrategy"), "callbacks:\n- class_path: lightning.pytorch.callbacks.RichProgressBar"
    )

    def test_two_packages(self) -> None:
        found = [d for d in lint(self.BOTH) if d.code == "LIT002"]
        assert told(found) == [("error", "LIT002", "trainer.callbacks[0].class_path")]
        assert [related.key for related in found[0].related] == ["trainer.strategy.class_path"]

    def test_hydra(self) -> None:
        text = "_target_: lightning.Trainer\nstrategy:\n  _target_: pytorch_lightning.strategies.DDPStrategy\n"
        assert faults(text) == [("error", "LIT002", "strategy._target_")]

    @pytest.mark.parametrize("names", ["pytorch_lightning", "lightning.pytorch"])
    def test_one_package(self, names: str) -> None:
        text = trainer(strategy(f"{names}.strategies.DDPStrategy"), f"callbacks:\n- class_path: {names}.callbacks.RichProgressBar")
        assert [row for row in told(lint(text)) if row[1] == "LIT002"] == []

    def test_the_package_that_the_project_does_not_name(self) -> None:
        """lightning brings pytorch-lightning along, so that the script may import either."""
        text = trainer(strategy("pytorch_lightning.strategies.DDPStrategy"))
        assert faults(text) == [("warning", "LIT002", "trainer.strategy.class_path")]
        assert faults(text, "pytorch-lightning==2.6.6") == []


class TestHybridWithoutGroups:
    """LIT003."""

    @pytest.mark.parametrize("value", ["HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"])
    @pytest.mark.parametrize("release", ["2.1.4", "2.6.6"])
    def test_bad(self, value: str, release: str) -> None:
        text = trainer(strategy("FSDPStrategy", f"sharding_strategy: {value}"))
        found = [d for d in lint(text, target=(f"lightning=={release}",)) if d.code == "LIT003"]
        assert told(found) == [("error", "LIT003", "trainer.strategy.init_args.sharding_strategy")]
        assert marked(text, found[0]) == value

    @pytest.mark.parametrize("line", ["auto_wrap_policy: [a.Block]", "device_mesh: [1, 2]", "auto_wrap_policy: ${policy}"])
    def test_good(self, line: str) -> None:
        assert faults(trainer(strategy("FSDPStrategy", "sharding_strategy: HYBRID_SHARD", line))) == []

    def test_a_process_group_of_torch(self) -> None:
        text = trainer(strategy("FSDPStrategy", "sharding_strategy: HYBRID_SHARD") + "  dict_kwargs:\n    process_group: [a, b]\n")
        assert faults(text) == []

    def test_hydra(self) -> None:
        text = f"_target_: {STRATEGIES}FSDPStrategy\nsharding_strategy: hybrid_shard\n"
        assert faults(text) == [("error", "LIT003", "sharding_strategy")]


class TestOffloadNotAsWritten:
    """LIT004."""

    @pytest.mark.parametrize(
        "value", ["CPUOffload", "torch.distributed.fsdp.CPUOffload", "{class_path: CPUOffload}", "{class_path: CPUOffload, init_args: {}}"]
    )
    def test_bad(self, value: str) -> None:
        text = trainer(strategy("FSDPStrategy", f"cpu_offload: {value}"))
        found = [d for d in lint(text, target=NEWEST) if d.code == "LIT004"]
        assert told(found) == [("error", "LIT004", "trainer.strategy.init_args.cpu_offload")]
        assert marked(text, found[0]) == value

    @pytest.mark.parametrize(
        "value", ["true", "{offload_params: true}", "{class_path: CPUOffload, init_args: {offload_params: false}}", "null"]
    )
    def test_good(self, value: str) -> None:
        assert faults(trainer(strategy("FSDPStrategy", f"cpu_offload: {value}"))) == []

    @pytest.mark.parametrize(
        ("value", "is_bad"), [("'false'", True), ("{offload_params: false}", True), ("false", False), ("'true'", False)]
    )
    def test_hydra(self, value: str, is_bad: bool) -> None:
        found = faults(f"_target_: {STRATEGIES}FSDPStrategy\ncpu_offload: {value}\n")
        assert found == ([("error", "LIT004", "cpu_offload")] if is_bad else [])


class TestPrecisionPlugin:
    """LIT005."""

    PLUGIN = "plugins:\n- class_path: lightning.pytorch.plugins.{}\n"

    @pytest.mark.parametrize("name", ["MixedPrecision", "HalfPrecision", "DoublePrecision", "BitsandbytesPrecision", "DeepSpeedPrecision"])
    def test_not_with_fsdp(self, name: str) -> None:
        text = trainer("strategy: fsdp", self.PLUGIN.format(name))
        found = [d for d in lint(text, target=NEWEST) if d.code == "LIT005"]
        assert told(found) == [("error", "LIT005", "trainer.plugins[0].class_path")]
        assert marked(text, found[0]) == f"lightning.pytorch.plugins.{name}"
        assert faults(trainer("strategy: ddp", self.PLUGIN.format(name))) == []

    def test_not_beside_a_precision(self) -> None:
        text = trainer("strategy: fsdp", "precision: bf16-mixed", self.PLUGIN.format("precision.FSDPPrecision"))
        assert faults(text) == [("error", "LIT005", "trainer.plugins[0].class_path")]

    @pytest.mark.parametrize("plugin", ["precision.FSDPPrecision", "io.AsyncCheckpointIO"])
    def test_good(self, plugin: str) -> None:
        assert faults(trainer("strategy: fsdp", self.PLUGIN.format(plugin))) == []

    def test_a_mapping(self) -> None:
        text = trainer("strategy: fsdp", "plugins:\n  class_path: MixedPrecision")
        assert faults(text) == [("error", "LIT005", "trainer.plugins.class_path")]


class TestAveragingSharded:
    """LIT006."""

    @pytest.mark.parametrize("engine", ["fsdp", "fsdp_cpu_offload", "deepspeed_stage_2"])
    def test_bad(self, engine: str) -> None:
        text = trainer(f"strategy: {engine}", "callbacks:\n- class_path: LearningRateMonitor\n- class_path: StochasticWeightAveraging")
        found = [d for d in lint(text, target=NEWEST) if d.code == "LIT006"]
        assert told(found) == [("error", "LIT006", "trainer.callbacks[1].class_path")]
        assert [related.key for related in found[0].related] == ["trainer.strategy"]

    def test_good(self) -> None:
        assert faults(trainer("strategy: ddp", "callbacks: [StochasticWeightAveraging]")) == []

    def test_hydra(self) -> None:
        text = (
            "_target_: lightning.Trainer\nstrategy: fsdp\ncallbacks:\n- _target_: lightning.pytorch.callbacks.StochasticWeightAveraging\n"
        )
        assert faults(text) == [("error", "LIT006", "callbacks[0]._target_")]


class TestOptionsClash:
    """LIT007."""

    @pytest.mark.parametrize("line", ["enable_checkpointing: true", "logger: true", "profiler: simple", "num_sanity_val_steps: 2"])
    def test_barebones(self, line: str) -> None:
        text = trainer("strategy: fsdp", "barebones: true", line)
        found = [d for d in lint(text, target=NEWEST) if d.code == "LIT007"]
        assert told(found) == [("error", "LIT007", f"trainer.{line.partition(':')[0]}")]
        assert marked(text, found[0]) == line
        assert [related.key for related in found[0].related] == ["trainer.barebones"]

    @pytest.mark.parametrize("lines", [("barebones: true", "enable_checkpointing: false"), ("barebones: false", "logger: true")])
    def test_barebones_alone(self, lines: tuple[str, str]) -> None:
        assert faults(trainer("strategy: fsdp", *lines)) == []

    @pytest.mark.parametrize("other", ["[a.Block]", "null"])
    def test_two_kinds_of_activation_checkpointing(self, other: str) -> None:
        text = trainer(strategy("FSDPStrategy", "activation_checkpointing: a.Block", f"activation_checkpointing_policy: {other}"))
        place = ("error", "LIT007", "trainer.strategy.init_args.activation_checkpointing")
        assert faults(text) == ([] if other == "null" else [place])

    def test_a_mesh_beside_a_process_group(self) -> None:
        text = f"_target_: {STRATEGIES}FSDPStrategy\ndevice_mesh: {{_target_: a.mesh}}\nprocess_group: {{_target_: a.group}}\n"
        assert faults(text) == [("error", "LIT007", "device_mesh")]

    def test_below_a_subcommand(self) -> None:
        text = "fit:\n  trainer:\n    devices: 2\n    barebones: true\n    logger: true\n"
        assert faults(text) == [("error", "LIT007", "fit.trainer.logger")]


class TestRemarks:
    """LIT008 and LIT009 are advice."""

    def test_tensor_parallel_by_default(self) -> None:
        assert faults(trainer(strategy("ModelParallelStrategy"))) == [("info", "LIT008", "trainer.strategy.class_path")]
        assert faults(trainer(strategy("ModelParallelStrategy", "data_parallel_size: 1", "tensor_parallel_size: 2"))) == []

    @pytest.mark.parametrize("value", ["16-true", "bf16-true"])
    def test_true_half_precision(self, value: str) -> None:
        assert faults(trainer("strategy: fsdp", f"precision: {value}")) == [("info", "LIT009", "trainer.precision")]
        assert faults(trainer("strategy: ddp", f"precision: {value}")) == []
