"""The smoke plan: everything that a rank must know to train a few steps as the files say, as plain JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

VERSION = 1
"""The version of the JSON form; a worker refuses any other."""

STAGES = ("load", "wrap", "steps", "checkpoint", "compile")
"""The stages in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A decision: ``value`` is what runs, ``written`` what the files ask for, ``asked`` whether a file or flag states it.

    ``because``: why another value runs than is written, as half a sentence. ``where``: the place of the statement, or whose default it is.
    """

    value: Any = None
    written: Any = None
    asked: bool = False
    because: str = ""
    where: str = ""

    @property
    def holds(self) -> bool:
        """Whether what is asked for is what runs."""
        return not self.asked or self.written is None or _same(self.value, self.written)


def _same(one: object, other: object) -> bool:
    return sorted(one) == sorted(other) if isinstance(one, list) and isinstance(other, list) else one == other


@dataclass(frozen=True, slots=True)
class Unexercised:
    """Something the files ask for that the test does not run, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class ConfigPath:
    """A file of the launch: its absolute path, its path as given, and its dialect."""

    path: str
    shown: str
    dialect: str


@dataclass(frozen=True, slots=True)
class SmokePlan:
    """What one smoke run does.

    ``dialect``: the launch's main one. ``settings``: decisions by name, with the names of ``fsdplint.plan.Plan`` and enum values as texts.
    ``command``: the launch line. ``route``: ``accelerate`` (its launcher and prepare) or ``torch`` (torchrun and torch's own FSDP).
    ``loader``: whether upstream's loader reads the files. ``device``: ``cpu``, ``cuda``, ``xpu``, or ``auto`` until it is known;
    ``world_size`` 0 until it is known. ``model``: ``builtin`` or ``twin``. ``seconds``: the time that one group of ranks may take.
    ``results``: the folder for each rank's results; None where rank 0 reports. ``folder``: where the ranks write checkpoints, None for a
    temporary one. ``cwd``: the folder against which the files' own paths are read. ``skipped``: reasons by stage.
    """

    dialect: str
    files: tuple[ConfigPath, ...]
    settings: dict[str, Setting]
    command: str | None = None
    route: str = "torch"
    loader: bool = True
    device: str = "auto"
    world_size: int = 0
    steps: int = 4
    model: str = "builtin"
    seed: int = 17
    seconds: float = 300.0
    results: str | None = None
    folder: str | None = None
    cwd: str | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    unexercised: tuple[Unexercised, ...] = ()

    def value(self, name: str, default: Any = None) -> Any:
        """What runs for a decision; ``default`` where nothing decides it."""
        found = self.settings[name].value if name in self.settings else None
        return default if found is None else found

    def setting(self, name: str) -> Setting:
        """A decision with what is written; an empty one where nothing decides it."""
        return self.settings.get(name, Setting())

    @property
    def compiles(self) -> bool:
        """Whether the launch trains a compiled model."""
        return self.value("compile") is True or self.value("fsdp2_compile") is True

    def file_of(self, *dialects: str) -> ConfigPath | None:
        """The last file of one of these dialects."""
        return next((file for file in reversed(self.files) if file.dialect in dialects), None)

    def but(self, **changes: Any) -> SmokePlan:
        """The same plan with other attributes."""
        return replace(self, **changes)

    def running(self, **values: Any) -> SmokePlan:
        """The same plan in which other values run; what is written stays as it is."""
        settings = dict(self.settings)
        for name, value in values.items():
            settings[name] = replace(self.setting(name), value=value)
        return replace(self, settings=settings)

    def explained(self, name: str, because: str) -> SmokePlan:
        """The same plan with a reason why a decision is not what is written."""
        return replace(self, settings={**self.settings, name: replace(self.setting(name), because=because)})

    def without(self, what: str, why: str) -> SmokePlan:
        """The same plan, with one more thing that is not exercised."""
        return replace(self, unexercised=(*self.unexercised, Unexercised(what, why)))

    def dumps(self) -> str:
        """The plan as JSON text."""
        import json

        return json.dumps({"version": VERSION, **asdict(self)}, indent=2)

    @classmethod
    def loads(cls, text: str) -> SmokePlan:
        """The plan that a JSON text states. Raises ValueError for another version or for text that is no plan."""
        import json

        data = json.loads(text)
        if not isinstance(data, dict) or data.pop("version", None) != VERSION:
            raise ValueError(f"not a smoke plan of version {VERSION}")
        try:
            data["files"] = tuple(ConfigPath(**file) for file in data["files"])
            data["settings"] = {name: Setting(**setting) for name, setting in data["settings"].items()}
            data["unexercised"] = tuple(Unexercised(**item) for item in data.get("unexercised", ()))
            return cls(**data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a smoke plan: {error}") from error
