"""verl configs: recognition of trainers and group files, one FSDP version per role, names, types and values of the FSDP blocks."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Wrap


def actor(*lines: str, strategy: str = "fsdp2") -> str:
    """A PPO trainer whose actor has these lines in its FSDP block."""
    head = f"actor_rollout_ref:\n  actor:\n    strategy: {strategy}\n    fsdp_config:\n"
    return head + "".join(f"      {line}\n" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "actor_rollout_ref:\n  actor: {strategy: fsdp}\n",
        "defaults: [ppo_trainer, _self_]\ndata: {gen_batch_size: 8}\ntrainer: {project_name: x}\n",
        "defaults:\n- engine@engine: fsdp\n- _self_\ndata: {}\n",
        "_target_: verl.workers.config.FSDPEngineConfig\nparam_offload: false\n",
        "rollout_n: 1\nstrategy: ${actor_rollout_ref.actor.strategy}\n",
        "strategy: fsdp\nppo_mini_batch_size: 256\nfsdp_config: {fsdp_size: -1}\n",
        "data: {train_files: a, balance_dp_token: false}\nmodel: {partial_pretrain: x, fsdp_config: {}}\n",
    ],
)
def test_recognised_by_roots_classes_groups_and_keys(text: str) -> None:
    found = recognise(parse(text, "a.yaml"))
    assert found is not None
    assert found.name == "verl"


@pytest.mark.parametrize(
    "text",
    [
        "strategy: fsdp\n",
        "defaults: [base, _self_]\ntrainer: {strategy: fsdp2}\n",
        "trainer:\n  strategy: fsdp2\n  policy: {fsdp_config: {cpu_offload: false}}\n",
        "strategy: {kind: a}\nactor_rollout_ref: x\n",
    ],
)
def test_words_of_others_do_not_tell_it(text: str) -> None:
    assert recognise(parse(text, "a.yaml")) is None


def test_actor_speaks_for_the_plan() -> None:
    text = actor("wrap_policy: {transformer_layer_cls_to_wrap: [LlamaDecoderLayer]}") + "  model: {path: /models/llama}\n"
    plan = read(text)
    assert (plan.fsdp.value, plan.fsdp_version.value, plan.wrap_policy.value) == (True, 2, Wrap.TRANSFORMER)
    assert plan.fsdp.place and plan.fsdp.place.path == ("actor_rollout_ref", "actor", "strategy")
    assert plan.wrap_classes.value == ("LlamaDecoderLayer",)
    assert plan.model.value == "/models/llama"


def test_size_policy_is_of_fsdp1() -> None:
    assert read(actor("wrap_policy: {min_num_params: 1000}", strategy="fsdp")).wrap_policy.value is Wrap.SIZE
    assert read(actor("wrap_policy: {min_num_params: 1000}")).wrap_policy.value is Wrap.TRANSFORMER
    assert read(actor("wrap_policy: {disable: true}", strategy="fsdp")).wrap_policy.value is Wrap.NONE


@pytest.mark.parametrize(("strategy", "on"), [("fsdp", True), ("megatron", False), ("???", None), ("${x}", None), ("odd", None)])
def test_strategy_decides_the_engine(strategy: str, on: bool | None) -> None:
    assert read(actor("fsdp_size: -1", strategy=strategy)).fsdp.value is on


def test_each_role_has_its_own_version() -> None:
    text = actor("use_orig_params: false") + "  ref:\n    fsdp_config: {}\ncritic:\n  strategy: fsdp\n"
    document, verl = parse(text, "a.yaml"), dialect("verl")
    plan = read(text)
    at = {path: verl.version_at(plan, document, path).value for path in (("critic", "fsdp", "x"), ("reward_model",), ("data",))}
    assert at == {("critic", "fsdp", "x"): 1, ("reward_model",): None, ("data",): None}
    assert verl.version_at(plan, document, ("actor_rollout_ref", "ref", "fsdp_config")).value == 2


GOOD = """\
defaults: [ppo_trainer, _self_]
actor_rollout_ref:
  model: {path: ~/models/x}
  actor:
    strategy: fsdp2
    fsdp_config:
      wrap_policy: {min_num_params: 0, transformer_layer_cls_to_wrap: null}
      param_offload: ${offload}
      optimizer_offload: true
      offload_policy: false
      reshard_after_forward: true
      fsdp_size: -1
      forward_prefetch: true
      model_dtype: bf16
      use_orig_params: false
      mixed_precision: {param_dtype: bf16, reduce_dtype: fp32}
      use_torch_compile: true
  ref:
    fsdp_config: {forward_only: true, param_offload: true}
critic:
  strategy: ${actor_rollout_ref.actor.strategy}
  fsdp: {offload_policy: true, fsdp_size: 8}
reward_model:
  strategy: megatron
"""


def test_good_trainer_is_silent() -> None:
    assert lint(GOOD) == []


@pytest.mark.parametrize(
    ("line", "told_of", "slice_"),
    [
        ("offload_params: true", ("error", "FSD006", "offload_params"), "offload_params"),
        ("fsdp_size: 0", ("error", "FSD004", "fsdp_size"), "0"),
        ("fsdp_size: '8'", ("error", "FSD004", "fsdp_size"), "'8'"),
        ("model_dtype: float", ("error", "FSD004", "model_dtype"), "float"),
        ("mixed_precision: {param_dtype: bfloat}", ("error", "FSD004", "mixed_precision.param_dtype"), "bfloat"),
        ("reshard_after_forward: 'false'", ("error", "FSD005", "reshard_after_forward"), "'false'"),
        ("strategy: FSDP", ("error", "FSD004", "strategy"), "FSDP"),
        ("strategy: fsdp", ("error", "FSD103", "strategy"), "fsdp"),
        ("use_orig_params: true", ("warning", "FSD406", "use_orig_params"), "use_orig_params: true"),
        ("wrap_policy: {min_num_params: 9}", ("warning", "FSD406", "wrap_policy.min_num_params"), "min_num_params: 9"),
        ("wrap_policy: {cls: A}", ("warning", "FSD003", "wrap_policy.cls"), "cls"),
    ],
)
def test_faults_of_one_line(line: str, told_of: tuple[str, str, str], slice_: str) -> None:
    text = actor(line)
    found = lint(text)
    assert told(found) == [(*told_of[:2], f"actor_rollout_ref.actor.fsdp_config.{told_of[2]}")]
    assert marked(text, found[0]) == slice_


def test_offload_policy_is_of_fsdp2() -> None:
    text = actor("offload_policy: true", strategy="fsdp")
    (found,) = lint(text)
    assert (found.severity.word, found.code) == ("warning", "FSD407")
    assert marked(text, found) == "offload_policy: true"
    assert "param_offload: true" in (found.help or "")


def test_own_offloading_beside_the_policy() -> None:
    text = actor("offload_policy: true", "param_offload: true", "optimizer_offload: false")
    (found,) = lint(text)
    assert (found.severity.word, found.code, marked(text, found)) == ("warning", "VRL001", "param_offload: true")
    assert lint(actor("offload_policy: false", "param_offload: true")) == []


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (actor("forward_prefetch: true"), "0.7.1", [("warning", "FSD406", "actor_rollout_ref.actor.fsdp_config.forward_prefetch")]),
        (actor("forward_prefetch: true"), "0.8.0", []),
        (
            actor("reshard_after_forward: false", strategy="fsdp"),
            "0.6.1",
            [("error", "FSD407", "actor_rollout_ref.actor.fsdp_config.reshard_after_forward")],
        ),
        (actor("reshard_after_forward: false", strategy="fsdp"), "0.7.1", []),
        (actor("offload: true"), "0.5.0", [("warning", "FSD003", "actor_rollout_ref.actor.fsdp_config.offload")]),
        (actor("fsdp_size: -1", strategy="veomni"), "0.6.1", [("error", "FSD004", "actor_rollout_ref.actor.strategy")]),
        (actor("fsdp_size: -1", strategy="veomni"), "0.7.1", []),
        (actor("fsdp_size: -1", strategy="fsdp_turbo"), "0.9.1", []),
        ("actor_rollout_ref: {}\ncritic:\n  fsdp: {fsdp_size: 2}\n", "0.7.1", [("error", "FSD401", "critic.fsdp")]),
        (
            "actor_rollout_ref: {}\ncritic:\n  model:\n    fsdp_config: {fsdp_size: 2}\n",
            "0.9.1",
            [("error", "FSD403", "critic.model.fsdp_config")],
        ),
        ("actor_rollout_ref: {}\ncritic:\n  model:\n    fsdp_config: {fsdp_size: 2}\n", "0.7.1", []),
    ],
)
def test_over_releases(text: str, target: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(lint(text, target=[f"verl=={target}"])) == expected


def test_older_files_are_told_once() -> None:
    text = "actor_rollout_ref: {}\ncritic:\n  model:\n    fsdp_config: {param_offload: false, grad_offload: false}\n"
    (found,) = lint(text)
    assert (found.severity.word, found.code) == ("warning", "FSD408")


ENGINE = "_target_: verl.workers.config.FSDPEngineConfig\nstrategy: fsdp\nfsdp_size: -1\n"


def test_group_files_are_read_as_the_block_they_are() -> None:
    assert lint(ENGINE) == []
    assert told(lint(ENGINE + "offload_policy: true\nmodel_dtype: fp8\n")) == [
        ("warning", "FSD407", "offload_policy"),
        ("error", "FSD004", "model_dtype"),
    ]
    role = "strategy: fsdp\nppo_mini_batch_size: 8\nulysses_sequence_parallel_size: 1\nfsdp_config:\n  offload_policy: true\n  foo: 1\n"
    assert told(lint(role)) == [("warning", "FSD407", "fsdp_config.offload_policy"), ("error", "FSD003", "fsdp_config.foo")]
    critic = "_target_: verl.workers.config.FSDPCriticConfig\nstrategy: ???\nfsdp:\n  fsdp_size: 0\n"
    assert told(lint(critic)) == [("error", "FSD004", "fsdp.fsdp_size")]


@pytest.mark.parametrize("kind", ["VeOmniEngineConfig", "McoreOptimizerConfig", "RolloutConfig"])
def test_other_group_files_are_left_alone(kind: str) -> None:
    assert lint(f"_target_: verl.workers.config.{kind}\nfsdp_size: 0\nstrategy: veomni\nodd: 1\n") == []


def test_placeholders_conclude_nothing() -> None:
    lines = [f"{key}: ${{x}}" for key in ("param_offload", "offload_policy", "fsdp_size", "model_dtype", "strategy", "use_orig_params")]
    assert lint(actor(*lines)) == []
    assert lint(actor(*lines, strategy="???")) == []
