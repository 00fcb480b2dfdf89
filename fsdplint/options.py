"""Options that several commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.request import Request

FORMAT_NAMES = "full (default), concise, json, jsonl, github, gitlab, sarif, junit or rdjson"


VERBOSE = "fsdplint.verbose"
"""Where a command's ``--verbose`` is found in the context that all commands share."""


def _shared(context: click.Context, _: click.Parameter, value: int) -> int:
    context.meta[VERBOSE] = value
    return value


def _all(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


launch_options = _all(
    click.option("--dialect", metavar="NAME", help="The dialect of the primary files, where it is not to be recognised."),
    click.option("--launch", metavar="COMMAND", help="The command line that starts the run, with its flags and files."),
    click.option("--together", is_flag=True, help="All given files are one launch."),
    click.option("--target", "targets", metavar="REQUIREMENT", multiple=True, help="Versions to judge by: accelerate==1.15.0, torch>=2.4."),
    click.option("--device", metavar="NAME", help="The device that the configs are meant for: cuda, rocm, xpu, npu, hpu, mps, cpu ..."),
    click.option("--gpus", type=int, metavar="N", help="The world size, where no file says it."),
    click.option("--python", metavar="PATH", help="Take versions from what this interpreter has installed."),
)
"""What describes the launch: check, fix, explain and smoke have these."""

rule_options = _all(
    click.option("--select", metavar="RULES", multiple=True, help="Run only these rules: codes, names, prefixes, ALL; commas between."),
    click.option("--extend-select", metavar="RULES", multiple=True, help="Run these rules, too."),
    click.option("--ignore", metavar="RULES", multiple=True, help="Do not run these rules."),
)

settings_options = _all(
    click.option("--config", metavar="FILE", help="The settings file, instead of the closest pyproject.toml or fsdplint.toml."),
    click.option("--isolated", is_flag=True, help="Use no settings and look for no requirement files."),
    click.option("--force-exclude", is_flag=True, help="The exclude settings hold for given files, too."),
)

report_options = _all(
    click.option("--fail-on", metavar="LEVEL", help="The lowest level that gives exit code 1: error, warning (default) or info."),
    click.option("--format", "format_name", metavar="NAME", default="full", help=f"{FORMAT_NAMES}."),
    click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to a file."),
    click.option("--exit-zero", is_flag=True, help="Findings leave the exit code at 0."),
    click.option("--statistics", is_flag=True, help="Count by rule instead of listing."),
    click.option("--show-files", is_flag=True, help="List the files that would be checked, and their dialects."),
    click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Processes for many files; 0: one a core."),
)

fix_options = _all(
    click.option("--unsafe-fixes", is_flag=True, help="Apply fixes that change what runs, too."),
    click.option("--diff", is_flag=True, help="Show what would change, and write nothing; exit code 1 if something would."),
)
"""check and fix have these."""

stdin_option = click.option("--stdin-filename", metavar="PATH", help="What `-`, standard input, is the content of.")

talk_options = _all(
    click.option("-q", "--quiet", count=True, help="Diagnostics only; -qq: nothing."),
    click.option("-v", "--verbose", count=True, callback=_shared, help="Also say what was skipped, and why; -vv: tracebacks."),
    click.option("--no-color", is_flag=True, help="No colours (as with NO_COLOR; FORCE_COLOR is the opposite)."),
)


def format_option(*names: str) -> Callable[[Any], Any]:
    """``--format`` of the commands that do not report diagnostics; the first name is the default."""
    return click.option("--format", "format_name", type=click.Choice(names), default=names[0], show_default=True, help="How to show it.")


def request(paths: tuple[str, ...], given: dict[str, Any]) -> Request:
    """The request that the options of a command make; standard input is read where ``-`` is among the paths.

    Without paths: the files that ``--launch`` names, else the current folder.
    """
    from fsdplint.request import Request

    paths = paths or _named_by(given.get("launch")) or (".",)

    known = {name: value for name, value in given.items() if name in Request._fields}
    for name in ("select", "extend_select", "ignore"):
        if name in known:
            known[name] = split(known[name])
    known["select"] = known.get("select") or None
    known["is_debugged"] = given.get("verbose", 0) > 1
    stdin = sys.stdin.buffer.read() if "-" in paths else None
    return Request(paths=tuple(paths), stdin=stdin, **known)


def split(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words of repeated options, of which each may hold several with commas between."""
    return tuple(part.strip() for word in words for part in word.split(",") if part.strip())


def _named_by(launch: str | None) -> tuple[str, ...]:
    """The files that a launch line names and that are there."""
    if not launch:
        return ()
    import os

    from fsdplint.commands import read_command

    command = read_command(launch)
    names = dict.fromkeys(name for _, name in command.mentions) if command else ()
    return tuple(name for name in names if os.path.isfile(name) and name.endswith((".yaml", ".yml", ".json", ".toml")))
