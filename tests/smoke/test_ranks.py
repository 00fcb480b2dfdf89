"""What ranks have told, and why some have told nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.outcome import State
from fsdplint.smoke.post_mortem import post_mortem
from fsdplint.smoke.processes import Ended
from fsdplint.smoke.ranks import read_results

if TYPE_CHECKING:
    from pathlib import Path

TORCHRUN = """W torch/distributed/elastic: Sending process 655 closing signal SIGTERM
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 655)
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_00:00:00
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 654)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ranks = tmp_path / "wrap"
    ranks.mkdir()
    return ranks


def write(folder: Path, rank: int, *events: dict[str, Any], tail: str = "") -> None:
    lines = [json.dumps({"time": 1.0, **event}) for event in ({"event": "here", "pid": 100 + rank}, *events)]
    (folder / f"rank-{rank}.jsonl").write_text("\n".join([*lines, tail]))


STARTED = {"event": "started", "stage": "wrap"}


def raised(time: float, text: str, stage: str = "wrap") -> dict[str, Any]:
    return {
        "event": "failed",
        "stage": stage,
        "time": time,
        "type": "ValueError",
        "message": text,
        "traceback": f"Traceback\nValueError: {text}",
        "unproved": False,
    }


def test_events_are_gathered(folder: Path) -> None:
    write(folder, 0, STARTED, {"event": "done", "stage": "wrap", "facts": {"n": 1}, "seconds": 2.0}, tail='{"event": "sta')
    write(folder, 1, STARTED, {"event": "done", "stage": "wrap", "facts": {"n": 2}, "seconds": 3.0})
    told = read_results(folder)
    assert told.facts == {"wrap": {0: {"n": 1}, 1: {"n": 2}}}
    assert told.seconds == {"wrap": 3.0}
    assert told.pids == {0: 100, 1: 101}
    assert told.started == {"wrap": {0, 1}}
    assert told.first_failure is None


def test_the_first_death_is_told_not_its_echo(folder: Path) -> None:
    write(folder, 0, STARTED, raised(7.5, "connection closed by peer"))
    write(folder, 1, STARTED, raised(7.0, "no such layer"))
    found = post_mortem("wrap", read_results(folder), Ended(1), 2, folder, 60)
    assert found.state is State.FAILED
    assert found.reasons == ("rank 1: ValueError: no such layer",)
    assert found.log == "Traceback\nValueError: no such layer"


def test_a_long_message_is_cut_in_the_table_and_whole_in_the_log(folder: Path) -> None:
    write(folder, 0, STARTED, raised(7.0, "x" * 400))
    found = post_mortem("wrap", read_results(folder), Ended(1), 2, folder, 60)
    assert found.reasons == (f"rank 0: ValueError: {'x' * 300} ...",)
    assert "x" * 400 in found.log


def test_a_later_stage_is_skipped(folder: Path) -> None:
    write(folder, 0, STARTED, raised(7.0, "no such layer"))
    found = post_mortem("steps", read_results(folder), Ended(1), 2, folder, 60)
    assert (found.state, found.reasons) == (State.SKIPPED, ("wrap failed",))


@pytest.mark.parametrize(
    ("code", "said"),
    [(-11, "rank 1 was ended by SIGSEGV"), (-9, "rank 1 was ended by SIGKILL"), (3, "rank 1 ended with exit code 3 and told nothing")],
)
def test_a_silent_death(folder: Path, code: int, said: str) -> None:
    write(folder, 0, STARTED)
    write(folder, 1, STARTED)
    (folder / "launcher.log").write_text(TORCHRUN.format(code=code))
    (folder / "rank-1.log").write_text("Fatal Python error: Segmentation fault\n")
    found = post_mortem("wrap", read_results(folder), Ended(1), 2, folder, 60)
    assert found.reasons == (said,)
    assert found.log == "Fatal Python error: Segmentation fault"


def test_a_launcher_that_dies_before_its_ranks(folder: Path) -> None:
    (folder / "launcher.log").write_text("ImportError: libcuda.so.1\n")
    found = post_mortem("wrap", read_results(folder), Ended(1), 2, folder, 60)
    assert found.reasons == ("no result from rank 0, 1; the launcher ended with 1",)
    assert found.log == "ImportError: libcuda.so.1"


def test_a_hang_shows_the_rank_that_does_not_merely_wait(folder: Path) -> None:
    write(folder, 0, STARTED)
    write(folder, 1, STARTED)
    (folder / "rank-0.log").write_text('Current thread 0x1 (most recent call first):\n  File "torch/distributed/x.py", line 1 in wait\n')
    (folder / "rank-1.log").write_text('noise\nCurrent thread 0x1 (most recent call first):\n  File "data.py", line 7 in read\n')
    found = post_mortem("wrap", read_results(folder), Ended(-15, timed_out=True), 2, folder, 60)
    assert found.reasons == ("it did not end within 60 s: rank 0, 1 still ran",)
    assert [line for line in found.log.splitlines() if line.startswith("rank")] == ["rank 1:", "rank 0:"]
    assert "noise" not in found.log


def test_a_missing_twin_proves_nothing(folder: Path) -> None:
    write(folder, 0, STARTED, {**raised(1.0, "no twin: nothing names a family"), "unproved": True})
    found = post_mortem("wrap", read_results(folder), Ended(1), 2, folder, 60)
    assert (found.state, found.reasons) == (State.NOT_PROVED, ("no twin: nothing names a family",))
