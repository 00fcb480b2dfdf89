"""What a smoke test found: a verdict for every stage, and one for the whole."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.smoke.plan import SmokePlan


class State(Enum):
    """How a stage, or the whole test, ended. NOT_PROVED: nothing failed, but this machine cannot show that it holds."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_PROVED = "not proved"


class Verdict(NamedTuple):
    """The end of one stage.

    ``reasons``: why it is not passed. ``seen``: what was observed, for people; ``facts``: the same for programs.
    ``log``: a traceback or stacks.
    """

    stage: str
    state: State
    reasons: tuple[str, ...] = ()
    seen: str = ""
    facts: dict[str, Any] = {}  # noqa: RUF012
    seconds: float | None = None
    log: str = ""


class Report(NamedTuple):
    """The whole test. ``versions``: of the packages that ran, by PyPI name."""

    plan: SmokePlan
    verdicts: tuple[Verdict, ...]
    versions: dict[str, str]
    seconds: float = 0.0

    @property
    def state(self) -> State:
        """FAILED if any stage failed, NOT_PROVED if any could not be proved or nothing was trained, else PASSED."""
        states = {verdict.stage: verdict.state for verdict in self.verdicts}
        if State.FAILED in states.values():
            return State.FAILED
        trained = states.get("wrap") is State.PASSED and states.get("steps") is State.PASSED
        return State.PASSED if trained and State.NOT_PROVED not in states.values() else State.NOT_PROVED

    @property
    def exit_code(self) -> int:
        """0 where the test passed; 1 where it failed or proved nothing."""
        return 0 if self.state is State.PASSED else 1


def judged(
    stage: str, faults: Iterable[str], *, unproved: Iterable[str] = (), seen: str = "", facts: dict[str, Any] | None = None
) -> Verdict:
    """A verdict from what is wrong and what cannot be shown here."""
    wrong, open_ = tuple(faults), tuple(unproved)
    state = State.FAILED if wrong else State.NOT_PROVED if open_ else State.PASSED
    return Verdict(stage, state, (*wrong, *open_), seen, facts or {})


def skipped(stage: str, reason: str) -> Verdict:
    """The verdict of a stage that does not run."""
    return Verdict(stage, State.SKIPPED, (reason,))


def failed(stage: str, *reasons: str, log: str = "", facts: dict[str, Any] | None = None) -> Verdict:
    """The verdict of a stage that ended badly; ``log`` is the traceback to show."""
    return Verdict(stage, State.FAILED, reasons, "", facts or {}, None, log)
