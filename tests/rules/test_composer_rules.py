"""Composer's and llm-foundry's faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

HEAD = "max_duration: 100ba\nglobal_train_batch_size: 256\n"
TRAIN = HEAD + "model: {name: mpt_causal_lm}\ntokenizer: {name: gpt2}\ntrain_loader: {name: text}\n"


def found(text: str, *target: str) -> list[tuple[str, str, str | None]]:
    return told(lint(text, target=target or ("mosaicml==0.32.1",), dialect="composer"))


def run(block: str | None = None, model: str = "", root: str = "") -> str:
    fsdp = "" if block is None else f"fsdp_config: {{{block}}}\n"
    return f"{HEAD}model: {{name: hf_causal_lm{', ' if model else ''}{model}}}\n{fsdp}{root}"


class TestUnusedParameters:
    """CMP001."""

    @pytest.mark.parametrize("release", ["0.11.0", "0.22.0"])
    def test_of_a_declared_release(self, release: str) -> None:
        text = "global_seed: 17\n" + TRAIN + "data_local: here\nseed: ${global_seed}\n"
        keys = ["global_seed", "data_local"]
        assert found(text, f"llm-foundry=={release}") == [("error", "CMP001", key) for key in keys]

    def test_older_releases_take_them(self) -> None:
        assert found("global_seed: 17\n" + TRAIN, "llm-foundry==0.10.0") == []

    def test_once_while_nobody_says_which_release(self) -> None:
        text = TRAIN + "data_local: here\nglobal_seed: 17\n"
        (diagnostic,) = lint(text)
        assert (diagnostic.severity.word, diagnostic.code, diagnostic.key) == ("warning", "CMP001", "data_local")
        assert marked(text, diagnostic) == "data_local"
        assert [related.key for related in diagnostic.related] == ["global_seed"]

    def test_a_script_of_ones_own(self) -> None:
        assert found(TRAIN + "data_local: here\n", "mosaicml==0.32.1") == []
        assert lint(HEAD + "fsdp_config: {}\nmine: 1\n") == []

    def test_variables(self) -> None:
        assert lint(TRAIN + "variables: {data_local: here}\nseed: 17\nsave_folder: out\n") == []

    def test_evaluation(self) -> None:
        text = "models: [{model_name: gpt}]\nmax_seq_len: 8\nicl_tasks: tasks.yaml\ndevice_eval_batch_size: 4\nmax_duration: 1ba\n"
        assert found(text, "llm-foundry==0.22.0") == [("error", "CMP001", "max_duration")]

    def test_of_an_mcli_job(self) -> None:
        text = "image: i\ncommand: composer train.py\nparameters:\n" + "".join(f"  {line}\n" for line in TRAIN.splitlines()) + "  mine: 1\n"
        assert found(text, "llm-foundry==0.22.0") == [("error", "CMP001", "parameters.mine")]


CLASHES = [
    (run("load_monolith_rank0_only: true"), "0.32.1", ("error", "fsdp_config.load_monolith_rank0_only")),
    (run("load_monolith_rank0_only: true, sync_module_states: true"), "0.32.1", None),
    (run("load_monolith_rank0_only: true, state_dict_type: sharded"), "0.32.1", None),
    (run("load_monolith_rank0_only: true, sync_module_states: true"), "0.22.0", ("error", "fsdp_config.load_monolith_rank0_only")),
    (run("load_monolith_rank0_only: true, sync_module_states: true, use_orig_params: false"), "0.22.0", None),
    (run("load_monolith_rank0_only: true, sync_module_states: true", "init_device: mixed"), "0.32.1", None),
    (run("activation_cpu_offload: true, use_orig_params: false"), "0.32.1", ("error", "fsdp_config.use_orig_params")),
    (run("activation_cpu_offload: true, use_orig_params: false"), "0.23.5", None),
    (run("activation_cpu_offload: true"), "0.32.1", None),
    (run(None, root="tp_config: {strategy: ffn, tensor_parallel_degree: 2}\n"), "0.32.1", ("error", "tp_config")),
    (run("", root="tp_config: {strategy: ffn, tensor_parallel_degree: 2}\n"), "0.32.1", None),
    (
        run("use_orig_params: false", root="tp_config: {strategy: ffn, tensor_parallel_degree: 2}\n"),
        "0.32.1",
        ("error", "fsdp_config.use_orig_params"),
    ),
    (
        run("load_monolith_rank0_only: true, sync_module_states: true", root="tp_config: {strategy: ffn, tensor_parallel_degree: 2}\n"),
        "0.32.1",
        ("error", "fsdp_config.load_monolith_rank0_only"),
    ),
    (run(None, "init_device: mixed"), "0.32.1", ("error", "model.init_device")),
    (run(None, "init_device: meta"), "0.32.1", ("warning", "model.init_device")),
    (run(None, "init_device: cpu"), "0.32.1", None),
    (run("", "init_device: meta"), "0.32.1", None),
    (run("sync_module_states: false", "init_device: mixed"), "0.32.1", ("warning", "fsdp_config.sync_module_states")),
    (run("", "init_device: mixed"), "0.32.1", ("info", "fsdp_config.sync_module_states")),
    (run("sync_module_states: true", "init_device: mixed"), "0.32.1", None),
    (run("state_dict_type: sharded", root="save_metrics: true\n"), "0.32.1", ("error", "fsdp_config.state_dict_type")),
    (run("state_dict_type: full", root="save_metrics: true\n"), "0.32.1", None),
    (run("sharding_strategy: HYBRID_SHARD"), "0.32.1", ("warning", "fsdp_config.sharding_strategy")),
    (run("sharding_strategy: hybrid_shard, data_parallel_replicate_degree: 2"), "0.32.1", None),
    (run("sharding_strategy: FULL_SHARD, data_parallel_replicate_degree: 2"), "0.32.1", ("warning", "fsdp_config.sharding_strategy")),
    (run("data_parallel_replicate_degree: 2"), "0.32.1", None),
    (run(None, "load_in_8bit: true", "train_loader: {name: text}\n"), "0.32.1", ("error", "model.load_in_8bit")),
    (run(None, "load_in_8bit: true"), "0.32.1", None),
    (
        run("activation_checkpointing: true, activation_checkpointing_reentrant: true", "fc_type: te"),
        "0.32.1",
        ("warning", "fsdp_config.activation_checkpointing_reentrant"),
    ),
    (
        run("activation_checkpointing: true, activation_checkpointing_reentrant: true", "ffn_config: {ffn_type: te_ln_mlp}"),
        "0.32.1",
        ("warning", "fsdp_config.activation_checkpointing_reentrant"),
    ),
    (run("activation_checkpointing: true", "fc_type: te"), "0.32.1", None),
    (
        run("use_orig_params: false", "ffn_config: {ffn_type: mb_dmoe, moe_world_size: 2}"),
        "0.32.1",
        ("error", "fsdp_config.use_orig_params"),
    ),
    (run("use_orig_params: false", "ffn_config: {ffn_type: mb_dmoe}"), "0.32.1", None),
]


@pytest.mark.parametrize(("text", "release", "finding"), CLASHES)
def test_clashes(text: str, release: str, finding: tuple[str, str] | None) -> None:
    assert found(text, f"mosaicml=={release}") == ([(finding[0], "CMP002", finding[1])] if finding else [])


def test_the_very_characters() -> None:
    text = run("activation_cpu_offload: true, use_orig_params: false")
    (diagnostic,) = lint(text, target=("mosaicml==0.32.1",))
    assert marked(text, diagnostic) == "false"
    assert [related.key for related in diagnostic.related] == ["fsdp_config.activation_cpu_offload"]


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ("parallelism_config:\n  fsdp:\n", "parallelism_config.fsdp"),
        ("image: i\ncommand: composer x.py\nparameters:\n  fsdp_config:\n", "parameters.fsdp_config"),
        ("trainer:\n  _target_: composer.Trainer\n  parallelism_config:\n    fsdp:\n", "trainer.parallelism_config.fsdp"),
    ],
)
def test_other_forms(head: str, path: str) -> None:
    indent = " " * (len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip()) + 2)
    text = head + f"{indent}activation_cpu_offload: true\n{indent}use_orig_params: false\n"
    assert found(text) == [("error", "CMP002", f"{path}.use_orig_params")]


@pytest.mark.parametrize(("size", "keys"), [("auto", ["device_train_microbatch_size"]), ("4", [])])
def test_automatic_microbatches_with_fsdp2(size: str, keys: list[str]) -> None:
    text = (
        "image: i\nenv_variables: {FSDP_VERSION: '2'}\ncommand: composer train.py\n"
        f"parameters:\n  max_duration: 1ep\n  device_train_microbatch_size: {size}\n  fsdp_config: {{}}\n"
    )
    assert found(text) == [("error", "CMP002", f"parameters.{key}") for key in keys]
