"""Rules: the objects that find faults, what they are given, and how they are chosen."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import OUTCOMES, Place, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from fsdplint.dialects import Claim, Dialect, Table, Written
    from fsdplint.document import Document, Path
    from fsdplint.fixes import SymbolicFix, summed
    from fsdplint.launch import ConfigFile, Launch
    from fsdplint.plan import Fact, Plan
    from fsdplint.target import Target, Versions


__all__ = ["Context", "Finding", "Pack", "Rule", "SymbolicFix", "load_pack", "noted", "summed"]


class Finding:
    """A fault as a rule sees it: symbolic, before spans, versions and severities of other target points are known."""

    __slots__ = ("at", "fix", "help", "message", "outcome", "related", "rule", "severity", "versions")

    def __init__(
        self,
        rule: Rule,
        at: Place,
        message: str,
        severity: Severity,
        *,
        outcome: str | None = None,
        help: str | None = None,
        related: Sequence[tuple[Place, str]] = (),
        versions: str | None = None,
        fix: SymbolicFix | None = None,
    ) -> None:
        self.rule = rule
        self.at = at
        self.message = message
        self.severity = severity
        self.outcome = outcome
        self.help = help
        self.related = tuple(related)
        self.versions = versions
        self.fix = fix


class Rule:
    """A pluggable rule. Subclasses state the attributes, describe themselves in the docstring (the rule's page) and write ``check``.

    ``severity`` is the usual one (a finding may state another), ``facts`` the ids of the evidence, ``dialects`` those it speaks about
    (empty: all),
    ``scope``: ``file`` runs for every file of a launch with that file's document, ``launch`` once per launch,
    ``needs_tree``: False for rules that also look at files which could not be read whole.
    """

    code: str
    name: str
    severity: Severity = Severity.ERROR
    facts: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    scope: str = "launch"
    needs_tree: bool = True

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for every fault."""
        raise NotImplementedError

    def finding(
        self,
        at: Place,
        message: str,
        *,
        outcome: str | None = None,
        help: str | None = None,
        related: Sequence[tuple[Place, str]] = (),
        versions: str | None = None,
        fix: SymbolicFix | None = None,
    ) -> Finding:
        """A finding of this rule; ``outcome`` (a word of OUTCOMES) sets the severity, else the rule's own holds."""
        severity = OUTCOMES[outcome] if outcome else self.severity
        return Finding(self, at, message, severity, outcome=outcome, help=help, related=related, versions=versions, fix=fix)

    def claimed(
        self,
        claim: Claim,
        at: Place,
        fault: str,
        *,
        related: Sequence[tuple[Place, str]] = (),
        help: str | None = None,
        fix: SymbolicFix | None = None,
    ) -> Finding:
        """A finding whose consequence an option table states: ``<fault>: <what happens>``; the table's own fix comes before ``fix``."""
        message = f"{fault}: {claim.says}" if claim.says else fault
        if claim.fix is not None:
            from fsdplint.fixes import stated_fix

            fix = stated_fix(claim.fix, at)
        return self.finding(at, message, outcome=claim.outcome, help=claim.help or help, related=related, versions=claim.versions, fix=fix)


def noted(fact: Fact[Any], message: str) -> list[tuple[Place, str]]:
    """A related place for a finding: where a fact is written; nothing for a default."""
    return [(fact.place, message)] if fact.place is not None else []


class Context:
    """What a rule's check is given.

    ``plan``: the merged plan of the launch. ``own``: the plan of this file alone. ``document``, ``dialect``, ``table``: the file's
    (for a rule of scope ``launch``: of the launch's main file). ``versions``: one concrete point of the target. ``launch``: all members.
    """

    def __init__(
        self,
        launch: Launch,
        file: ConfigFile,
        plan: Plan,
        plans: dict[ConfigFile, Plan],
        versions: Versions,
        target: Target,
    ) -> None:
        self.launch = launch
        self.file = file
        self.plan = plan
        self.plans = plans
        self.versions = versions
        self.target = target

    @property
    def document(self) -> Document:
        return self.file.document

    @property
    def dialect(self) -> Dialect:
        return self.file.dialect

    @property
    def table(self) -> Table:
        return self.file.dialect.table

    @property
    def own(self) -> Plan:
        return self.plans[self.file]

    @property
    def is_whole_launch(self) -> bool:
        """Whether nothing outside the given files and flags can change the plan: the flags of a launcher are given, or the dialect is the
        whole story.
        """
        command = self.launch.command
        return (command is not None and bool(command.dialect.starts)) or self.dialect.is_whole_story

    @cached_property
    def written(self) -> list[Written]:
        """Every key of the document that the option table describes, or whose parent it describes."""
        return self.table.written(self.document.root)

    def at(self, path: Path, part: str = "value") -> Place:
        """A place in this file."""
        return Place(self.document, path, part)

    def value(self, *path: str | int) -> object:
        """The plain value at a path of this file; None where it is absent."""
        return self.document.value(path)

    def home(self, decision: str) -> Place:
        """Where a decision is written; for one that is not, where this file's table would write it (a missing key)."""
        fact: Fact[Any] = self.plan.fact(decision)
        if fact.place is not None:
            return fact.place
        for file in (self.file, *self.launch.members):
            options = file.dialect.table.decisions.get(decision)
            if options:
                return Place(file.document, self._belonging(file, options[0].path), "key")
        return Place(self.document, ())

    def _belonging(self, file: ConfigFile, path: tuple[str, ...]) -> Path:
        """A canonical path with its parents spelled as the document spells them."""
        for item in file.dialect.table.written(file.document.root):
            if item.option and item.option.path == path[:-1]:
                return (*item.path, path[-1])
        return path

    def consequence(self, rule: Rule, fact: Fact[Any] | None = None, *, across: bool = False) -> Claim | None:
        """What the framework that reads ``fact`` (else this file's) does with the rule's fault; None: nothing is known, say nothing.

        ``across``: the fault lies between files, so that what another member's framework does counts where the first has no claim.
        """
        members = self.launch.members
        place = fact.place if fact is not None else None
        mine = next((member for member in members if place is not None and member.document is place.document), self.file)
        asked = [mine, *(m for m in members if m is not mine and (across or place is None or m.dialect.name == mine.dialect.name))]
        for member in asked:
            claim = member.dialect.table.consequence(rule.code, self.versions, self.plan)
            if claim is not None:
                return claim
        return None


class Pack:
    """All rules that take part, in the order of their codes."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.code))

    def named(self, word: str) -> Rule | None:
        """The rule of that code or name, case aside."""
        return next((r for r in self.rules if word.upper() == r.code or word.lower() == r.name), None)

    def selected(self, words: Iterable[str]) -> set[str]:
        """The codes that selectors (code, name, prefix of a code, ``ALL``) choose; raises KeyError with the first that chooses none."""
        chosen: set[str] = set()
        for word in words:
            codes = {r.code for r in self.rules if word.upper() == "ALL" or r.code.startswith(word.upper()) or r.name == word.lower()}
            if not codes:
                raise KeyError(word)
            chosen |= codes
        return chosen


def load_pack(modules: Sequence[str] = ("fsdplint_rules",), dialects: Set[str] | None = None) -> Pack:
    """The rules of packs: modules with a sequence ``RULES``. A pack that has ``rules_for(dialects)`` is asked for those alone.

    Raises ImportError for a missing module, AttributeError for one without rules.
    """
    packs = [import_module(name) for name in modules]
    return Pack(rule for pack in packs for rule in (pack.rules_for(dialects) if hasattr(pack, "rules_for") else pack.RULES))


def __getattr__(name: str) -> Any:
    """What rules build fixes from; a check that finds nothing does not load it."""
    if name in ("SymbolicFix", "summed"):
        from fsdplint import fixes

        return getattr(fixes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
