"""Which diagnostics certainly mean that a key has no effect: an editor fades such text, which must not be done to a key that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.document import parse_dotted

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic
    from fsdplint.dialects import Written
    from fsdplint.lsp.judging import Judged

DEPRECATED = "FSD402"
"""The rule whose diagnostics stand at what is announced to go."""

_OF_OPTION = {"FSD406": "x-otherwise", "FSD407": "x-otherwise", "ACC001": "x-unread"}
_OF_OWNER = {"FSD003": ("x-unknown", "x-misspelt")}


def is_without_effect(judged: Judged, diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic stands at a key that nothing reads: all that the option table says of such keys is that they are ignored."""
    if diagnostic.code not in (*_OF_OPTION, *_OF_OWNER) or diagnostic.key is None or "(only with " in diagnostic.message:
        return False
    config, path = judged.config, parse_dotted(diagnostic.key)
    written = config.file.dialect.table.written(config.file.document.root) if config is not None else []
    item = next((item for item in written if item.path == path), None)
    claims = _claims(item, diagnostic.code) if item is not None else []
    return bool(claims) and all(claim["outcome"] == "ignored" for claim in claims)


def _claims(item: Written, code: str) -> list[dict[str, Any]]:
    if code in _OF_OWNER:
        return [claim for word in _OF_OWNER[code] for claim in item.owner.get(word, [])]
    return item.option.schema.get(_OF_OPTION[code], []) if item.option is not None else []
