"""axolotl's YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.formats import is_lax_int, word_bool
from fsdplint.dialects.reading import last_of
from fsdplint.document import Mapping, Sequence
from fsdplint.plan import Fact, Precision, Sharding, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document, Path
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

STRATEGIES = {word.name.lower(): word for word in Sharding}
"""The words of the `fsdp` list that name a sharding."""

_TELLING = (
    "micro_batch_size",
    "sequence_len",
    "adapter",
    "sample_packing",
    "dataset_prepared_path",
    "val_set_size",
    "lora_r",
    "lora_target_linear",
    "num_epochs",
    "special_tokens",
    "fsdp_version",
    "activation_offloading",
    "dp_shard_size",
    "context_parallel_size",
    "rl",
    "strict",
    "batch_size",
    "load_in_8bit",
    "load_in_4bit",
)
_FOREIGN = ("model_name_or_path", "finetuning_type", "template", "compute_environment", "merge_method", "slices", "models", "_component_")


def is_on(value: object) -> bool | None:
    """Whether axolotl takes a value for on; None for a placeholder. null, "", [], {}, false and its words are off."""
    if is_placeholder(value):
        return None
    word = word_bool(value) if isinstance(value, str) else None
    return bool(value) if word is None else word


class Axolotl(Dialect):
    """The YAML of `axolotl train` (axolotl 0.5.2 to 0.19.0)."""

    name = "axolotl"
    package = "axolotl"
    title = "axolotl config"

    def recognise(self, document: Document) -> int:
        """By `base_model` and data sets beside a key that no other framework has; without data sets by many such keys."""
        root = document.root
        if not isinstance(root, Mapping) or "base_model" not in root:
            return 0
        if any(key in root for key in _FOREIGN):
            return 0
        data = root.get("datasets")
        listed = isinstance(data, Sequence) and any(isinstance(item, Mapping) for item in data.items)
        telling = sum(key in root for key in _TELLING) + _has_own_plugin(document)
        if listed or "pretraining_dataset" in root:
            return 95 if telling else 40
        return 60 if telling > 2 else 0

    def is_open(self, document: Document) -> bool:
        """Whether a plugin from elsewhere is listed, which may bring keys of its own."""
        plugins = document.value(("plugins",))
        return isinstance(plugins, list) and not all(isinstance(name, str) and name.startswith("axolotl.integrations.") for name in plugins)

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Read the two switches of FSDP, the two places of its version, the words of the list, and what the training keys come to."""
        if not versions.has("axolotl<0.12.0"):
            _unprefixed(plan)
        _switch(plan, document, versions)
        _version(plan, document, versions)
        words = _words(document)
        _sharding(plan, document, versions, words)
        _listed(plan, words)
        classes = plan.wrap_classes.place
        if classes and isinstance(document.value(classes.path), list) and not versions.has("axolotl<0.13.0"):
            plan.wrap_classes = Fact()  # refused as a value, so no name is judged
        _training(plan, document, versions)

    def companions(self, document: Document) -> list[tuple[str, str]]:
        """The DeepSpeed JSON."""
        path = document.value(("deepspeed",))
        return [("deepspeed", path)] if isinstance(path, str) and path and not is_placeholder(path) else []


def _has_own_plugin(document: Document) -> bool:
    plugins = document.value(("plugins",))
    return isinstance(plugins, list) and any(isinstance(name, str) and name.startswith("axolotl.") for name in plugins)


def _unprefixed(plan: Plan) -> None:
    """Of an option with and without its prefix the later one counts: prefixes are taken off in the file's order (run with 0.19.0)."""
    for name, fact in plan:
        if all(one.place is not None and one.place.path[0] == "fsdp_config" for one in (fact, *fact.rivals)):
            plan.set(name, last_of(fact))


def _switch(plan: Plan, document: Document, versions: Versions) -> None:
    """Since axolotl 0.12 a non-empty `fsdp_config` or `fsdp` list switches FSDP on; before, the list alone (prepare_optim_env)."""
    listed, block = plan.fsdp, plan.fsdp_options
    has_list, has_block = listed.value is True, block.value is True
    if listed.unknown or block.unknown:
        plan.fsdp = Fact(None, listed.place or block.place, unknown=True)
    elif has_list:
        plan.fsdp = Fact(True, listed.place)
    elif has_block and not versions.has("axolotl<0.12.0"):
        plan.fsdp = Fact(True, block.place)
    elif has_block or document.value(("fsdp_version",)):
        plan.fsdp = Fact(False, source="no `fsdp` list" if has_block else "no `fsdp_config`")
    else:
        plan.fsdp = Fact()
    if not has_list and not has_block and is_on(document.value(("fsdp_version",))) and not versions.has("axolotl<0.12.0"):
        plan.fsdp_options = Fact(True, Place(document, ("fsdp_version",)))
    if plan.deepspeed.value is True:
        plan.deepspeed_config = Fact(document.value(("deepspeed",)), plan.deepspeed.place)


def _version(plan: Plan, document: Document, versions: Versions) -> None:
    """The top level beats `fsdp_config`; in 0.12 and 0.13 the latter won, before that the former was unknown."""
    top: list[Path] = [] if versions.has("axolotl<0.12.0") else [("fsdp_version",)]
    nested: list[Path] = [] if versions.has("axolotl<0.9.0") else [("fsdp_config", "fsdp_version"), ("fsdp_config", "version")]
    paths = [*nested, *top] if versions.has("axolotl<0.14.0") else [*top, *nested]
    facts = [fact for path in paths if (fact := _written_version(document, path))]
    if not facts:
        is_pinned = plan.fsdp_options.value is True or not versions.has("transformers>=5.10.0")
        default = Fact(1, source="axolotl's default") if is_pinned else Fact(2, source="transformers' default, which an empty block leaves")
        plan.fsdp_version = default if plan.fsdp.value else Fact()
        return
    version = facts[0].beating(*facts[1:])
    if version.contradicted and not versions.has("axolotl<0.14.0"):
        version = version.overruled(None, "axolotl and the FSDP plugin read different places")
    plan.fsdp_version = version


def _written_version(document: Document, path: Path) -> Fact[int] | None:
    value, place = document.value(path), Place(document, path)
    if is_placeholder(value):
        return Fact(None, place, unknown=True)
    if not value or not document.has(path):
        return None
    number = int(float(str(value))) if is_lax_int(value) and not isinstance(value, bool) else int(value is True)
    source = "a quoted number" if isinstance(value, str) else "nested in fsdp_config" if len(path) > 1 else ""
    return Fact(number if number in (1, 2) else None, place, source=source)


def _words(document: Document) -> list[tuple[str, Place]]:
    """The words of the `fsdp` list, in lower case (transformers does not mind the case), and where each stands."""
    listed = document.value(("fsdp",))
    if not isinstance(listed, list):
        return []
    return [(word.lower(), Place(document, ("fsdp", index))) for index, word in enumerate(listed) if isinstance(word, str)]


def _sharding(plan: Plan, document: Document, versions: Versions, words: list[tuple[str, Place]]) -> None:
    listed = [Fact(STRATEGIES[word], place) for word, place in words if word in STRATEGIES]
    if plan.fsdp_version.value == 2 and (resharding := _resharding(document)):
        plan.sharding = resharding.beating(*listed)
    elif listed:
        plan.sharding = listed[0].beating(*listed[1:])
        if plan.fsdp_version.value == 1 and versions.has("transformers>=5.4.0"):
            plan.sharding = plan.sharding.overruled(Sharding.FULL_SHARD, "since transformers 5.4 the strategy of FSDP1 is not handed on")
    elif plan.fsdp_version.value == 2 and versions.has("transformers>=5.0.0,<5.4.0"):
        plan.sharding = Fact(Sharding.SHARD_GRAD_OP, source="default of transformers 5.0 to 5.3")
    else:
        plan.sharding = Fact(Sharding.FULL_SHARD, source="axolotl's default") if plan.fsdp.value else Fact()


def _resharding(document: Document) -> Fact[Sharding] | None:
    """FSDP2's way of saying FULL_SHARD (true) and SHARD_GRAD_OP (false)."""
    for key in ("reshard_after_forward", "fsdp_reshard_after_forward"):
        value = document.value(("fsdp_config", key))
        resharding = is_on(value)
        if value is not None and resharding is not None:
            return Fact(Sharding.FULL_SHARD if resharding else Sharding.SHARD_GRAD_OP, Place(document, ("fsdp_config", key)))
    return None


def _listed(plan: Plan, words: list[tuple[str, Place]]) -> None:
    """`offload` and `auto_wrap` of the list; its offload wins over the block's (run with axolotl 0.19.0)."""
    for word, place in words:
        if word == "offload":
            plan.offload = Fact(True, place).beating(plan.offload)
        elif word == "auto_wrap" and not plan.wrap_policy.is_written:
            plan.wrap_policy = Fact(Wrap.TRANSFORMER, place)
    if plan.fsdp.value is True and plan.offload.is_silent:
        plan.offload = Fact(False, source="accelerate's default")


def _training(plan: Plan, document: Document, versions: Versions) -> None:
    def written(key: str) -> Place | None:
        return Place(document, (key,)) if is_on(document.value((key,))) else None

    if plan.compile.unknown and document.value(("torch_compile",)) == "auto" and versions.has("torch>=2.5.1"):
        plan.compile = Fact(True, plan.compile.place)
    for key, bits in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        if place := written(key):
            plan.quantization = Fact(bits, place)
            break
    bf16 = Place(document, ("bf16",)) if document.value(("bf16",)) == "auto" else written("bf16")
    for kind, place in ((Precision.FP8, written("fp8")), (Precision.BF16, bf16), (Precision.FP16, written("fp16"))):
        if place:
            plan.precision = Fact(kind, place)
            break
    _checkpointing(plan, document, versions)


def _checkpointing(plan: Plan, document: Document, versions: Versions) -> None:
    """Activation offloading takes the place of the Trainer's gradient checkpointing (core/builders/base.py; run with 0.19.0)."""
    written = document.value(("gradient_checkpointing",))
    if not is_on(written):
        return
    offloading = document.value(("activation_offloading",))
    if versions.has("axolotl>=0.12.0"):
        offloading = {"offload": True, "offload_disk": "disk"}.get(str(written), offloading)
    replaced = offloading is True or (is_on(offloading) and offloading != "hidden_states" and versions.has("axolotl>=0.18.0"))
    fact: Fact[bool] = Fact(True, Place(document, ("gradient_checkpointing",)))
    plan.gradient_checkpointing = fact.overruled(False, "activation offloading takes its place") if replaced else fact
