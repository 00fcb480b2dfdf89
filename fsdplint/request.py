"""What the user asks for: paths, the launch, the target, the rules."""

from __future__ import annotations

from typing import NamedTuple


class Request(NamedTuple):
    """The command line or the API call, checked for names that do not exist by whoever uses them.

    ``paths`` as given, ``-`` for ``stdin``, whose path is ``stdin_filename``. ``dialect``: of the primary files. ``launch``: the command
    line that starts the run. ``together``: all given files are one launch. ``targets``: requirements. ``select`` None: what settings say,
    else all. ``config``: a settings file instead of the closest one. ``isolated``: no settings, no requirement files. ``jobs``: processes,
    0 for one for each core. ``fixes``: whether fixes are worked out. ``is_debugged``: our own errors are raised.
    """

    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_filename: str | None = None
    dialect: str | None = None
    launch: str | None = None
    together: bool = False
    targets: tuple[str, ...] = ()
    device: str | None = None
    gpus: int | None = None
    python: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config: str | None = None
    isolated: bool = False
    force_exclude: bool = False
    jobs: int = 1
    fixes: bool = True
    is_debugged: bool = False
