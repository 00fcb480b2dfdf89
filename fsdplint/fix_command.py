"""The fix command, and ``check --fix``: fixes applied, files written or a diff shown, and a report of what remains."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from fsdplint.errors import UsageError
from fsdplint.fixing import fix
from fsdplint.options import (
    fix_options,
    launch_options,
    report_options,
    request,
    rule_options,
    settings_options,
    stdin_option,
    talk_options,
)
from fsdplint.presets import PRESET_NAMES
from fsdplint.reporting import exit_code, format_of, level_of, run, shown, tell
from fsdplint.smoke.command import smoke_options
from fsdplint.terminal import say, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fsdplint.fixing import Change, Fixed
    from fsdplint.request import Request


@click.command("fix")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@launch_options
@rule_options
@settings_options
@report_options
@fix_options
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit code 1 if something would change.")
@click.option("--preset", type=click.Choice(PRESET_NAMES), help="Rewrite the configs so that they shard in this way.")
@click.option("--fsdp-version", type=click.Choice(("1", "2", "auto")), help="Of the preset (auto: 2 where the target can); alone: convert.")
@click.option("--smoke", "is_smoked", is_flag=True, help="Run the smoke test on the result; bring the files back if it does not pass.")
@smoke_options
@stdin_option
@talk_options
@click.pass_context
def fix_command(context: click.Context, /, paths: tuple[str, ...], **given: Any) -> None:
    """Mend configs: files, folders (default: the current one), or - for standard input, whose fixed text goes to stdout."""
    is_rewriting = given["preset"] is not None or given["fsdp_version"] in ("1", "2")
    mend = run_rewrite if is_rewriting else run_fix
    asked = request(paths, given)
    context.exit(run_smoked(mend, asked, given) if given["is_smoked"] else mend(asked, given))


def run_smoked(mend: Callable[[Request, dict[str, Any]], int], request: Request, given: dict[str, Any]) -> int:
    """Mend files, run the smoke test on the launch that they are, and bring their bytes back unless it passes.

    The exit code is the smoke test's where that did not pass, else that of mending. Raises FsdplintError and TargetError, the files
    being as they were.
    """
    from fsdplint.smoke import Originals, SmokeOptions, smoke_launch
    from fsdplint.smoke.command import progress_on_terminal
    from fsdplint.smoke.report import as_text

    if given["diff"] or given["only_check"] or any(not os.path.isfile(path) for path in request.paths):
        raise UsageError("--smoke takes files, and writes them: name the files of one launch, without --diff and --check")
    options = SmokeOptions(**{name: given[name] for name in SmokeOptions._fields})
    originals = Originals(request.paths)
    try:
        code = mend(request, given)
        report = None if code == 2 else smoke_launch(request, options, progress_on_terminal(given["quiet"]))
    except BaseException:
        originals.restore()
        raise
    if report is not None:
        write(as_text(report), None)
    if report is None or report.exit_code:
        restored = originals.restore()
        say(f"fsdplint: not proved, so that what was written is undone: {', '.join(restored) or 'nothing was changed'}")
        return code if report is None else report.exit_code
    return code


def run_fix(request: Request, given: dict[str, Any]) -> int:
    """Fix, report what remains, and give the exit code; ``given`` are the options of check or fix. Raises FsdplintError and TargetError.

    ``fix`` with ``--check`` or ``--diff`` asks only whether something would change; ``check --diff`` fails for what remains, too.
    """
    if given["show_files"]:
        return run(request, given)
    only_check = given.get("only_check", False)
    format, fail_on = format_of(given), level_of(given)
    result = fix(request, fail_on, unsafe=given["unsafe_fixes"], dry=given["diff"] or only_check)
    tell(result.outcome, given)
    show(result, request, format, given)
    code = exit_code(result.outcome, given)
    if given["diff"] or only_check:
        is_changed = bool(result.changes) and not given["exit_zero"]
        return max(code, int(is_changed)) if code == 2 or "only_check" not in given else int(is_changed)
    return code


def run_rewrite(request: Request, given: dict[str, Any]) -> int:
    """Rewrite into a preset or another FSDP version; exit code 1 also where that was refused. Raises FsdplintError and TargetError."""
    from fsdplint.rewriting import Aim, rewrite

    format, fail_on = format_of(given), level_of(given)
    version = given["fsdp_version"]
    is_dry = given["diff"] or given["only_check"]
    done = rewrite(request, Aim(given["preset"], int(version) if version in ("1", "2") else None), fail_on, dry=is_dry)
    tell(done.fixed.outcome, given)
    for path, reason in done.refusals:
        say(f"fsdplint: {path}: not rewritten: {reason}")
    for path, note in done.notes if not given["quiet"] else ():
        say(f"note: {path}: {note}")
    for change in done.fixed.changes if not given["quiet"] and not given["diff"] else ():
        say(f"{'would rewrite' if is_dry else 'rewritten:'} {change.path}")
    show(done.fixed, request, format, given)
    code = exit_code(done.fixed.outcome, given)
    is_changed = is_dry and bool(done.fixed.changes)
    code = int(is_changed) if is_dry and code != 2 else code
    return max(code, int(bool(done.refusals))) if not given["exit_zero"] else code


def show(result: Fixed, request: Request, format: str, given: dict[str, Any]) -> None:
    """A diff, or the fixed text of standard input with the report on stderr, or the report."""
    report = result.outcome.report
    if given["diff"]:
        write(diff(result.changes), given["output"])
        if not given["quiet"]:
            say(_summary(result))
        return
    text = shown(report, format, given)
    if "-" in request.paths and not given.get("only_check", False):
        write_stdin(request, result.changes)
        if given["output"]:
            write(text, given["output"])
        elif given["quiet"] < 2:
            sys.stderr.write(text)
    elif given["quiet"] < 2 or given["output"]:
        write(text, given["output"])


def write_stdin(request: Request, changes: Iterable[Change]) -> None:
    """The text of standard input, as it is now, to stdout: byte for byte."""
    content = next((change.new for change in changes if change.is_stdin), request.stdin or b"")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def diff(changes: Sequence[Change]) -> str:
    """The changes as one unified diff."""
    from difflib import unified_diff

    lines: list[str] = []
    for change in changes:
        old, new = (_lines(content) for content in (change.old, change.new))
        for line in unified_diff(old, new, change.path, change.path):
            lines.append(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(content: bytes) -> list[str]:
    """The lines as an editor numbers them: other characters that end lines are part of one here."""
    from io import StringIO

    return StringIO(content.decode("utf-8", "replace"), newline="").readlines()


def _summary(result: Fixed) -> str:
    report = result.outcome.report
    unsafe = sum(d.fix is not None and d.fix.applicability == "unsafe" for d in report.diagnostics)
    more = f"; {unsafe} more with --unsafe-fixes" if unsafe else ""
    files = "1 file" if len(result.changes) == 1 else f"{len(result.changes)} files"
    if report.fixed is None:
        return f"would rewrite {files}"
    return f"would fix {len(report.fixed or ())} in {files}, {len(report.diagnostics)} left{more}"
