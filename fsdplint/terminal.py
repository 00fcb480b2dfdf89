"""Where text goes: stdout, stderr or a file, in which encoding and colours."""

from __future__ import annotations

import os
import sys

from fsdplint.errors import InputError


def wants_color(refused: bool) -> bool:
    """Whether to colour what goes to stdout: never with --no-color or NO_COLOR, always with FORCE_COLOR, else on a terminal that can."""
    if refused or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write(text: str, output: str | None = None) -> None:
    """Write to a file (UTF-8), else to stdout, escaping what its encoding lacks. Raises InputError where a file cannot be written."""
    if output is not None:
        from pathlib import Path

        try:
            with Path(output).open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{output}: {error.strerror or error}") from None
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def say(line: str) -> None:
    """One line on stderr."""
    sys.stderr.write(line.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
