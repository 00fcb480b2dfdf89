"""Wishes in files of transformers' ``TrainingArguments``, TRL's and LLaMA-Factory's among them.

The bodies were run through ``HfArgumentParser`` and the Trainer's plugin with transformers 4.40.2, 4.50.3, 4.57.6, 5.0.0, 5.4.0, 5.9.0,
5.10.4 and 5.24.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.document import Refused
from fsdplint.plan import Sharding, StateDict, Wrap
from fsdplint.rewriting.writer import Writer, replaced, too_old_for_fsdp2

if TYPE_CHECKING:
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft
    from fsdplint.target import Versions

BLOCK = ("fsdp_config",)


class Body(NamedTuple):
    """How one FSDP version is written in some releases.

    ``when``: the releases. ``words``: the strategy stands in ``fsdp`` as words, else ``fsdp`` is true. ``keys``: of ``fsdp_config``, by
    what they say. ``lost``: strategies that these releases turn into FULL_SHARD. ``quoted``: booleans have to be text.
    """

    when: str
    version: int
    words: bool
    keys: tuple[str, ...]
    lost: tuple[Sharding, ...] = ()
    quoted: bool = False


_MODERN = ("version", "reshard_after_forward", "auto_wrap_policy", "cpu_offload", "state_dict_type")
_ONLY_FULL = (Sharding.SHARD_GRAD_OP, Sharding.HYBRID_SHARD, Sharding.HYBRID_SHARD_ZERO2, Sharding.NO_SHARD)

BODIES = (
    Body("transformers>=5.10", 2, False, _MODERN),
    Body("transformers>=5.0,<5.10", 2, True, ("version", "reshard_after_forward")),
    Body("transformers>=5.4", 1, True, ("version",), _ONLY_FULL),
    Body("transformers>=5.0,<5.4", 1, True, ("version",)),
    Body("transformers>=4.41,<5.0", 1, True, ()),
    Body("transformers<4.41", 1, True, (), quoted=True),
)
"""One for each FSDP version and generation of transformers."""

PORTABLE = (Body("transformers>=5.0", 2, True, ("version", "reshard_after_forward")), *BODIES)
"""LLaMA-Factory allows releases in which ``fsdp: true`` would not wrap, so that words are right in all of them."""

FSDP1_ONLY = ("backward_prefetch", "forward_prefetch", "use_orig_params", "sync_module_states", "limit_all_gathers")
NEVER_READ = ("offload_params", "sharding_strategy", "backward_prefetch_policy")
NEW_BLOCK: dict[str, object] = {
    "backward_prefetch": "backward_pre",
    "forward_prefetch": True,
    "use_orig_params": True,
    "limit_all_gathers": True,
    "sync_module_states": True,
}
"""What a block of FSDP1 that is written anew gets besides."""

OPTIMIZERS = {
    **dict.fromkeys(("adamw_8bit", "adamw_bnb_8bit", "paged_adamw_8bit"), "adamw_torch_8bit"),
    **dict.fromkeys(("paged_adamw", "paged_adamw_32bit"), "adamw_torch"),
}
"""Optimizers of bitsandbytes, whose first step fails on FSDP2's DTensors, and torch's own of the same kind."""

_MOVED = ("fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params")
_DDP_ONLY = ("ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers")


class Trainer(Writer):
    """``fsdp`` and ``fsdp_config``."""

    def __init__(self, bodies: tuple[Body, ...] = BODIES) -> None:
        self.bodies = bodies

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        body = self._body(draft.versions, wish.version)
        release = f"transformers {draft.versions.text('transformers')}"
        if body is None:
            return f"{release} builds FSDP1 only; write fsdp_version: 2 in an accelerate file, where the script is started with one"
        if wish.replicas > 1:
            return "TrainingArguments has no hybrid sharding for FSDP2; an accelerate file can say it (parallelism_config)"
        if wish.sharding in body.lost:
            return f"{release} turns {wish.sharding.value} of FSDP1 into FULL_SHARD: use --fsdp-version 2"
        return too_old_for_fsdp2(draft.versions) if wish.version == 2 else None

    def is_outdated(self, draft: Draft, version: int) -> bool:
        body = self._body(draft.versions, version)
        return body is not None and not body.words and isinstance(draft.value("fsdp"), (str, list))

    def within(self, draft: Draft, wish: Wish) -> Wish:
        body = self._body(draft.versions, wish.version)
        is_told = body is None or wish.version == 1 or "state_dict_type" in body.keys
        return wish if is_told else wish._replace(state_dict=None)

    def write(self, draft: Draft, wish: Wish) -> None:
        body = self._body(draft.versions, wish.version)
        assert body is not None, "asked for what hinders"
        _check(draft)
        _switch(draft, wish, body)
        _unprefixed(draft)
        moved = _moved(draft)
        extras = dict(NEW_BLOCK) if wish.version == 1 else {}
        keys = {**_values(draft, wish, body), **moved}
        if body.quoted:
            extras = {key: str(value) if isinstance(value, bool) else value for key, value in extras.items()}
        if keys or extras:
            draft.block(BLOCK, keys, extras, after="fsdp")
        _tidy(draft, wish, body)
        draft.drop(("deepspeed",))
        if wish.version == 2:
            replaced(draft, "optim", OPTIMIZERS)
            if "state_dict_type" not in body.keys and draft.plan.fsdp.value is True and draft.plan.state_dict.value is StateDict.FULL:
                draft.note("checkpoints become sharded ones: these releases read no key that says otherwise")
        if draft.plan.activation_checkpointing.value is True and draft.plan.gradient_checkpointing.value is True:
            draft.put(("gradient_checkpointing",), False)

    def _body(self, versions: Versions, version: int) -> Body | None:
        return next((body for body in self.bodies if body.version == version and versions.has(body.when)), None)


def _check(draft: Draft) -> None:
    block = draft.value("fsdp_config")
    if isinstance(block, str) and block.lstrip().startswith("{"):
        raise Refused("`fsdp_config` is JSON in a text: write it as a mapping, or name a file")
    if isinstance(block, str) and not draft.is_section(BLOCK):
        raise Refused(f"the options stand in the file that `fsdp_config` names, {block}")
    if draft.value(*BLOCK, "xla"):
        raise Refused("`fsdp_config.xla` asks for XLA's own FSDP")
    if draft.value("use_cpu") is True or draft.value("no_cuda") is True:
        raise Refused("the file trains on the CPU, where FSDP is never entered")
    if draft.value("use_kt") is True:
        raise Refused("`use_kt`: KTransformers places the model itself, its accelerate file is the one to change")
    if draft.plan.backend.value == "unsloth":
        raise Refused("unsloth does not train with FSDP: take it away first")
    if isinstance(draft.value("accelerate_config"), str) and draft.plan.launcher.value is None:
        config = draft.value("accelerate_config")
        if str(config).startswith(("zero", "fsdp")):
            raise Refused(f"`accelerate_config: {config}` starts an engine of its own: give it the file to use instead")


def _switch(draft: Draft, wish: Wish, body: Body) -> None:
    if not body.words:
        draft.put(("fsdp",), True, "deepspeed")
        return
    words = [wish.sharding.value.lower()]
    words += ["auto_wrap"] if wish.wrap is not Wrap.NONE else []
    words += ["offload"] if wish.offload else []
    written = draft.value("fsdp")
    stated = written if isinstance(written, list) else str(written).split()
    if {str(word).lower() for word in stated} != set(words):
        draft.put(("fsdp",), " ".join(words), "deepspeed")


def _unprefixed(draft: Draft) -> None:
    """Before 4.52 no prefix is taken off."""
    block = draft.value(*BLOCK)
    if draft.is_section(BLOCK) or not draft.versions.is_older("transformers>=4.52") or not isinstance(block, dict):
        return
    for key in block:
        bare = str(key).removeprefix("fsdp_")
        if bare != key and not draft.document.has((*BLOCK, bare)):
            draft.rename((*BLOCK, key), bare)


def _moved(draft: Draft) -> dict[str, object]:
    """Top-level keys of releases before 5.0 that stand in ``fsdp_config`` since."""
    found: dict[str, object] = {}
    for key in _MOVED:
        if draft.has(key) and not draft.knows(key):
            bare = key.removeprefix("fsdp_")
            if draft.value(key) and not draft.has(*BLOCK, bare):
                found[bare] = draft.value(key)
            draft.drop((key,))
    return found


def _values(draft: Draft, wish: Wish, body: Body) -> dict[str, object]:
    values: dict[str, object] = {
        "version": wish.version,
        "reshard_after_forward": wish.sharding is Sharding.FULL_SHARD,
        "auto_wrap_policy": (wish.wrap or Wrap.TRANSFORMER).value,
        "cpu_offload": wish.offload,
        "state_dict_type": _state_dict(draft, wish),
    }
    return {key: values[key] for key in body.keys}


def _state_dict(draft: Draft, wish: Wish) -> str:
    kept = wish.state_dict or (draft.plan.state_dict.is_written and draft.plan.state_dict.value)
    if kept is StateDict.LOCAL:
        return StateDict.SHARDED.value
    return kept.value if kept else StateDict.FULL.value


def _tidy(draft: Draft, wish: Wish, body: Body) -> None:
    """Options that nothing reads any more, and those that decide otherwise."""
    unread = [*NEVER_READ, *(FSDP1_ONLY if wish.version == 2 else ("reshard_after_forward",))]
    unread += [key for key in _MODERN if key not in body.keys]
    if wish.wrap is Wrap.TRANSFORMER and draft.value(*BLOCK, "min_num_params"):
        unread.append("min_num_params")
    draft.drop(*((*BLOCK, key) for key in unread))
    if not wish.keeps:
        draft.drop(*((key,) for key in _DDP_ONLY))


class V1(Writer):
    """``dist_config`` of LLaMA-Factory's v1 trainer (v1/plugins/trainer_plugins/distributed/fsdp2.py of 0.9.5)."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:  # noqa: ARG002
        return None if wish.version == 2 and wish.replicas == 1 else "the v1 trainer has FSDP2 alone, without replicas"

    def write(self, draft: Draft, wish: Wish) -> None:
        block = draft.value("dist_config")
        name = block.get("name") if isinstance(block, dict) else None
        if name not in (None, "fsdp2", "deepspeed"):
            raise Refused(f"`dist_config.name: {name}` is an engine of its own")
        body: dict[str, object] = {
            "name": "fsdp2",
            "reshard_after_forward": wish.sharding is Sharding.FULL_SHARD,
            "offload_params": wish.offload,
        }
        if name == "deepspeed":
            draft.put(("dist_config",), body)
        else:
            draft.block(("dist_config",), body)
