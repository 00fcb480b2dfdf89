"""Children end with everything below them, whatever they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsdplint.smoke import processes
from fsdplint.smoke.processes import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and sessions of Unix")

# A launcher as torchrun is one: its worker has a session of its own. Worker and launcher ignore SIGTERM where the test says so.
LAUNCHER = """
import signal, subprocess, sys, time
if "deaf" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = subprocess.Popen([sys.executable, "-c", WORKER, *sys.argv[1:]], start_new_session=True)
print(worker.pid, flush=True)
sys.exit(0) if "leave" in sys.argv else time.sleep(600)
"""
WORKER = """
import faulthandler, signal, sys, time
faulthandler.register(signal.SIGUSR1)
if "deaf" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def launcher(tmp_path: Path) -> list[str]:
    script = tmp_path / "launcher.py"
    script.write_text(f"WORKER = {WORKER!r}\n{LAUNCHER}")
    # The worker names the folder, as a rank names its plan.
    return [sys.executable, str(script), str(tmp_path)]


def left(folder: Path) -> list[int]:
    return [process.pid for process in processes._processes() if str(folder) in process.command and process.state[:1] != "Z"]


def wait_until_ready(folder: Path) -> bool:
    return "ready" in (folder / "log").read_text()


def test_a_child_that_ends(tmp_path: Path) -> None:
    ended = run(
        [sys.executable, "-c", "print('here'); raise SystemExit(3)"], env=os.environ, folder=tmp_path, log=tmp_path / "log", seconds=30
    )
    assert ended == processes.Ended(3)
    assert (tmp_path / "log").read_text() == "here\n"


@pytest.mark.parametrize("how", [[], ["deaf"]])
def test_the_deadline_ends_the_whole_tree(tmp_path: Path, launcher: list[str], how: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.5)
    ended = run([*launcher, *how], env=os.environ, folder=tmp_path, log=tmp_path / "log", seconds=2)
    assert ended.timed_out
    assert wait_until_ready(tmp_path)
    assert left(tmp_path) == []


def test_a_worker_that_outlives_its_launcher(tmp_path: Path, launcher: list[str]) -> None:
    ended = run([*launcher, "leave"], env=os.environ, folder=tmp_path, log=tmp_path / "log", seconds=30)
    assert ended == processes.Ended(0)
    assert left(tmp_path) == []


def test_the_watch_ends_it(tmp_path: Path, launcher: list[str]) -> None:
    start = time.monotonic()
    ended = run(launcher, env=os.environ, folder=tmp_path, log=tmp_path / "log", seconds=60, watch=lambda: wait_until_ready(tmp_path))
    assert ended.stopped
    assert time.monotonic() - start < 30
    assert left(tmp_path) == []


def test_hanging_ranks_say_where(tmp_path: Path, launcher: list[str]) -> None:
    def workers() -> list[int]:
        return [int((tmp_path / "log").read_text().split()[0])]

    run(launcher, env=os.environ, folder=tmp_path, log=tmp_path / "log", seconds=2, ranks=workers)
    assert 'File "<string>", line 6 in <module>' in (tmp_path / "log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_parent_leaves_nothing(tmp_path: Path, launcher: list[str], number: signal.Signals) -> None:
    parent = tmp_path / "parent.py"
    arguments = f"{launcher!r}, env=os.environ, folder=Path({str(tmp_path)!r}), log=Path({str(tmp_path / 'log')!r}), seconds=60"
    lines = ["import os", "from pathlib import Path", "from fsdplint.smoke.processes import ended_by_signals, run"]
    parent.write_text("\n".join([*lines, "with ended_by_signals():", f"    run({arguments})", ""]))
    env = {**os.environ, "PYTHONPATH": str(Path(processes.__file__).parents[2])}
    child = subprocess.Popen([sys.executable, str(parent)], env=env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not ((tmp_path / "log").exists() and wait_until_ready(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(number)
    assert child.wait(60) != 0
    assert left(tmp_path) == []
