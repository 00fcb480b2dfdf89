"""``fsdplint smoke``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fsdplint.options import format_option, launch_options, request, settings_options, talk_options

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = (
    click.option(
        "--on", type=click.Choice(["auto", "cuda", "xpu", "cpu"]), default="auto", show_default=True, help="Where to run; ROCm is cuda."
    ),
    click.option(
        "--processes", type=click.IntRange(min=1), metavar="N", help="Ranks to start; default: the launch's, at most one a GPU; on a CPU 2."
    ),
    click.option("--steps", type=click.IntRange(min=2), default=4, show_default=True, metavar="N", help="Training steps."),
    click.option(
        "--model",
        type=click.Choice(["builtin", "twin"]),
        default="builtin",
        show_default=True,
        help="A tiny decoder, or a small copy of the config's family.",
    ),
    click.option(
        "--timeout", type=click.FloatRange(min=1), default=300.0, show_default=True, metavar="S", help="Seconds for the whole test."
    ),
)


def smoke_options(command: Any) -> Any:
    """The options of the smoke test itself, which ``fix --smoke`` has too."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("smoke")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@launch_options
@settings_options
@smoke_options
@format_option("text", "json")
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to a file.")
@click.option("--save-plan", metavar="FILE", help="Write the plan for `python -m fsdplint.smoke.worker` and run nothing.")
@talk_options
@click.pass_context
def smoke_command(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Prove a launch with a short real FSDP run: on the GPUs that are there, or on the CPU."""
    from fsdplint.smoke.launches import SmokeOptions, smoke_launch, the_plan
    from fsdplint.smoke.report import as_json, as_text
    from fsdplint.terminal import write

    options = SmokeOptions(**{name: given[name] for name in SmokeOptions._fields})
    asked = request(files, given)
    if given["save_plan"] is not None:
        write(the_plan(asked, options).dumps() + "\n", given["save_plan"])
        return
    report = smoke_launch(asked, options, progress_on_terminal(given["quiet"]))
    write(as_json(report) if given["format_name"] == "json" else as_text(report), given["output"])
    context.exit(report.exit_code)


def progress_on_terminal(quiet: int = 0) -> Callable[[str, str], None] | None:
    """What shows the running stage on stderr, one line that is overwritten; None where stderr is no terminal or is to be quiet."""
    if quiet or not sys.stderr.isatty():
        return None

    def show(stage: str, state: str) -> None:
        sys.stderr.write(f"\r\x1b[K{stage}: running ..." if state == "running" else "\r\x1b[K")
        sys.stderr.flush()

    return show
