"""The parent of a smoke test: starts the stages, watches over them, and has the judge look at what the ranks saw."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.errors import UsageError
from fsdplint.smoke import judge, requirements
from fsdplint.smoke.fitting import fitted
from fsdplint.smoke.launchers import WORKER, environment, load_command, ranks_command
from fsdplint.smoke.outcome import Report, State, Verdict, failed, judged, skipped
from fsdplint.smoke.post_mortem import LAUNCHER_LOG, post_mortem, short
from fsdplint.smoke.processes import Ended, ended_by_signals, run
from fsdplint.smoke.ranks import Told, read_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.smoke.plan import SmokePlan

    Progress = Callable[[str, str], None]

CPU_RANKS = 2
SPARE = 10.0
"""Seconds by which a rank's own limits lie after the parent's, which is to be the one that speaks."""


def smoke(
    plan: SmokePlan,
    *,
    seconds: float = 300.0,
    processes: int | None = None,
    worker: str = WORKER,
    progress: Progress | None = None,
) -> Report:
    """Run the smoke test of a plan. No process is left, whatever happens.

    ``seconds``: a hard limit for everything together. ``processes``: ranks to start instead of what plan and machine say.
    ``worker``: the module that every rank runs. ``progress``: told each stage's name with ``running`` and then with its state.
    Raises MissingPackages, and UsageError for a device or a number of ranks that this machine does not have.
    """
    requirements.require(plan)
    folder = Path(tempfile.mkdtemp(prefix="fsdplint-smoke-")).resolve()
    try:
        with ended_by_signals():
            return _Run(requirements.readable(plan), folder, seconds, processes, worker, progress or _silent).report()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _silent(_stage: str, _state: str) -> None:
    """Progress that nobody sees."""


class _Group(NamedTuple):
    """A process group that has ended."""

    told: Told
    ended: Ended
    folder: Path


class _Run:
    """One smoke test in its folder."""

    def __init__(self, plan: SmokePlan, folder: Path, seconds: float, processes: int | None, worker: str, progress: Progress) -> None:
        self.plan = plan
        self.folder = folder
        self.seconds = seconds
        self.processes = processes
        self.worker = worker
        self.progress = progress
        self.start = time.monotonic()
        self.verdicts: dict[str, Verdict] = {}
        self.answer: dict[str, Any] = {}
        self.said_by_plan: tuple[str, ...] = ()

    def report(self) -> Report:
        self._load()
        if self.verdicts["load"].state is State.FAILED and "resolved" not in self.answer:
            self._skip("wrap", "steps", "checkpoint", "compile", reason="upstream refuses the files")
            return self._end()
        hopeless = judge.hopeless(self.plan)
        if hopeless:
            self._put(failed("wrap", *hopeless))
            self._skip("steps", "checkpoint", "compile", reason="there is nothing to train")
            return self._end()
        self.plan = fitted(self._placed())
        self._train()
        return self._end()

    def _end(self) -> Report:
        ordered = tuple(self.verdicts.values())
        return Report(self.plan, ordered, self.answer.get("versions", {}), time.monotonic() - self.start)

    def _put(self, verdict: Verdict, seconds: float | None = None) -> Verdict:
        self.verdicts[verdict.stage] = verdict = verdict._replace(seconds=seconds)
        self.progress(verdict.stage, verdict.state.value)
        return verdict

    def _skip(self, *stages: str, reason: str) -> None:
        for stage in stages:
            self._put(skipped(stage, reason))

    @property
    def _left(self) -> float:
        return max(self.seconds - (time.monotonic() - self.start), 1.0)

    def _load(self) -> None:
        """Ask upstream's loader, and torch for its devices, in one child; without either question there is no child."""
        plan = self.plan
        asks_for_devices = plan.device not in ("auto", "cpu") or (plan.device == "auto" and requirements.may_have_gpu())
        if not plan.loader and not asks_for_devices:
            self._put(self._unread())
            return
        self.progress("load", "running")
        start = time.monotonic()
        ended = self._child(load_command(self._written(plan, "load"), self.folder / "answer.json"), self.folder)
        seconds = time.monotonic() - start
        try:
            self.answer = json.loads((self.folder / "answer.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            reason = f"it did not end within {self.seconds:.0f} s" if ended.timed_out else f"the loader's process ended with {ended.code}"
            self._put(failed("load", reason, log=_tail(self.folder / LAUNCHER_LOG)), seconds)
            return
        self._put(self._loaded(), seconds)

    def _loaded(self) -> Verdict:
        plan, answer = self.plan, self.answer
        if "refused" in answer:
            refused = answer["refused"]
            return failed("load", f"{refused['type']}: {short(refused['message'])}", log=refused["traceback"])
        if not plan.loader:
            return self._unread()
        self.plan = plan.running(**answer["resolved"])
        if answer.get("because"):
            self.plan = self.plan.explained("fsdp", answer["because"])
        versions = [f"{name} {version}" for name, version in answer["versions"].items()]
        seen = f"{' and '.join(answer['read_by'])} read the files ({', '.join(versions)})"
        return judged("load", judge.disagreements(self.plan), seen=seen, facts={"resolved": answer["resolved"]})

    def _unread(self) -> Verdict:
        """The verdict where no loader reads the files: then the plan itself says what is written and does not run, in the next stage."""
        self.said_by_plan = judge.disagreements(self.plan)
        return skipped("load", self.plan.skipped.get("load", ""))

    def _placed(self) -> SmokePlan:
        """The plan with its device and world size."""
        devices = self.answer.get("devices", {"type": "cpu", "count": 0})
        device = devices["type"] if self.plan.device == "auto" else self.plan.device
        if device == "cpu":
            return self.plan.but(device=device, world_size=self.processes or CPU_RANKS)
        if devices["type"] != device:
            raise UsageError(f"--on {device}: torch sees no such device here")
        count = int(devices["count"])
        if self.processes is not None and self.processes > count:
            raise UsageError(f"--processes {self.processes}: this machine has {count} {device} devices")
        planned = self.plan.value("processes")
        wanted = min(planned, count) if isinstance(planned, int) and planned > 0 else count
        return self.plan.but(device=device, world_size=self.processes or wanted)

    def _train(self) -> None:
        group = self._ranks("wrap", "steps")
        self._judge("wrap", group, lambda facts: self._with_faults(judge.judge_wrap(self.plan, facts)))
        if "steps" in group.told.started or "wrap" in group.told.facts:
            self._judge("steps", group, lambda facts: judge.judge_steps(self.plan, facts))
        else:
            self._skip("steps", reason=f"wrap: {self.verdicts['wrap'].state.value}")
        bad = next((name for name in ("wrap", "steps") if self.verdicts[name].state in (State.FAILED, State.SKIPPED)), None)
        if bad:
            self._skip("checkpoint", "compile", reason=f"{bad}: {self.verdicts[bad].state.value}")
            return
        self._judge("checkpoint", self._ranks("checkpoint"), lambda facts: judge.judge_checkpoint(self.plan, facts))
        if not self.plan.compiles:
            self._skip("compile", reason="the plan does not compile")
            return
        eager = group.told.facts["steps"]
        self._judge("compile", self._ranks("compile"), lambda facts: judge.judge_compile(self.plan, facts, eager))

    def _with_faults(self, verdict: Verdict) -> Verdict:
        if not self.said_by_plan:
            return verdict
        return verdict._replace(state=State.FAILED, reasons=(*self.said_by_plan, *verdict.reasons))

    def _judge(self, stage: str, group: _Group, judged_by: Callable[[dict[int, dict[str, Any]]], Verdict]) -> None:
        facts, world = group.told.facts.get(stage, {}), self.plan.world_size
        if len(facts) == world:
            verdict = judged_by(facts)
        else:
            verdict = post_mortem(stage, group.told, group.ended, world, group.folder, self.seconds)
        self._put(verdict, group.told.seconds.get(stage))

    def _ranks(self, *stages: str) -> _Group:
        """Run stages on all ranks in a process group of their own."""
        folder = self.folder / stages[0]
        folder.mkdir()
        plan = self.plan.but(results=str(folder), folder=str(folder), seconds=self._left + SPARE)
        command = ranks_command(plan, self._written(plan, stages[0]), stages, self.answer.get("launch_flags", ()), worker=self.worker)
        running: list[str] = []

        def watch() -> bool:
            told = read_results(folder)
            for stage in told.started:
                if stage not in running:
                    running.append(stage)
                    self.progress(stage, "running")
            return bool(told.failures)

        ended = self._child(command, folder, watch=watch, ranks=lambda: read_results(folder).pids.values())
        return _Group(read_results(folder), ended, folder)

    def _written(self, plan: SmokePlan, name: str) -> Path:
        path = self.folder / f"{name}.json"
        path.write_text(plan.dumps(), encoding="utf-8")
        return path

    def _child(self, command: list[str], folder: Path, **options: Any) -> Ended:
        env = environment(self.plan, os.environ)
        return run(command, env=env, folder=self.folder, log=folder / LAUNCHER_LOG, seconds=self._left, **options)


def _tail(path: Path, lines: int = 20) -> str:
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
