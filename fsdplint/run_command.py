"""The run command: check the launch that a command line describes, then become that command."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from fsdplint.check import outcome_of
from fsdplint.diagnostics import Severity
from fsdplint.errors import FsdplintError
from fsdplint.grouping import of_command
from fsdplint.options import request, rule_options, settings_options, talk_options
from fsdplint.reporters import render
from fsdplint.session import Session
from fsdplint.terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.check import Outcome
    from fsdplint.request import Request

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a command that cannot be started, as of shells, env and nohup."""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARGS]...")
@click.option("--anyway", is_flag=True, help="Run the command despite errors.")
@click.option("--target", "targets", metavar="REQUIREMENT", multiple=True, help="Versions to judge by: accelerate==1.15.0, torch>=2.4.")
@click.option("--device", metavar="NAME", help="The device that the run is meant for: cuda, rocm, xpu, npu, hpu, mps, cpu ...")
@click.option("--gpus", type=int, metavar="N", help="The world size, where nothing says it.")
@click.option("--python", metavar="PATH", help="Take versions from what this interpreter has installed.")
@rule_options
@settings_options
@talk_options
@click.pass_context
def run_command(context: click.Context, /, command: tuple[str, ...], anyway: bool, **given: Any) -> None:
    """Check the launch that a command line describes; without an error, become that command: same process id, signals and exit code.

    Findings go to stderr. Exit code 1, and nothing is run, where there is an error.
    """
    if command[0].startswith("-"):
        context.fail(f"No such option: {command[0]}")
    try:
        outcome = check_command(command, request((), given))
    except FsdplintError as error:
        if not anyway:
            raise
        say(f"fsdplint: {error}")
    else:
        if is_speaker():
            _show(outcome, given)
        if outcome.fails and not anyway:
            if is_speaker() and given["quiet"] < 2:
                say(f"fsdplint: {command[0]} was not started: {_errors(outcome)}; --anyway starts it")
            context.exit(1)
    become(command)


def check_command(words: Sequence[str], request: Request) -> Outcome:
    """What there is to say about the launch that a command describes, with the config files that it names in the current folder.

    Raises FsdplintError and TargetError.
    """
    import shlex

    from fsdplint.commands import read_command

    session = Session(request)
    command = read_command(shlex.join(words))
    if command is None:
        return outcome_of((), (), Severity.ERROR)
    group = of_command(command)
    session.given = {os.path.realpath(item.location): item.path for item in group.given}
    return outcome_of(group.given, [session.verdict(group)], Severity.ERROR)


def is_speaker() -> bool:
    """Whether this process says what is found: of the many that ``srun`` starts, only the first."""
    return os.environ.get("SLURM_PROCID", "0") == "0"


def become(command: Sequence[str]) -> NoReturn:
    """Replace this process by a command; where there is no exec (Windows), run it and end with its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if os.name != "nt":
            os.execvp(command[0], list(command))
        sys.exit(_child(command))
    except OSError as error:
        say(f"fsdplint: {command[0]}: {error.strerror or error}")
        sys.exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def _child(command: Sequence[str]) -> int:
    import shutil
    import subprocess

    return subprocess.run([shutil.which(command[0]) or command[0], *command[1:]], check=False).returncode


def _show(outcome: Outcome, given: dict[str, Any]) -> None:
    if given["verbose"] > given["quiet"]:
        for name, info in outcome.report.target.items():
            say(f"target {name}{info.specifier} ({info.source})")
    if given["quiet"] < 2 and outcome.report.diagnostics:
        sys.stderr.write(render("full", outcome.report, color=_wants_color(given), quiet=True))


def _wants_color(given: dict[str, Any]) -> bool:
    if given["no_color"] or os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or sys.stderr.isatty()


def _errors(outcome: Outcome) -> str:
    count = outcome.report.count(Severity.ERROR)
    return "1 error" if count == 1 else f"{count} errors"
