"""Runs the command line within the test's own process, and small configs that whoever tests it needs."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint import settings, target
from fsdplint.cli import commands

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
"""
"""An accelerate file about which there is nothing to say."""

TWICE = CLEAN.replace("mixed_precision: bf16\n", "mixed_precision: bf16\nmixed_precision: bf16\n")
"""The same with a key written twice: one warning, FSD002 duplicate-key, at 4:1."""

BROKEN = "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2\nmixed_precision: bf16\n"
"""An accelerate file that does not parse: one error, FSD001 syntax-error."""

FOREIGN = "services:\n  web:\n    image: nginx\n"
"""A YAML file that is no training config."""


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each file of a report in JSON."""
        return {file["path"]: file["status"] for file in self.json["files"]}

    @property
    def found(self) -> list[tuple[str, int, str]]:
        """(path, line, code) of each diagnostic of a report in JSON."""
        return [(d["path"], d["range"]["start"]["line"], d["code"]) for d in self.json["diagnostics"]]


def run(*args: str, stdin: str | bytes = b"") -> Ran:
    """Call ``fsdplint`` with some arguments; nothing is remembered from calls before."""
    settings.forget()
    target.forget()
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    data = stdin.encode() if isinstance(stdin, str) else stdin
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data), "utf-8")
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            commands(list(args), prog_name="fsdplint")
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdin = before
    return Ran(int(code or 0), *(_text(stream) for stream in (out, err)))


def check(*args: str, stdin: str | bytes = b"") -> Ran:
    """``fsdplint check --format json`` without what happens to lie around the test's folder."""
    return run("check", "--format", "json", *args, stdin=stdin)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    content = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return str(content.decode("utf-8"))


def write(folder: Path, **files: str) -> None:
    """Write files into a folder; in the names, ``__`` is a slash and the last ``_`` the dot before the suffix."""
    for name, text in files.items():
        path, _, suffix = name.replace("__", "/").rpartition("_")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{path}.{suffix}").write_text(text, encoding="utf-8")
