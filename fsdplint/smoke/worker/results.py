"""How a rank tells what it saw: one JSON line per event in a file of its own."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from fsdplint.smoke.worker.unproved import Unproved

if TYPE_CHECKING:
    from pathlib import Path


class Results:
    """The results file of one rank; without a folder nothing is written, and standard error stays where it is."""

    def __init__(self, folder: Path | None, rank: int) -> None:
        self._file = None
        if folder is not None:
            self._file = (folder / f"rank-{rank}.jsonl").open("a", encoding="utf-8")
            log = (folder / f"rank-{rank}.log").open("a", encoding="utf-8")
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        self.write({"event": "here", "pid": os.getpid()})

    def write(self, event: dict[str, Any]) -> None:
        """Write one event, so that it is there even if the process dies next."""
        if self._file is not None:
            self._file.write(json.dumps({"time": time.time(), **plain(event)}) + "\n")
            self._file.flush()

    def failed(self, stage: str, error: BaseException) -> None:
        """Write that a stage raised."""
        self.write({"event": "failed", "stage": stage, "unproved": isinstance(error, Unproved), **told(error)})


def told(error: BaseException) -> dict[str, str]:
    """An exception as text."""
    return {
        "type": type(error).__name__,
        "message": " ".join(str(error).split())[:2000],
        "traceback": "".join(traceback.format_exception(type(error), error, error.__traceback__)),
    }


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers that are none become text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
