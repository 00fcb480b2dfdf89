"""verl's Hydra configs: whole trainer files, and the group files that they are composed from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.table import Table
from fsdplint.document import Mapping
from fsdplint.plan import Fact, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document, Path
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_ACTOR = ("actor_rollout_ref", "actor")
_REF = ("actor_rollout_ref", "ref")
_ROLES: tuple[tuple[str, ...], ...] = (_ACTOR, _REF, ("critic",), ("reward_model",), ("model",), ("engine",))
_BLOCKS = ("fsdp_config", "fsdp")
_VERSIONS = {"fsdp": 1, "fsdp2": 2}
_OTHERS = ("megatron", "veomni", "torchtitan", "automodel", "mindspeed_megatron", "mindspeed_fsdp", "fsdp_turbo")

_CLASSES = {
    "FSDPEngineConfig": "engine",
    "FSDPActorConfig": "role",
    "ActorConfig": "role",
    "FSDPCriticConfig": "critic",
    "CriticConfig": "critic",
}
_TELLING = frozenset(
    {
        "ppo_mini_batch_size",
        "ppo_micro_batch_size_per_gpu",
        "ppo_max_token_len_per_gpu",
        "forward_max_token_len_per_gpu",
        "forward_micro_batch_size_per_gpu",
        "log_prob_micro_batch_size_per_gpu",
        "log_prob_max_token_len_per_gpu",
        "log_prob_use_dynamic_bsz",
        "ulysses_sequence_parallel_size",
        "entropy_from_logits_with_chunking",
        "entropy_checkpointing",
        "use_dynamic_bsz",
        "rollout_n",
        "enable_resource_pool",
        "free_cache_engine",
        "tensor_model_parallel_size",
        "partial_pretrain",
        "balance_dp_token",
        "max_token_len_per_gpu",
    }
)
_GROUPS = ("ppo_trainer", "ppo_megatron_trainer", "engine@engine", "actor@actor_rollout_ref", "../engine@", "sft_trainer")


class Verl(Dialect):
    """A config of verl 0.3 to 0.9.1. Each role (actor, reference, critic, reward model) is sharded in its own way.

    Overrides on the command line (`actor_rollout_ref.actor.strategy=fsdp2`) and the groups of the `defaults` list stand outside the file.
    """

    name = "verl"
    package = "verl"
    title = "verl config"
    loader = "omegaconf"

    def recognise(self, document: Document) -> int:
        """By the root of its PPO trainers, a class or a group of verl, a reference to its roots, or keys that only verl has."""
        root = document.root
        if not isinstance(root, Mapping):
            return 0
        if isinstance(root.get("actor_rollout_ref"), Mapping):
            return 95
        if str(document.value(("_target_",)) or "").startswith("verl."):
            return 95
        if _names_a_group(document):
            return 80
        nested = (inner.keys() for section in ("data", "model", "rollout") if isinstance(inner := root.get(section), Mapping))
        telling = len(_TELLING & set(root.keys()).union(*nested))
        telling += _refers_to_a_root(document) + (str(document.value(("strategy",))) in _VERSIONS)
        return 70 if telling > 1 else 0

    def for_document(self, document: Document) -> Dialect:
        """The group file of an engine, a role or a critic by its class, else by its keys."""
        part = _part(document)
        return VerlGroup(part) if part else self

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:  # noqa: ARG002
        """The strategies decide the engine; the actor (else the first role that is written) speaks for the plan."""
        written = [(role, fact) for role in self.roles if (fact := _strategy(document, role)).is_written]
        if not written:
            return
        words = [(role, fact) for role, fact in written if fact.value]
        sharded = next((fact for _, fact in words if fact.value in _VERSIONS), None)
        if sharded is None:
            is_other = words and all(fact.value in _OTHERS for _, fact in words) and len(words) == len(written)
            plan.fsdp = Fact(False, words[0][1].place) if is_other else Fact(None, written[0][1].place, unknown=True)
            return
        plan.fsdp = Fact(True, sharded.place)
        role = next(role for role, fact in words if fact is sharded)
        plan.fsdp_version = self.version_at(plan, document, role).beating(*_inner(document, role))
        _wrapping(plan, document, role)

    @property
    def roles(self) -> tuple[tuple[str, ...], ...]:
        """The paths of what is sharded on its own."""
        return _ROLES

    def version_at(self, plan: Plan, document: Document, path: Path) -> Fact[int]:  # noqa: ARG002
        """FSDP1 or FSDP2 by the strategy of the role in which a key stands; the reference follows the actor where it says nothing."""
        role = next((role for role in self.roles if path[: len(role)] == role), None)
        if role is None:
            return Fact()
        fact = _strategy(document, role)
        if not fact.is_written and role == _REF:
            fact = _strategy(document, _ACTOR)
        return Fact(_VERSIONS.get(fact.value or ""), fact.place, unknown=fact.unknown)


class VerlGroup(Verl):
    """A group file of verl, which is one block of the whole: an `engine`, a `role` (actor, reference) or a `critic`."""

    def __init__(self, part: str) -> None:
        self.part = part

    @cached_property
    def table(self) -> Table:
        """The part of verl's table that describes the block."""
        whole = Table.load(self.name)
        outer = {word: value for word, value in whole.schema.items() if word not in ("properties", "x-generations")}
        return Table({**outer, **whole.part(self.part), "x-unknown": []})

    @property
    def roles(self) -> tuple[tuple[str, ...], ...]:
        """The block itself."""
        return ((),)


def _part(document: Document) -> str | None:
    root = document.root
    if not isinstance(root, Mapping) or "actor_rollout_ref" in root or "trainer" in root or "data" in root:
        return None
    target = str(document.value(("_target_",)) or "")
    if target:
        return _CLASSES.get(target.rpartition(".")[2]) if target.startswith("verl.") else None
    if "fsdp_config" in root:
        return "role"
    return "critic" if {"ppo_epochs", "forward_micro_batch_size"} & set(root.keys()) and "model" in root else None


def _names_a_group(document: Document) -> bool:
    listed = document.value(("defaults",))
    if not isinstance(listed, list):
        return False
    names = [str(part) for item in listed for part in (item if isinstance(item, dict) else [item])]
    return any(name.startswith(_GROUPS) for name in names)


def _refers_to_a_root(document: Document) -> int:
    """2 where a value at the top refers to the root of verl's trainers."""
    root = document.root
    keys = root.keys() if isinstance(root, Mapping) else []
    values = (document.value((key,)) for key in keys)
    return 2 if any(isinstance(value, str) and "${" in value and "actor_rollout_ref." in value for value in values) else 0


def _strategy(document: Document, role: tuple[str, ...]) -> Fact[str]:
    path = (*role, "strategy")
    value = document.value(path)
    if value is None:
        return Fact()
    return Fact(None, Place(document, path), unknown=True) if is_placeholder(value) else Fact(str(value), Place(document, path))


def _inner(document: Document, role: tuple[str, ...]) -> list[Fact[int]]:
    """The strategy that the role's engine block asks for itself."""
    facts = (_strategy(document, (*role, block)) for block in _BLOCKS)
    return [Fact(_VERSIONS.get(fact.value or ""), fact.place) for fact in facts if fact.is_written and not fact.unknown]


def _wrapping(plan: Plan, document: Document, role: tuple[str, ...]) -> None:
    """verl wraps the model's own layer classes; FSDP1 wraps by size where a size is written, and not at all where `disable` is."""
    block = next((name for name in _BLOCKS if document.has((*role, name))), None)
    path = (*role, *([block] if block else []), "wrap_policy")
    classes, size = document.value((*path, "transformer_layer_cls_to_wrap")), document.value((*path, "min_num_params"))
    plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="verl wraps the model's own layer classes")
    if isinstance(classes, list) and all(isinstance(name, str) and not is_placeholder(name) for name in classes):
        plan.wrap_classes = Fact(tuple(classes), Place(document, (*path, "transformer_layer_cls_to_wrap")))
    if plan.fsdp_version.value == 1 and document.value((*path, "disable")) is True:
        plan.wrap_policy = Fact(Wrap.NONE, Place(document, (*path, "disable")))
    elif plan.fsdp_version.value == 1 and isinstance(size, int) and size > 0:
        plan.wrap_policy = Fact(Wrap.SIZE, Place(document, (*path, "min_num_params")))
        plan.min_num_params = Fact(size, Place(document, (*path, "min_num_params")))
