"""What the client can do, as far as it matters here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygls.capabilities import get_capability

if TYPE_CHECKING:
    from lsprotocol import types


class Capabilities:
    """``versioned_edits``: edits that name the version they are for. ``lazy_edits``: actions whose edit is asked for when it is wanted.
    ``watching``: files that the client watches for the server. ``pull``: the client asks for diagnostics, also when it is told to.
    """

    def __init__(self, client: types.ClientCapabilities) -> None:
        self.versioned_edits = bool(get_capability(client, "workspace.workspace_edit.document_changes", False))
        self.lazy_edits = "edit" in (get_capability(client, "text_document.code_action.resolve_support.properties", None) or ())
        self.watching = bool(get_capability(client, "workspace.did_change_watched_files.dynamic_registration", False))
        can_pull = get_capability(client, "text_document.diagnostic", None) is not None
        self.pull = can_pull and bool(get_capability(client, "workspace.diagnostics.refresh_support", False))
