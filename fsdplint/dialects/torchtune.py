"""The YAML of torchtune."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.document import Mapping, Scalar, Sequence
from fsdplint.plan import Fact, Precision, Sharding, StateDict, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document, Node
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

COMPONENT = "_component_"
"""The key that makes a section a component, by its dotted path; torchtune's own word."""

_RUN = re.compile(r"tune run\b((?:[^\n\\]|\\[ \t]*\n)*?)\s--config\b")
_DEPTH = 4
_OLDEST = {"model_checkpoint", "tokenizer_checkpoint"}
_SWITCHES = (
    *("fsdp_cpu_offload", "fsdp_reshard_after_forward", "custom_sharded_layers"),
    *("memory_efficient_fsdp_wrap", "fsdp_sharding_strategy"),
)
_LORA = re.compile(r"\.q?(?:lora|dora)_")


class Torchtune(Dialect):
    """The config of `tune run RECIPE --config FILE` (torchtune 0.1.0 to 0.6.1), merged with `key=value` overrides by OmegaConf.

    The recipe, on the command line, decides whether FSDP shards; the file tells it in a comment at best.
    """

    name = "torchtune"
    package = "torchtune"
    title = "torchtune config"
    loader = "omegaconf"

    def recognise(self, document: Document) -> int:
        """By components of torchtune, else by several components of anybody's; by the checkpoints of the first configs."""
        root = document.root
        if not isinstance(root, Mapping):
            return 0
        names = _components(root)
        if any(name.startswith("torchtune.") for name in names):
            return 95
        if len(names) > 1:
            return 80
        return 70 if set(root.keys()) >= _OLDEST else 0

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """What kind of recipe the file is for, whether that one shards, and what the options come to."""
        _adapter(plan)
        _recipe(plan, document, self.table.schema["x-recipes"])
        if document.value(("dtype",)) == "fp32":
            plan.precision = Fact(Precision.NONE, plan.precision.place)
        if not plan.dp_shard.is_written:
            plan.dp_shard = Fact(-1, source="what tensor parallelism leaves")
        _checkpointing(plan, document)
        if plan.fsdp.value is not True:
            plan.offload = plan.offload if plan.offload.is_written else Fact()
            return
        second = versions.has("torchtune>=0.3.0")
        plan.fsdp_version = Fact(2 if second else 1, source="FSDP2 since torchtune 0.3")
        plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="torchtune shards every transformer block")
        plan.state_dict = Fact(StateDict.FULL, source="torchtune gathers the weights on rank 0")
        plan.sharding = _sharding(document) if second else Fact(Sharding.FULL_SHARD, source="torchtune's default")


def _components(root: Mapping) -> list[str]:
    """The dotted paths of the components in the upper levels of a document; what aliases share is looked at once."""
    names: list[str] = []
    seen: set[int] = set()
    level: list[Node] = [root]
    for _ in range(_DEPTH):
        below: list[Node] = []
        for node in level:
            if isinstance(node, Scalar) or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, Sequence):
                below += node.items
                continue
            name = node.get(COMPONENT)
            if isinstance(name, Scalar) and isinstance(name.value, str):
                names.append(name.value)
            below += [entry.value for entry in node.entries]
        level = below
    return names


def _adapter(plan: Plan) -> None:
    """A builder named `lora_...` makes the adapter, `qlora_...` quantizes the base as well."""
    model = plan.model
    if model.value and _LORA.search(f".{model.value}"):
        kind = "qlora" if ".qlora_" in f".{model.value}" else "lora"
        plan.adapter = Fact(kind, model.place)
        if kind == "qlora":
            plan.quantization = Fact("4bit", model.place)


def _recipe(plan: Plan, document: Document, kinds: dict[str, str]) -> None:
    """``task``: the kind of recipe (full, dpo, lora, kd, ppo, grpo; inference trains nothing, custom is unknown).

    ``fsdp``: whether it shards.
    """
    guess = _guess(plan, document)
    names = {_name(match[1]) for match in _RUN.finditer(document.text)} if "tune run" in document.text else set()
    told = {name: next((kind for start, kind in kinds.items() if name.startswith(start)), "custom") for name in names}
    meant = [name for name, kind in told.items() if len(told) == 1 or kind == guess]
    if len(meant) == 1:
        plan.task = Fact(told[meant[0]], source=f"the recipe {meant[0]}, in a comment")
        if "distributed" in meant[0] or "fsdp" in meant[0]:
            plan.fsdp = Fact(True, source=f"the recipe {meant[0]}, in a comment")
    elif guess:
        plan.task = Fact(guess, source="the components")
    single = "single_device" in document.path.replace("\\", "/").rpartition("/")[2] or (len(meant) == 1 and "single_device" in meant[0])
    if single and plan.fsdp.value is not True:
        plan.fsdp = Fact(False, source="a single_device recipe")
    written = next((key for key in _SWITCHES if _is_telling(key, document.value((key,)))), None)
    if written and plan.fsdp.value is None and not meant:
        plan.fsdp = Fact(True, Place(document, (written,)))


def _is_telling(key: str, value: object) -> bool:
    """Whether an option is one that only files of recipes that shard state: switched on, or either way how to reshard."""
    return value not in (None, False, []) or (key == "fsdp_reshard_after_forward" and value is False)


def _name(arguments: str) -> str:
    """The recipe in the arguments of ``tune run``: the last word before ``--config``."""
    words = arguments.replace("\\", " ").replace("#", " ").split()
    return words[-1].rpartition("/")[2].removesuffix(".py") if words else ""


def _guess(plan: Plan, document: Document) -> str | None:
    """The kind of recipe that the sections tell; None where nothing is trained."""
    root = document.root
    keys = set(root.keys()) if isinstance(root, Mapping) else set()
    if not keys & {"optimizer", "loss"} or not keys & {"dataset", "datasets", "optimizer"}:
        return "inference"
    if keys & {"kd_loss", "teacher_model"}:
        return "kd"
    if "ppo_epochs" in keys:
        return "ppo" if "reward_and_value_model" in keys else "grpo"
    return "lora" if plan.adapter.value else "full"


def _checkpointing(plan: Plan, document: Document) -> None:
    """``enable_activation_checkpointing`` beside ``ac_mode`` cancels both (full recipes, 0.2.0 to 0.6.1); ``ac_mode`` alone checkpoints."""
    mode = document.value(("ac_mode",))
    if mode is None or is_placeholder(mode) or plan.task.value != "full" or plan.fsdp.value is False:
        return
    if plan.activation_checkpointing.value is True:
        plan.activation_checkpointing = plan.activation_checkpointing.overruled(False, "`ac_mode` cancels it")
    elif mode in ("full", "selective"):
        plan.activation_checkpointing = Fact(True, Place(document, ("ac_mode",)))


def _sharding(document: Document) -> Fact[Sharding]:
    """``fsdp_reshard_after_forward`` says what is sharded as a boolean."""
    written = document.value(("fsdp_reshard_after_forward",))
    place = Place(document, ("fsdp_reshard_after_forward",))
    if written is None:
        return Fact(Sharding.FULL_SHARD, source="torchtune's default")
    if is_placeholder(written):
        return Fact(None, place, unknown=True)
    return Fact(Sharding.FULL_SHARD if written else Sharding.SHARD_GRAD_OP, place)
