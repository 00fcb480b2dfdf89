"""Plans for the smoke test's own tests, and what ranks would tell of a good run."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from fsdplint.smoke.plan import ConfigPath, Setting, SmokePlan
from fsdplint.smoke.processes import _processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEFAULTS: dict[str, Any] = {
    "fsdp": True,
    "fsdp_version": 2,
    "sharding": "FULL_SHARD",
    "wrap_policy": "TRANSFORMER_BASED_WRAP",
    "precision": "no",
}


@pytest.fixture
def make_plan() -> Callable[..., SmokePlan]:
    """A plan of two CPU ranks that reads no file; keywords are settings, or attributes of the plan where it has one of that name."""

    def make(**changes: Any) -> SmokePlan:
        own = {name: changes.pop(name) for name in list(changes) if name in SmokePlan.__dataclass_fields__}
        settings = {name: value if isinstance(value, Setting) else Setting(value, value) for name, value in {**DEFAULTS, **changes}.items()}
        attributes = {"files": (), "loader": False, "device": "cpu", "world_size": 2, "skipped": {"load": "no file"}, **own}
        return SmokePlan("accelerate", settings=settings, **attributes)

    return make


@pytest.fixture
def config_path() -> Callable[[Path, str], ConfigPath]:
    """A file of a launch."""
    return lambda path, dialect: ConfigPath(str(path), path.name, dialect)


@pytest.fixture
def no_process_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """Have all temporary folders made below this test's own; afterwards, no process may name one of them."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))

    def left() -> list[str]:
        return [process.command for process in _processes() if str(folder) in process.command and process.state[:1] != "Z"]

    yield left
    assert left() == []
    assert list(folder.glob("fsdplint-smoke-*")) == []
