"""From what the user asks for to smoke plans, and to the report of one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.errors import InputError, UsageError
from fsdplint.smoke.planning import smoke_plan
from fsdplint.smoke.run import smoke

if TYPE_CHECKING:
    from fsdplint.request import Request
    from fsdplint.session import Job
    from fsdplint.smoke.outcome import Report
    from fsdplint.smoke.plan import SmokePlan
    from fsdplint.smoke.run import Progress


class SmokeOptions(NamedTuple):
    """The options of a smoke test: where it runs, with how many ranks and steps, on which model, and its limit in seconds."""

    on: str = "auto"
    processes: int | None = None
    steps: int = 4
    model: str = "builtin"
    timeout: float = 300.0


def smoke_launch(request: Request, options: SmokeOptions, progress: Progress | None = None) -> Report:
    """Run the smoke test of the one launch that a request describes.

    Raises UsageError where the files are several launches or packages are missing, InputError where a file is no training config.
    """
    return smoke_one(the_plan(request, options), options, progress)


def smoke_one(plan: SmokePlan, options: SmokeOptions, progress: Progress | None = None) -> Report:
    """Run the smoke test of a plan."""
    return smoke(plan, seconds=options.timeout, processes=options.processes, progress=progress)


def the_plan(request: Request, options: SmokeOptions) -> SmokePlan:
    """The plan of the one launch that a request describes; several files are taken as one launch unless a launch line tells them apart."""
    if len(request.paths) > 1 and request.launch is None:
        request = request._replace(together=True)
    plans = plans_for(request, options)
    if len(plans) > 1:
        raise UsageError("the files belong to several launches: name those of one, or add --together")
    return plans[0]


def plans_for(request: Request, options: SmokeOptions) -> list[SmokePlan]:
    """The smoke plan of every launch of a request, as the packages of this interpreter read it unless the request names others.

    Raises InputError where a file is no training config.
    """
    from fsdplint.check import inputs_of
    from fsdplint.grouping import groups
    from fsdplint.session import Session

    if not request.targets and request.python is None:
        request = request._replace(python=sys.executable)
    session = Session(request)
    found = []
    for group in groups(request, inputs_of(session), session.settings_of):
        job, statuses = session.job(group)
        for status in statuses:
            if status.status != "checked":
                raise InputError(f"{status.path}: {status.reason}")
        if job is not None:
            found.append(_plan(job, options))
    if not found:
        raise InputError("there is no training config among the files")
    return found


def _plan(job: Job, options: SmokeOptions) -> SmokePlan:
    from fsdplint.linter import plans_of

    plan, _ = plans_of(job.launch, job.target, job.target.at_newest)
    return smoke_plan(plan, job.launch, job.locations, model=options.model, steps=options.steps, device=options.on)
