"""Suppressions in scripts: a comment above a command speaks of all its lines, since no comment can stand within."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.launch import ConfigFile
from fsdplint.suppressions import Suppressions

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic
    from fsdplint.dialects import Dialect
    from fsdplint.document import Document
    from fsdplint.rule import Pack


class ScriptSuppressions(Suppressions):
    """The suppressions of a script, as far as they concern the command that starts in a line."""

    def __init__(self, document: Document, dialect: Dialect, pack: Pack, line: int) -> None:
        super().__init__(ConfigFile(document, dialect), pack)
        self._line = line

    def silences(self, diagnostic: Diagnostic) -> bool:
        """Whether a comment silences a diagnostic, in its own line or above its command."""
        start = diagnostic.range.start._replace(line=self._line)
        moved = diagnostic._replace(range=diagnostic.range._replace(start=start))
        return super().silences(diagnostic) or super().silences(moved)
