"""One rank from its start to its exit code."""

from __future__ import annotations

import faulthandler
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsdplint.smoke.plan import SmokePlan
from fsdplint.smoke.worker.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.smoke.worker.rank import Rank

STAGES = ("wrap", "steps", "checkpoint", "compile")


def main(arguments: Sequence[str]) -> int:
    """Run stages of the plan in the file that is named first.

    Under ``fsdplint smoke`` (the plan names a results folder) the exit code is 0 whatever was found, because the parent judges.
    Started by hand, rank 0 reports, and every rank exits by the verdict: 0 passed, 1 failed or not proved.
    """
    plan = SmokePlan.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    if plan.results is None:
        from fsdplint.smoke.worker.standalone import run

        return run(plan)
    from fsdplint.smoke.worker.rank import number

    results = Results(Path(plan.results), number())
    guard(plan.seconds)
    return run_stages(plan, arguments[1:] or STAGES, results)


def guard(seconds: float) -> None:
    """Make hangs and crashes tell where they were, and end this process in any case."""
    faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    faulthandler.dump_traceback_later(seconds + 30, exit=True)


def run_stages(plan: SmokePlan, stages: Sequence[str], results: Results) -> int:
    """Run stages one after the other; the first that raises ends the rank with exit code 1."""
    from fsdplint.smoke.worker.rank import joined

    stage = stages[0]
    try:
        with joined(plan) as rank:
            runner = Runner(plan, rank)
            for stage in stages:
                results.write({"event": "started", "stage": stage})
                start = time.perf_counter()
                facts = runner.run(stage)
                results.write({"event": "done", "stage": stage, "facts": facts, "seconds": time.perf_counter() - start})
    except BaseException as error:
        results.failed(stage, error)
        sys.stderr.flush()
        raise
    return 0


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
