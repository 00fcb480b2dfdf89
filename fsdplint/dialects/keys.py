"""A document's keys by the names that its option table gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.table import is_known
from fsdplint.document import plain

if TYPE_CHECKING:
    from fsdplint.dialects.table import Table, Written
    from fsdplint.document import Document
    from fsdplint.target import Versions


class Keys:
    """The keys of a file by their canonical path, as far as the releases at hand know them.

    Of two spellings of one key the last counts, as in accelerate's own loop over them.
    """

    def __init__(self, table: Table, document: Document, versions: Versions) -> None:
        self.table = table
        self.document = document
        self.versions = versions
        self._found: dict[tuple[str, ...], Written] = {
            item.option.path: item for item in table.written(document.root) if item.option and is_known(item.option, versions)
        }

    def __contains__(self, path: tuple[str, ...]) -> bool:
        return path in self._found

    def value(self, *path: str) -> Any:
        """The plain value of a key; None for null and for an absent one."""
        return plain(self._found[path].entry.value) if path in self._found else None

    def place(self, *path: str, part: str = "value") -> Place:
        """Where a written key stands."""
        return Place(self.document, self._found[path].path, part)
