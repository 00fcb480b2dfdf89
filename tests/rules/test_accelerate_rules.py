"""What is said about files of accelerate launch: each text with the findings that are due, and the exact characters they mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linting import lint, marked

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic

TOP = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\n"
WRAP = "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"


def fsdp(*lines: str, version: int = 1, top: str = "") -> str:
    """A good file with these lines added to its FSDP block, and others below."""
    return f"{TOP}fsdp_config:\n  fsdp_version: {version}\n{WRAP}" + "".join(f"  {line}\n" for line in lines) + top


def launch(**keys: str) -> str:
    """A good file of which some top-level keys are other ones; None leaves one out."""
    lines = dict(line.split(": ") for line in TOP.splitlines())
    lines.update(keys)
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value) + f"fsdp_config:\n  fsdp_version: 1\n{WRAP}"


def found(text: str, *target: str, **options: object) -> list[tuple[str, str, str]]:
    """(severity, code, marked characters) of every finding that is more than a hint."""
    diagnostics: list[Diagnostic] = lint(text, dialect="accelerate", target=target or ["accelerate==1.15.0", "torch==2.13.0"], **options)  # type: ignore[arg-type]
    return [(d.severity.word, d.code, marked(text, d)) for d in diagnostics if d.severity.word != "info"]


def one(text: str, *target: str, **options: object) -> Diagnostic:
    """The only finding, hints aside."""
    diagnostics = lint(text, dialect="accelerate", target=target or ["accelerate==1.15.0", "torch==2.13.0"], **options)  # type: ignore[arg-type]
    (only,) = [d for d in diagnostics if d.severity.word != "info"]
    return only


GOOD = {
    "fsdp1": fsdp(),
    "fsdp2": fsdp(version=2),
    "the wizard's FSDP1 file": fsdp(
        "fsdp_activation_checkpointing: false",
        "fsdp_backward_prefetch: BACKWARD_PRE",
        "fsdp_cpu_ram_efficient_loading: true",
        "fsdp_forward_prefetch: false",
        "fsdp_offload_params: false",
        "fsdp_sharding_strategy: FULL_SHARD",
        "fsdp_state_dict_type: SHARDED_STATE_DICT",
        "fsdp_sync_module_states: true",
        "fsdp_use_orig_params: true",
        top="debug: false\ndowncast_bf16: 'no'\nenable_cpu_affinity: false\nmachine_rank: 0\nrdzv_backend: static\nsame_network: true\n"
        "tpu_env: []\ntpu_use_cluster: false\ntpu_use_sudo: false\nuse_cpu: false\nmain_training_function: main\n",
    ),
    "without prefixes": fsdp("sharding_strategy: SHARD_GRAD_OP", "offload_params: true"),
    "numbers": fsdp("fsdp_sharding_strategy: 2", "fsdp_backward_prefetch: 1", "fsdp_state_dict_type: 3"),
    "words": fsdp("fsdp_offload_params: 'yes'", "fsdp_activation_checkpointing: on"),
    "null where it may be": fsdp("fsdp_backward_prefetch: null", "fsdp_state_dict_type: null"),
    "both switched off": fsdp("fsdp_cpu_ram_efficient_loading: false", "fsdp_sync_module_states: false"),
    "both switched off, FSDP2": fsdp("fsdp_cpu_ram_efficient_loading: false", "fsdp_sync_module_states: false", version=2),
    "idle in FSDP2": fsdp("fsdp_backward_prefetch: NO_PREFETCH", "fsdp_forward_prefetch: false", version=2),
    "size unread": fsdp("fsdp_min_num_params: 1e8"),
    "empty blocks": fsdp(top="deepspeed_config: {}\nmegatron_lm_config: {}\nparallelism_config: {}\nfp8_config: {}\n"),
    "no block": launch(distributed_type="MULTI_GPU").replace("fsdp_config:\n  fsdp_version: 1\n" + WRAP, "fsdp_config: {}\n"),
    "old fp16": launch(mixed_precision="") + "fp16: true\n",
    "quoted number": launch(num_processes="'2'"),
    "processes by torchrun": launch(num_processes="gpu"),
    "all sizes 1": fsdp(version=2, top="parallelism_config:\n  parallelism_config_tp_size: 1\n"),
    "quoted size": fsdp(version=2, top="parallelism_config:\n  parallelism_config_dp_shard_size: '2'\n"),
    "idle strategy of context parallelism": fsdp(
        version=2, top="parallelism_config:\n  parallelism_config_dp_shard_size: 2\n  parallelism_config_cp_comm_strategy: x\n"
    ),
    "mode without compile": fsdp(top="dynamo_config:\n  dynamo_mode: other\n"),
    "placeholders": fsdp(
        "fsdp_offload_params: ${OFFLOAD}", "fsdp_state_dict_type: <TYPE>", top="main_process_port: ${PORT}\ngpu_ids: ${IDS}\n"
    ),
    "sagemaker": "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: DATA_PARALLEL\n"
    "ec2_instance_type: ml.p3\niam_role_name: me\nuse_cpu: false\n",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_good_files_are_silent(text: str) -> None:
    assert found(text) == []


FSDP_VALUES = [
    # line, FSDP version, code, marked
    ("fsdp_offload_params: cpu", 1, "FSD004", "cpu"),
    ("fsdp_offload_params: null", 2, "FSD004", "null"),
    ("fsdp_offload_params: 2", 1, "FSD004", "2"),
    ("offload_params: cpu", 1, "FSD004", "cpu"),
    ("fsdp_activation_checkpointing: maybe", 1, "FSD004", "maybe"),
    ("fsdp_cpu_ram_efficient_loading: ~", 1, "FSD004", "~"),
    ("fsdp_sharding_strategy: ZERO3", 1, "FSD004", "ZERO3"),
    ("fsdp_sharding_strategy: 6", 1, "FSD004", "6"),
    ("fsdp_sharding_strategy: null", 1, "FSD004", "null"),
    ("fsdp_sharding_strategy: full-shard", 1, "FSD004", "full-shard"),
    ("fsdp_backward_prefetch: none", 1, "FSD004", "none"),
    ("fsdp_backward_prefetch: false", 2, "FSD004", "false"),
    ("fsdp_backward_prefetch: 3", 1, "FSD004", "3"),
    ("fsdp_state_dict_type: FULL", 1, "FSD004", "FULL"),
    ("fsdp_reshard_after_forward: SHARD_GRAD_OP", 2, "FSD004", "SHARD_GRAD_OP"),
    ("fsdp_reshard_after_forward: null", 2, "FSD004", "null"),
    ("fsdp_reshard_after_forward: 2", 2, "FSD004", "2"),
    ("fsdp_state_dict_type: LOCAL_STATE_DICT", 2, "FSD801", "LOCAL_STATE_DICT"),
    ("fsdp_state_dict_type: 2", 2, "FSD801", "2"),
    ("fsdp_sync_module_states: false", 1, "FSD604", "false"),
    ("fsdp_sync_module_states: no", 2, "FSD604", "no"),
    ("fsdp_activation_checkpointing_offload: true", 2, "ACC005", "true"),
]


@pytest.mark.parametrize(("line", "version", "code", "mark"), FSDP_VALUES, ids=[f"{row[0]}, FSDP{row[1]}" for row in FSDP_VALUES])
def test_values_of_the_block(line: str, version: int, code: str, mark: str) -> None:
    assert found(fsdp(line, version=version)) == [("error", code, mark)]


@pytest.mark.parametrize("value", ["3", "2.0", "two", "null", "true"])
def test_fsdp_version(value: str) -> None:
    assert found(fsdp().replace("fsdp_version: 1", f"fsdp_version: {value}")) == [("error", "FSD004", value)]


@pytest.mark.parametrize(("value", "code"), [("1e8", "FSD005"), ("1.0e+8", "FSD004"), ("null", "FSD004")])
def test_size_of_the_size_policy(value: str, code: str) -> None:
    text = f"{TOP}fsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: {value}\n"
    assert found(text) == [("error", code, value)]


def test_size_policy_without_a_size() -> None:
    text = f"{TOP}fsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n"
    assert found(text) == []
    assert found(text, "accelerate==1.12.0") == [("error", "FSD603", "fsdp_config")]
    assert found(f"{text}  fsdp_min_num_params: 0\n") == [("warning", "FSD603", "0")]


TOP_VALUES = [
    ("distributed_type", "fsdp", "FSD004", "write `FSDP`"),
    ("distributed_type", "FSDP2", "FSD004", "write `FSDP`, and `fsdp_version: 2` in `fsdp_config`"),
    ("distributed_type", "DDP", "FSD004", "write `MULTI_GPU`"),
    ("distributed_type", "TP", "FSD004", "write `FSDP`, and the size as `parallelism_config_tp_size` in `parallelism_config`"),
    ("compute_environment", "local_machine", "FSD004", "write `LOCAL_MACHINE`"),
    ("mixed_precision", "no", "FSD005", "write `'no'` with quotes, `fp16`, `bf16` or `fp8`"),
    ("mixed_precision", "true", "FSD004", "write `'no'` with quotes, `fp16`, `bf16` or `fp8`"),
    ("mixed_precision", "bfloat16", "FSD004", "write `bf16`"),
    ("mixed_precision", "fp32", "FSD004", "write `'no'` with quotes"),
    ("num_processes", "-1", "FSD004", "write the number of processes over all machines, or pass `--num_processes`"),
    ("num_processes", "0", "FSD004", "write the number of processes over all machines"),
    ("gpu_ids", "0", "FSD004", "write it as text: `'0'`, `'0,1'` or `all`"),
    ("gpu_ids", "[0, 1]", "FSD004", "write it as text: `'0'`, `'0,1'` or `all`"),
    ("main_process_port", "'29511'", "FSD005", "write the number without quotes"),
    ("num_machines", "'1'", "FSD005", "write an integer"),
    ("dynamo_backend", "no", "FSD005", "write `'no'` with quotes, or drop it"),
]


@pytest.mark.parametrize(("key", "value", "code", "help"), TOP_VALUES, ids=[f"{row[0]}: {row[1]}" for row in TOP_VALUES])
def test_values_of_the_top_level(key: str, value: str, code: str, help: str) -> None:
    text = launch(**{key: value})
    only = one(text)
    assert (only.severity.word, only.code, only.key, marked(text, only), only.help) == ("error", code, key, value, help)


def test_dynamo() -> None:
    assert found(fsdp(top="dynamo_config:\n  dynamo_backend: no\n")) == [("error", "FSD005", "no")]
    assert found(fsdp(top="dynamo_config:\n  dynamo_backend: fast\n")) == [("error", "FSD004", "fast")]
    mode = "dynamo_config:\n  dynamo_backend: {}\n  dynamo_mode: fast\n"
    assert found(fsdp(top=mode.format("inductor"))) == [("error", "FSD004", "fast")]
    assert found(fsdp(top=mode.format("eager"))) == [("warning", "FSD004", "fast")]
    assert found(fsdp(top="dynamo_config: {backend: inductor, dynamo_foo: 1}\n")) == [("warning", "FSD003", "dynamo_foo")]


UNKNOWN = [
    ("fsdp_offload_param: true", "FSD003", "fsdp_offload_param", "did you mean `fsdp_offload_params`?"),
    ("fsdp-offload-params: true", "FSD003", "fsdp-offload-params", "did you mean `fsdp_offload_params`?"),
    ("fsdp_limit_all_gathers: true", "FSD006", "fsdp_limit_all_gathers", "remove it; it is always on since accelerate 0.26.0"),
    ("fsdp_cpu_offload: true", "FSD006", "fsdp_cpu_offload", "write `fsdp_offload_params`"),
    ("fsdp_transformer_cls_to_wrap: A", "FSD006", "fsdp_transformer_cls_to_wrap", "write `fsdp_transformer_layer_cls_to_wrap`"),
    ("gradient_accumulation_steps: 4", "FSD006", "gradient_accumulation_steps", "set it in the training script or its arguments"),
    ("num_processes: 4", "FSD006", "num_processes", "write it at the top level"),
    ("fsdp_backward_prefetch_policy: BACKWARD_PRE", "FSD404", "fsdp_backward_prefetch_policy", "write `fsdp_backward_prefetch`"),
]


@pytest.mark.parametrize(("line", "code", "mark", "help"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_unknown_keys_of_the_block_are_dropped(line: str, code: str, mark: str, help: str) -> None:
    text = fsdp(line)
    only = one(text)
    assert (only.severity.word, only.code, marked(text, only), only.help) == ("warning", code, mark, help)


UNKNOWN_TOP = [
    ("foo_bar: 1", "FSD003", None),
    ("bf16: true", "FSD006", "write `mixed_precision: bf16`"),
    ("fsdp_offload_params: true", "FSD006", "write it as `fsdp_config.fsdp_offload_params`"),
    ("parallelism_config_tp_size: 2", "FSD006", "write it as `parallelism_config.parallelism_config_tp_size`"),
    ("num_cpu_threads_per_process: 4", "FSD006", "pass `--num_cpu_threads_per_process` on the command line"),
    ("ipex_config: {}", "FSD403", "remove the key"),
    ("tp_config: {}", "FSD403", "write `parallelism_config_tp_size` in `parallelism_config`"),
]


@pytest.mark.parametrize(("line", "code", "help"), UNKNOWN_TOP, ids=[row[0] for row in UNKNOWN_TOP])
def test_unknown_keys_of_the_top_level_are_refused(line: str, code: str, help: str | None) -> None:
    text = fsdp(top=f"{line}\n")
    only = one(text)
    assert (only.severity.word, only.code, marked(text, only), only.help) == ("error", code, line.split(":")[0], help)


RELEASES = [
    # text, accelerate, findings
    (fsdp("fsdp_sharding_strategy: FULL_SHARD"), "0.25.0", [("error", "FSD004", "FULL_SHARD")]),
    (fsdp("fsdp_sharding_strategy: FULL_SHARD"), "0.26.0", []),
    (fsdp("fsdp_sharding_strategy: full_shard"), "0.33.0", [("error", "FSD004", "full_shard")]),
    (fsdp("fsdp_sharding_strategy: full_shard"), "0.34.0", []),
    (fsdp("fsdp_sharding_strategy: 2"), "0.21.0", []),
    (fsdp("fsdp_backward_prefetch: 1"), "0.33.0", [("error", "FSD004", "1")]),
    (fsdp("fsdp_backward_prefetch: BACKWARD_PRE"), "0.25.0", [("warning", "FSD401", "fsdp_backward_prefetch")]),
    (fsdp("fsdp_backward_prefetch_policy: BACKWARD_PRE"), "0.25.0", []),
    (fsdp("fsdp_backward_prefetch_policy: BACKWARD_PRE"), "0.30.0", [("warning", "FSD404", "fsdp_backward_prefetch_policy")]),
    (fsdp("fsdp_state_dict_type: full_state_dict"), "0.33.0", [("error", "FSD004", "full_state_dict")]),
    (fsdp("fsdp_state_dict_type: FULL_STATE_DICT", version=2), "1.6.0", [("error", "FSD801", "FULL_STATE_DICT")]),
    (fsdp("fsdp_state_dict_type: FULL_STATE_DICT", version=2), "1.7.0", []),
    (fsdp("fsdp_activation_checkpointing: true"), "0.30.1", [("warning", "FSD401", "fsdp_activation_checkpointing")]),
    (fsdp("fsdp_activation_checkpointing: false"), "0.30.1", []),
    (fsdp("fsdp_ignored_modules: .*embed.*"), "1.9.0", [("warning", "FSD401", "fsdp_ignored_modules")]),
    (fsdp("fsdp_ignored_modules: .*embed.*"), "1.10.0", []),
    (fsdp("fsdp_cpu_ram_efficient_loading: null"), "0.29.3", []),
    (fsdp("fsdp_sync_module_states: false"), "0.23.0", []),
    (fsdp(version=2), "1.5.2", [("error", "FSD401", "fsdp_version")]),
    (fsdp("fsdp_auto_wrap_policy: x").replace(WRAP, ""), "0.33.0", [("warning", "FSD004", "x")]),
    (fsdp("fsdp_auto_wrap_policy: x").replace(WRAP, ""), "1.7.0", [("error", "FSD004", "x")]),
    (launch(mixed_precision="no"), "0.33.0", []),
    (launch(distributed_type="TP").split("fsdp_config")[0], "1.9.0", []),
    (fsdp(top="debug: true\n"), "0.21.0", [("error", "FSD401", "debug")]),
    (fsdp(top="parallelism_config: {}\n"), "1.9.0", [("error", "FSD401", "parallelism_config")]),
    (f"{TOP}fsdp_config: full_shard\n", "1.4.0", [("error", "FSD004", "full_shard")]),
    (f"{TOP}fsdp_config: full_shard\n", "1.15.0", [("warning", "FSD004", "full_shard")]),
    (fsdp(top="dynamo_config:\n  backend: no\n"), "1.13.0", [("warning", "ACC009", "backend")]),
    (
        fsdp("fsdp_activation_checkpointing: true", "fsdp_activation_checkpointing_offload: true", version=2),
        "1.14.0",
        [("warning", "FSD401", "fsdp_activation_checkpointing_offload")],
    ),
]


@pytest.mark.parametrize(("text", "release", "findings"), RELEASES, ids=[f"{n}: {row[1]}" for n, row in enumerate(RELEASES)])
def test_releases(text: str, release: str, findings: list[tuple[str, str, str]]) -> None:
    assert found(text, f"accelerate=={release}", "torch==2.13.0") == findings


@pytest.mark.parametrize(
    ("version", "accelerate", "torch", "at"),
    [(2, "1.7.0", "2.5.1", "2"), (2, "1.6.0", "2.5.0", "2"), (1, "0.25.0", "2.0.1", "FSDP"), (1, "0.24.0", "2.0.0", "FSDP")],
)
def test_torch_floors(version: int, accelerate: str, torch: str, at: str) -> None:
    assert found(fsdp(version=version), f"accelerate=={accelerate}", f"torch=={torch}") == [("error", "FSD401", at)]


def test_torch_floors_are_met() -> None:
    assert found(fsdp(version=2), "accelerate==1.6.0", "torch==2.5.1") == []
    assert found(fsdp(), "accelerate==1.15.0", "torch==2.1.0") == []


@pytest.mark.parametrize("value", ["SHARD_GRAD_OP", "no_shard", "HYBRID_SHARD", "false"])
def test_fsdp1_ignores_reshard_after_forward(value: str) -> None:
    text = fsdp(f"fsdp_reshard_after_forward: {value}")
    only = one(text)
    assert (only.severity.word, only.code, marked(text, only)) == ("error", "FSD105", value)
    assert only.help == "write `fsdp_sharding_strategy`, the key that FSDP1 reads"


def test_fsdp1_and_harmless_reshard_after_forward() -> None:
    assert found(fsdp("fsdp_reshard_after_forward: FULL_SHARD")) == []
    assert found(fsdp("fsdp_reshard_after_forward: true")) == []
    bogus = "fsdp_reshard_after_forward: bogus"
    assert found(fsdp(bogus)) == [("warning", "FSD407", bogus)]


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("SHARD_GRAD_OP", "write `fsdp_reshard_after_forward: false`"),
        ("2", "write `fsdp_reshard_after_forward: false`"),
        ("NO_SHARD", "write `distributed_type: MULTI_GPU`; FSDP2 has no NO_SHARD"),
        ("HYBRID_SHARD", "write the sizes into `parallelism_config`"),
    ],
)
def test_fsdp2_ignores_the_strategy(value: str, help: str) -> None:
    text = fsdp(f"fsdp_sharding_strategy: {value}", version=2)
    only = one(text)
    assert (only.severity.word, only.code, marked(text, only)) == ("error", "FSD105", value)
    assert only.help is not None and only.help.startswith(help)


def test_fsdp2_and_a_strategy_that_changes_nothing() -> None:
    assert found(fsdp("fsdp_sharding_strategy: FULL_SHARD", version=2)) == []
    assert found(fsdp("fsdp_sharding_strategy: SHARD_GRAD_OP", "fsdp_reshard_after_forward: false", version=2)) == []
    bogus = "fsdp_sharding_strategy: BOGUS"
    assert found(fsdp(bogus, version=2)) == [("warning", "FSD406", bogus)]


def test_sharding_said_twice() -> None:
    lines = ("fsdp_sharding_strategy: FULL_SHARD", "fsdp_reshard_after_forward: {}")
    assert found(fsdp(lines[0], lines[1].format("SHARD_GRAD_OP"))) == [("error", "FSD104", "SHARD_GRAD_OP")]
    assert found(fsdp(lines[0], lines[1].format("false"), version=2)) == [("error", "FSD104", "FULL_SHARD")]


@pytest.mark.parametrize(
    "line",
    ["fsdp_backward_prefetch: BACKWARD_PRE", "fsdp_use_orig_params: true", "fsdp_forward_prefetch: true", "fsdp_sync_module_states: true"],
)
def test_fsdp1_options_in_fsdp2(line: str) -> None:
    assert found(fsdp(line, version=2)) == [("warning", "FSD406", line)]


def test_fsdp2_option_in_fsdp1() -> None:
    line = "fsdp_activation_checkpointing_offload: true"
    assert found(fsdp("fsdp_activation_checkpointing: true", line)) == [("error", "FSD407", line)]


@pytest.mark.parametrize("value", ["[LlamaDecoderLayer, LlamaMLP]", "LlamaDecoderLayer, LlamaMLP", "''"])
def test_layer_classes(value: str) -> None:
    text = fsdp().replace("LlamaDecoderLayer", value)
    assert found(text) == [("error", "FSD602", value)]


def test_wrapping() -> None:
    bare = fsdp().replace("  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", "")
    assert found(bare) == [("warning", "FSD601", "LlamaDecoderLayer")]
    assert found(fsdp("fsdp_min_num_params: 1000")) == [("warning", "FSD603", "1000")]


def test_quoted_booleans_of_the_launch_check() -> None:
    ram, sync = "fsdp_cpu_ram_efficient_loading: {}", "fsdp_sync_module_states: {}"
    assert found(fsdp(ram.format("'false'"), sync.format("false"))) == [("error", "ACC004", "'false'")]
    assert found(fsdp(ram.format("'no'"), sync.format("null"), version=2)) == [("error", "ACC004", "'no'")]
    assert found(fsdp(ram.format("true"), sync.format("'false'"))) == [("warning", "ACC004", "'false'")]
    assert found(fsdp(ram.format("'false'"), sync.format("'false'"))) == []
    assert found(fsdp(ram.format("false"), sync.format("'false'"))) == []


def test_the_other_engine() -> None:
    block = "deepspeed_config:\n  zero_stage: 3\n"
    assert found(fsdp(top=block)) == [("warning", "FSD101", "deepspeed_config")]
    assert found(launch(distributed_type="DEEPSPEED") + block) == [("warning", "FSD101", "fsdp_config")]
    assert found(launch(distributed_type="'NO'") + block) == [("error", "FSD101", "fsdp_config")]
    assert found(f"distributed_type: MULTI_GPU\nnum_processes: 2\n{block}") == [("error", "ACC001", "deepspeed_config")]


@pytest.mark.parametrize(
    ("kind", "severity"),
    [("MULTI_GPU", "error"), ("MULTI_CPU", "error"), ("NO", "error"), ("false", "error"), ("null", "error"), ("MEGATRON_LM", "warning")],
)
def test_options_without_fsdp(kind: str, severity: str) -> None:
    assert found(launch(distributed_type=kind)) == [(severity, "FSD102", "fsdp_config")]


def test_distributed_type_is_missing() -> None:
    text = launch(distributed_type="")
    only = one(text)
    assert (only.severity.word, only.code, only.key, marked(text, only)) == ("error", "FSD007", "distributed_type", "compute_environment")


def test_processes_may_come_from_the_launch_line() -> None:
    text = launch(num_processes="")
    assert found(text) == [("warning", "FSD007", "compute_environment")]
    assert found(text, line="accelerate launch --config_file file0.yaml train.py") == [("error", "FSD007", "compute_environment")]
    assert found(text, line="accelerate launch --config_file file0.yaml --num_processes 2 train.py") == []
    assert found(text, gpus=8) == []
    assert found(launch(num_processes="null")) == [("warning", "FSD007", "num_processes")]


def test_processes() -> None:
    assert found(launch(num_processes="1")) == [("warning", "FSD106", "1")]
    assert found(launch(num_processes="3", num_machines="2", main_process_ip="10.0.0.1")) == [("warning", "FSD106", "3")]


def test_machines_need_an_address() -> None:
    text = launch(num_processes="4", num_machines="2")
    assert found(text) == [("warning", "ACC006", "2")]
    assert found(text + "main_process_ip: 10.0.0.1\n") == []
    assert found(text + "main_process_ip: ${MASTER}\n") == []
    assert found(text, line="accelerate launch --config_file file0.yaml --main_process_ip $HOST train.py") == []
    assert found(text, line="accelerate launch --config_file file0.yaml train.py") == [("error", "ACC006", "2")]
    assert found(text, line="torchrun train.py") == []


def test_one_gpu_for_many() -> None:
    plain = "distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: {}\n"
    assert found(plain.format("'0'")) == [("error", "ACC007", "'0'")]
    assert found(plain.format("'0,1'")) == found(plain.format("all")) == []


@pytest.mark.parametrize(
    ("device", "codes"), [("cpu", ["FSD201"]), ("mps", ["FSD201"]), ("cuda", []), ("xpu", []), ("npu", []), (None, [])]
)
def test_devices(device: str | None, codes: list[str]) -> None:
    assert [code for _, code, _ in found(fsdp(), device=device)] == codes


def test_use_cpu_is_not_read() -> None:
    assert found(fsdp(top="use_cpu: true\n")) == [("warning", "ACC001", "use_cpu")]
    assert found("distributed_type: MULTI_CPU\nnum_processes: 2\nuse_cpu: true\n") == []


def test_fp8() -> None:
    block = "fp8_config:\n  backend: {}\n"
    fp8 = fsdp("fsdp_cpu_ram_efficient_loading: {}", version=2).replace("bf16", "fp8")
    assert found(fp8.format("true") + block.format("MSAMP")) == [("error", "FSD707", "MSAMP")]
    assert found(fp8.format("true") + block.format("AO")) == [("error", "FSD707", "AO")]
    assert found(fp8.format("false") + block.format("AO")) == []
    assert found(fp8.format("true") + block.format("TE")) == []
    assert found(fsdp(top=block.format("TE"))) == [("warning", "ACC001", "fp8_config")]


def test_old_precision_key() -> None:
    assert found(fsdp(top="fp16: true\n")) == [("error", "FSD702", "true")]


def test_no_shard() -> None:
    assert found(fsdp("fsdp_sharding_strategy: NO_SHARD")) == [("warning", "FSD109", "NO_SHARD")]
    assert found(fsdp("fsdp_sharding_strategy: 3")) == [("warning", "FSD109", "3")]


def test_flat_parameters_under_compile() -> None:
    text = fsdp("fsdp_use_orig_params: false", top="dynamo_config:\n  dynamo_backend: INDUCTOR\n")
    assert found(text) == []
    assert ("warning", "FSD504", "false") in found(text, "accelerate==0.24.1", "torch==2.0.1")


def test_duplicate_keys() -> None:
    text = fsdp(top="mixed_precision: fp16\n")
    only = one(text)
    assert (only.severity.word, only.code, marked(text, only), only.range.start.line) == ("warning", "FSD002", "mixed_precision", 10)


@pytest.mark.parametrize("text", ["", "# nothing\n", "- FSDP\n", "FSDP\n"])
def test_a_file_must_be_a_mapping(text: str) -> None:
    assert [(severity, code) for severity, code, _ in found(text)] == [("error", "ACC008")]


def test_intervals_say_where() -> None:
    text = fsdp("fsdp_state_dict_type: FULL_STATE_DICT", version=2)
    only = one(text, "accelerate>=1.6.0,<1.8.0", "torch==2.13.0")
    assert (only.severity.word, only.code) == ("warning", "FSD801")
    assert "only with" in only.message


def test_ram_efficient_default_is_named() -> None:
    only = one(fsdp("fsdp_sync_module_states: false"))
    assert "default of accelerate 1.15.0" in only.message
    assert only.help == "write both as `false`, or remove `fsdp_sync_module_states`"


@pytest.mark.parametrize(
    ("options", "version", "expected"),
    [
        ("fsdp_version: 2", "1.15.0", [("error", "FSD601", "true")]),
        ("fsdp_version: 2\n  fsdp_auto_wrap_policy: NO_WRAP", "1.10.0", [("error", "FSD601", "true")]),
        ("fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP", "1.15.0", []),
        ("fsdp_version: 1", "1.15.0", []),
        ("fsdp_version: 2", "1.7.0", []),
    ],
)
def test_checkpointing_needs_a_policy_with_fsdp2(options: str, version: str, expected: list[tuple[str, str, str]]) -> None:
    text = f"distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n  {options}\n  fsdp_activation_checkpointing: true\n"
    diagnostics = lint(text, dialect="accelerate", target=[f"accelerate=={version}"])
    assert [(d.severity.word, d.code, marked(text, d)) for d in diagnostics if d.severity.word != "info"] == expected


@pytest.mark.parametrize(
    ("field", "line", "expected"),
    [
        ("  zero_stage: 3\n", None, ["zero_stage: 3"]),
        ("mixed_precision: bf16\n", None, ["mixed_precision: bf16"]),
        ("mixed_precision: 'no'\n", None, ["mixed_precision: 'no'"]),
        ("  zero3_init_flag: true\n", None, []),
        ("  deepspeed_multinode_launcher: standard\n", None, []),
        ("mixed_precision: bf16\n", "accelerate launch --mixed_precision bf16 --config_file file0.yaml t.py", []),
    ],
)
def test_a_deepspeed_file_says_it_alone(field: str, line: str | None, expected: list[str]) -> None:
    text = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n" + field
    found = [marked(text, d) for d in lint(text, dialect="accelerate", line=line) if d.code == "ACC010"]
    assert found == expected
