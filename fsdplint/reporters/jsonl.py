"""One JSON object for each diagnostic, each on a line of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsdplint.reporters.json_ import as_object

if TYPE_CHECKING:
    from fsdplint.diagnostics import Report


def render(report: Report) -> str:
    """The diagnostics as in the ``json`` format, without the rest of the report."""
    return "".join(json.dumps(as_object(diagnostic)) + "\n" for diagnostic in report.diagnostics)
