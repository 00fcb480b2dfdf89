"""The plan: what a launch decides about distributed training, free of any framework's spelling."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Place

T = TypeVar("T")


class Sharding(Enum):
    """What FSDP shards, by torch's FSDP1 names; FSDP2 with reshard_after_forward true is FULL_SHARD, false SHARD_GRAD_OP."""

    FULL_SHARD = "FULL_SHARD"
    SHARD_GRAD_OP = "SHARD_GRAD_OP"
    NO_SHARD = "NO_SHARD"
    HYBRID_SHARD = "HYBRID_SHARD"
    HYBRID_SHARD_ZERO2 = "HYBRID_SHARD_ZERO2"


class Wrap(Enum):
    """How a model is cut into FSDP units."""

    TRANSFORMER = "TRANSFORMER_BASED_WRAP"
    SIZE = "SIZE_BASED_WRAP"
    NONE = "NO_WRAP"


class StateDict(Enum):
    """How FSDP saves parameters."""

    FULL = "FULL_STATE_DICT"
    SHARDED = "SHARDED_STATE_DICT"
    LOCAL = "LOCAL_STATE_DICT"


class Precision(Enum):
    """The mixed precision of a run; NONE trains in the parameters' own dtype."""

    NONE = "no"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"


class Fact(Generic[T]):
    """One decision: its value, and where it was read.

    ``value``: what really runs; None where nothing decides it or where it cannot be known.
    ``place``: where it is written; None for a default.
    ``source``: whose default it is (``default of accelerate 1.15.0``), or how it follows from other keys.
    ``written``: what the file asks for where that differs from ``value``; else equal to ``value``.
    ``because``: why what is written does not run, as half a sentence.
    ``unknown``: a placeholder (``${X}``, ``auto``) is written; nothing may be concluded.
    ``rivals``: the same decision stated at other places, which this one beats.
    """

    __slots__ = ("because", "place", "rivals", "source", "unknown", "value", "written")

    def __init__(
        self,
        value: T | None = None,
        place: Place | None = None,
        *,
        source: str = "",
        written: T | None = None,
        because: str = "",
        unknown: bool = False,
        rivals: tuple[Fact[T], ...] = (),
    ) -> None:
        self.value = value
        self.place = place
        self.source = source
        self.written = value if written is None else written
        self.because = because
        self.unknown = unknown
        self.rivals = rivals

    def __repr__(self) -> str:
        where = self.place.path if self.place else self.source or "nowhere"
        return f"Fact({self.value!r}, {where!r})"

    @property
    def is_written(self) -> bool:
        """Whether a file or a flag states it (a placeholder counts)."""
        return self.place is not None

    @property
    def is_silent(self) -> bool:
        """Whether nothing is known of it: it is neither written nor has a value."""
        return self.place is None and self.value is None

    @property
    def as_written(self) -> bool:
        """Whether what runs is what the file asks for."""
        return self.written == self.value

    def overruled(self, value: T | None, because: str) -> Fact[T]:
        """The same written decision, of which ``value`` is what really runs."""
        return Fact(value, self.place, source=self.source, written=self.written, because=because, rivals=self.rivals)

    def beating(self, *others: Fact[T]) -> Fact[T]:
        """The same fact, which wins over other written ones."""
        rivals = (*self.rivals, *(rival for other in others for rival in (other, *other.rivals) if rival.is_written))
        return Fact(
            self.value,
            self.place,
            source=self.source,
            written=self.written,
            because=self.because,
            unknown=self.unknown,
            rivals=rivals,
        )

    @property
    def contradicted(self) -> Fact[T] | None:
        """The first rival that asks for something else; None where all agree or cannot be compared."""
        mine = self.written
        return next((r for r in self.rivals if mine is not None and r.written is not None and r.written != mine), None)


class Plan:
    """The decisions of one launch. Every attribute is a Fact; one that nobody decides has the value None.

    Engines: ``launcher`` is what accelerate starts the processes with (``fsdp``, ``deepspeed``, ``megatron-lm``, ``ddp``, ``xla``,
    ``sagemaker``, or ``none``); ``fsdp`` and ``deepspeed`` say whether the engine is on (place: what switches it), ``deepspeed_config``
    the path or mapping.
    FSDP: ``fsdp_options`` (any FSDP option is written; place: the block), ``fsdp_version`` 1 or 2, ``sharding``, ``offload``,
    ``wrap_policy``, ``wrap_classes`` (names), ``min_num_params``, ``state_dict``, ``activation_checkpointing``, ``ram_efficient``,
    ``sync_module_states``, ``orig_params``, ``backward_prefetch``, ``forward_prefetch``, ``limit_all_gathers``.
    Run: ``precision``, ``compile`` (on or off), ``fsdp2_compile`` (soup's own switch), ``gradient_checkpointing``, ``optimizer``,
    ``adapter`` (``lora``, ``qlora``),
    ``quantization`` (``4bit``, ``8bit``, ``hqq`` ...), ``quant_storage`` (dtype name), ``save_only_model``, ``backend`` (``unsloth``,
    ``mlx``, ``transformers``),
    ``model`` (name or path), ``task``. Machines: ``device``, ``processes`` (world size), ``machines``, mesh sizes ``dp_replicate``,
    ``dp_shard``, ``tp``, ``cp``, ``sp``, ``pp``.
    """

    launcher: Fact[str]
    fsdp: Fact[bool]
    deepspeed: Fact[bool]
    deepspeed_config: Fact[Any]
    fsdp_options: Fact[bool]
    fsdp_version: Fact[int]
    sharding: Fact[Sharding]
    offload: Fact[bool]
    wrap_policy: Fact[Wrap]
    wrap_classes: Fact[tuple[str, ...]]
    min_num_params: Fact[int]
    state_dict: Fact[StateDict]
    activation_checkpointing: Fact[bool]
    ram_efficient: Fact[bool]
    sync_module_states: Fact[bool]
    orig_params: Fact[bool]
    backward_prefetch: Fact[str]
    forward_prefetch: Fact[bool]
    limit_all_gathers: Fact[bool]
    precision: Fact[Precision]
    compile: Fact[bool]
    fsdp2_compile: Fact[bool]
    gradient_checkpointing: Fact[bool]
    optimizer: Fact[str]
    adapter: Fact[str]
    quantization: Fact[str]
    quant_storage: Fact[str]
    save_only_model: Fact[bool]
    backend: Fact[str]
    model: Fact[str]
    task: Fact[str]
    device: Fact[str]
    processes: Fact[int]
    machines: Fact[int]
    dp_replicate: Fact[int]
    dp_shard: Fact[int]
    tp: Fact[int]
    cp: Fact[int]
    sp: Fact[int]
    pp: Fact[int]

    def __init__(self) -> None:
        for name in DECISIONS:
            setattr(self, name, NOWHERE)

    def __iter__(self) -> Iterator[tuple[str, Fact[Any]]]:
        """Every decision with its name, in the order of the class."""
        for name in DECISIONS:
            yield name, getattr(self, name)

    def fact(self, decision: str) -> Fact[Any]:
        """The fact of a decision by name; raises AttributeError for no decision."""
        found: Fact[Any] = getattr(self, decision)
        return found

    def set(self, decision: str, fact: Fact[Any]) -> None:
        """Put a fact under a decision's name; raises AttributeError for no decision."""
        setattr(self, decision, fact)

    def copy(self) -> Plan:
        """A plan with the same facts (facts themselves are not changed in place)."""
        twin = Plan()
        for name, fact in self:
            setattr(twin, name, fact)
        return twin


DECISIONS: tuple[str, ...] = tuple(Plan.__annotations__)
"""The names of all decisions, in the order in which they are explained."""

FSDP_OPTIONS = (
    "fsdp_version",
    "sharding",
    "offload",
    "wrap_policy",
    "wrap_classes",
    "min_num_params",
    "state_dict",
    "activation_checkpointing",
    "ram_efficient",
    "sync_module_states",
    "orig_params",
    "backward_prefetch",
    "forward_prefetch",
    "limit_all_gathers",
)
"""The decisions that the options beside the switch of an FSDP block carry."""

NOWHERE: Fact[Any] = Fact()
"""The fact of a decision that nothing states: value None, no place, no source."""


def is_placeholder(value: object) -> bool:
    """Whether a written value stands for something filled in later, so that nothing may be concluded from it.

    ``${...}`` and ``$VAR`` (OmegaConf, shells), ``{{...}}`` and ``<...>`` (templates), ``???`` (Hydra), ``%(x)s``, and ``auto``.
    """
    if not isinstance(value, str):
        return False
    text = value.strip()
    if text == "auto" or text == "???":
        return True
    return "${" in text or "{{" in text or "{%" in text or text.startswith("$") or (text[:1] == "<" and text[-1:] == ">")
