"""Many launches at once: in this process, or in several where that is faster."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsdplint.grouping import Group
    from fsdplint.request import Request
    from fsdplint.session import Session, Verdict

MANY = 200
"""Launches below which starting a second process costs more than it brings."""


def verdicts(session: Session, groups: Sequence[Group]) -> list[Verdict]:
    """The verdicts on some launches, in their order. Raises RuleCrash when a rule raises."""
    jobs = session.request.jobs or _cores()
    if jobs == 1 or len(groups) <= MANY:
        return [session.verdict(group) for group in groups]
    from concurrent.futures import ProcessPoolExecutor

    size = max(-(-len(groups) // (jobs * 4)), MANY // 8)
    parts = [groups[start : start + size] for start in range(0, len(groups), size)]
    with ProcessPoolExecutor(min(jobs, len(parts))) as pool:
        return [verdict for part in pool.map(partial(_part, session.request, session.given), parts) for verdict in part]


def _part(request: Request, given: Mapping[str, str], groups: Sequence[Group]) -> list[Verdict]:
    from fsdplint.session import Session

    session = Session(request)
    session.given = given
    return [session.verdict(group) for group in groups]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
