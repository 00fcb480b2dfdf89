"""Child processes that end: by themselves, at a deadline, or with the parent, and always with everything below them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
GRACE = 5.0
"""Seconds between the request to end and the end."""

POLL = 0.1
_WINDOWS = sys.platform == "win32"
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


class Ended(NamedTuple):
    """How a child ended: its exit code (negative: the signal), and whether the deadline or ``watch`` ended it."""

    code: int
    timed_out: bool = False
    stopped: bool = False


def run(
    command: list[str],
    *,
    env: Mapping[str, str],
    folder: Path,
    log: Path,
    seconds: float,
    watch: Callable[[], bool] = lambda: False,
    ranks: Callable[[], Iterable[int]] = lambda: (),
) -> Ended:
    """Run a command in a folder of its own to its end, its output going to ``log``.

    ``watch`` is asked now and then; once it answers True the child is ended (after a moment, so that others can say their last
    words). ``ranks``: processes below it that write their stacks when they get SIGUSR1, which they do at the deadline.
    Whatever happens, also an exception such as KeyboardInterrupt, nothing is left: neither what descends from the child nor, since
    a rank may outlive its launcher, any process whose command line names the folder.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=not _WINDOWS,
            creationflags=_NEW_GROUP,
        )
    try:
        return _waited(child, seconds, watch, ranks)
    finally:
        with _uninterrupted():
            end_tree(child, str(folder))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let no second Ctrl-C stop the clearing up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn the signals that would end this process on the spot into SystemExit, so that ``run`` can clear up."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {getattr(signal, name): signal.signal(getattr(signal, name), _leave) for name in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _waited(child: subprocess.Popen[bytes], seconds: float, watch: Callable[[], bool], ranks: Callable[[], Iterable[int]]) -> Ended:
    deadline = time.monotonic() + seconds
    while child.poll() is None:
        if watch():
            _wait_for(child, 1.0)
            return Ended(child.poll() or 0, stopped=True)
        if time.monotonic() > deadline:
            _ask_where(ranks())
            return Ended(child.poll() or 0, timed_out=True)
        time.sleep(POLL)
    return Ended(child.returncode)


def _wait_for(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _ask_where(pids: Iterable[int]) -> None:
    if hasattr(signal, "SIGUSR1"):
        for pid in pids:
            _send(pid, signal.SIGUSR1)
        time.sleep(0.5)


def end_tree(child: subprocess.Popen[bytes], token: str) -> None:
    """End a child, what is below it, and every process whose command line contains ``token``; does nothing where all have ended."""
    if _WINDOWS:
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(child.pid)], capture_output=True, check=False)
        child.wait()
        return
    left = _tree(child.pid, token)
    for pid in left:
        _send(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while left and time.monotonic() < deadline:
        time.sleep(POLL)
        child.poll()
        left = _tree(child.pid, token)
    for pid in left:
        _send(pid, signal.SIGKILL)
    child.wait()


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


class _Process(NamedTuple):
    pid: int
    parent: int
    state: str
    command: str


def _tree(root: int, token: str) -> set[int]:
    """The living processes that are ``root``, descend from it, or name the token."""
    listed = [process for process in _processes() if process.pid != os.getpid()]
    found = {process.pid for process in listed if process.pid == root or token in process.command}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {process.pid for process in listed if process.parent in found}
    return {process.pid for process in listed if process.pid in found and process.state[:1] != "Z"}


def _processes() -> list[_Process]:
    """All processes of the machine, from ps, which every Unix has; from /proc where a container lacks it."""
    try:
        text = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,ppid=,state=,args="], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return _of_proc()
    rows = (line.split(None, 3) for line in text.splitlines())
    return [_Process(int(row[0]), int(row[1]), row[2], row[3] if len(row) > 3 else "") for row in rows if len(row) > 2]


def _of_proc() -> list[_Process]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
        except OSError:
            continue
        found.append(_Process(int(folder.name), int(parent), state, command))
    return found
