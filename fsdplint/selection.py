"""Which rules run, which files they do not speak of, and how loud they are."""

from __future__ import annotations

import os
from functools import cache, cached_property
from typing import TYPE_CHECKING

from fsdplint.diagnostics import RuleInfo, Severity
from fsdplint.errors import SettingsError, UsageError
from fsdplint.rule import Pack, load_pack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.diagnostics import Diagnostic
    from fsdplint.errors import FsdplintError
    from fsdplint.rule import Rule
    from fsdplint.settings import Settings


class Selection:
    """The rules of all packs that the settings name, and those of them that run.

    Of selectors the most precise decides, a code or name before a prefix before ``ALL``; of equally precise ones ``ignore``.
    ``select`` of the command line puts that of the settings and their ``ignore`` aside. Raises UsageError and SettingsError for selectors
    that choose nothing, and for rule packs that cannot be imported.
    """

    def __init__(
        self, settings: Settings, select: tuple[str, ...] | None, extend_select: tuple[str, ...], ignored: tuple[str, ...]
    ) -> None:
        self._settings = settings
        self._folder = settings.folder
        self._words = (select, extend_select, ignored)
        some = select is not None or settings.select is not None or any((extend_select, ignored, settings.extend_select, settings.ignore))
        self._is_plain = not some
        if not self._is_plain:
            _ = self.codes  # words that choose nothing are told now
        own = _Choice(self.pack, settings.source) if settings.per_file_ignores or settings.severity else None
        self._ignores = [(glob, frozenset(own.weights(words))) for glob, words in settings.per_file_ignores] if own else []
        levels = settings.severity if own else ()
        self._levels = {code: Severity.of(level) for word, level in levels if own for code in own.weights((word,))}

    @cached_property
    def pack(self) -> Pack:
        """All rules of all packs."""
        return _pack(self._settings)

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of the rules that run."""
        settings, (select, extend_select, ignored) = self._settings, self._words
        own = _Choice(self.pack, settings.source)
        chosen = own.codes(settings.select, settings.extend_select, settings.ignore)
        options = _Choice(self.pack, "")
        if select is not None:
            return frozenset(options.codes(select, extend_select, ignored))
        return frozenset((chosen | options.weights(extend_select).keys()) - options.weights(ignored).keys())

    @property
    def rules(self) -> list[Rule]:
        """The rules that run."""
        return [rule for rule in self.pack.rules if rule.code in self.codes]

    def rules_for(self, dialects: frozenset[str]) -> list[Rule]:
        """The rules that run and can speak about these dialects; the others are not even imported where nothing is selected."""
        if not self._is_plain:
            return self.rules
        return list(_pack(self._settings, dialects).rules)

    def levelled(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic at the level that settings give its rule."""
        level = self._levels.get(diagnostic.code)
        return diagnostic if level is None else diagnostic._replace(severity=level)

    def info(self, code: str) -> RuleInfo:
        """What a reporter may want to know of a rule."""
        rule = next(rule for rule in self.pack.rules if rule.code == code)
        return RuleInfo(code, rule.name, summary(rule))

    def ignored_in(self, location: str) -> frozenset[str]:
        """The codes that ``per-file-ignores`` silence in a file (absolute path)."""
        path = below(location, self._folder) if self._ignores else None
        if path is None:
            return frozenset()
        from fsdplint.gitignore import ignore

        return frozenset(code for glob, codes in self._ignores if ignore(glob).covers(path) for code in codes)


def below(location: str, folder: str) -> str | None:
    """A path relative to a folder, with ``/``; None where it does not lie below it."""
    location, folder = location.replace(os.path.sep, "/"), folder.replace(os.path.sep, "/").rstrip("/")
    return location[len(folder) + 1 :] if location.startswith(folder + "/") else None


@cache
def selection(settings: Settings, select: tuple[str, ...] | None, extend_select: tuple[str, ...], ignored: tuple[str, ...]) -> Selection:
    """The same object for the same words."""
    return Selection(settings, select, extend_select, ignored)


class _Choice:
    """Selectors of one source: a settings file, or the command line where the source is empty."""

    def __init__(self, pack: Pack, source: str) -> None:
        self._pack = pack
        self._source = source

    def weights(self, words: Iterable[str]) -> dict[str, int]:
        """The codes that selectors choose, each with how precisely it is named."""
        found: dict[str, int] = {}
        for word in words:
            codes = self._codes(word)
            weight = 0 if word.upper() == "ALL" else 100 if self._pack.named(word) else len(word)
            found.update({code: max(weight, found.get(code, 0)) for code in codes})
        return found

    def codes(self, select: tuple[str, ...] | None, extend_select: tuple[str, ...], ignored: tuple[str, ...]) -> set[str]:
        wanted = self.weights(("ALL",) if select is None else select)
        wanted.update({code: max(weight, wanted.get(code, 0)) for code, weight in self.weights(extend_select).items()})
        unwanted = self.weights(ignored)
        return {code for code, weight in wanted.items() if unwanted.get(code, -1) < weight}

    def _codes(self, word: str) -> set[str]:
        try:
            return self._pack.selected([word])
        except KeyError:
            raise self._error(f"unknown rule {word!r}{hint(self._pack, word)}") from None

    def _error(self, message: str) -> FsdplintError:
        return SettingsError(f"{self._source}: {message}") if self._source else UsageError(message)


def summary(rule: Rule) -> str:
    """The first sentence of a rule's page, on one line."""
    lines = [line.strip() for line in (rule.__doc__ or "").splitlines()]
    start = next((number for number, line in enumerate(lines) if line and not line.startswith("#")), len(lines))
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return " ".join(lines[start:end]).partition(". ")[0].rstrip(".")


def hint(pack: Pack, word: str) -> str:
    """What a rule's code or name was probably meant to be."""
    from fsdplint.spelling import did_you_mean

    return did_you_mean(word, [name for rule in pack.rules for name in (rule.code, rule.name)])


def _pack(settings: Settings, dialects: frozenset[str] | None = None) -> Pack:
    packs = tuple(dict.fromkeys(("fsdplint_rules", *settings.rule_packs)))
    try:
        return _loaded(packs, dialects)
    except Exception as error:
        if not settings.rule_packs:
            raise
        raise SettingsError(f"{settings.source}: rule-packs: {type(error).__name__}: {error}") from error


@cache
def _loaded(packs: tuple[str, ...], dialects: frozenset[str] | None) -> Pack:
    return load_pack(packs, dialects)
