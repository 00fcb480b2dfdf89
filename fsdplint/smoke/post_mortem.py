"""Why a stage has no facts from every rank: who died first, of what, or where all hang."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from fsdplint.smoke.outcome import State, Verdict, failed, skipped

if TYPE_CHECKING:
    from pathlib import Path

    from fsdplint.smoke.processes import Ended
    from fsdplint.smoke.ranks import Told

_EXIT = re.compile(r"exitcode\s*:\s*(-?\d+)")
_RANK = re.compile(r"^\s*rank\s*:\s*(\d+)")
_STACK = re.compile(r"^(Current thread|Thread 0x|Fatal Python error|  File )")
LAUNCHER_LOG = "launcher.log"

LINES = 40
"""Lines of a log that are shown."""

MESSAGE = 300
"""Characters of an exception's message that are shown beside the stage."""

FRAMES = 20
"""Lines of a hanging rank's stacks that are shown."""


def post_mortem(stage: str, told: Told, ended: Ended, world: int, folder: Path, seconds: float) -> Verdict:
    """The verdict of a stage that not every rank has finished.

    ``folder``: where the ranks' logs and the launcher's are. ``seconds``: the limit of the whole run, for the sentence about it.
    """
    failure = told.first_failure
    if failure is not None and failure.stage == stage and failure.unproved:
        return Verdict(stage, State.NOT_PROVED, (failure.message,))
    if failure is not None and failure.stage == stage:
        return failed(stage, f"rank {failure.rank}: {failure.type}: {short(failure.message)}", log=failure.traceback)
    if failure is not None and stage not in told.started:
        return skipped(stage, f"{failure.stage} failed")
    if ended.timed_out:
        late = sorted(set(range(world)) - set(told.facts.get(stage, {})))
        names = ", ".join(map(str, late))
        return failed(stage, f"it did not end within {seconds:.0f} s: rank {names} still ran", log=_stacks(folder, late))
    launcher = _text(folder / LAUNCHER_LOG)
    dead = _dead(launcher)
    if dead is not None:
        rank, code = dead
        return failed(stage, f"rank {rank} {_died(code)}", log=_last(_text(folder / f"rank-{rank}.log") or launcher))
    absent = sorted(set(range(world)) - set(told.facts.get(stage, {})))
    return failed(stage, f"no result from rank {', '.join(map(str, absent))}; the launcher ended with {ended.code}", log=_last(launcher))


def short(message: str) -> str:
    """A message of one line; the traceback has the whole of it."""
    return message if len(message) <= MESSAGE else f"{message[:MESSAGE]} ..."


def _dead(launcher: str) -> tuple[int, int] | None:
    """Rank and exit code of the root cause, from torchrun's report; its last block, where there are several."""
    cause = launcher.rpartition("Root Cause")[2]
    rank = next((match for line in cause.splitlines() if (match := _RANK.match(line))), None)
    code = _EXIT.search(cause)
    return (int(rank.group(1)), int(code.group(1))) if rank and code else None


def _died(code: int) -> str:
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with exit code {code} and told nothing"


def _stacks(folder: Path, late: list[int]) -> str:
    """Where late ranks hang: the stacks that they wrote when asked. One that waits for others comes after one that does something else."""
    found = {rank: [line for line in _text(folder / f"rank-{rank}.log").splitlines() if _STACK.match(line)][:FRAMES] for rank in late}
    order = sorted((rank for rank in late if found[rank]), key=lambda rank: (_waits(found[rank]), rank))
    return "\n".join(line for rank in order[:2] for line in (f"rank {rank}:", *found[rank]))


def _waits(stack: list[str]) -> bool:
    """Whether the innermost frames are those of a process group."""
    return any("distributed" in line for line in stack[:6])


def _last(text: str) -> str:
    return "\n".join(text.splitlines()[-LINES:])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
