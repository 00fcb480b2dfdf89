"""One rank from its start to its exit code."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fsdplint.smoke.plan import SmokePlan
from fsdplint.smoke.worker.results import Results
from fsdplint.smoke.worker.runner import Runner, guard

if TYPE_CHECKING:
    from collections.abc import Sequence

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
