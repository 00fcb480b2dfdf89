"""NeMo AutoModel recipes: recognition, what the plan says, names, types and values of the distributed section over releases."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import recognise
from fsdplint.document import parse
from fsdplint.plan import Wrap

MODEL = """\
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: meta-llama/Llama-3.2-1B
"""


def recipe(*lines: str) -> str:
    """A recipe whose distributed section has these lines."""
    return MODEL + "distributed:\n" + "".join(f"  {line}\n" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        MODEL,
        "distributed:\n  _target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager\n  dp_size: none\n",
        "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler: {global_batch_size: 64}\n",
        "step_scheduler: {global_batch_size: 64}\ndistributed:\n  strategy: fsdp2\n",
    ],
)
def test_recognised_by_its_classes_or_sections(text: str) -> None:
    found = recognise(parse(text, "a.yaml"))
    assert found is not None
    assert found.name == "nemo-automodel"


@pytest.mark.parametrize("text", ["model: {name: x}\ndistributed: {strategy: fsdp2}\n", "step_scheduler: {a: 1}\n", "distributed: []\n"])
def test_sections_of_others_do_not_tell_it(text: str) -> None:
    assert recognise(parse(text, "a.yaml")) is None


def test_strategy_decides_the_engine() -> None:
    plan = read(recipe("strategy: fsdp2", "offload_policy: {_target_: torch.distributed.fsdp.CPUOffloadPolicy}", "tp_size: 2"))
    assert (plan.fsdp.value, plan.fsdp_version.value, plan.offload.value, plan.tp.value) == (True, 2, True, 2)
    assert plan.fsdp.place and plan.fsdp.place.path == ("distributed", "strategy")
    assert plan.wrap_policy.value is Wrap.TRANSFORMER
    assert plan.model.value == "meta-llama/Llama-3.2-1B"


@pytest.mark.parametrize(
    ("lines", "target", "engine"),
    [
        (["dp_size: none"], "0.7.0", (True, 2)),
        (["strategy: DDP"], "0.7.0", (False, None)),
        (["strategy: mfsdp"], "0.7.0", (True, None)),
        (["strategy: ${oc.env:STRATEGY}"], "0.7.0", (None, None)),
        (["_target_: nemo_automodel.components.distributed.ddp.DDPManager"], "0.2.0", (False, None)),
        (["_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager"], "0.2.0", (True, 2)),
        (["_target_: my.Manager"], "0.2.0", (None, None)),
    ],
)
def test_engine_over_releases(lines: list[str], target: str, engine: tuple[bool | None, int | None]) -> None:
    plan = read(recipe(*lines), target=[f"nemo-automodel=={target}"])
    assert (plan.fsdp.value, plan.fsdp_version.value) == engine


GOOD = recipe(
    "strategy: fsdp2",
    "dp_size: none",
    "dp_replicate_size: null",
    'tp_size: "2"',
    "cp_size: 1",
    "pp_size: 1",
    "ep_size:",
    "sequence_parallel: false",
    "activation_checkpointing: selective",
    "mp_policy: {param_dtype: bfloat16}",
    "offload_policy: null",
    "defer_fsdp_grad_sync: True",
    "reshard_after_forward: ${oc.env:RESHARD}",
    "enable_compile: false",
    "enable_fsdp2_prefetch: true",
    "fsdp2_backward_prefetch_depth: 2",
    "fsdp2_forward_prefetch_depth: 1",
    "multimodal: {frozen_sharding: root}",
    "pipeline: {pp_schedule: 1f1b}",
    "moe: {reshard_after_forward: false}",
)
MEGATRON = recipe(
    "strategy: megatron_fsdp", "zero_dp_strategy: 3", "tp_size: 2", "overlap_grad_reduce: true", "activation_checkpointing: full"
)
DDP = recipe("strategy: ddp", "tp_size: 1", "pp_size: none", "static_graph: true", "dp_replicate_size: 1")


@pytest.mark.parametrize("text", [GOOD, MEGATRON, DDP, MODEL + "compile:\n  enabled: true\n"])
def test_good_recipes_are_silent(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize(
    ("line", "told_of", "slice_"),
    [
        ("strategy: fsdp", ("error", "FSD004", "distributed.strategy"), "fsdp"),
        ("tp_sizes: 2", ("error", "FSD003", "distributed.tp_sizes"), "tp_sizes"),
        ("tp_size: two", ("error", "FSD004", "distributed.tp_size"), "two"),
        ("activation_checkpointing: some", ("error", "FSD004", "distributed.activation_checkpointing"), "some"),
        ("offload_policy: true", ("error", "FSD004", "distributed.offload_policy"), "true"),
        ("defer_fsdp_grad_sync: 'no'", ("error", "FSD004", "distributed.defer_fsdp_grad_sync"), "'no'"),
        ("static_graph: true", ("error", "NEM001", "distributed.static_graph"), "static_graph: true"),
        ("zero_dp_strategy: 3", ("error", "NEM001", "distributed.zero_dp_strategy"), "zero_dp_strategy: 3"),
        ("use_hf_tp_plan: false", ("error", "FSD403", "distributed.use_hf_tp_plan"), "use_hf_tp_plan"),
    ],
)
def test_faults_of_one_line(line: str, told_of: tuple[str, str, str], slice_: str) -> None:
    text = recipe(line)
    found = lint(text)
    assert told(found) == [told_of]
    assert marked(text, found[0]) == slice_


def test_sizes_that_a_strategy_cannot_do() -> None:
    assert told(lint(recipe("strategy: ddp", "tp_size: 2"))) == [("error", "NEM001", "distributed.tp_size")]
    assert told(lint(recipe("strategy: megatron_fsdp", "dp_replicate_size: 2"))) == [("error", "NEM001", "distributed.dp_replicate_size")]
    assert told(lint(recipe("strategy: megatron_fsdp", "sequence_parallel: false"), target=["nemo-automodel==0.4.0"])) == []


@pytest.mark.parametrize(
    ("name", "severity", "says"),
    [
        ("fsdp2.FSDP2Manager", "warning", "`strategy` decides"),
        ("megatron_fsdp.MegatronFSDPManager", "error", "without `strategy` it runs fsdp2"),
    ],
)
def test_class_of_old_releases_is_dropped(name: str, severity: str, says: str) -> None:
    text = recipe(f"_target_: nemo_automodel.components.distributed.{name}")
    (found,) = lint(text)
    assert (found.severity.word, found.code, found.key) == (severity, "FSD402", "distributed._target_")
    assert says in found.message
    assert lint(text, target=["nemo-automodel==0.2.0"]) == []
    assert lint(text + "  strategy: megatron_fsdp\n")[0].severity.word == "warning"


@pytest.mark.parametrize(
    ("line", "target", "told_of"),
    [
        ("strategy: fsdp2", "0.2.0", ("error", "FSD401", "distributed.strategy")),
        ("reshard_after_forward: true", "0.4.0", ("error", "FSD401", "distributed.reshard_after_forward")),
        ("backend: nccl", "0.5.0", ("error", "FSD403", "distributed.backend")),
        ("strategy: FSDP2", "0.4.0", ("error", "FSD004", "distributed.strategy")),
        ("activation_checkpointing: selective", "0.4.0", ("warning", "FSD004", "distributed.activation_checkpointing")),
    ],
)
def test_keys_and_values_over_releases(line: str, target: str, told_of: tuple[str, str, str]) -> None:
    assert told(lint(recipe(line), target=[f"nemo-automodel=={target}"])) == [told_of]


def test_placeholders_conclude_nothing() -> None:
    lines = ["strategy: ${S}", "tp_size: ${TP}", "sequence_parallel: ${SP}", "zero_dp_strategy: ${Z}", "activation_checkpointing: ???"]
    assert lint(recipe(*lines)) == []
