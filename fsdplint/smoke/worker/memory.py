"""The most memory that a rank has used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import device as Device


def reset_peak(device: Device) -> None:
    """Begin to measure; a process' own memory on a CPU cannot be reset."""
    if device.type != "cpu":
        getattr(torch, device.type).reset_peak_memory_stats(device)


def peak_memory(device: Device) -> int:
    """The most bytes allocated on an accelerator since ``reset_peak``; on a CPU the most that the process ever had.

    0 where that is unknown.
    """
    if device.type != "cpu":
        return int(getattr(torch, device.type).max_memory_allocated(device))
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
