"""What ranks have told so far, read from their files by the parent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Failure(NamedTuple):
    """An exception of a rank. ``unproved``: nothing is wrong with the config, it only cannot be tried here."""

    rank: int
    stage: str
    time: float
    type: str
    message: str
    traceback: str
    unproved: bool


class Told(NamedTuple):
    """All that ranks have written. ``facts``: by stage and rank; ``seconds``: the slowest rank's time by stage; ``pids``: by rank."""

    facts: dict[str, dict[int, dict[str, Any]]]
    seconds: dict[str, float]
    started: dict[str, set[int]]
    failures: tuple[Failure, ...]
    pids: dict[int, int]

    @property
    def first_failure(self) -> Failure | None:
        """The exception that came first; later ones are mostly its echo."""
        return min(self.failures, key=lambda failure: failure.time, default=None)


def read_results(folder: Path) -> Told:
    """What the ranks' files say; a line that is not whole yet is left for later."""
    told = Told({}, {}, {}, (), {})
    failures = []
    for path in sorted(folder.glob("rank-*.jsonl")):
        rank = int(path.stem.partition("-")[2])
        for event in _events(path):
            kind, stage = event["event"], event.get("stage", "")
            if kind == "here":
                told.pids[rank] = event["pid"]
            elif kind == "started":
                told.started.setdefault(stage, set()).add(rank)
            elif kind == "done":
                told.facts.setdefault(stage, {})[rank] = event["facts"]
                told.seconds[stage] = max(event["seconds"], told.seconds.get(stage, 0.0))
            else:
                failures.append(Failure(rank, stage, event["time"], *(event[name] for name in Failure._fields[3:])))
    return told._replace(failures=tuple(failures))


def _events(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
