"""``fsdplint run``: the launch is checked, then the process becomes the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from console import CLEAN, FOREIGN, TWICE, run, write

import fsdplint
from fsdplint import run_command

ROOT = Path(fsdplint.__file__).parents[1]
LAUNCH = ("accelerate", "launch", "--config_file", "acc.yaml")
CLASH = (*LAUNCH, "--use_fsdp", "--multi_gpu", "train.py")
"""A launch that accelerate refuses: ACC201."""

FAKE = """\
import json, os, sys, time
with open("ran.json", "w") as file:
    json.dump({"pid": os.getpid(), "arguments": sys.argv[1:], "stdin": sys.stdin.read() if "--read" in sys.argv else ""}, file)
if "--wait" in sys.argv:
    time.sleep(60)
sys.exit(7)
"""
posix = pytest.mark.skipif(os.name == "nt", reason="there is no exec")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_PROCID", raising=False)
    write(tmp_path, acc_yaml=CLEAN, fake_py=FAKE)
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were started, which here ends with exit code 0."""
    found: list[list[str]] = []

    def become(command: tuple[str, ...]) -> None:
        found.append(list(command))

    monkeypatch.setattr(run_command, "become", become)
    return found


def process(folder: Path, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """A process of its own that runs ``fsdplint run``."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "rules"), *sys.path[1:]])
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "fsdplint", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def ran(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "ran.json").read_text())
    return found


def test_the_command_gets_arguments_stdin_and_gives_its_exit_code(folder: Path) -> None:
    child = process(folder, "--", sys.executable, "fake.py", "--read", "a b", "$X", "--help")
    out, err = child.communicate("data")
    assert (child.returncode, out, err) == (7, "", "")
    assert ran(folder)["arguments"] == ["--read", "a b", "$X", "--help"]
    assert ran(folder)["stdin"] == "data"
    if os.name != "nt":
        assert ran(folder)["pid"] == child.pid


@posix
def test_signals_reach_the_command_itself(folder: Path) -> None:
    child = process(folder, "--", sys.executable, "-c", "print('up', flush=True); import time; time.sleep(60)")
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == -signal.SIGTERM


def test_an_error_stops_it(started: list[list[str]]) -> None:
    ended = run("run", "--", *CLASH)
    assert (ended.code, ended.out, started) == (1, "", [])
    assert ended.err.startswith("<launch>:1:53: error[ACC201] launch-kinds-clash\n")
    assert ended.err.endswith("fsdplint: accelerate was not started: 2 errors; --anyway starts it\n")


def test_anyway_starts_it_and_says_the_same(started: list[list[str]]) -> None:
    ended = run("run", "--anyway", "--", *CLASH)
    assert (ended.code, started) == (0, [list(CLASH)])
    assert "error[ACC201]" in ended.err
    assert "not started" not in ended.err


def test_a_clean_launch_says_nothing(started: list[list[str]]) -> None:
    assert run("run", "--", *LAUNCH, "train.py") == (0, "", "")
    assert started == [[*LAUNCH, "train.py"]]


def test_a_warning_is_said_and_does_not_stop_it(folder: Path, started: list[list[str]]) -> None:
    write(folder, acc_yaml=TWICE)
    ended = run("run", "--", *LAUNCH, "train.py")
    assert (ended.code, len(started)) == (0, 1)
    assert ended.err.startswith("acc.yaml:4:1: warning[FSD002]")


def test_flags_count_without_any_file(started: list[list[str]]) -> None:
    ended = run("run", "--", "accelerate", "launch", "--use_fsdp", "--multi_gpu", "train.py")
    assert (ended.code, started) == (1, [])
    assert ended.err.startswith("<launch>:1:30: error[ACC201]")


def test_an_accelerate_file_that_is_not_there(started: list[list[str]]) -> None:
    ended = run("run", "--", "accelerate", "launch", "--config_file", "nowhere.yaml", "train.py")
    assert (ended.code, started) == (1, [])
    assert "<launch>:1:33: error[FSD007] missing-key\n  `nowhere.yaml` is not there\n" in ended.err


def test_a_file_that_may_be_written_need_not_be_there(started: list[list[str]]) -> None:
    command = [*LAUNCH, "train.py", "--results", "out.json"]
    assert run("run", "--", *command) == (0, "", "")
    assert started == [command]


@pytest.mark.parametrize("command", [["true"], ["python", "train.py", "other.yaml"], ["torchrun", "--nproc_per_node=8", "train.py"]])
def test_what_is_unknown_is_run(folder: Path, started: list[list[str]], command: list[str]) -> None:
    write(folder, other_yaml=FOREIGN)
    assert run("run", "--", *command) == (0, "", "")
    assert started == [command]


def test_the_two_dashes_may_be_left_out(started: list[list[str]]) -> None:
    assert run("run", "-v", "--target", "accelerate==1.6.0", *LAUNCH, "train.py", "-v").err.startswith(
        "target accelerate==1.6.0 (--target)\n"
    )
    assert started == [[*LAUNCH, "train.py", "-v"]]


def test_only_the_first_task_of_slurm_speaks(monkeypatch: pytest.MonkeyPatch, started: list[list[str]]) -> None:
    monkeypatch.setenv("SLURM_PROCID", "3")
    assert run("run", "--", *CLASH) == (1, "", "")
    assert started == []


@pytest.mark.parametrize("arguments", [[], ["--"], ["--anyway"], ["--bogus", "--", "true"], ["--gpus", "0", "--", "true"]])
def test_wrong_usage(started: list[list[str]], arguments: list[str]) -> None:
    ended = run("run", *arguments)
    assert (ended.code, ended.out, started) == (2, "", [])
    assert ended.err


def test_quiet(started: list[list[str]]) -> None:
    assert run("run", "-qq", "--", *CLASH) == (1, "", "")
    assert started == []


def test_selection_and_settings_hold(folder: Path, started: list[list[str]]) -> None:
    write(folder, fsdplint_toml='ignore = ["ACC201"]\n')
    assert run("run", "--ignore", "FSD102,FSD108", "--", *CLASH) == (0, "", "")
    assert started == [list(CLASH)]


@posix
def test_a_command_that_is_not_there() -> None:
    ended = run("run", "--", "no-such-command")
    assert (ended.code, ended.out) == (127, "")
    assert ended.err == "fsdplint: no-such-command: No such file or directory\n"


@posix
def test_a_command_that_cannot_be_executed() -> None:
    ended = run("run", "--", "./fake.py")
    assert (ended.code, ended.err) == (126, "fsdplint: ./fake.py: Permission denied\n")
