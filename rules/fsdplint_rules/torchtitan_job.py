"""What torchtitan's own rules share: the settings of a job, and rules that consist of settings that do not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.generations import spoken_for
from fsdplint_rules.siblings import setting

if TYPE_CHECKING:
    from collections.abc import Iterator

_SWITCHES = ("training.compile", "compile.enable")


class Job:
    """The settings of a torchtitan file, dotted, as the release at hand takes them: as written, else by default, unchecked."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.has = context.versions.has

    def value(self, key: str) -> object:
        """The value of a key; None for a key that the release does not know, and for a placeholder."""
        return setting(self.context, key)

    def is_written(self, key: str) -> bool:
        """Whether a key that the release knows stands in the file."""
        return self.value(key) is not None and self.context.document.has(tuple(key.split(".")))

    def on(self, key: str) -> bool:
        """Whether a switch is on: any text counts as true."""
        return bool(self.value(key))

    def number(self, key: str) -> int:
        """A whole number; 0 where there is none, so that no rule concludes anything from it."""
        value = self.value(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def degree(self, name: str) -> int:
        """A degree of [parallelism], without ``_degree``; 1 where the release knows none, 0 where it is no number."""
        key = f"parallelism.{name}_degree"
        return self.number(key) if self.value(key) is not None or self.is_open(key) else 1

    def is_open(self, key: str) -> bool:
        """Whether a placeholder stands at a key."""
        return is_placeholder(self.context.value(*key.split(".")))

    @property
    def converters(self) -> tuple[str, ...]:
        """The names in ``model.converters``."""
        listed = self.value("model.converters")
        return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()

    @property
    def compiles_model(self) -> bool:
        """Whether the model is compiled, or nobody knows: a placeholder decides, or the switch of releases before 0.2.0."""
        if any(self.is_open(key) for key in (*_SWITCHES, "compile.components")):
            return True
        if self.has("torchtitan>=0.2.0") and self.context.value("training", "compile"):
            return True
        components = self.value("compile.components")
        listed = isinstance(components, (list, str)) and "model" in components
        return self.on("training.compile") or (self.on("compile.enable") and listed)

    @property
    def compile_switch(self) -> str:
        """The key that compiles the model in the release at hand."""
        return _SWITCHES[0] if self.has("torchtitan<0.2.0") else _SWITCHES[1]


class Clash(Rule):
    """A rule about settings that torchtitan does not take together. Subclasses state what happens and find the guilty keys.

    ``when``: the releases in which it holds. ``fault``: the finding in short, ``says``: what happens, ``use``: what to write instead,
    ``outcome``: a word of OUTCOMES.
    """

    dialects = ("torchtitan",)
    scope = "file"
    when = "torchtitan<0.3.0"
    outcome = "refused"
    fault = ""
    says = ""
    use = ""

    def guilty(self, job: Job) -> tuple[str, ...]:
        """The guilty keys, the one to look at first; empty where there is no fault."""
        raise NotImplementedError

    def check(self, context: Context) -> Iterator[Finding]:
        if not context.versions.has(self.when):
            return
        keys = self.guilty(Job(context))
        if not keys:
            return
        first, *others = [tuple(key.split(".")) for key in keys]
        if first in spoken_for(context):
            return
        related = [(context.at(path), f"`{'.'.join(path)}` is written here") for path in others if context.document.has(path)]
        yield self.finding(
            context.at(first),
            f"{self.fault}: {self.says}",
            outcome=self.outcome,
            help=self.use or None,
            related=related,
            versions=self.when,
        )
