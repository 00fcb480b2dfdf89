"""The package's public names, and what they cost who does not ask for them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fsdplint.smoke

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", fsdplint.smoke.__all__)
def test_a_public_name(name: str) -> None:
    assert getattr(fsdplint.smoke, name).__name__ == name


def test_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        fsdplint.smoke.torch  # noqa: B018


def test_registering_the_command_loads_nothing_heavy() -> None:
    heavy = ("dataclasses", "json", "subprocess", "tempfile", "torch", "fsdplint.smoke.plan", "fsdplint.smoke.run", "fsdplint.linter")
    loaded = f"[name for name in {heavy!r} if name in set(sys.modules) - before]"
    code = f"import sys, click; before = set(sys.modules); import fsdplint.smoke.command; print({loaded})"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports anywhere."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}}


def test_only_the_worker_imports_torch() -> None:
    sources = [path for path in (ROOT / "fsdplint").rglob("*.py") if "worker" not in path.parts]
    assert [path.name for path in sources if imported(path) & {"torch", "accelerate", "transformers"}] == []
