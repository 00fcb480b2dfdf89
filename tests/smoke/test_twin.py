"""The twin: a small random copy of the family that a config names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from fsdplint.smoke.outcome import State  # noqa: E402
from fsdplint.smoke.run import smoke  # noqa: E402
from fsdplint.smoke.worker.builtin import SMALL  # noqa: E402
from fsdplint.smoke.worker.model import batch, build, loss_of  # noqa: E402
from fsdplint.smoke.worker.twin import Family, NoTwin, family_of, twin  # noqa: E402


@pytest.mark.parametrize(
    ("model", "layer", "family"),
    [
        (None, "LlamaDecoderLayer", Family("llama", "layer")),
        (None, "Qwen3MoeDecoderLayer", Family("qwen3_moe", "layer")),
        (None, "GPT2Block", Family("gpt2", "layer")),
        (None, "Gemma3DecoderLayer", Family("gemma3_text", "layer")),
        (None, "LlamaDecodrLayer", Family("llama", "layer")),
        (None, "MyOwnBlock", None),
        ("Qwen/Qwen2.5-7B-Instruct", "LlamaDecoderLayer", Family("qwen2", "name")),
        ("meta-llama/Llama-3.1-8B", None, Family("llama", "name")),
        ("meta-llama/Llama-4-Scout-17B", None, Family("llama4", "name")),
        ("EleutherAI/pythia-1b", None, Family("gpt_neox", "name")),
        ("microsoft/Phi-3.5-MoE-instruct", "PhimoeDecoderLayer", Family("phimoe", "layer")),
        ("my-org/something-new", "MistralDecoderLayer", Family("mistral", "layer")),
    ],
)
def test_the_family(make_plan: Callable[..., Any], model: str | None, layer: str | None, family: Family | None) -> None:
    plan = make_plan(model="twin", wrap_classes=[layer] if layer else None)
    assert family_of(plan.running(model=model)) == family


def test_a_folder_says_its_own_family(make_plan: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "llama-lookalike").mkdir()
    (tmp_path / "llama-lookalike" / "config.json").write_text(
        json.dumps({"model_type": "mistral", "auto_map": {"AutoConfig": "evil.Config"}})
    )
    plan = make_plan(model="twin", cwd=str(tmp_path)).running(model="./llama-lookalike")
    assert family_of(plan) == Family("mistral", "config")


@pytest.mark.parametrize("layer", ["LlamaDecoderLayer", "Qwen3MoeDecoderLayer", "GPT2Block", "T5Block", "DeepseekV3DecoderLayer"])
def test_a_twin_has_the_layer_and_learns(make_plan: Callable[..., Any], layer: str) -> None:
    plan = make_plan(model="twin", wrap_classes=[layer])
    built = build(plan)
    assert built.blocks[0] == layer
    assert built.parameters < 1_000_000
    optimizer = torch.optim.AdamW(built.module.parameters(), lr=built.size.rate)
    ids = batch(plan, built.size, 1, torch.device("cpu"))
    losses = []
    for _ in range(4):
        loss = loss_of(built.module, ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


def test_the_same_twin_on_every_rank(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(model="twin", wrap_classes=["LlamaDecoderLayer"])
    one, other = (dict(build(plan).module.named_parameters()) for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_text_part_of_a_larger_model_leaves_doubt(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(model="twin", wrap_classes=["SiglipEncoderLayer"]).running(model="google/gemma-3-4b-it")
    assert twin(plan, SMALL).doubtful == ("SiglipEncoderLayer",)


def test_no_family_no_twin(make_plan: Callable[..., Any]) -> None:
    with pytest.raises(NoTwin, match=r"neither the model .* nor MyOwnBlock names a family"):
        twin(make_plan(model="twin", wrap_classes=["MyOwnBlock"]), SMALL)


@pytest.mark.usefixtures("no_process_left")
def test_a_wrong_layer_class_fails(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(model="twin", wrap_classes=["LlamaDecoderLayer"])
    plan = plan.running(model="Qwen/Qwen2.5-7B-Instruct")
    report = smoke(plan)
    wrap = report.verdicts[1]
    assert (wrap.stage, wrap.state) == ("wrap", State.FAILED)
    assert wrap.reasons == ("the model has no layer of class LlamaDecoderLayer: it has Qwen2DecoderLayer",)


@pytest.mark.usefixtures("no_process_left")
def test_a_twin_that_does_not_exist_proves_nothing(make_plan: Callable[..., Any]) -> None:
    report = smoke(make_plan(model="twin", wrap_classes=["MyOwnBlock"]))
    assert [(v.stage, v.state.value) for v in report.verdicts] == [
        ("load", "skipped"),
        ("wrap", "not proved"),
        ("steps", "skipped"),
        ("checkpoint", "skipped"),
        ("compile", "skipped"),
    ]
    assert report.state is State.NOT_PROVED
    assert report.exit_code == 1
