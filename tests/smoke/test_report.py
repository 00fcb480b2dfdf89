"""The report as text and as JSON, and the verdict on the whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.outcome import Report, State, Verdict, failed, skipped
from fsdplint.smoke.plan import ConfigPath
from fsdplint.smoke.report import as_json, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED = {stage: Verdict(stage, State.PASSED, (), f"{stage} seen", {"n": 1}, 1.25) for stage in ("load", "wrap", "steps", "checkpoint")}


def report(plan: Any, **changes: Verdict) -> Report:
    verdicts = {**PASSED, "compile": skipped("compile", "the plan does not compile"), **changes}
    return Report(plan, tuple(verdicts.values()), {"torch": "2.13.0"}, 12.5)


@pytest.mark.parametrize(
    ("changes", "state", "code"),
    [
        ({}, State.PASSED, 0),
        ({"load": skipped("load", "no loader")}, State.PASSED, 0),
        ({"checkpoint": failed("checkpoint", "lost")}, State.FAILED, 1),
        ({"wrap": Verdict("wrap", State.NOT_PROVED, ("alone",))}, State.NOT_PROVED, 1),
        ({"wrap": Verdict("wrap", State.NOT_PROVED, ("alone",)), "steps": failed("steps", "nan")}, State.FAILED, 1),
        ({"wrap": skipped("wrap", "x"), "steps": skipped("steps", "x")}, State.NOT_PROVED, 1),
    ],
)
def test_the_whole(make_plan: Callable[..., Any], changes: dict[str, Verdict], state: State, code: int) -> None:
    found = report(make_plan(), **changes)
    assert (found.state, found.exit_code) == (state, code)


def test_text(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(files=(ConfigPath("/x/a.yaml", "a.yaml", "accelerate"),)).without("NCCL", "a CPU run communicates through gloo")
    broken = failed("checkpoint", "rank 1: OSError: disk full", log="Traceback\n  File x\nOSError: disk full")
    assert as_text(report(plan, checkpoint=broken)) == (
        "smoke test of a.yaml (accelerate): 2 ranks on cpu, builtin model, torch 2.13.0\n"
        "\n"
        "  load       ok           1.2 s  load seen\n"
        "  wrap       ok           1.2 s  wrap seen\n"
        "  steps      ok           1.2 s  steps seen\n"
        "  checkpoint FAILED              rank 1: OSError: disk full\n"
        "  compile    skipped             the plan does not compile\n"
        "\n"
        "checkpoint:\n"
        "  Traceback\n"
        "    File x\n"
        "  OSError: disk full\n"
        "\n"
        "not exercised:\n"
        "  NCCL: a CPU run communicates through gloo\n"
        "\n"
        "failed in 12.5 s\n"
    )


def test_json(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(files=(ConfigPath("/x/a.yaml", "a.yaml", "accelerate"),)).without("NCCL", "gloo ran")
    data = json.loads(as_json(report(plan)))
    stages = data.pop("stages")
    assert data.pop("fsdplint")
    assert data == {
        "version": 1,
        "result": "passed",
        "dialect": "accelerate",
        "files": [{"path": "a.yaml", "dialect": "accelerate"}],
        "on": "cpu",
        "processes": 2,
        "route": "torch",
        "model": "builtin",
        "versions": {"torch": "2.13.0"},
        "seconds": 12.5,
        "not_exercised": [{"what": "NCCL", "why": "gloo ran"}],
    }
    assert [stage["state"] for stage in stages] == ["passed"] * 4 + ["skipped"]
    assert stages[1] == {
        "stage": "wrap",
        "state": "passed",
        "reasons": [],
        "seen": "wrap seen",
        "seconds": 1.25,
        "facts": {"n": 1},
        "log": "",
    }
    assert stages[4]["reasons"] == ["the plan does not compile"]
