"""The YAML of Composer and llm-foundry."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint.dialects.dialect import Dialect
from fsdplint.dialects.table import Table
from fsdplint.document import Mapping, Scalar, Sequence
from fsdplint.plan import Fact, Precision, Sharding, StateDict, Wrap, is_placeholder

if TYPE_CHECKING:
    from fsdplint.document import Document, Path
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_BATCHES = frozenset({"device_train_microbatch_size", "global_train_batch_size", "device_train_batch_size", "device_eval_batch_size"})
_RUNS = frozenset({"train_loader", "eval_loader", "eval_interval", "scheduler", "schedulers", "algorithms", "callbacks", "fsdp_config"})
_FIRST = frozenset({"train_dataset", "val_dataset", "schedulers", "grad_accum", "total_batch_size", "train_batch_size", "max_epochs"})
_EVALUATES = frozenset({"icl_tasks", "icl_tasks_str", "eval_gauntlet", "device_eval_batch_size"})
_RECIPES = ("mild", "medium", "hot")
_JOB = frozenset({"image", "integrations", "compute", "cluster", "gpu_num", "env_variables", "scheduling"})
_FOREIGN = frozenset({"compute_environment", "distributed_type", "base_model", "actor_rollout_ref", "pl_module"})
_VERSION = re.compile(r"""FSDP_VERSION["']?\s*[=:]\s*["']?2\b""")
_DURATION = re.compile(r"\d+(?:\.\d+)?e?\d*(?:ep|ba|tok|sp|dur|iter|sec)")
_PRECISIONS = {
    **dict.fromkeys(("amp_bf16", "bf16"), Precision.BF16),
    **dict.fromkeys(("amp_fp16", "amp", "fp16"), Precision.FP16),
    "amp_fp8": Precision.FP8,
    "fp32": Precision.NONE,
}
_STATES = {"full": StateDict.FULL, "sharded": StateDict.SHARDED, "local": StateDict.LOCAL}


class Composer(Dialect):
    """What `composer train.py FILE` reads: llm-foundry's YAML, flat or as `parameters` of an mcli run file, and Hydra files whose `trainer`
    is a composer.Trainer. llm-foundry reads with OmegaConf and takes `key=value` overrides.
    """

    name = "composer"
    package = "llm-foundry"
    title = "Composer config"
    loader = "omegaconf"

    @cached_property
    def table(self) -> Table:
        """The option table; an mcli run file holds the same keys once more, below `parameters`."""
        table = Table.load(self.name)
        parameters = {"type": "object", "properties": table.schema["properties"]}
        job = table.part("run")["properties"]
        return Table({**table.schema, "properties": {**table.schema["properties"], **job, "parameters": parameters}})

    def recognise(self, document: Document) -> int:
        """By an FSDP block, durations, batch sizes and loaders in Composer's words, or its components; also below `parameters`."""
        root = document.root
        if not isinstance(root, Mapping) or any(key in _FOREIGN for key in root.keys()):  # noqa: SIM118 -- a Mapping is no dict
            return 0
        parameters = root.get("parameters")
        if isinstance(parameters, Mapping) and ("command" in root or set(root.keys()) & _JOB):
            return max(_score(parameters), 60 if _is_job(root) else 0)
        return _score(root)

    def settle(self, plan: Plan, document: Document, versions: Versions) -> None:
        """Which FSDP runs, what it shards, and the values in the plan's words."""
        block = fsdp_block(document)
        if block:
            plan.fsdp = _switch(document, block)
        _engine(plan, document)
        plan.state_dict = _state_dict(plan, document)
        if plan.precision.place:
            written = plan.precision.place.document.value(plan.precision.place.path)
            plan.precision = Fact(_PRECISIONS.get(str(written)), plan.precision.place, unknown=is_placeholder(written))
        if plan.fsdp.value is not True or block is None:
            return
        second = _is_second(document) and versions.has("mosaicml>=0.31.0")
        plan.fsdp_version = Fact(2 if second else 1, source="FSDP_VERSION=2" if second else "Composer's default")
        _wrapping(plan, document, block)
        _initialisation(plan, document)
        if second:
            _resharding(plan, document, block)


def _switch(document: Document, block: Path) -> Fact[bool]:
    """A block that is not null switches FSDP on, `{}` as well."""
    value = document.value(block)
    if is_placeholder(value):
        return Fact(None, Place(document, block), unknown=True)
    return Fact(True, Place(document, block, "key")) if value is not None else Fact(False, Place(document, block))


def fsdp_block(document: Document) -> Path | None:
    """Where a file has its FSDP block; None where it has none."""
    return next((path for path in _blocks(document) if document.has(path)), None)


def _blocks(document: Document) -> list[Path]:
    bases: list[Path] = [("parameters",)] if isinstance(document.node(("parameters",)), Mapping) else [()]
    bases += [(*base, "trainer") for base in bases]
    blocks = (("fsdp_config",), ("parallelism_config", "fsdp"), ("parallelism_config", "fsdp2"))
    return [(*base, *block) for base in bases for block in blocks]


def _score(run: Mapping) -> int:
    """How surely a mapping holds what a Composer script reads."""
    keys = set(run.keys())
    block = run.get("fsdp_config")
    options = block.keys() if isinstance(block, Mapping) else []
    if any(key.startswith("fsdp_") for key in options) and not keys & _BATCHES:
        return 0
    if isinstance(block, Mapping) and keys & (_BATCHES | {"max_duration", "train_loader", "models"}):
        return 95
    if _is_components(run):
        return 90
    timed = _is_duration(run.get("max_duration"))
    if (timed and keys & (_BATCHES | _RUNS | _FIRST)) or ("train_loader" in keys and keys & _BATCHES):
        return 90
    if {"model", "icl_tasks"} <= keys or ("models" in keys and keys & _EVALUATES):
        return 80
    if len(keys & _FIRST) > 2 and "model" in keys:
        return 70
    return _named_model(run, keys)


def _named_model(run: Mapping, keys: set[str]) -> int:
    """The rest: `parallelism_config: {fsdp: ...}`, recipes, and models by llm-foundry's names."""
    parallel = run.get("parallelism_config")
    if isinstance(parallel, Mapping) and ("fsdp" in parallel or "fsdp2" in parallel):
        return 80
    recipes = [run.get(name) for name in _RECIPES if name in keys]
    if len(recipes) > 1 and all(isinstance(recipe, Mapping) for recipe in recipes):
        return 70
    model = run.get("model")
    name = model.get("name") if isinstance(model, Mapping) else None
    return 60 if isinstance(name, Scalar) and str(name.value) in ("mpt_causal_lm", "hf_causal_lm", "hf_t5", "mosaic_gpt") else 0


def _is_components(run: Mapping) -> bool:
    """Whether a section, or a part of one, is built from Composer's own classes by Hydra (`_target_: composer...`)."""
    for node in (entry.value for entry in run.entries):
        parts = [node, *(entry.value for entry in node.entries)] if isinstance(node, Mapping) else []
        for part in parts:
            target = part.get("_target_") if isinstance(part, Mapping) else None
            if isinstance(target, Scalar) and str(target.value).startswith("composer."):
                return True
    return False


def _is_duration(node: object) -> bool:
    return isinstance(node, Scalar) and (is_placeholder(node.value) or _DURATION.fullmatch(str(node.value)) is not None)


def _is_job(root: Mapping) -> bool:
    """Whether an mcli run file starts Composer."""
    command = root.get("command")
    return isinstance(command, Scalar) and "composer " in str(command.value) and bool(set(root.keys()) & _JOB)


def _is_second(document: Document) -> bool:
    """Whether an mcli run file asks for FSDP2 by the environment variable FSDP_VERSION (mosaicml 0.31)."""
    variables = document.node(("env_variables",))
    command = document.value(("command",))
    if isinstance(command, str) and _VERSION.search(command):
        return True
    if isinstance(variables, Mapping):
        return str(document.value(("env_variables", "FSDP_VERSION"))) == "2"
    pairs = [document.value(("env_variables", index)) for index in range(len(variables))] if isinstance(variables, Sequence) else []
    return any(isinstance(pair, dict) and pair.get("key") == "FSDP_VERSION" and str(pair.get("value")) == "2" for pair in pairs)


def _engine(plan: Plan, document: Document) -> None:
    for base in ((), ("parameters",), ("trainer",), ("parameters", "trainer")):
        path = (*base, "deepspeed_config")
        if document.value(path):
            plan.deepspeed = Fact(True, Place(document, path, "key"))


def _state_dict(plan: Plan, document: Document) -> Fact[StateDict]:
    """The state dict in Composer's words, full and sharded."""
    place = plan.state_dict.place
    if place is None:
        return Fact(StateDict.FULL, source="Composer's default") if plan.fsdp.value is True else Fact()
    written = document.value(place.path)
    return Fact(_STATES.get(str(written)), place, unknown=is_placeholder(written))


def _wrapping(plan: Plan, document: Document, block: Path) -> None:
    """Composer wraps what the model's `fsdp_wrap_fn` names; with `auto_wrap: false` the model itself does."""
    automatic = document.value((*block, "auto_wrap"), True)
    if automatic:
        plan.wrap_policy = Fact(Wrap.TRANSFORMER, source="what the model's fsdp_wrap_fn names")
    else:
        plan.wrap_policy = Fact(None, Place(document, (*block, "auto_wrap")))


def _initialisation(plan: Plan, document: Document) -> None:
    """llm-foundry broadcasts from rank 0 where that one alone holds the weights."""
    written = plan.sync_module_states
    if "mixed" in (document.value(("model", "init_device")), document.value(("parameters", "model", "init_device"))):
        because = "`init_device: mixed` needs it"
        plan.sync_module_states = written.overruled(True, because) if written.is_written else Fact(True, source=because)


def _resharding(plan: Plan, document: Document, block: Path) -> None:
    """FSDP2 reads `reshard_after_forward` and drops `sharding_strategy`."""
    path = (*block, "reshard_after_forward")
    value = document.value(path)
    if is_placeholder(value):
        plan.sharding = Fact(None, Place(document, path), unknown=True)
        return
    runs = Sharding.SHARD_GRAD_OP if value is False else Sharding.FULL_SHARD
    if plan.sharding.is_written and plan.sharding.value is not None and plan.sharding.value is not runs:
        plan.sharding = plan.sharding.overruled(runs, "FSDP2 does not read `sharding_strategy`")
    else:
        plan.sharding = Fact(runs, Place(document, path) if document.has(path) else None, source="Composer's default for FSDP2")
    if not plan.state_dict.is_written:
        plan.state_dict = Fact(StateDict.SHARDED, source="Composer's default for FSDP2")
