"""Shell commands within YAML files of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console import CLEAN, check, write

from fsdplint.document import parse
from fsdplint.scripts.blocks import blocks
from fsdplint.scripts.lines import lines

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOW = """\
on: push
jobs:
  train:
    runs-on: [self-hosted, gpu]
    steps:
      - uses: actions/checkout@v4
      - name: Train  # accelerate launch --no
        run: |
          cat <<EOF > note
          it's
          EOF
          N=8
          accelerate launch --use_fsdp \\
            --multi_gpu --num_processes $N --main_process_port ${{ inputs.port }} train.py
      - run: torchrun --nproc_per_node 2 train.py a.yaml
"""
SKY = """\
resources:
  accelerators: H100:8
num_nodes: 2
setup: pip install accelerate
run: >-
  accelerate launch
  --use_fsdp --multi_gpu
  --machine_rank $SKYPILOT_NODE_RANK
  train.py
"""
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: train
      image: x
      command: ["accelerate", "launch"]
      args:
        - --use_fsdp
        - --multi_gpu   # the other one
        - --num_machines=$(NODES)
        - 'train.py'
"""
SHELL_POD = """\
kind: Pod
spec:
  containers:
    - command:
        - bash
        - -c
        - |
          set -e
          accelerate launch --use_fsdp --multi_gpu train.py
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(text: str) -> list[str]:
    return [line.text for block in blocks(parse(text, "a.yaml")) for line in lines(block)]


def test_blocks_keep_all_places() -> None:
    for text in (WORKFLOW, SKY, POD, SHELL_POD):
        assert {len(block) for block in blocks(parse(text, "a.yaml"))} == {len(text)}


def test_a_workflow() -> None:
    assert texts(WORKFLOW) == [
        "accelerate launch --use_fsdp --multi_gpu --num_processes 8 --main_process_port '${_}}' train.py",
        "torchrun --nproc_per_node 2 train.py a.yaml",
    ]


def test_skypilot() -> None:
    assert texts(SKY) == ["accelerate launch --use_fsdp --multi_gpu --machine_rank '${SKYPILOT_NODE_RANK}' train.py"]


def test_kubernetes() -> None:
    assert texts(POD) == ["accelerate launch --use_fsdp --multi_gpu '--num_machines=${NODES}' train.py"]
    assert texts(SHELL_POD) == ["accelerate launch --use_fsdp --multi_gpu train.py"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("script:\n  - N=2\n  - torchrun --nproc_per_node $N a.py\n", ["torchrun --nproc_per_node 2 a.py"]),
        ("command: torchrun a.py\n", ["torchrun a.py"]),
        ("run: \"torchrun 'a b.py'\"\n", ["torchrun 'a b.py'"]),
        ('command: ["bash", "-c", "cd x && torchrun a.py"]\n', ["torchrun a.py"]),
        ('run: "torchrun \\x61.py"\n', []),
        ("run: torchrun\n  a.py\n", []),
        ("args: [a.py]\ncommand: [torchrun]\n", []),
        ("command: [torchrun, {a: b}]\n", []),
        ("command: [torchrun, a b]\n", []),
        ("run: torchrun 'a.py\n", None),
        ("name: torchrun a.py\n", []),
        ("run: 5\n", []),
    ],
)
def test_other_shapes(text: str, found: list[str] | None) -> None:
    if found is None:
        write_and_check = check("-", "--stdin-filename", "a.yaml", stdin=text)
        assert write_and_check.statuses == {"a.yaml": "skipped"}
    else:
        assert texts(text) == found


@pytest.mark.parametrize(
    ("path", "text", "line", "column"),
    [
        (".github/workflows/ci.yml", WORKFLOW, 14, 13),
        ("sky.yaml", SKY, 7, 14),
        ("pod.yaml", POD, 10, 11),
        ("shell.yaml", SHELL_POD, 9, 40),
    ],
)
def test_findings_stand_in_the_yaml_file(folder: Path, path: str, text: str, line: int, column: int) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    ran = check(".")
    found = [(d["code"], d["path"], d["range"]["start"]["line"], d["range"]["start"]["column"]) for d in ran.json["diagnostics"]]
    assert ("ACC201", path, line, column) in found
    assert ran.statuses == {path: "checked"}
    (clash,) = [d for d in ran.json["diagnostics"] if d["code"] == "ACC201"]
    assert text[clash["range"]["start"]["offset"] : clash["range"]["end"]["offset"]] == "--multi_gpu"


def test_files_that_a_block_names_join_the_launch(folder: Path) -> None:
    write(folder, acc_yaml=CLEAN, sky_yaml=SKY.replace("--use_fsdp", "--config_file acc.yaml"))
    assert {(d["code"], d["path"]) for d in check(".").json["diagnostics"]} >= {("FSD102", "acc.yaml")}


def test_comments_within_a_block_count(folder: Path) -> None:
    above = "          # fsdplint: ignore[ACC201] known\n          accelerate launch"
    write(folder, ci_yaml=WORKFLOW.replace("          accelerate launch", above, 1))
    assert "ACC201" not in [d["code"] for d in check("ci.yaml").json["diagnostics"]]
    assert check("ci.yaml").json["summary"]["suppressed"] > 0


def test_a_training_config_is_no_script(folder: Path) -> None:
    write(folder, acc_yaml=CLEAN + "run: accelerate launch --use_fsdp --multi_gpu train.py\n")
    assert [d["code"] for d in check("acc.yaml").json["diagnostics"]] == ["FSD003"]
