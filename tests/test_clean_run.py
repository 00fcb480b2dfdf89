"""What a check of a clean file does not load: start-up is most of what it costs."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from console import CLEAN, FOREIGN, write

import fsdplint

ROOT = Path(fsdplint.__file__).parents[1]

NEVER = {
    *("torch", "accelerate", "transformers", "jsonschema", "referencing", "packaging", "importlib.metadata", "tomli", "tomllib"),
    *("difflib", "logging", "subprocess", "tempfile", "concurrent.futures", "multiprocessing", "asyncio", "email", "http", "socket"),
    *("xml", "shlex", "traceback", "pprint", "decimal", "fractions", "random", "hashlib", "pygls", "rich"),
    *("fsdplint.commands", "fsdplint.companions", "fsdplint.suppressions", "fsdplint.gitignore", "fsdplint.settings_check"),
    *("fsdplint.scripts", "fsdplint.run_command"),
    *("fsdplint.explaining", "fsdplint.catalogue", "fsdplint.spelling", "fsdplint.smoke", "fsdplint.presets", "fsdplint.reporters.json_"),
}
"""Modules, with all below them, that nothing on the way of a clean check may import."""

PROBE = """
import sys
sys.path[:0] = {paths!r}
from fsdplint.cli import commands
try:
    commands({arguments!r}, prog_name="fsdplint")
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(sys.modules), sep="\\n")
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules of a process that checked something in a folder."""
    paths = [str(ROOT), str(ROOT / "rules"), *sys.path[1:]]
    probe = PROBE.format(paths=paths, arguments=list(arguments))
    ran = subprocess.run([sys.executable, "-S", "-c", probe], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.splitlines())


@cache
def unavoidable() -> frozenset[str]:
    """What click and PyYAML themselves load, which differs from one Python to the next."""
    probe = f"import sys\nsys.path[:0] = {sys.path[1:]!r}\nimport click, yaml\nprint(*sorted(sys.modules), sep='\\n')"
    ran = subprocess.run([sys.executable, "-S", "-c", probe], capture_output=True, text=True, check=True)
    return frozenset(ran.stdout.splitlines())


def unwanted(modules: set[str]) -> set[str]:
    below = {module for module in modules if any(module == name or module.startswith(f"{name}.") for name in NEVER)}
    return below - unavoidable()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    write(tmp_path, a_yaml=CLEAN, pyproject_toml="[project]\nname = 'x'\n", other_yaml=FOREIGN)
    return tmp_path


def test_a_clean_check_loads_nothing_that_it_does_not_need(folder: Path) -> None:
    assert unwanted(loaded(folder, "check", "a.yaml")) == set()


def test_a_file_that_is_no_config_does_not_load_a_parser(folder: Path) -> None:
    modules = loaded(folder, "check", "other.yaml")
    assert unwanted(modules) == set()
    assert not modules & {"yaml", "json", "fsdplint_rules"}


def test_torch_is_never_loaded_to_lint(folder: Path) -> None:
    (folder / "a.yaml").write_text(CLEAN + "unknown: 1\n")
    assert not loaded(folder, "check", "--exit-zero", "--format", "sarif", "a.yaml") & {"torch", "accelerate", "transformers"}
