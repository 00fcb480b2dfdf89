"""explain: the resolved plan of a launch, and where each decision comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from console import CLEAN, FOREIGN, run, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(*args: str) -> dict[str, Any]:
    """The only launch that is explained, its decisions by name."""
    report = run("explain", "--isolated", "--format", "json", *args).json
    (launch,) = report["launches"]
    assert report["version"] == 1
    return {**launch, "decisions": {decision["name"]: decision for decision in launch["decisions"]}}


def test_written_decisions_have_their_place_and_others_their_source(folder: Path) -> None:
    write(folder, a_yaml=CLEAN)
    launch = explained("a.yaml", "--target", "accelerate==1.15.0", "--device", "cuda")
    assert (launch["files"], launch["dialect"]) == ([{"path": "a.yaml", "dialect": "accelerate"}], "accelerate")
    assert (launch["device"], launch["command"]) == ("cuda", None)
    assert launch["target"]["accelerate"] == {"specifier": "==1.15.0", "source": "--target"}
    version, state = launch["decisions"]["fsdp_version"], launch["decisions"]["offload"]
    assert (version["value"], version["path"], version["line"], version["key"]) == (2, "a.yaml", 7, "fsdp_config.fsdp_version")
    assert (version["written"], version["because"], version["unknown"]) == (None, "", False)
    assert (state["value"], state["path"], state["line"], state["source"]) == (False, None, None, "default of accelerate 1.15.0")
    assert launch["decisions"]["precision"]["value"] == "bf16"


def test_what_does_not_run_as_written_says_so(folder: Path) -> None:
    text = CLEAN.replace("fsdp_version: 2", "fsdp_version: 1")
    text = text.replace("fsdp_reshard_after_forward: true", "fsdp_sharding_strategy: NO_SHARD")
    write(folder, a_yaml=text.replace("fsdp_version: 1", "fsdp_version: 2"))
    sharding = explained("a.yaml")["decisions"]["sharding"]
    assert sharding["value"] == "FULL_SHARD"
    write(folder, a_yaml=text)
    assert explained("a.yaml")["decisions"]["sharding"]["value"] == "NO_SHARD"


def test_the_text_is_a_table(folder: Path) -> None:
    write(folder, a_yaml=CLEAN)
    lines = run("explain", "--isolated", "a.yaml", "--target", "accelerate==1.15.0", "--target", "torch==2.13.0").lines
    assert lines[:3] == ["a.yaml: accelerate", "for accelerate 1.15.0 (--target), torch 2.13.0 (--target); device: not stated", ""]
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[3:]}
    assert rows["fsdp_version"].split(maxsplit=1) == ["2", "a.yaml:7"]
    assert rows["offload"].split(maxsplit=1) == ["no", "default of accelerate 1.15.0"]
    assert len({line.index(rows["fsdp_version"].split()[0]) for line in lines if line.startswith("fsdp_version")}) == 1


def test_a_placeholder_is_not_known(folder: Path) -> None:
    write(folder, a_yaml=CLEAN.replace("num_processes: 8", "num_processes: ${GPUS}"))
    processes = explained("a.yaml")["decisions"]["processes"]
    assert (processes["value"], processes["unknown"]) == (None, True)
    assert any(line.startswith("processes") and "placeholder" in line for line in run("explain", "a.yaml").lines)


def test_gpus_fill_in_the_world_size(folder: Path) -> None:
    write(folder, a_yaml=CLEAN.replace("num_processes: 8\n", ""))
    processes = explained("a.yaml", "--gpus", "4")["decisions"]["processes"]
    assert (processes["value"], processes["source"]) == (4, "--gpus")


def test_an_interval_shows_what_other_releases_do(folder: Path) -> None:
    training = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.001\nfsdp: full_shard\n"
    write(folder, a_yaml=training)
    version = explained("a.yaml", "--target", "transformers>=5.8,<=5.12")["decisions"]["fsdp_version"]
    assert version["value"] == 2
    assert [other["value"] for other in version["otherwise"]] == [1]
    assert version["otherwise"][0]["versions"].startswith("transformers 5.8.")
    (row,) = [line for line in run("explain", "a.yaml", "--target", "transformers>=5.8,<=5.12").lines if line.startswith("fsdp_version")]
    assert f"1 with {version['otherwise'][0]['versions']}" in row


def test_rivals_of_a_launch_are_named(folder: Path) -> None:
    training = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.001\nfp16: true\n"
    write(folder, acc_yaml=CLEAN, train_yaml=training)
    precision = explained("--together", "acc.yaml", "train.yaml")["decisions"]["precision"]
    assert (precision["value"], precision["path"]) == ("fp16", "train.yaml")
    assert precision["rivals"] == [{"path": "acc.yaml", "line": 3, "value": "bf16"}]
    assert "beats bf16 at acc.yaml:3" in run("explain", "--together", "acc.yaml", "train.yaml").out


def test_files_that_cannot_be_explained(folder: Path) -> None:
    write(folder, a_yaml=FOREIGN)
    assert run("explain", "a.yaml") == (2, "", "fsdplint: a.yaml: no training config that is known\n")
    assert run("explain", "nowhere.yaml") == (2, "", "fsdplint: nowhere.yaml: No such file or directory\n")
    assert run("explain").code == 2
