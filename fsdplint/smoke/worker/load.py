"""The stage ``load``: ``python -m fsdplint.smoke.worker.load plan.json answer.json`` reads the files with upstream's own code.

Nothing is trained and no process is started. The answer tells what was resolved, or what was refused, and what this machine has.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsdplint.smoke.plan import SmokePlan
from fsdplint.smoke.worker.results import plain, told

if TYPE_CHECKING:
    from collections.abc import Sequence

_DECISION = {"sync_module_states": "sync_module_states", "cpu_ram_efficient_loading": "ram_efficient"}
PACKAGES = ("torch", "accelerate", "transformers", "trl", "soup-cli")


def main(arguments: Sequence[str]) -> int:
    """Write the answer; the exit code is 0 also for files that are refused."""
    plan = SmokePlan.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    start = time.perf_counter()
    answer: dict[str, Any] = {"devices": devices(), "versions": versions()}
    if plan.loader:
        try:
            answer.update(load(plan))
        except (Exception, SystemExit) as error:
            answer["refused"] = told(error)
    answer["seconds"] = time.perf_counter() - start
    Path(arguments[1]).write_text(json.dumps(plain(answer)), encoding="utf-8")
    return 0


def devices() -> dict[str, Any]:
    """The device that this machine trains on, how many it has, and their name."""
    import torch

    for name in ("cuda", "xpu"):
        module = getattr(torch, name)
        if module.is_available() and module.device_count():
            return {"type": name, "count": module.device_count(), "name": module.get_device_name(0)}
    return {"type": "cpu", "count": os.cpu_count() or 1, "name": "CPU"}


def versions() -> dict[str, str]:
    """The versions of the packages that take part, as far as they are installed."""
    from importlib import metadata

    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def load(plan: SmokePlan) -> dict[str, Any]:
    """What upstream makes of the files. Raises what upstream raises."""
    if plan.cwd:
        os.chdir(plan.cwd)
    answer: dict[str, Any] = {"read_by": [], "resolved": {}}
    soup = plan.file_of("soup")
    if plan.dialect == "soup" and soup is not None:
        # soup's file says nothing of FSDP: flags do, and the plan has them.
        from soup_cli.config.loader import load_config

        load_config(Path(soup.path))
        answer["read_by"].append("soup")
        return answer
    _load_through_accelerate(plan, answer)
    return answer


def _load_through_accelerate(plan: SmokePlan, answer: dict[str, Any]) -> None:
    from fsdplint.smoke.worker import launcher_args, upstream

    launcher = launcher_args.launch_arguments(plan)
    kind, resolved = "NO", answer["resolved"]
    if launcher is not None:
        kind = launcher_args.kind(launcher)
        launcher_args.change_environment(launcher_args.environment(launcher))
        answer.update(read_by=[*answer["read_by"], "accelerate"], launch_flags=launcher_args.launch_flags(plan))
        resolved["processes"] = launcher.num_processes
    spared = _spare_this_machine()
    trainer = upstream.training_arguments(plan)
    if trainer is not None:
        answer["read_by"].append(type(trainer).__name__)
    resolved.update(precision=upstream.precision(trainer), compile=upstream.compiles(trainer), **_mesh())
    stated = upstream.plugin_arguments(trainer) if kind in ("FSDP", "MULTI_GPU", "NO") else None
    resolved["fsdp"] = stated is not None
    if stated is None:
        answer["because"] = f"accelerate's launcher makes it {kind}" if launcher is not None else "TrainingArguments leave it off"
        return
    resolved.update(_decisions(stated, spared))


def _decisions(stated: dict[str, Any], spared: dict[str, bool]) -> dict[str, Any]:
    """What the plugin decides.

    Without an accelerator it refuses sync_module_states, whatever the files say: then that is left out, and put back afterwards.
    """
    from fsdplint.smoke.worker import upstream

    if devices()["type"] == "cpu":
        spared.update({_DECISION[key]: bool(stated[key]) for key in _DECISION if stated.get(key) is not None})
        stated = {**stated, **{key: False for key in _DECISION if key in stated}}
    return {**upstream.decisions(upstream.plugin(stated)), **spared}


def _mesh() -> dict[str, int]:
    names = ("dp_replicate", "dp_shard", "tp", "cp", "sp")
    found = {name: os.environ.get(f"PARALLELISM_CONFIG_{name.upper()}_SIZE") for name in names}
    return {name: int(size) for name, size in found.items() if size and size.isdigit()}


def _spare_this_machine() -> dict[str, bool]:
    """Take out of the environment what the plugin refuses without an accelerator; returns what was asked for."""
    if devices()["type"] != "cpu" or os.environ.get("FSDP_VERSION", "1") != "1":
        return {}
    names = {f"FSDP_{key.upper()}": decision for key, decision in _DECISION.items()}
    found = {decision: os.environ[name].lower() in ("1", "true") for name, decision in names.items() if name in os.environ}
    os.environ.update({name: "false" for name in names if name in os.environ})
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
