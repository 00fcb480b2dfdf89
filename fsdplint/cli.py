"""The command line: arguments in, exit code out."""

from __future__ import annotations

import gc
import sys
from typing import Any, NoReturn

import click

from fsdplint import __version__
from fsdplint.options import format_option, launch_options, report_options, request, rule_options, settings_options, talk_options

VERBOSE = "fsdplint.verbose"
"""Where a command leaves how much it is to say, in the context that all commands share."""

ELSEWHERE = {"smoke": "fsdplint.smoke.command:smoke_command"}
"""Commands of other modules, which are imported when somebody calls them."""

PATHS = click.argument("paths", nargs=-1, metavar="[PATHS]...")


class Group(click.Group):
    """Commands whose errors end in one line on stderr and exit code 2, bugs included; ``-vv`` shows where they came from."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *ELSEWHERE])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in ELSEWHERE:
            return super().get_command(context, name)
        from importlib import import_module

        module, _, attribute = ELSEWHERE[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if context.meta.get(VERBOSE, 0) > 1:
                import traceback

                traceback.print_exc()
            code = getattr(error, "exit_code", None)
            stop(str(error) if code else f"internal error: {type(error).__name__}: {error} (-vv shows where)", code or 2)


def main() -> None:
    """The console script.

    A run makes many objects and no garbage to speak of, so the collector only costs time, most of it at the very end.
    """
    gc.set_threshold(100_000)
    try:
        commands()
    finally:
        gc.freeze()


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="fsdplint")
def commands() -> None:
    """Lint, fix and smoke-test the configs that start distributed PyTorch training."""


@commands.command()
@PATHS
@launch_options
@rule_options
@settings_options
@report_options
@click.option("--stdin-filename", metavar="PATH", help="What `-`, standard input, is the content of.")
@talk_options
@click.pass_context
def check(context: click.Context, /, paths: tuple[str, ...], **given: Any) -> None:
    """Say what is wrong with configs: files, folders (default: the current one), or - for standard input."""
    from fsdplint.reporting import run

    context.meta[VERBOSE] = given["verbose"]
    context.exit(run(request(paths or (".",), given), given))


@commands.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@launch_options
@settings_options
@format_option("text", "json")
@talk_options
@click.pass_context
def explain(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Show the resolved plan of a launch: each decision, its value, where it comes from, and what will really run."""
    from fsdplint.explaining import run

    context.meta[VERBOSE] = given["verbose"]
    context.exit(run(request(files, given), given["format_name"]))


@commands.command()
@click.argument("word", metavar="CODE|NAME")
def rule(word: str) -> None:
    """Show a rule's page."""
    from fsdplint.catalogue import one_rule

    click.echo(one_rule(word), nl=False)


@commands.command()
@format_option("text", "json", "markdown")
def rules(format_name: str) -> None:
    """List all rules, those of the packs that the settings name included."""
    from fsdplint.catalogue import rule_list

    click.echo(rule_list(format_name), nl=False)


@commands.command()
@format_option("text", "json")
def dialects(format_name: str) -> None:
    """List the dialects that are recognised."""
    from fsdplint.catalogue import dialect_list

    click.echo(dialect_list(format_name), nl=False)


@commands.command()
@format_option("text", "json")
def targets(format_name: str) -> None:
    """List the packages whose releases are known: the newest one, and how many."""
    from fsdplint.catalogue import release_list

    click.echo(release_list(format_name), nl=False)


@commands.command()
@click.argument("dialect")
@click.option("--target", "targets", metavar="REQUIREMENT", multiple=True, help="The releases whose keys and values are shown.")
def schema(dialect: str, targets: tuple[str, ...]) -> None:
    """Print a dialect's option table as plain JSON Schema, for editors."""
    from fsdplint.catalogue import schema_of

    click.echo(schema_of(dialect, targets), nl=False)


def stop(message: str, code: int = 2) -> NoReturn:
    """Say why there is no result, in one line, and end."""
    click.echo(f"fsdplint: {' '.join(message.split())}", err=True)
    sys.exit(code)
