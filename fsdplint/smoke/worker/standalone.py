"""Ranks that another launcher has started: they judge themselves, and rank 0 says what they found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fsdplint.smoke import judge
from fsdplint.smoke.fitting import fitted
from fsdplint.smoke.outcome import Report, State, Verdict, failed, skipped
from fsdplint.smoke.report import as_text
from fsdplint.smoke.worker import rank as ranks
from fsdplint.smoke.worker.load import versions
from fsdplint.smoke.worker.results import plain
from fsdplint.smoke.worker.runner import Runner, guard
from fsdplint.terminal import write

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan

_NO_LOADER = "ranks that another launcher started use the plan that fsdplint read"


def run(plan: SmokePlan) -> int:
    """Run all stages, print the report on rank 0, and exit alike on every rank: 0 passed, 1 failed or not proved."""
    guard(plan.seconds)
    planned = plan
    device = ranks.device_type() if plan.device == "auto" else plan.device
    plan = fitted(plan.but(route="torch", loader=False, device=device, world_size=ranks.world()))
    start = time.perf_counter()
    with ranks.joined(plan) as rank:
        verdicts = _verdicts(planned, plan, Runner(plan, rank))
    report = Report(plan, verdicts, versions(), time.perf_counter() - start)
    if rank.number == 0:
        write(as_text(report))
    return report.exit_code


def _verdicts(planned: SmokePlan, plan: SmokePlan, runner: Runner) -> tuple[Verdict, ...]:
    """The verdicts, the same on every rank: each rank judges the facts of all."""
    found = [skipped("load", _NO_LOADER)]
    hopeless = judge.hopeless(planned)
    if hopeless:
        rest = (skipped(stage, "there is nothing to train") for stage in ("steps", "checkpoint", "compile"))
        return (*found, failed("wrap", *hopeless), *rest)
    facts: dict[str, dict[int, Any]] = {}
    for stage in ("wrap", "steps", "checkpoint", "compile"):
        if any(verdict.state is State.FAILED for verdict in found):
            found.append(skipped(stage, "an earlier stage failed"))
        elif stage == "compile" and not plan.compiles:
            found.append(skipped(stage, "the plan does not compile"))
        else:
            found.append(_judged(stage, planned, plan, runner, facts))
    return tuple(found)


def _judged(stage: str, planned: SmokePlan, plan: SmokePlan, runner: Runner, facts: dict[str, dict[int, Any]]) -> Verdict:
    start = time.perf_counter()
    own = plain(runner.run(stage))
    facts[stage] = dict(enumerate(ranks.gathered(own)))
    if stage == "compile":
        verdict = judge.judge_compile(plan, facts[stage], facts["steps"])
    else:
        judges = {"wrap": judge.judge_wrap, "steps": judge.judge_steps, "checkpoint": judge.judge_checkpoint}
        verdict = judges[stage](plan, facts[stage])
    faults = judge.disagreements(planned) if stage == "wrap" else ()
    if faults:
        verdict = verdict._replace(state=State.FAILED, reasons=(*faults, *verdict.reasons))
    return verdict._replace(seconds=time.perf_counter() - start)
