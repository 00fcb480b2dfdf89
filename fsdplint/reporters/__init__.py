"""Output formats: each a module with ``render``, a function from a report to text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsdplint.diagnostics import Report

__all__ = ["FORMATS", "render"]

FORMATS: dict[str, str] = {
    "full": "fsdplint.reporters.full",
    "concise": "fsdplint.reporters.concise",
    "json": "fsdplint.reporters.json_",
    "jsonl": "fsdplint.reporters.jsonl",
    "github": "fsdplint.reporters.github",
    "gitlab": "fsdplint.reporters.gitlab",
    "sarif": "fsdplint.reporters.sarif",
    "junit": "fsdplint.reporters.junit",
    "rdjson": "fsdplint.reporters.rdjson",
}
"""Every format by name, and its module."""

FOR_PEOPLE = ("full", "concise")
"""The formats that know colours."""


def render(format: str, report: Report, *, color: bool = False, quiet: bool = False) -> str:
    """A report as text that ends in a line break, or empty; ``quiet``: without the closing lines. Raises KeyError for no format."""
    module = import_module(FORMATS[format])
    if format == "full":
        return str(module.render(report, color=color, quiet=quiet))
    return str(module.render(report, color=color) if format in FOR_PEOPLE else module.render(report))
