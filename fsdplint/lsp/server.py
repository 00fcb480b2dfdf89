"""The server: the client's messages in, diagnostics, actions and hovers out."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path, urlparse

from fsdplint import __version__, target
from fsdplint.errors import FsdplintError
from fsdplint.lsp import actions
from fsdplint.lsp.capabilities import Capabilities
from fsdplint.lsp.documents import OpenDocument, location_of
from fsdplint.lsp.judging import Judged, judge
from fsdplint.lsp.text import Text
from fsdplint.lsp.translation import diagnostics_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.request import Request

DELAY = 0.2
"""Seconds of quiet after which a changed document is judged."""

LARGEST = 4_000_000
"""Bytes of another file that is read to place something in it."""

WATCHED = (
    *("**/fsdplint.toml", "**/pyproject.toml", "**/requirements*.txt", "**/constraints.txt", "**/environment.{yml,yaml}"),
    *("**/uv.lock", "**/poetry.lock", "**/pylock*.toml"),
)
"""Files that change what is found in others."""


class Server(LanguageServer):
    """The language server. ``asked``: what its command line says of rules, versions and settings; it judges every document by that.

    Whatever goes wrong in it is logged, and it goes on.
    """

    def __init__(self, asked: Request) -> None:
        # Full texts: lines that Python knows and the protocol does not would spoil changes by lines and characters.
        super().__init__("fsdplint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.asked = asked
        self.can = Capabilities(types.ClientCapabilities())
        self._judged: dict[str, Judged] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._told: set[str] = set()

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002
        """A fault of ours, in the client's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"internal error: {type(error).__name__}: {error}"))

    def guarded(self, do: Callable[[], Any]) -> Any:
        """What a call returns; None where it raises, and the client is told why."""
        try:
            found = do()
        except FsdplintError as error:
            self._tell(str(error))
            return None
        except Exception as error:
            self.report_server_error(error, type(error))
            return None
        return found

    def _tell(self, message: str) -> None:
        """A fault in the settings, said once until something is saved."""
        if message not in self._told:
            self._told.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"fsdplint: {message}"))

    # Documents

    def document(self, uri: str) -> OpenDocument | None:
        """An open document that may be a training config."""
        found = self.workspace.text_documents.get(unquote(uri))
        if found is None:
            return None
        scheme, _, path, *_ = urlparse(uri)
        location = location_of(scheme, to_fs_path(uri) or path, found.language_id)
        return None if location is None else OpenDocument(found.uri, location, found.source, found.version)

    def documents(self) -> list[OpenDocument]:
        """All open documents that may be training configs."""
        found = [self.document(one.uri) for one in list(self.workspace.text_documents.values())]
        return [document for document in found if document is not None]

    def text(self, source: str) -> Text:
        """A text in the encoding that was negotiated."""
        return Text(source, str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding)))

    def text_of(self, location: str) -> tuple[str, Text] | None:
        """The URI and text of a file: as it is open, else as it is saved; None for one that cannot be read."""
        for document in self.documents():
            if os.path.realpath(document.location) == os.path.realpath(location):
                return document.uri, self.text(document.text)
        try:
            with open(location, "rb") as file:
                source = file.read(LARGEST).decode("utf-8", "replace")
        except OSError:
            return None
        uri = from_fs_path(location)
        return None if uri is None else (uri, self.text(source.removeprefix("\ufeff")))

    # Judging

    def judged(self, uri: str) -> Judged | None:
        """What there is to say about an open document as it is now. Raises FsdplintError where settings make no sense."""
        document = self.document(uri)
        if document is None:
            return None
        found = self._judged.get(uri)
        if found is None or found.document != document:
            found = self._judged[uri] = judge(self.asked, document, self.documents())
            for failure in found.failures:
                self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"{document.path}: {failure}"))
        return found

    def publish(self, uri: str) -> None:
        """Judge a document and send what was found; nothing of one that is no training config, or that settings leave unjudged."""
        document = self.document(uri)
        if document is None:
            return
        found = self.diagnostics(uri)
        if not self.can.pull:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, document.version))

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of an open document, in the words of the protocol."""

        def found() -> list[types.Diagnostic]:
            judged = self.judged(uri)
            return diagnostics_of(judged, self.text(judged.document.text), self.text_of) if judged is not None else []

        return self.guarded(found) or []

    def refresh(self) -> None:
        """Judge everything anew: settings, requirement files or other files may have changed."""
        target.forget()
        self._judged.clear()
        self._told.clear()
        if self.can.pull:
            self.workspace_diagnostic_refresh(None)
        else:
            for document in self.documents():
                self.publish(document.uri)

    def changed(self, uri: str, delay: float = DELAY) -> None:
        """Judge a document, and those that were judged with it, after a while of quiet; at once what the client asks for itself."""
        self.forget(uri)
        if self.can.pull:
            for other in self._beside(uri):
                self._judged.pop(other)
        else:
            self._timers[uri] = asyncio.get_running_loop().call_later(delay, self._settle, uri)

    def _settle(self, uri: str) -> None:
        self._timers.pop(uri, None)
        self.guarded(partial(self.publish, uri))
        for other in self._beside(uri):
            self._judged.pop(other)
            self.guarded(partial(self.publish, other))

    def _beside(self, uri: str) -> list[str]:
        """The open documents that were judged with the file of another one."""
        place = os.path.realpath(to_fs_path(uri) or uri)
        return [other for other, judged in self._judged.items() if other != uri and place in judged.reads]

    def forget(self, uri: str) -> None:
        """Forget what was found in a document, and leave what was to be done about it."""
        self._judged.pop(uri, None)
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def page(self, uri: str) -> actions.Page | None:
        """A document as actions need it."""
        judged = self.judged(uri)
        if judged is None:
            return None
        return actions.Page(judged, self.text(judged.document.text), self.text_of, self.can.versioned_edits, self.can.lazy_edits)
