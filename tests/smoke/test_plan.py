"""The plan as JSON, and what it says of its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.plan import ConfigPath, Setting, SmokePlan, Unexercised

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_plan_comes_back_from_its_json(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(
        files=(ConfigPath("/a/b.yaml", "b.yaml", "accelerate"),),
        wrap_classes=["A", "B"],
        sharding=Setting("FULL_SHARD", "SHARD_GRAD_OP", True, "it is not read", "b.yaml:3:4"),
        command="accelerate launch train.py",
    ).without("this", "that")
    assert SmokePlan.loads(plan.dumps()) == plan
    assert plan.unexercised == (Unexercised("this", "that"),)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"version": 2}', '{"version": 1}', '{"version": 1, "files": [], "settings": {}, "colour": 3}']
)
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a smoke plan"):
        SmokePlan.loads(text)


def test_the_json_names_its_version(make_plan: Callable[..., Any]) -> None:
    assert json.loads(make_plan().dumps())["version"] == 1


@pytest.mark.parametrize(
    ("setting", "holds"),
    [
        (Setting(), True),
        (Setting("A", "A", True), True),
        (Setting("A", "B", True), False),
        (Setting("A", "B", False), True),
        (Setting(False, True, True), False),
        (Setting(None, None, True), True),
        (Setting(["b", "a"], ["a", "b"], True), True),
        (Setting(["a", " b"], ["a", "b"], True), False),
    ],
)
def test_whether_what_is_asked_for_runs(setting: Setting, holds: bool) -> None:
    assert setting.holds is holds


def test_running_changes_what_runs_and_not_what_is_written(make_plan: Callable[..., Any]) -> None:
    plan = make_plan(sharding=Setting("SHARD_GRAD_OP", "SHARD_GRAD_OP", True, "", "a.yaml:1:1")).running(sharding="FULL_SHARD")
    assert plan.setting("sharding") == Setting("FULL_SHARD", "SHARD_GRAD_OP", True, "", "a.yaml:1:1")
    assert not plan.setting("sharding").holds


def test_the_last_file_of_a_dialect_counts(make_plan: Callable[..., Any]) -> None:
    one, two, three = (ConfigPath(f"/{n}", n, dialect) for n, dialect in (("a", "accelerate"), ("b", "trl"), ("c", "accelerate")))
    plan = make_plan(files=(one, two, three))
    assert plan.file_of("accelerate") == three
    assert plan.file_of("hf-trainer", "trl") == two
    assert plan.file_of("axolotl") is None
