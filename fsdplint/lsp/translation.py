"""Diagnostics, edits and places in the words of the protocol."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types

from fsdplint.diagnostics import Severity
from fsdplint.lsp.certainty import DEPRECATED, is_without_effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsdplint.diagnostics import Diagnostic, Edit, Related
    from fsdplint.lsp.judging import Judged
    from fsdplint.lsp.text import Text

    TextOf = Callable[[str], tuple[str, Text] | None]
    """The URI and the text of a file by its absolute path; None for one that is not there."""

SOURCE = "fsdplint"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def range_in(text: Text, start: int, end: int) -> types.Range:
    """A stretch of a text, given by offsets."""
    return types.Range(types.Position(*text.point(start)), types.Position(*text.point(end)))


def diagnostics_of(judged: Judged, text: Text, text_of: TextOf) -> list[types.Diagnostic]:
    """All diagnostics of a document."""
    return [diagnostic_of(diagnostic, judged, text, text_of) for diagnostic in judged.diagnostics]


def diagnostic_of(diagnostic: Diagnostic, judged: Judged, text: Text, text_of: TextOf) -> types.Diagnostic:
    """One diagnostic, with its help behind the message; related places without a file are told in words."""
    related = [(one, _location(one, text_of)) for one in diagnostic.related]
    lines = [diagnostic.message, *(one.message for one, place in related if place is None)]
    lines += [f"help: {diagnostic.help}"] if diagnostic.help else []
    return types.Diagnostic(
        range=range_in(text, diagnostic.range.start.offset, diagnostic.range.end.offset),
        message="\n".join(lines),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        code_description=types.CodeDescription(href=diagnostic.url),
        source=SOURCE,
        tags=_tags(diagnostic, judged) or None,
        related_information=[types.DiagnosticRelatedInformation(place, one.message) for one, place in related if place is not None] or None,
    )


def _tags(diagnostic: Diagnostic, judged: Judged) -> list[types.DiagnosticTag]:
    if diagnostic.code == DEPRECATED:
        return [types.DiagnosticTag.Deprecated]
    return [types.DiagnosticTag.Unnecessary] if is_without_effect(judged, diagnostic) else []


def _location(related: Related, text_of: TextOf) -> types.Location | None:
    found = None if related.path.startswith("<") else text_of(os.path.abspath(related.path))
    if found is None:
        return None
    uri, text = found
    return types.Location(uri, range_in(text, related.range.start.offset, related.range.end.offset))


def workspace_edit(uri: str, version: int | None, text: Text, edits: Iterable[Edit], *, versioned: bool) -> types.WorkspaceEdit:
    """Edits of one document; ``versioned``: the client can refuse them where the document has changed since."""
    changes = [types.TextEdit(range_in(text, edit.start, edit.end), edit.text) for edit in edits]
    if not versioned:
        return types.WorkspaceEdit(changes={uri: changes})
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=identifier, edits=list(changes))])
