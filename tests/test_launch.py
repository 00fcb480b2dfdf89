"""Which member of a launch wins: flags, accelerate file, training file, companions."""

from __future__ import annotations

import pytest
from linting import launch_of, lint, read, told

from fsdplint.launch import Launch
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

TRAIN = "output_dir: out\nper_device_train_batch_size: 8\nnum_train_epochs: 1\n"
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: fp16
num_machines: 1
num_processes: 2
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: SIZE_BASED_WRAP
  fsdp_min_num_params: 1000
  fsdp_reshard_after_forward: false
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_offload_params: true
  fsdp_activation_checkpointing: true
"""
HEAD = "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\n"
PLAIN = HEAD + "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
DDP = HEAD + "distributed_type: MULTI_GPU\n"
ZERO = HEAD + "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n"
JSON = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto"}'
BOTH = ("hf-trainer", "accelerate")


class TestMain:
    def test_the_training_file_speaks(self) -> None:
        launch = launch_of(TRAIN, ACCELERATE, dialects=BOTH)
        assert launch.main.dialect.name == "hf-trainer"
        assert Launch(tuple(reversed(launch.files))).main is launch.main

    def test_else_the_accelerate_file(self) -> None:
        assert launch_of(ACCELERATE, JSON, dialects=("accelerate", "deepspeed")).main.dialect.name == "accelerate"

    def test_a_companion_only_alone(self) -> None:
        assert launch_of(JSON, TRAIN, dialects=("deepspeed", "hf-trainer")).main.dialect.name == "hf-trainer"
        assert launch_of(JSON, dialects=("deepspeed",)).main.dialect.name == "deepspeed"

    def test_nothing_is_missing_by_default(self) -> None:
        assert launch_of(TRAIN, dialects=("hf-trainer",)).missing == ()


class TestFlagsOverTheAccelerateFile:
    line = "accelerate launch --config_file file0.yaml {} train.py"

    def plan(self, flags: str, text: str = ACCELERATE):
        return read(text, dialect="accelerate", line=self.line.format(flags))

    def test_written_flags_win(self) -> None:
        plan = self.plan("--num_processes 4 --mixed-precision bf16 --fsdp_offload_params false")
        assert (plan.processes.value, plan.precision.value, plan.offload.value) == (4, Precision.BF16, False)
        assert plan.processes.place is not None and plan.processes.place.document.path == "<launch>"
        assert [rival.value for rival in plan.processes.rivals] == [2]

    def test_flags_that_are_not_written_say_nothing(self) -> None:
        plan = self.plan("--fsdp_forward_prefetch true")
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 2, Sharding.SHARD_GRAD_OP)

    @pytest.mark.parametrize("kind", ["--multi_gpu", "--use_deepspeed", "--cpu", "--tpu"])
    def test_another_kind_switches_fsdp_off(self, kind: str) -> None:
        assert self.plan(kind).fsdp.value is False

    def test_cpu_is_the_device(self) -> None:
        assert self.plan("--cpu").device.value == "cpu"

    def test_use_fsdp_over_a_file_of_another_kind(self) -> None:
        plan = self.plan("--use_fsdp", DDP)
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.state_dict.value) == (True, 1, StateDict.FULL)

    def test_another_version_reads_the_other_key(self) -> None:
        plan = self.plan("--fsdp_version 1")
        assert (plan.fsdp_version.value, plan.sharding.value) == (1, Sharding.FULL_SHARD)

    def test_another_version_has_other_defaults(self) -> None:
        assert self.plan("--fsdp_version 1", PLAIN).state_dict.value is StateDict.FULL

    @pytest.mark.parametrize(
        ("flags", "sharding"),
        [("--fsdp_sharding_strategy NO_SHARD", Sharding.SHARD_GRAD_OP), ("--fsdp_reshard_after_forward true", Sharding.FULL_SHARD)],
    )
    def test_only_the_flag_that_the_version_reads_counts(self, flags: str, sharding: Sharding) -> None:
        assert self.plan(flags).sharding.value is sharding


class TestFlagsWithoutAFile:
    def test_use_fsdp_brings_the_launcher_s_defaults(self) -> None:
        plan = read(TRAIN, dialect="hf-trainer", line="accelerate launch --use_fsdp --num_processes 2 train.py file0.yaml")
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 1, Sharding.FULL_SHARD)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("--use_fsdp",)

    def test_fsdp_flags_alone_prove_nothing(self) -> None:
        """A default config file of the user may switch FSDP on."""
        plan = read(TRAIN, dialect="hf-trainer", line="accelerate launch --fsdp_offload_params true train.py file0.yaml")
        assert plan.fsdp.value is not True


class TestFsdpOfTheAccelerateFile:
    def test_is_in_force_where_the_training_file_has_none(self) -> None:
        plan = read(TRAIN, ACCELERATE, dialects=BOTH)
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.sharding.value) == (True, 2, Sharding.SHARD_GRAD_OP)
        assert (plan.state_dict.value, plan.offload.value, plan.wrap_policy.value) == (StateDict.SHARDED, True, Wrap.SIZE)
        assert (plan.processes.value, plan.precision.value) == (2, Precision.FP16)

    def test_loses_half_to_the_training_file(self) -> None:
        plan = read(TRAIN + "fsdp: true\n", ACCELERATE, dialects=BOTH, target=("transformers==5.24.0",))
        assert (plan.fsdp_version.value, plan.sharding.value, plan.state_dict.value) == (2, Sharding.FULL_SHARD, StateDict.FULL)
        assert (plan.wrap_policy.value, plan.ram_efficient.value) == (Wrap.TRANSFORMER, False)
        assert (plan.offload.value, plan.activation_checkpointing.value) == (True, True), "these two leak through"

    def test_loses_the_version_to_the_training_file(self) -> None:
        text = TRAIN + 'fsdp: "full_shard auto_wrap"\nfsdp_config:\n  version: 1\n'
        plan = read(text, ACCELERATE, dialects=BOTH, target=("transformers==5.24.0",))
        assert (plan.fsdp_version.value, plan.offload.value) == (1, True)
        assert [rival.value for rival in plan.fsdp_version.rivals] == [2]

    def test_keeps_the_version_under_transformers_4(self) -> None:
        plan = read(TRAIN + "fsdp: true\n", ACCELERATE, dialects=BOTH, target=("transformers==4.57.6", "accelerate==1.11.0"))
        assert (plan.fsdp_version.value, plan.sharding.value) == (2, Sharding.SHARD_GRAD_OP)
        assert (plan.state_dict.value, plan.wrap_policy.value, plan.ram_efficient.value) == (StateDict.SHARDED, Wrap.SIZE, False)

    @pytest.mark.parametrize(("transformers", "value"), [("4.57.6", False), ("5.9.0", False), ("5.10.4", True), ("5.24.0", True)])
    def test_wins_over_an_idle_block(self, transformers: str, value: bool) -> None:
        """Before 5.10 the Trainer still takes two options out of the idle block."""
        text = TRAIN + "fsdp_config:\n  activation_checkpointing: false\n"
        plan = read(text, ACCELERATE, dialects=BOTH, target=(f"transformers=={transformers}",))
        assert (plan.activation_checkpointing.value, plan.offload.value) == (value, True)

    def test_keeps_the_wrap_policy_without_auto_wrap(self) -> None:
        target = ("transformers==5.9.0", "accelerate==1.13.0")
        assert read(TRAIN + "fsdp: full_shard\n", ACCELERATE, dialects=BOTH, target=target).wrap_policy.value is Wrap.SIZE
        assert read(TRAIN + "fsdp: full_shard auto_wrap\n", ACCELERATE, dialects=BOTH, target=target).wrap_policy.value is Wrap.TRANSFORMER

    def test_exports_the_strategy_that_fsdp1_takes(self) -> None:
        text = TRAIN + "fsdp: full_shard auto_wrap\nfsdp_config:\n  version: 1\n"
        launcher = PLAIN.replace("fsdp_version: 2", "fsdp_version: 1\n  fsdp_sharding_strategy: SHARD_GRAD_OP")
        assert read(text, launcher, dialects=BOTH, target=("transformers==5.24.0",)).sharding.value is Sharding.SHARD_GRAD_OP
        assert read(text, launcher, dialects=BOTH, target=("transformers==5.0.0",)).sharding.value is Sharding.FULL_SHARD

    def test_leaves_the_state_dict_to_the_version_that_runs(self) -> None:
        text = TRAIN + "fsdp: full_shard auto_wrap\nfsdp_config:\n  version: 1\n"
        assert read(text, PLAIN, dialects=BOTH, target=("transformers==5.9.0",)).state_dict.value is StateDict.FULL

    def test_gives_the_size_that_is_missing(self) -> None:
        text = TRAIN + "fsdp: true\nfsdp_config:\n  auto_wrap_policy: SIZE_BASED_WRAP\n"
        assert read(text, ACCELERATE, dialects=BOTH, target=("transformers==5.24.0",)).min_num_params.value == 1000
        assert read(text, PLAIN, dialects=BOTH, target=("transformers==5.24.0",)).min_num_params.value == 100_000_000

    def test_stops_at_deepspeed_in_the_training_file(self) -> None:
        plan = read(TRAIN + "deepspeed: ds.json\n", ACCELERATE, dialects=BOTH)
        assert (plan.fsdp.value, plan.deepspeed.value) == (False, True)


class TestPrecision:
    @pytest.mark.parametrize(
        ("training", "precision"),
        [("", Precision.FP16), ("bf16: false\n", Precision.FP16), ("bf16: true\n", Precision.BF16), ("fp16: true\n", Precision.FP16)],
    )
    def test_of_the_training_file_wins_where_it_asks(self, training: str, precision: Precision) -> None:
        assert read(TRAIN + training, ACCELERATE, dialects=BOTH).precision.value is precision

    def test_disagreement_is_told(self) -> None:
        found = lint(TRAIN + "bf16: true\n", ACCELERATE, dialects=BOTH)
        assert ("warning", "FSD108", "mixed_precision") in told(found)
        assert not lint(TRAIN + "fp16: true\n", ACCELERATE, dialects=BOTH)

    def test_a_default_of_trl_is_told(self) -> None:
        text = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\ngradient_checkpointing: false\n"
        found = [d for d in lint(text, ACCELERATE, dialects=("trl", "accelerate")) if d.code == "FSD108"]
        assert told(found) == [("warning", "FSD108", "mixed_precision")]
        assert "default of trl 1.16" in found[0].message


class TestEngines:
    def test_launcher_s_deepspeed_beside_fsdp(self) -> None:
        found = lint(TRAIN + "fsdp: true\n", ZERO, dialects=BOTH)
        assert told(found) == [("error", "FSD101", "fsdp")]
        assert [related.key for related in found[0].related] == ["distributed_type"]

    def test_a_json_belongs_to_who_names_it(self) -> None:
        plan = read(TRAIN + "deepspeed: file1.yaml\n", JSON, dialects=("hf-trainer", "deepspeed"))
        assert plan.deepspeed.place is not None and plan.deepspeed.place.path == ("deepspeed",)

    def test_a_json_switches_its_engine_on(self) -> None:
        assert read(TRAIN, JSON, dialects=("hf-trainer", "deepspeed")).deepspeed.value is True


class TestMachines:
    def test_gpus_fill_what_nobody_says(self) -> None:
        assert read(TRAIN, dialect="hf-trainer", gpus=8).processes.value == 8
        assert read(TRAIN, ACCELERATE, dialects=BOTH, gpus=8).processes.value == 2

    def test_device_fills_what_nobody_says(self) -> None:
        assert read(TRAIN, dialect="hf-trainer", device="mps").device.value == "mps"
        assert read(TRAIN + "use_cpu: true\n", dialect="hf-trainer", device="cuda").device.value == "cpu"

    def test_one_process_by_a_flag(self) -> None:
        found = lint(PLAIN, dialect="accelerate", line="accelerate launch --config_file file0.yaml --num_processes 1 train.py")
        assert ("error", "FSD106", "--num_processes") in told(found)

    def test_a_flag_mends_the_file(self) -> None:
        text = PLAIN.replace("num_processes: 2\n", "")
        assert {d.code for d in lint(text, dialect="accelerate")} == {"FSD007", "FSD601"}
        mended = lint(text, dialect="accelerate", line="accelerate launch --config_file file0.yaml --num_processes 2 train.py")
        assert {d.code for d in mended} == {"FSD601"}


class TestFlagValues:
    @pytest.mark.parametrize(
        ("flag", "finding"),
        [
            ("--fsdp_version 3", ("error", "FSD004", "--fsdp_version")),
            ("--mixed_precision FP16", ("error", "FSD004", "--mixed_precision")),
            ("--num_processes 1e3", ("error", "FSD004", "--num_processes")),
            ("--fsdp_offload_params cpu", ("error", "FSD004", "--fsdp_offload_params")),
            ("--fsdp_version 1 --fsdp-sharding-strategy FULL", ("error", "FSD004", "--fsdp-sharding-strategy")),
            ("--fsdp_offload_parms true", ("error", "FSD003", "--fsdp_offload_parms")),
            ("--use_tp", ("error", "FSD403", "--use_tp")),
        ],
    )
    def test_refused(self, flag: str, finding: tuple[str, str, str]) -> None:
        line = f"accelerate launch --config_file file0.yaml {flag} train.py"
        found = [d for d in lint(PLAIN, dialect="accelerate", line=line) if d.path == "<launch>" and d.severity.word == "error"]
        assert told(found) == [finding]
        assert line[found[0].range.start.offset : found[0].range.end.offset] in flag

    def test_strategy_flag_under_fsdp2(self) -> None:
        found = lint(
            PLAIN, dialect="accelerate", line="accelerate launch --config_file file0.yaml --fsdp_sharding_strategy SHARD_GRAD_OP train.py"
        )
        assert ("error", "FSD406", "--fsdp_sharding_strategy") in told(found)

    def test_flag_of_a_newer_release(self) -> None:
        found = lint(
            PLAIN.replace("  fsdp_version: 2\n", "  fsdp_offload_params: true\n"),
            dialect="accelerate",
            target=("accelerate==1.5.2",),
            line="accelerate launch --config_file file0.yaml --fsdp_version 2 train.py",
        )
        assert ("error", "FSD401", "--fsdp_version") in told(found)

    def test_variables_are_unknown(self) -> None:
        plan = read(PLAIN, dialect="accelerate", line="accelerate launch --config_file file0.yaml --num_processes $N train.py")
        assert plan.processes.unknown and plan.processes.value is None


class TestTrl:
    TEXT = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\n"

    def test_a_shipped_accelerate_file_is_in_force(self) -> None:
        plan = read(self.TEXT, dialect="trl", line="trl sft --config file0.yaml --accelerate_config fsdp2 --num_processes 4")
        assert (plan.fsdp.value, plan.fsdp_version.value, plan.processes.value) == (True, 2, 4)
        assert plan.state_dict.value is StateDict.FULL

    def test_flags_beat_the_shipped_file(self) -> None:
        line = "trl sft --config file0.yaml --accelerate_config fsdp2 --fsdp_state_dict_type SHARDED_STATE_DICT"
        assert read(self.TEXT, dialect="trl", line=line).state_dict.value is StateDict.SHARDED

    def test_zero3(self) -> None:
        plan = read(self.TEXT, dialect="trl", line="trl sft --config file0.yaml --accelerate_config zero3")
        assert (plan.fsdp.value, plan.deepspeed.value) == (False, True)

    def test_multi_gpu(self) -> None:
        assert read(self.TEXT, dialect="trl", line="trl sft --config file0.yaml --accelerate_config multi_gpu").fsdp.value is False

    def test_flags_of_the_script_are_not_judged(self) -> None:
        assert not [
            d for d in lint(self.TEXT, dialect="trl", line="trl sft --config file0.yaml --packing true --lr 1e-4") if d.path == "<launch>"
        ]


def test_other_commands_say_nothing() -> None:
    for line in ("torchrun --nproc_per_node 2 train.py file0.yaml", "python train.py --config file0.yaml", "deepspeed train.py"):
        assert told(lint(TRAIN, dialect="hf-trainer", line=line)) == told(lint(TRAIN, dialect="hf-trainer"))
