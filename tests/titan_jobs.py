"""Small torchtitan jobs for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linting import launch_of, lint, target_of

from fsdplint.linter import plans_of, settled_target

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic
    from fsdplint.plan import Plan

BASE = {
    "job": 'dump_folder = "out"',
    "model": 'name = "llama3"\nflavor = "8B"',
    "training": 'dataset = "c4"',
    "parallelism": "",
    "activation_checkpoint": 'mode = "full"',
}


def job(*sections: tuple[str, str]) -> str:
    """The text of a job: a base, and the lines that sections add to it or bring along."""
    found = dict(BASE)
    for name, lines in sections:
        found[name] = f"{found[name]}\n{lines}".strip() if name in found else lines
    return "".join(f"[{name}]\n{lines}\n\n" for name, lines in found.items())


def check(text: str, release: str | None = "0.2.2", gpus: int | None = None) -> list[Diagnostic]:
    """The diagnostics of a job for one release, or for an undeclared target; hints aside."""
    target = (f"torchtitan=={release}",) if release else ()
    return [d for d in lint(text, dialect="torchtitan", path="job.toml", target=target, gpus=gpus) if d.severity.word != "info"]


def plan(text: str, release: str = "0.2.2", gpus: int | None = None) -> Plan:
    """The plan of a job."""
    launch = launch_of(text, dialects=("torchtitan",), paths=("job.toml",))
    target = settled_target(launch, target_of((f"torchtitan=={release}",), None, gpus))
    return plans_of(launch, target, target.points()[0])[0]
