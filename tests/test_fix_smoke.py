"""``fix --smoke``: what was written stays only where the smoke test passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console import run, write

from fsdplint.smoke.outcome import Report

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU  # kept\nnum_machines: 1\nnum_processes: 2\n"
ARGUMENTS = ("fix", "--isolated", "--preset", "full_shard", "--smoke", "--on", "cpu", "a.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a_yaml=PLAIN)
    return tmp_path


def ending(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Let the smoke test end with an exit code, without running one."""
    monkeypatch.setattr("fsdplint.smoke.report.as_text", lambda _: f"smoke ended with {code}\n")
    monkeypatch.setattr(Report, "exit_code", property(lambda _: code))
    monkeypatch.setattr("fsdplint.smoke.smoke_launch", lambda *_: Report.__new__(Report, *([None] * len(Report._fields))), raising=False)


def test_a_rewrite_that_passes_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, 0)
    assert run(*ARGUMENTS).code == 0
    text = (folder / "a.yaml").read_text()
    assert "distributed_type: FSDP  # kept" in text


def test_a_rewrite_that_fails_is_undone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, 1)
    ran = run(*ARGUMENTS)
    assert ran.code == 1
    assert "is undone" in ran.err
    assert (folder / "a.yaml").read_text() == PLAIN


def test_it_takes_files_that_it_may_write(folder: Path) -> None:
    ran = run("fix", "--isolated", "--smoke", "--diff", "a.yaml")
    assert ran.code == 2
    assert "--smoke takes files" in ran.err
    assert (folder / "a.yaml").read_text() == PLAIN
