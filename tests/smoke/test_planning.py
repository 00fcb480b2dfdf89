"""From files to smoke plans; no torch is needed for that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fsdplint.errors import InputError, UsageError
from fsdplint.request import Request
from fsdplint.smoke.launches import SmokeOptions, plans_for, the_plan
from fsdplint.smoke.plan import ConfigPath, Setting

if TYPE_CHECKING:
    from pathlib import Path

FSDP2 = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 4
fsdp_config:
  fsdp_version: 2
  fsdp_sharding_strategy: SHARD_GRAD_OP
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer,LlamaMLP
  fsdp_offload_params: true
"""
TRAINER = "output_dir: out\nfsdp: full_shard auto_wrap\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-4\nbf16: true\n"
TARGET = ("accelerate==1.15.0", "transformers==5.24.0", "torch==2.13.0")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fsdp.yaml").write_text(FSDP2)
    (tmp_path / "train.yaml").write_text(TRAINER)
    return tmp_path


def request(*paths: str, **changes: object) -> Request:
    return Request(paths=paths, targets=TARGET, isolated=True)._replace(**changes)


def test_an_accelerate_file(here: Path) -> None:
    plan = the_plan(request("fsdp.yaml"), SmokeOptions(on="cpu", steps=6, model="twin"))
    assert (plan.dialect, plan.route, plan.loader, plan.device, plan.steps, plan.model) == (
        "accelerate",
        "accelerate",
        True,
        "cpu",
        6,
        "twin",
    )
    assert plan.files == (ConfigPath(str(here / "fsdp.yaml"), "fsdp.yaml", "accelerate"),)
    assert plan.cwd == str(here)
    assert plan.setting("offload") == Setting(True, True, True, "", "fsdp_config.fsdp_offload_params at fsdp.yaml:11:24")
    assert plan.value("wrap_classes") == ["LlamaDecoderLayer", "LlamaMLP"]
    assert (plan.value("wrap_policy"), plan.value("precision"), plan.value("processes")) == ("TRANSFORMER_BASED_WRAP", "bf16", 4)


@pytest.mark.usefixtures("here")
def test_what_is_written_and_what_runs_are_both_there() -> None:
    sharding = the_plan(request("fsdp.yaml"), SmokeOptions()).setting("sharding")
    assert (sharding.value, sharding.written, sharding.asked) == ("FULL_SHARD", "SHARD_GRAD_OP", True)
    assert sharding.because
    assert sharding.where == "fsdp_config.fsdp_sharding_strategy at fsdp.yaml:8:27"
    assert not sharding.holds


@pytest.mark.usefixtures("here")
def test_a_default_says_whose_it_is() -> None:
    state_dict = the_plan(request("fsdp.yaml"), SmokeOptions()).setting("state_dict")
    assert not state_dict.asked
    assert state_dict.where.startswith("default of ")


@pytest.mark.usefixtures("here")
def test_several_files_are_one_launch() -> None:
    plan = the_plan(request("fsdp.yaml", "train.yaml"), SmokeOptions())
    assert plan.dialect == "hf-trainer"
    assert [file.dialect for file in plan.files] == ["accelerate", "hf-trainer"]
    assert plan.route == "accelerate"


def test_a_loader_that_would_run_foreign_code_is_left_out(here: Path) -> None:
    (here / "axolotl.yaml").write_text("base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: a\n    type: alpaca\nadapter: qlora\n")
    plan = the_plan(request("fsdp.yaml", "axolotl.yaml"), SmokeOptions())
    assert (plan.dialect, plan.route, plan.loader) == ("axolotl", "accelerate", False)
    assert plan.skipped["load"].startswith("axolotl's loader imports the plugins")


@pytest.mark.usefixtures("here")
def test_the_launch_line_goes_along() -> None:
    line = "accelerate launch --config_file fsdp.yaml --num_processes 2 train.py"
    plan = the_plan(request("fsdp.yaml", launch=line), SmokeOptions())
    assert plan.command == line
    assert plan.value("processes") == 2


def test_two_launches_are_too_many(here: Path) -> None:
    (here / "other.yaml").write_text(FSDP2)
    line = "accelerate launch --config_file fsdp.yaml train.py"
    with pytest.raises(UsageError, match="several launches"):
        the_plan(request("fsdp.yaml", "other.yaml", launch=line), SmokeOptions())


def test_a_file_that_is_no_config(here: Path) -> None:
    (here / "data.yaml").write_text("name: x\n")
    with pytest.raises(InputError, match=r"data\.yaml: no training config"):
        plans_for(request("data.yaml"), SmokeOptions())


def test_versions_come_from_this_interpreter_unless_they_are_stated(here: Path) -> None:
    (here / "fsdp.yaml").write_text(FSDP2)
    plan = the_plan(Request(paths=("fsdp.yaml",), isolated=True), SmokeOptions())
    stated = the_plan(Request(paths=("fsdp.yaml",), isolated=True, python=sys.executable), SmokeOptions())
    assert plan.settings == stated.settings
