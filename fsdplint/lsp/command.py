"""``fsdplint lsp``."""

from __future__ import annotations

import gc
import os
from typing import Any

import click

from fsdplint.errors import UsageError
from fsdplint.options import request, rule_options

INSTALL = 'pip install "fsdplint[lsp]"'
"""The command that installs what the language server needs."""


@click.command("lsp")
@click.option("--target", "targets", metavar="REQUIREMENT", multiple=True, help="Versions to judge by: accelerate==1.15.0, torch>=2.4.")
@click.option("--device", metavar="NAME", help="The device that the configs are meant for: cuda, rocm, xpu, npu, hpu, mps, cpu ...")
@click.option("--gpus", type=int, metavar="N", help="The world size, where no file says it.")
@click.option("--python", metavar="PATH", help="Take versions from what this interpreter has installed.")
@rule_options
@click.option("--config", metavar="FILE", help="The settings file, instead of the closest pyproject.toml or fsdplint.toml.")
@click.option("--isolated", is_flag=True, help="Use no settings and look for no requirement files.")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output; there is no other way, and some clients say so.")
def lsp_command(**given: Any) -> None:
    """Start the language server, which editors speak to on standard input and output."""
    given.pop("stdio")
    for name in ("config", "python"):  # the server moves to the workspace's folder, where a path may be meant, too
        if given[name] is not None and os.path.exists(given[name]):
            given[name] = os.path.abspath(given[name])
    asked = request((), given)
    try:
        from fsdplint.lsp.handlers import server_for
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError(f"the language server needs pygls 2: {INSTALL}") from None
    gc.set_threshold(700, 10, 10)  # a server lives long enough for its garbage to matter
    server_for(asked).start_io()
