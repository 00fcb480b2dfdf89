"""Which message does what."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import to_fs_path

from fsdplint import target
from fsdplint.lsp import actions
from fsdplint.lsp.capabilities import Capabilities
from fsdplint.lsp.hover import hover
from fsdplint.lsp.server import WATCHED, Server
from fsdplint.lsp.translation import SOURCE, range_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.request import Request


def server_for(asked: Request) -> Server:
    """A server that answers, ready to be started."""
    server = Server(asked)
    for name, handle in _NOTIFIED.items():
        server.feature(name)(handle)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    options = types.CodeActionOptions(code_action_kinds=list(actions.KINDS), resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(_actions)
    server.feature(types.CODE_ACTION_RESOLVE)(_resolve)
    return server


def _initialize(server: Server, params: types.InitializeParams) -> None:
    """Paths are shown as seen from the workspace's folder, and what was never saved is thought to lie in it."""
    server.can = Capabilities(params.capabilities)
    folders = [folder.uri for folder in params.workspace_folders or ()]
    root = to_fs_path(next(iter([*folders, *([params.root_uri] if params.root_uri else [])]), ""))
    if root and os.path.isdir(root):
        os.chdir(root)
    if server.can.pull:
        options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE)
        server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(_pull)


def _initialized(server: Server, _: types.InitializedParams) -> None:
    if not server.can.watching:
        return
    watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
    registration = types.Registration("fsdplint-watched", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    server.client_register_capability(types.RegistrationParams([registration]))


def _opened(server: Server, params: types.DidOpenTextDocumentParams) -> None:
    target.forget()
    server.changed(params.text_document.uri, 0)


def _changed(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


def _saved(server: Server, _: types.DidSaveTextDocumentParams) -> None:
    server.refresh()


def _closed(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.changed(params.text_document.uri, 0)
    if not server.can.pull:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


def _watched(server: Server, _: types.DidChangeWatchedFilesParams) -> None:
    server.refresh()


def _configured(server: Server, _: types.DidChangeConfigurationParams) -> None:
    server.refresh()


_NOTIFIED: dict[str, Callable[[Server, Any], None]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.TEXT_DOCUMENT_DID_OPEN: _opened,
    types.TEXT_DOCUMENT_DID_CHANGE: _changed,
    types.TEXT_DOCUMENT_DID_SAVE: _saved,
    types.TEXT_DOCUMENT_DID_CLOSE: _closed,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _watched,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configured,
}


def _pull(server: Server, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
    return types.RelatedFullDocumentDiagnosticReport(items=server.diagnostics(params.text_document.uri))


def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    def found() -> types.Hover | None:
        judged = server.judged(params.text_document.uri)
        if judged is None:
            return None
        text = server.text(judged.document.text)
        about = hover(judged, text.offset(params.position.line, params.position.character))
        if about is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, about.text), range_in(text, *about.span))

    answer: types.Hover | None = server.guarded(found)
    return answer


def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    def found() -> list[types.CodeAction]:
        page = server.page(params.text_document.uri)
        if page is None:
            return []
        is_asked = params.context.trigger_kind is not types.CodeActionTriggerKind.Automatic
        return list(actions.actions(page, server.asked, params.range, params.context.only, is_asked=is_asked))

    return server.guarded(found) or []


def _resolve(server: Server, action: types.CodeAction) -> types.CodeAction:
    """The action with its edit; where there is none, the user is told why."""

    data: Any = action.data

    def found() -> None:
        page = server.page(str(data["uri"]))
        if page is None:
            return
        action.edit, remarks = actions.written(page, server.asked, str(data["kind"]))
        level = types.MessageType.Warning if action.edit is None else types.MessageType.Info
        for remark in remarks:
            server.window_show_message(types.ShowMessageParams(level, f"fsdplint: {remark}"))

    if isinstance(data, dict) and {"uri", "kind"} <= data.keys():
        server.guarded(found)
    return action
