"""The stages of one rank, and what ends them when they hang."""

from __future__ import annotations

import faulthandler
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.worker.rank import Rank


def guard(seconds: float) -> None:
    """Make hangs and crashes tell where they were, and end this process in any case."""
    faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    faulthandler.dump_traceback_later(seconds + 30, exit=True)


class Runner:
    """Runs stages on this rank; all but ``compile`` share one wrapped model."""

    def __init__(self, plan: SmokePlan, rank: Rank) -> None:
        self.plan = plan
        self.rank = rank
        self._trial: Any = None

    def run(self, stage: str) -> dict[str, Any]:
        """The facts of a stage."""
        from fsdplint.smoke.worker import trial

        if stage == "compile":
            return trial.compile_(self.plan, self.rank)
        if self._trial is None:
            self._trial = trial.Trial(self.plan, self.rank)
        facts: dict[str, Any] = getattr(trial, stage)(self._trial)
        return facts
