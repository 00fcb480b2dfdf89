"""Composer's and llm-foundry's YAML: recognition, what its keys decide, and the claims of its option table."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

HEAD = "max_duration: 100ba\nglobal_train_batch_size: 256\nmodel: {name: mpt_causal_lm}\nprecision: amp_bf16\n"
JOB = "name: run\nimage: mosaicml/pytorch\ncompute: {gpus: 8}\ncommand: composer train.py /mnt/config/parameters.yaml\nparameters:\n"


def of(release: str) -> tuple[str, ...]:
    return (f"mosaicml=={release}",)


def block(*lines: str) -> str:
    return HEAD + "fsdp_config:\n" + "".join(f"  {line}\n" for line in lines)


def job(*lines: str, head: str = JOB) -> str:
    return head + "".join(f"  {line}\n" for line in block(*lines).splitlines())


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            block("sharding_strategy: FULL_SHARD"),
            job("sharding_strategy: FULL_SHARD"),
            "max_duration: 1ep\ntrain_loader: {name: text}\n",
            "max_duration: ${length}\nscheduler: {name: cosine}\nglobal_train_batch_size: 8\n",
            "models: [{model_name: gpt}]\nicl_tasks: tasks.yaml\nmax_seq_len: 8\n",
            "model: {name: hf_causal_lm}\nicl_tasks: []\n",
            "model: {name: hf_causal_lm}\n",
            "trainer: {_target_: composer.Trainer, max_duration: 1ep}\n",
            "callbacks: {speed: {_target_: composer.callbacks.SpeedMonitor}}\n",
            "parallelism_config: {fsdp: {}}\n",
            "train_dataset: {mnist: {}}\nval_dataset: {mnist: {}}\nschedulers: [{cosine: {}}]\nmodel: {x: {}}\nmax_epochs: 3\n",
            "image: i\ngpu_num: 8\ncommand: composer train.py\nparameters: {}\n",
        ],
    )
    def test_is_composer(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "composer"

    @pytest.mark.parametrize(
        "text",
        [
            "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n",
            "distributed_type: FSDP\nmax_duration: 1ep\nfsdp_config: {fsdp_version: 2}\ntrain_loader: {}\n",
            "base_model: m\nfsdp_config: {offload_params: true}\nmax_duration: 1ep\n",
            "parallelism_config: {parallelism_config_tp_size: 2}\n",
            "trainer: {_target_: lightning.Trainer}\n",
            "max_duration: 30 minutes\nscheduler: x\n",
            "name: composer\ncommand: composer install\nparameters: {}\n",
            "image: i\ncommand: python train.py\nparameters: {}\n",
            "model: {name: llama}\n",
            "",
        ],
    )
    def test_is_not_composer(self, text: str) -> None:
        document = parse(text, "composer.yaml")
        assert not document.roots or dialect("composer").recognise(document) == 0


class TestPlan:
    def test_keys(self) -> None:
        plan = read(
            block("sharding_strategy: shard_grad_op", "state_dict_type: sharded", "activation_checkpointing: true"), target=of("0.32.1")
        )
        assert (plan.fsdp.value, plan.fsdp_version.value) == (True, 1)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("fsdp_config",)
        assert (plan.sharding.value, plan.state_dict.value) == (Sharding.SHARD_GRAD_OP, StateDict.SHARDED)
        assert (plan.precision.value, plan.activation_checkpointing.value) == (Precision.BF16, True)
        assert plan.wrap_policy.value is Wrap.TRANSFORMER

    def test_defaults(self) -> None:
        plan = read(HEAD + "fsdp_config: {}\n", target=of("0.32.1"))
        assert (plan.sharding.value, plan.state_dict.value, plan.offload.value) == (Sharding.FULL_SHARD, StateDict.FULL, False)
        assert (plan.orig_params.value, plan.limit_all_gathers.value, plan.dp_shard.value) == (True, True, -1)
        assert read(HEAD + "fsdp_config: {}\n", target=of("0.16.4")).limit_all_gathers.value is False

    @pytest.mark.parametrize(("line", "value"), [("fsdp_config: {}", True), ("fsdp_config: null", False), ("", None)])
    def test_the_block_switches_fsdp_on(self, line: str, value: bool | None) -> None:
        assert read(f"{HEAD}{line}\n").fsdp.value is value

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            (job("sharding_strategy: SHARD_GRAD_OP"), ("parameters", "fsdp_config", "sharding_strategy")),
            (
                HEAD + "parallelism_config: {fsdp: {sharding_strategy: SHARD_GRAD_OP}}\n",
                ("parallelism_config", "fsdp", "sharding_strategy"),
            ),
            (
                "trainer: {_target_: composer.Trainer, fsdp_config: {sharding_strategy: SHARD_GRAD_OP}}\n",
                ("trainer", "fsdp_config", "sharding_strategy"),
            ),
            (
                JOB + "  trainer: {_target_: composer.Trainer, parallelism_config: {fsdp: {sharding_strategy: SHARD_GRAD_OP}}}\n",
                ("parameters", "trainer", "parallelism_config", "fsdp", "sharding_strategy"),
            ),
        ],
    )
    def test_forms(self, text: str, path: tuple[str, ...]) -> None:
        plan = read(text)
        assert (plan.fsdp.value, plan.sharding.value) == (True, Sharding.SHARD_GRAD_OP)
        assert plan.sharding.place is not None and plan.sharding.place.path == path

    def test_processes_of_an_mcli_job(self) -> None:
        assert read(job("verbose: true")).processes.value == 8
        assert read(job("verbose: true", head=JOB.replace("compute: {gpus: 8}", "gpu_num: 16"))).processes.value == 16

    def test_an_interpolation_is_unknown(self) -> None:
        plan = read(block("sharding_strategy: ${strategy}", "state_dict_type: ${kind}", "cpu_offload: ${offload}"))
        assert plan.sharding.unknown and plan.state_dict.unknown and plan.offload.unknown
        assert read(HEAD + "fsdp_config: ${fsdp}\n").fsdp.unknown

    def test_mixed_initialisation_synchronises(self) -> None:
        text = block("sync_module_states: false").replace("{name: mpt_causal_lm}", "{name: hf_causal_lm, init_device: mixed}")
        assert read(text).sync_module_states.value is True


class TestFsdp2:
    """FSDP_VERSION=2 in the environment of an mcli job."""

    VARIABLES = (
        "env_variables: {FSDP_VERSION: '2'}\n",
        "env_variables: {FSDP_VERSION: 2}\n",
        "env_variables:\n- {key: FSDP_VERSION, value: '2'}\n",
    )

    @pytest.mark.parametrize("variables", VARIABLES)
    def test_by_variables(self, variables: str) -> None:
        plan = read(job("reshard_after_forward: false", head=variables + JOB), target=of("0.32.1"))
        assert (plan.fsdp_version.value, plan.sharding.value, plan.state_dict.value) == (2, Sharding.SHARD_GRAD_OP, StateDict.SHARDED)

    def test_by_the_command(self) -> None:
        head = JOB.replace("command: composer", "command: FSDP_VERSION=2 composer")
        assert read(job("verbose: true", head=head), target=of("0.32.1")).fsdp_version.value == 2

    def test_older_releases_have_none(self) -> None:
        assert read(job("verbose: true", head=self.VARIABLES[0] + JOB), target=of("0.30.0")).fsdp_version.value == 1

    @pytest.mark.parametrize(
        ("line", "finding"),
        [
            ("cpu_offload: true", ("warning", "FSD406", "cpu_offload")),
            ("cpu_offload: false", None),
            ("use_orig_params: false", ("warning", "FSD406", "use_orig_params")),
            ("limit_all_gathers: true", ("info", "FSD406", "limit_all_gathers")),
            ("limit_all_gathers: false", ("warning", "FSD406", "limit_all_gathers")),
            ("sharding_strategy: FULL_SHARD", ("info", "FSD406", "sharding_strategy")),
            ("sharding_strategy: SHARD_GRAD_OP", ("error", "FSD105", "sharding_strategy")),
            ("backward_prefetch: PRE", ("warning", "FSD406", "backward_prefetch")),
            ("state_dict_type: sharded", None),
            ("mixed_precision: bf16", ("error", "FSD004", "mixed_precision")),
        ],
    )
    def test_keys_of_fsdp1(self, line: str, finding: tuple[str, str, str] | None) -> None:
        found = told(lint(job(line, head=self.VARIABLES[0] + JOB), target=of("0.32.1")))
        assert found == ([(finding[0], finding[1], f"parameters.fsdp_config.{finding[2]}")] if finding else [])


class TestValues:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("sharding_strategy", "ZERO3"),
            ("sharding_strategy", "SHARD_GRAD"),
            ("sharding_strategy", "HYBRID_SHARD_ZERO2"),
            ("backward_prefetch", "PRE"),
            ("backward_prefetch", "NO_PREFETCH"),
            ("backward_prefetch", "null"),
            ("mixed_precision", "bf16"),
            ("mixed_precision", "null"),
            ("state_dict_type", "local"),
            ("state_dict_type", "SHARDED"),
            ("state_dict_type", "FULL_STATE_DICT"),
            ("process_group", "nodes"),
        ],
    )
    def test_refused(self, key: str, value: str) -> None:
        text = block(f"{key}: {value}")
        found = lint(text, target=of("0.32.1"))
        assert told(found) == [("error", "FSD004", f"fsdp_config.{key}")]
        assert marked(text, found[0]) == value

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("sharding_strategy", "full_shard"),
            ("sharding_strategy", "NO_SHARD"),
            ("sharding_strategy", "${x}"),
            ("backward_prefetch", "none"),
            ("backward_prefetch", "BACKWARD_PRE"),
            ("mixed_precision", "pure"),
            ("mixed_precision", "{param_dtype: bf16, reduce_dtype: fp32}"),
            ("state_dict_type", "null"),
            ("state_dict_type", "full"),
            ("process_group", "mod4"),
            ("process_group", "[0, 1]"),
        ],
    )
    def test_taken(self, key: str, value: str) -> None:
        assert lint(block(f"{key}: {value}"), target=of("0.32.1")) == []

    def test_dtypes_of_the_mapping(self) -> None:
        found = lint(block("mixed_precision: {param_dtype: b16}"), target=of("0.32.1"))
        assert told(found) == [("error", "FSD004", "fsdp_config.mixed_precision.param_dtype")]

    @pytest.mark.parametrize(
        ("value", "release", "torch", "refused"),
        [
            ("HYBRID_SHARD", "0.16.4", "2.1.0", True),
            ("HYBRID_SHARD", "0.20.1", "2.0.1", True),
            ("HYBRID_SHARD", "0.20.1", "2.1.0", False),
        ],
    )
    def test_hybrid_strategies_over_releases(self, value: str, release: str, torch: str, refused: bool) -> None:
        found = lint(block(f"sharding_strategy: {value}"), target=(f"mosaicml=={release}", f"torch=={torch}"))
        assert told(found) == ([("error", "FSD004", "fsdp_config.sharding_strategy")] if refused else [])

    def test_local_state_dicts_of_old_releases(self) -> None:
        assert lint(block("state_dict_type: local"), target=of("0.18.2")) == []

    @pytest.mark.parametrize(("value", "severity"), [("cuda", ["error"]), ("meta", []), ("cpu", []), ("${device}", [])])
    def test_init_device(self, value: str, severity: list[str]) -> None:
        text = block("verbose: true").replace("{name: mpt_causal_lm}", f"{{name: mpt_causal_lm, init_device: {value}}}")
        assert [d.severity.word for d in lint(text, target=of("0.32.1")) if d.key == "model.init_device"] == severity


class TestKeys:
    @pytest.mark.parametrize(
        ("line", "release", "finding"),
        [
            ("shardingstrategy: FULL_SHARD", "0.32.1", ("warning", "FSD003", "shardingstrategy")),
            ("fsdp_sharding_strategy: FULL_SHARD", "0.20.1", ("warning", "FSD003", "fsdp_sharding_strategy")),
            ("load_fsdp_monolith_rank0_only: true", "0.32.1", ("warning", "FSD006", "load_fsdp_monolith_rank0_only")),
            ("min_params: 1e9", "0.32.1", ("warning", "FSD403", "min_params")),
            ("min_params: 1e9", "0.15.1", ("warning", "FSD402", "min_params")),
            ("min_params: 1e9", "0.13.5", None),
            ("flatten_parameters: false", "0.32.1", ("warning", "FSD403", "flatten_parameters")),
            ("flatten_parameters: false", "0.16.4", None),
            ("device_mesh: [8]", "0.32.1", ("error", "FSD403", "device_mesh")),
            ("device_mesh: [8]", "0.22.0", None),
            ("reshard_after_forward: false", "0.32.1", ("warning", "FSD407", "reshard_after_forward")),
            ("reshard_after_forward: false", "0.30.0", ("warning", "FSD401", "reshard_after_forward")),
            ("data_parallel_shard_degree: 8", "0.22.0", ("warning", "FSD401", "data_parallel_shard_degree")),
            ("cpu_offload: true", "0.32.1", ("error", "FSD605", "cpu_offload")),
            ("cpu_offload: true", "0.13.5", ("error", "FSD605", "cpu_offload")),
            ("cpu_offload: false", "0.32.1", None),
            ("load_planner: {name: x}", "0.32.1", None),
        ],
    )
    def test_of_the_block(self, line: str, release: str, finding: tuple[str, str, str] | None) -> None:
        found = told(lint(block(line), target=of(release)))
        assert found == ([(finding[0], finding[1], f"fsdp_config.{finding[2]}")] if finding else [])

    @pytest.mark.parametrize(("release", "finding"), [("0.32.1", ("error", "FSD403")), ("0.25.0", ("warning", "FSD402")), ("0.22.0", None)])
    def test_deepspeed(self, release: str, finding: tuple[str, str] | None) -> None:
        found = told(lint(HEAD + "deepspeed_config: {zero_optimization: {stage: 2}}\n", target=of(release)))
        assert found == ([(*finding, "deepspeed_config")] if finding else [])

    @pytest.mark.parametrize(
        ("target", "finding"),
        [
            (of("0.28.0"), ("error", "FSD403")),
            (of("0.24.1"), ("warning", "FSD402")),
            (of("0.22.0"), None),
            ((), ("warning", "FSD408")),
        ],
    )
    def test_the_trainer_lost_its_fsdp_config(self, target: tuple[str, ...], finding: tuple[str, str] | None) -> None:
        text = "trainer: {_target_: composer.Trainer, fsdp_config: {sharding_strategy: FULL_SHARD}}\n"
        assert told(lint(text, target=target)) == ([(*finding, "trainer.fsdp_config")] if finding else [])

    def test_tensor_parallelism_needs_a_strategy(self) -> None:
        text = HEAD + "fsdp_config: {}\ntp_config: {tensor_parallel_degree: 2}\n"
        assert told(lint(text, target=of("0.32.1"))) == [("error", "FSD007", "tp_config.strategy")]
        assert lint(text.replace("{tensor", "{strategy: ffn, tensor"), target=of("0.32.1")) == []

    def test_duplicates_are_refused(self) -> None:
        text = block("verbose: true", "verbose: false")
        assert told(lint(text, target=of("0.32.1"))) == [("error", "FSD002", "fsdp_config.verbose")]


class TestSizes:
    @pytest.mark.parametrize(
        ("line", "gpus", "keys"),
        [
            ("data_parallel_shard_degree: 4", 16, ["data_parallel_shard_degree"]),
            ("data_parallel_shard_degree: 4", 4, []),
            ("data_parallel_shard_degree: -1", 16, []),
        ],
    )
    def test_mesh(self, line: str, gpus: int, keys: list[str]) -> None:
        found = lint(block(line), target=of("0.32.1"), gpus=gpus)
        assert told(found) == [("error", "FSD107", f"fsdp_config.{key}") for key in keys]

    def test_replicas_must_divide_the_world(self) -> None:
        text = block("sharding_strategy: HYBRID_SHARD", "data_parallel_replicate_degree: 3")
        assert told(lint(text, target=of("0.32.1"), gpus=16)) == [("error", "FSD107", "fsdp_config.data_parallel_replicate_degree")]
        assert lint(text, target=of("0.32.1"), gpus=12) == []

    def test_one_gpu(self) -> None:
        assert told(lint(block("verbose: true"), target=of("0.32.1"), gpus=1)) == [("error", "FSD106", "fsdp_config")]
        one = job("verbose: true", head=JOB.replace("gpus: 8", "gpus: 1"))
        assert told(lint(one, target=of("0.32.1"))) == [("error", "FSD106", "parameters.fsdp_config")]
