"""Reads the files that start distributed PyTorch training and says what is wrong with them before a GPU is booked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsdplint.check import check_paths, check_text

__all__ = ["__version__", "check_paths", "check_text"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The two functions, imported when somebody asks for them: a command line needs neither."""
    if name in ("check_paths", "check_text"):
        from importlib import import_module

        return getattr(import_module("fsdplint.check"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
