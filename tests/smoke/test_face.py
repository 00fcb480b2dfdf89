"""The package's public names, and what they cost who does not ask for them."""

from __future__ import annotations

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


def test_only_the_worker_imports_torch() -> None:
    sources = [path for path in (ROOT / "fsdplint").rglob("*.py") if "worker" not in path.parts]
    words = ("import torch", "from torch", "import accelerate", "from accelerate", "import transformers", "from transformers")
    assert [path.name for path in sources if any(line.strip().startswith(words) for line in path.read_text().splitlines())] == []
