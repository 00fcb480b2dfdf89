"""What must be installed for a smoke test, and what this machine may have to run it on; found out without importing torch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fsdplint.errors import UsageError

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan

INSTALL = 'pip install "fsdplint[smoke]"'
"""The command that installs what a smoke test needs."""

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dri", "/dev/dxg", "/proc/driver/nvidia")
_OWN_LOADERS = {"trl": "trl", "soup": "soup_cli"}


class MissingPackages(UsageError):
    """The smoke test needs packages that are not installed; the text ends with the command that installs them."""


def require(plan: SmokePlan) -> None:
    """Raise MissingPackages unless everything is there that the plan needs."""
    needed = ["torch"]
    if plan.route == "accelerate" and (plan.loader or plan.device != "cpu"):
        needed.append("accelerate")
    if plan.model == "twin" or plan.file_of("hf-trainer", "trl") is not None:
        needed.append("transformers")
    missing = [name for name in needed if not is_installed(name)]
    if missing:
        raise MissingPackages(f"the smoke test needs {' and '.join(missing)}: {INSTALL}")


def is_installed(module: str) -> bool:
    """Whether a top-level module can be imported here."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def readable(plan: SmokePlan) -> SmokePlan:
    """The plan, without the upstream loader where the package that reads one of the files is not installed."""
    for dialect, module in _OWN_LOADERS.items():
        if plan.loader and plan.file_of(dialect) is not None and not is_installed(module):
            reason = f"{module} is not installed: the plan that fsdplint read is used"
            return plan.but(loader=False, skipped={**plan.skipped, "load": reason})
    return plan


def may_have_gpu() -> bool:
    """Whether it is worth asking torch for a GPU: on Linux a device file tells, macOS has none that trains with FSDP."""
    if sys.platform.startswith("linux"):
        return any(map(os.path.exists, _DEVICE_FILES))
    return sys.platform == "win32"
