"""The command line: arguments in, exit code out."""

from __future__ import annotations

import gc
import sys
from typing import Any, NoReturn

import click

from fsdplint import __version__
from fsdplint.options import (
    VERBOSE,
    fix_options,
    launch_options,
    report_options,
    request,
    rule_options,
    settings_options,
    stdin_option,
    talk_options,
)

ELSEWHERE = {
    "explain": "fsdplint.explaining:explain_command",
    "fix": "fsdplint.fix_command:fix_command",
    "lsp": "fsdplint.lsp.command:lsp_command",
    "run": "fsdplint.run_command:run_command",
    "smoke": "fsdplint.smoke.command:smoke_command",
    **{name: f"fsdplint.catalogue:{name}_command" for name in ("rule", "rules", "dialects", "targets", "schema")},
}
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
    """Run the command line; garbage is not looked for once more at the very end."""
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
@click.option("--fix", is_flag=True, help="Apply safe fixes, and report what remains.")
@fix_options
@stdin_option
@talk_options
@click.pass_context
def check(context: click.Context, /, paths: tuple[str, ...], **given: Any) -> None:
    """Say what is wrong with configs: files, folders (default: the current one), or - for standard input."""
    if given["fix"] or given["diff"]:
        from fsdplint.fix_command import run_fix

        context.exit(run_fix(request(paths, given), given))
    from fsdplint.reporting import run

    context.exit(run(request(paths, given), given))


def stop(message: str, code: int = 2) -> NoReturn:
    """Say why there is no result, in one line, and end."""
    click.echo(f"fsdplint: {' '.join(message.split())}", err=True)
    sys.exit(code)
