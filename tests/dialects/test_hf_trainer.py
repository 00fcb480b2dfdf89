"""Files of TrainingArguments: how they are told, and what they decide by release."""

from __future__ import annotations

import json

import pytest
from linting import SHARED, launch_of, read, target_of

from fsdplint.dialects import dialect, recognise
from fsdplint.dialects.table import is_known
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap

HEAD = "output_dir: out\nper_device_train_batch_size: 8\n"


def told(text: str, path: str = "a.yaml") -> str | None:
    found = recognise(parse(text, path))
    return found.name if found else None


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "num_train_epochs: 3\n",
        HEAD + "fsdp: full_shard auto_wrap\n",
        "output_dir: out\nlearning_rate: 1.0e-5\nbf16: true\n",
        "fsdp: [full_shard, auto_wrap]\nfsdp_config:\n  version: 2\n",
        "output_dir: out\nlogging_steps: 5\nsave_strategy: epoch\nmy_own_key: 1\nanother: x\n",
    ],
)
def test_training_arguments_are_told(text: str) -> None:
    assert told(text) == "hf-trainer"


@pytest.mark.parametrize(
    "text",
    [
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n",
        "base_model: x\nmicro_batch_size: 1\noutput_dir: out\nfsdp:\n  - full_shard\nfsdp_config: {}\n",
        "model_name_or_path: x\nstage: sft\nfinetuning_type: full\ncutoff_len: 1\nper_device_train_batch_size: 1\nnum_train_epochs: 1\n",
        "model:\n  _component_: y\noutput_dir: out\nper_device_train_batch_size: 1\nnum_train_epochs: 2\n",
        "model:\n  model_name: x\ndata: {}\ntraining:\n  per_device_train_batch_size: 1\n",
        "name: CI\non: push\njobs: {}\n",
        "seed: 1\ndebug: true\nproject: x\n",
        "version: 2\n",
    ],
)
def test_other_files_are_not_taken(text: str) -> None:
    assert told(text) not in ("hf-trainer", "trl")


@pytest.mark.parametrize(
    "text", ['{"fsdp_transformer_layer_cls_to_wrap": ["A"], "xla": false}', '{"version": 2, "reshard_after_forward": true}']
)
def test_a_file_of_fsdp_config_is_told_by_its_vocabulary(text: str) -> None:
    assert told(text, "fsdp.json") == "hf-trainer"
    (file,) = launch_of(text, paths=("fsdp.json",)).files
    assert file.dialect.is_companion
    assert file.dialect.table.options.keys() >= {("version",), ("cpu_offload",)}


def test_every_release_of_the_facts_is_bounded() -> None:
    table = dialect("hf-trainer").table
    newest, older = (target_of([f"transformers=={v}"]).for_dialect("transformers").points()[0] for v in ("5.24.0", "4.57.6"))
    known = {
        key: (is_known(table.options[key,], older), is_known(table.options[key,], newest))
        for key in ("warmup_ratio", "use_cpu", "activation_checkpointing")
    }
    assert known == {"warmup_ratio": (True, False), "use_cpu": (True, True), "activation_checkpointing": (False, True)}


@pytest.mark.parametrize(
    ("version", "words", "block", "expected"),
    [
        ("4.50.3", "full_shard auto_wrap", "", (1, "FULL_SHARD", Wrap.TRANSFORMER, StateDict.FULL)),
        ("4.57.6", "shard_grad_op auto_wrap", "version: 2", (1, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.FULL)),
        ("4.57.6", "full_shard hybrid_shard", "", (1, "HYBRID_SHARD", Wrap.NONE, StateDict.FULL)),
        ("5.0.0", "shard_grad_op", "", (1, "SHARD_GRAD_OP", Wrap.NONE, StateDict.FULL)),
        ("5.0.0", "full_shard auto_wrap", "version: 2", (2, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.SHARDED)),
        (
            "5.0.0",
            "full_shard auto_wrap",
            "version: 2\n  reshard_after_forward: true",
            (2, "FULL_SHARD", Wrap.TRANSFORMER, StateDict.SHARDED),
        ),
        ("5.4.0", "shard_grad_op auto_wrap", "", (1, "FULL_SHARD", Wrap.TRANSFORMER, StateDict.FULL)),
        ("5.9.0", "shard_grad_op auto_wrap", "version: 2", (2, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.SHARDED)),
        ("5.9.0", "hybrid_shard", "version: 2", (2, "FULL_SHARD", Wrap.NONE, StateDict.SHARDED)),
        ("5.10.4", "shard_grad_op", "", (2, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.FULL)),
        ("5.24.0", "shard_grad_op full_shard", "", (2, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.FULL)),
        ("5.24.0", "shard_grad_op", "version: 1", (1, "FULL_SHARD", Wrap.TRANSFORMER, StateDict.FULL)),
        ("5.24.0", "auto_wrap", "reshard_after_forward: 'no'", (2, "SHARD_GRAD_OP", Wrap.TRANSFORMER, StateDict.FULL)),
        ("5.24.0", "auto_wrap", "state_dict_type:", (2, "FULL_SHARD", Wrap.TRANSFORMER, StateDict.SHARDED)),
        ("5.24.0", "auto_wrap", "auto_wrap_policy: NO_WRAP", (2, "FULL_SHARD", Wrap.NONE, StateDict.FULL)),
    ],
)
def test_what_runs_by_release(version: str, words: str, block: str, expected: tuple[object, ...]) -> None:
    text = f"{HEAD}fsdp: {words}\nfsdp_config:\n  use_orig_params: true\n  {block}\n"
    plan = read(text, dialect="hf-trainer", target=[f"transformers=={version}"])
    assert plan.fsdp.value is True
    assert (plan.fsdp_version.value, plan.sharding.value.name, plan.wrap_policy.value, plan.state_dict.value) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("version", "fsdp", "block", "offload"),
    [
        ("4.57.6", "full_shard offload", "{}", True),
        ("4.57.6", "true", "{cpu_offload: true}", False),
        ("5.24.0", "true", "{cpu_offload: true}", True),
        ("5.24.0", "offload", "{}", True),
        ("5.24.0", "offload", "{cpu_offload: false}", False),
        ("5.24.0", "offload", "{cpu_offload: null}", False),
    ],
)
def test_offload(version: str, fsdp: str, block: str, offload: bool) -> None:
    plan = read(f"{HEAD}fsdp: {fsdp}\nfsdp_config: {block}\n", dialect="hf-trainer", target=[f"transformers=={version}"])
    assert plan.offload.value is offload


def test_the_place_of_a_word_is_the_word() -> None:
    text = HEAD + "fsdp: auto_wrap shard_grad_op\n"
    place = read(text, dialect="hf-trainer").sharding.place
    assert place is not None and isinstance(place.part, tuple)
    assert (place.path, text[place.part[0] : place.part[1]]) == (("fsdp",), "shard_grad_op")
    listed = read(HEAD + "fsdp: [auto_wrap, shard_grad_op]\n", dialect="hf-trainer").sharding.place
    assert listed is not None and listed.path == ("fsdp", 1)


def test_a_lost_strategy_keeps_what_was_written() -> None:
    sharding = read(HEAD + "fsdp: shard_grad_op\n", dialect="hf-trainer", target=["transformers==5.9.0"]).sharding
    assert (sharding.value, sharding.written) == (Sharding.FULL_SHARD, Sharding.SHARD_GRAD_OP)
    assert "accelerate prefers its own strategy" in sharding.because


def test_other_versions_than_1_and_2_take_the_first_branch() -> None:
    version = read(HEAD + "fsdp: true\nfsdp_config: {version: 3}\n", dialect="hf-trainer").fsdp_version
    assert (version.value, version.written) == (1, 3)


def test_the_prefixed_spelling_wins_and_is_no_rival() -> None:
    version = read(HEAD + "fsdp: true\nfsdp_config:\n  version: 1\n  fsdp_version: 2\n", dialect="hf-trainer").fsdp_version
    assert (version.value, version.rivals) == (2, ())


@pytest.mark.parametrize(("version", "classes"), [("4.50.3", None), ("4.57.6", ("A",)), ("5.24.0", ("A",))])
def test_the_prefix_is_taken_off_a_mapping_from_4_52_on(version: str, classes: tuple[str, ...] | None) -> None:
    text = HEAD + "fsdp: full_shard auto_wrap\nfsdp_config: {fsdp_transformer_layer_cls_to_wrap: A}\n"
    assert read(text, dialect="hf-trainer", target=[f"transformers=={version}"]).wrap_classes.value == classes


def test_without_fsdp_the_options_decide_nothing() -> None:
    plan = read(HEAD + "fsdp_config: {version: 1, cpu_offload: true}\n", dialect="hf-trainer")
    assert (plan.fsdp.value, plan.fsdp_options.value, plan.fsdp_version.value, plan.offload.value) == (False, True, None, None)
    assert read(HEAD, dialect="hf-trainer").fsdp.value is None


def test_placeholders_and_other_files_leave_everything_open() -> None:
    assert read(HEAD + "fsdp: ${FSDP}\n", dialect="hf-trainer").fsdp.unknown
    plan = read(HEAD + "fsdp: true\nfsdp_config: fsdp.json\n", dialect="hf-trainer")
    assert plan.fsdp_version.unknown and plan.fsdp_version.value is None


def test_the_file_of_fsdp_config_completes_the_plan() -> None:
    training = HEAD + "fsdp: shard_grad_op\nfsdp_config: fsdp.json\n"
    options = '{"fsdp_version": 1, "transformer_layer_cls_to_wrap": "A"}'
    plan = read(training, options, dialects=("hf-trainer", "hf-trainer"), target=["transformers==5.0.0"])
    assert (plan.fsdp_version.value, plan.sharding.value, plan.wrap_policy.value) == (1, Sharding.SHARD_GRAD_OP, Wrap.NONE)
    assert plan.wrap_classes.value == ("A",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bf16: true\n", Precision.BF16),
        ("fp16: true\nbf16: false\n", Precision.FP16),
        ("bf16: false\n", Precision.NONE),
        ("output_dir: out\n", Precision.NONE),
    ],
)
def test_precision(text: str, expected: Precision | None) -> None:
    assert read(text, dialect="hf-trainer").precision.value is expected


def test_derived_decisions() -> None:
    plan = read("torch_compile_mode: default\nuse_cpu: true\ndeepspeed: ds.json\nactivation_checkpointing: true\n", dialect="hf-trainer")
    assert (plan.compile.value, plan.device.value, plan.deepspeed_config.value, plan.gradient_checkpointing.value) == (
        True,
        "cpu",
        "ds.json",
        True,
    )


def test_named_files() -> None:
    text = "deepspeed: configs/ds.json\nfsdp_config: fsdp.json\n"
    assert dialect("hf-trainer").companions(parse(text, "a.yaml")) == [("deepspeed", "configs/ds.json"), ("fsdp_config", "fsdp.json")]
    assert dialect("hf-trainer").companions(parse("deepspeed: '{\"a\": 1}'\nfsdp_config: {a: 1}\n", "a.yaml")) == []


def test_the_table_has_every_key_of_the_facts() -> None:
    path = SHARED / "facts" / "transformers" / "keys.jsonl"
    if not path.is_file():
        pytest.skip("needs ../shared")
    keys = {part for line in path.read_text(encoding="utf-8").splitlines() for part in _names(json.loads(line)["key"])}
    assert keys - {".".join(option) for option in dialect("hf-trainer").table.options} == set()


def _names(key: str) -> list[str]:
    """The keys of a row; a few rows name several of one block."""
    first, *others = key.split(" / ")
    block = first.rpartition(".")[0]
    return [first, *(f"{block}.{other}" for other in others)]
