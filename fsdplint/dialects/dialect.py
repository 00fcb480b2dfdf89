"""What a dialect is: a framework's way of writing a plan."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsdplint.dialects.reading import read_options
from fsdplint.dialects.table import Table
from fsdplint.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.document import Document, Path
    from fsdplint.launch import ConfigFile
    from fsdplint.plan import Fact
    from fsdplint.target import Versions


class Dialect:
    """A framework's config files. Subclasses state the attributes, tell their files by content, and settle what keys mean together.

    ``name`` is the contract's name, ``package`` the PyPI name whose releases decide, ``title`` the name in sentences, ``formats`` the
    document formats it is written in,
    ``loader`` how the framework reads YAML (see ``fsdplint.document.parse``), ``is_whole_story``: no other file or flag can switch FSDP on,
    ``is_companion``: such a file starts nothing, another one names it. ``starts``: of a launcher's command line, ``processes`` or the
    ``training`` itself.
    """

    name: str
    package: str
    title: str
    formats: tuple[str, ...] = ("yaml",)
    loader: str = "pyyaml"
    is_whole_story: bool = False
    is_companion: bool = False
    starts: str = ""

    @cached_property
    def table(self) -> Table:
        """The option table beside the dialect's module."""
        return Table.load(self.name)

    def recognise(self, document: Document) -> int:
        """How surely a document is of this dialect: 0 not at all, 100 beyond doubt. Only keys count, never file names."""
        raise NotImplementedError

    def for_document(self, document: Document) -> Dialect:  # noqa: ARG002
        """The form of the dialect that a document is written in, for a framework whose files have several forms."""
        return self

    def read(self, document: Document, versions: Versions) -> Plan:
        """The plan that a document states under the versions at hand, defaults filled in."""
        plan = Plan()
        read_options(plan, self.table, document, versions)
        self.settle(plan, document, versions)
        return plan

    def completed(self, plan: Plan, document: Document, others: Iterable[ConfigFile], versions: Versions) -> Plan:  # noqa: ARG002
        """The plan of a document with what other files of its launch, which it names, add to it."""
        return plan

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Decide what keys mean together: what turns an engine on, which FSDP version is in force, which sharding really runs."""

    def version_at(self, plan: Plan, document: Document, path: Path) -> Fact[int]:  # noqa: ARG002
        """The FSDP version in force where a key stands: the plan's, unless a file shards several models, each in its own way."""
        return plan.fsdp_version

    def is_open(self, document: Document) -> bool:  # noqa: ARG002
        """Whether the top level may hold keys that the table lacks and that others read: the script's own, or a plugin's."""
        return bool(self.table.schema.get("x-open"))

    def predates(self, document: Document) -> bool:  # noqa: ARG002
        """Whether a document is written for a generation of the framework that no known release reads."""
        return False

    def form_of(self, key: str) -> Dialect | None:  # noqa: ARG002
        """The form of the files that a (dotted) key names, where that settles how they are read, whatever stands in them."""
        return None

    def companions(self, document: Document) -> list[tuple[str, str]]:  # noqa: ARG002
        """Files that a document names and that belong to the same launch, as (dotted key, path as written)."""
        return []
