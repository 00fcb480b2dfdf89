"""What axolotl's own rules share: a reader of its keys, and rules that consist of keys that do not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects import word_bool
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Path


class Keys:
    """The keys of an axolotl file, as axolotl takes them. Keys are dotted; `fsdp_config` is read with and without prefixes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.plan = context.plan

    def path(self, key: str) -> Path:
        """Where a key stands, in the file's own spelling; where it would stand if it is absent."""
        parts = tuple(key.split("."))
        if parts[0] == "fsdp_config" and len(parts) == 2:
            prefixed = (parts[0], f"fsdp_{parts[1]}")
            return prefixed if self.context.document.has(prefixed) else parts
        return parts

    def value(self, key: str) -> object:
        """The plain value of a key; None where it is absent."""
        return self.context.value(*self.path(key))

    def on(self, key: str) -> bool:
        """Whether a key asks for something: null, "", [], {}, 0, false and its words do not, and of a placeholder nobody knows."""
        value = self.value(key)
        return bool(value) and not is_placeholder(value) and not (isinstance(value, str) and word_bool(value) is False)

    def off(self, key: str) -> bool:
        """Whether a key surely asks for nothing (a placeholder may)."""
        return not self.on(key) and not is_placeholder(self.value(key))

    def text(self, key: str) -> str:
        """The text of a key; empty where there is none, and for a placeholder."""
        value = self.value(key)
        return value if isinstance(value, str) and not is_placeholder(value) else ""

    def above_one(self, key: str) -> bool:
        """Whether a size is a number above 1."""
        value = self.value(key)
        return isinstance(value, int) and not isinstance(value, bool) and value > 1

    def has_plugin(self, name: str) -> bool:
        """Whether a plugin is listed whose dotted name contains ``name``."""
        plugins = self.value("plugins")
        return isinstance(plugins, list) and any(isinstance(plugin, str) and name in plugin for plugin in plugins)

    @property
    def runs_fsdp1(self) -> bool:
        """Whether FSDP is on and surely not FSDP2."""
        return self.plan.fsdp.value is True and self.plan.fsdp_version.value == 1

    @property
    def sharders(self) -> tuple[str, ...]:
        """The keys that switch an engine on."""
        return tuple(key for key in ("fsdp", "fsdp_config", "deepspeed") if self.on(key))


class Clash(Rule):
    """A rule about keys that axolotl does not take together. Subclasses state what happens and find the guilty keys.

    ``when``: the releases in which it holds (a requirement; empty: all). ``fault``: the finding in short, ``says``: what happens,
    ``use``: what to write instead, ``outcome``: a word of OUTCOMES.
    """

    dialects = ("axolotl",)
    scope = "file"
    when = ""
    outcome = "refused"
    fault = ""
    says = "axolotl stops"
    use = ""

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        """The guilty keys, the one to look at first; empty where there is no fault."""
        raise NotImplementedError

    def check(self, context: Context) -> Iterator[Finding]:
        if not context.versions.has(self.when):
            return
        keys = Keys(context)
        first, *others = self.guilty(keys) or ("",)
        if not first:
            return
        related = [(context.at(keys.path(key)), f"`{key}` is written here") for key in others if context.document.has(keys.path(key))]
        yield self.finding(
            context.at(keys.path(first)),
            f"{self.fault}: {self.says}",
            outcome=self.outcome_here(keys),
            help=self.use or None,
            related=related,
            versions=self.when or None,
        )

    def outcome_here(self, keys: Keys) -> str:  # noqa: ARG002
        """The outcome in this launch."""
        return self.outcome


class MultiGpuClash(Clash):
    """A clash that axolotl sees only when it is started on several GPUs: a warning until the launch or ``--gpus`` says so."""

    def outcome_here(self, keys: Keys) -> str:
        return self.outcome if keys.plan.processes.value else "ignored"
