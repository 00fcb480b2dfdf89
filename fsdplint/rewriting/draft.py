"""A document on its way to another text, changed key by key through the edit layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects.table import is_known
from fsdplint.document import Delete, Insert, Refused, Rename, Replace, Set, apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsdplint.dialects import Dialect
    from fsdplint.document import Document, Operation, Path
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

Names = tuple[str, ...]


class Draft:
    """The text as it is so far. Keys are named as the option table names them; what is written may be another spelling.

    ``document``: the text so far. ``plan``: what the original states, read alone or with the files whose drafts are its sections.
    ``notes``: what the user has to know besides. Every change raises Refused where the edit layer is not certain of it.
    """

    def __init__(self, document: Document, dialect: Dialect, versions: Versions) -> None:
        self.document = document
        self.dialect = dialect
        self.versions = versions
        self.plan: Plan = dialect.read(document, versions)
        self.notes: list[str] = []
        self._sections: dict[Names, Draft] = {}

    def section(self, name: Names, other: Draft, plan: Plan) -> None:
        """From here on the keys below a name are those of another document, which the name stands for; ``plan``: of both."""
        self._sections[name] = other
        self.plan = plan

    def is_section(self, name: Names) -> bool:
        """Whether the keys below a name stand in another document."""
        return name in self._sections

    def texts(self) -> dict[str, str]:
        """The text of each document so far, by its path as shown."""
        texts = {self.document.path: self.document.text}
        for other in self._sections.values():
            texts |= other.texts()
        return texts

    def _home(self, name: Names) -> tuple[Draft, Names]:
        """Who holds a key, and its name there."""
        for base, other in self._sections.items():
            if name[: len(base)] == base and len(name) > len(base):
                return other, name[len(base) :]
        return self, name

    def spellings(self, name: Names) -> list[Path]:
        """Where a key stands in the document that holds it, under each of its spellings, in the order of the text."""
        home, name = self._home(name)
        return home._own_spellings(name)

    def _own_spellings(self, name: Names) -> list[Path]:
        written = self.dialect.table.written(self.document.root)
        return [item.path for item in written if item.option is not None and item.option.path == name] or (
            [name] if self.document.has(name) else []
        )

    def value(self, *name: str) -> object:
        """The value of a key; None for null and for an absent one. Of several spellings the last counts."""
        home, name = self._home(name)
        found = home.spellings(name)
        return home.document.value(found[-1]) if found else None

    def has(self, *name: str) -> bool:
        """Whether a key is written, be it as null."""
        return bool(self.spellings(name))

    def knows(self, *name: str) -> bool:
        """Whether the releases at hand know a key."""
        option = self.dialect.table.options.get(name)
        return option is not None and is_known(option, self.versions)

    def put(self, name: Names, value: object, after: str | None = None) -> None:
        """Write a value under a key, in the spelling that is there; further spellings of it go."""
        home, name = self._home(name)
        if home is not self:
            home.put(name, value, after)
            return
        found = self.spellings(name)
        for extra in found[:-1]:
            self._do(Delete(extra))
        if found:
            self._do(Replace(found[-1], value) if isinstance(value, (dict, list)) else Set(found[-1], value))
            return
        owner = self.spellings(name[:-1])[-1:] if len(name) > 1 else [()]
        self._do(Insert((*(owner[0] if owner else name[:-1]), name[-1]), value, after))

    def block(self, name: Names, body: Mapping[str, object], extras: Mapping[str, object] | None = None, after: str | None = None) -> None:
        """Write some keys of a mapping; ``extras`` only where the mapping has to be written anew."""
        if name in self._sections or (isinstance(self.value(*name), dict) and self.value(*name)):
            last: str | None = None
            for key, value in body.items():
                self.put((*name, key), value, last)
                last = str(self.spellings((*name, key))[-1][-1])
            return
        self.put(name, {**body, **(extras or {})}, after)

    def drop(self, *names: Names) -> None:
        """Take keys away, in every spelling."""
        for name in names:
            home, _ = self._home(name)
            for path in reversed(self.spellings(name)):
                home.drop_path(path)

    def drop_path(self, path: Path) -> None:
        """Take away what stands at a path, in this very spelling."""
        self._do(Delete(path))

    def rename(self, path: Path, key: str) -> None:
        """Give a key another name."""
        self._do(Rename(path, key))

    def note(self, text: str) -> None:
        """Something that the text cannot say."""
        self.notes.append(text)

    def _do(self, operation: Operation) -> None:
        self.document = apply(self.document, [operation]).document


def refuse_on(draft: Draft, keys: Iterable[str], reason: str) -> None:
    """Raise Refused where one of some top-level keys is on."""
    for key in keys:
        if draft.value(key):
            raise Refused(reason.replace("{key}", key))
