"""Wishes in files of torchtitan, torchtune and Composer, whose FSDP version the release decides, not the file.

Source: torchtitan 0.1.0 to 0.2.2 (config/job_config.py, distributed/parallel_dims.py), torchtune 0.2.0 to 0.6.1 (recipes), Composer 0.17
to 0.32 (distributed/dist_strategy.py, utils/parallelism.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects.composer import fsdp_block
from fsdplint.dialects.torchtitan import READS
from fsdplint.document import Refused
from fsdplint.plan import Sharding, Wrap
from fsdplint.rewriting.migration import UNREPLICATED
from fsdplint.rewriting.writer import Writer, one_replica

if TYPE_CHECKING:
    from fsdplint.document import Path
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft


MESH = ("parallelism",)


class Torchtitan(Writer):
    """``[parallelism]`` and ``training.enable_cpu_offload``."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if not draft.versions.has(READS):
            return f"torchtitan {draft.versions.text('torchtitan')} reads no files"
        return None if wish.version == 2 and wish.replicas == 1 else "torchtitan shards with FSDP2 alone"

    def write(self, draft: Draft, wish: Wish) -> None:
        plan = draft.plan
        _refuse_unreleased(draft)
        if plan.fsdp.value is not True:
            if (plan.pp.value or 1) > 1 or (plan.tp.value or 1) > 1:
                raise Refused("beside tensor or pipeline parallelism the degree of sharding is yours to choose")
            if (plan.dp_replicate.value or 1) != 1:
                draft.put((*MESH, "data_parallel_replicate_degree"), 1)
            draft.put((*MESH, "data_parallel_shard_degree"), -1)
        one_replica(draft, (*MESH, "data_parallel_replicate_degree"), (*MESH, "data_parallel_shard_degree"))
        written = plan.sharding.value
        if plan.fsdp.value is not True or (written and UNREPLICATED.get(written, written)) is not wish.sharding:
            mode = "always" if wish.sharding is Sharding.FULL_SHARD else "never"
            draft.put((*MESH, "fsdp_reshard_after_forward"), mode, "data_parallel_shard_degree")
        if bool(plan.offload.value) is not wish.offload:
            draft.put(("training", "enable_cpu_offload"), wish.offload)


_UNRELEASED = "torchtitan<0.1.0"


def _refuse_unreleased(draft: Draft) -> None:
    """Raise Refused for a file older than torchtitan's first release: what read it knew nothing of today's keys."""
    written = draft.dialect.table.written(draft.document.root)
    old = next((item.path[-1] for item in written if item.option and item.option.schema.get("x-known") == _UNRELEASED), None)
    if old is not None and not draft.versions.is_older("torchtitan>=0.2.0"):
        raise Refused(f"the file is older than torchtitan 0.1.0, the first release (`{old}`): bring it up to date first")


class Torchtune(Writer):
    """``fsdp_reshard_after_forward`` and ``fsdp_cpu_offload`` of the distributed recipes."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if draft.plan.task.value == "inference":
            return "the file trains nothing"
        if draft.plan.fsdp.value is False:
            return "single_device recipes do not shard: run the file of a distributed recipe (tune run --nproc_per_node N ..._distributed)"
        if draft.versions.has("torchtune<0.3.0"):
            return f"torchtune {draft.versions.text('torchtune')} has no choice of sharding: it begins with 0.3.0"
        return None if wish.version == 2 and wish.replicas == 1 else "torchtune shards with FSDP2 alone"

    def write(self, draft: Draft, wish: Wish) -> None:
        plan = draft.plan
        one_replica(draft, ("data_parallel_replicate_dim",), ("data_parallel_shard_dim",))
        if plan.fsdp.value is not True or plan.sharding.value is not wish.sharding or draft.has("fsdp_sharding_strategy"):
            draft.put(("fsdp_reshard_after_forward",), wish.sharding is Sharding.FULL_SHARD, "fsdp_cpu_offload")
            draft.drop(("fsdp_sharding_strategy",))
        if bool(plan.offload.value) is not wish.offload:
            draft.put(("fsdp_cpu_offload",), wish.offload)
        if wish.offload and draft.value("optimizer_in_bwd") is True:
            draft.put(("optimizer_in_bwd",), False)


class Composer(Writer):
    """``fsdp_config``, or the block of ``parallelism_config``; an environment variable chooses FSDP2."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if wish.offload:
            return (
                "Composer refuses cpu_offload in every release; `activation_cpu_offload` with `activation_checkpointing` saves memory, too"
            )
        if wish.version != (draft.plan.fsdp_version.value or 1) or wish.replicas > 1:
            return "Composer takes its FSDP version from the environment variable FSDP_VERSION, not from the file"
        return None

    def write(self, draft: Draft, wish: Wish) -> None:
        block = fsdp_block(draft.document)
        body: dict[str, object] = {"sharding_strategy": wish.sharding.value}
        if wish.version == 2:
            body = {"reshard_after_forward": wish.sharding is Sharding.FULL_SHARD}
        names = tuple(str(part) for part in block or _new_block(draft))
        names = _moved(draft, names) if names[-2:] == ("trainer", "fsdp_config") and not draft.versions.is_older(_PARALLELISM) else names
        draft.block(names, body)
        if draft.value(*names, "cpu_offload"):
            draft.put((*names, "cpu_offload"), False)
        draft.drop((*names[:-1], "deepspeed_config"), *(((*names, "sharding_strategy"),) if wish.version == 2 else ()))


_PARALLELISM = "mosaicml>=0.26.0"
"""The releases whose Trainer takes the block in ``parallelism_config``, and no ``fsdp_config``."""

_TRAINING = frozenset({"train_loader", "train_dataset", "train_dataloader", "max_duration", "max_epochs", "optimizer", "optimizers"})
"""Keys of which a file that trains has one."""


def _new_block(draft: Draft) -> Path:
    """Where Composer reads a block that is not written yet; its Trainer knows ``parallelism_config`` alone since mosaicml 0.26."""
    document = draft.document
    base: Path = ("parameters",) if isinstance(document.value(("parameters",)), dict) else ()
    host = (*base, "trainer")
    trainer, run = document.value(host), document.value(base)
    if not _TRAINING & {*(run if isinstance(run, dict) else ()), *(trainer if isinstance(trainer, dict) else ())}:
        raise Refused("the file trains nothing")
    if not isinstance(trainer, dict):
        return (*base, "fsdp_config")
    return (*host, "fsdp_config") if draft.versions.is_older(_PARALLELISM) else (*host, "parallelism_config", "fsdp")


def _moved(draft: Draft, names: tuple[str, ...]) -> tuple[str, ...]:
    """The block of an older Trainer at the place where today's reads it; where it has comments, it stays."""
    new = (*names[:-1], "parallelism_config", "fsdp")
    options, before = draft.value(*names), draft.document
    if not isinstance(options, dict) or draft.has(*new[:-1]):
        return names
    draft.put(new[:-1], {"fsdp": options}, names[-1])
    draft.drop(names)
    if len(draft.document.comments()) == len(before.comments()):
        return new
    draft.document = before
    return names


class Lightning(Writer):
    """``strategy`` of a Trainer: a name, or Lightning's own class with arguments. What is wrapped has to be named by class."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        if _strategy(draft) == "ModelParallelStrategy":
            return "ModelParallelStrategy is FSDP2, which the model's own code shards: there is nothing that a file could say"
        return None if wish.version == 1 else "FSDP2 of Lightning (ModelParallelStrategy) wants a model that shards itself, in code"

    def within(self, draft: Draft, wish: Wish) -> Wish:  # noqa: ARG002
        return wish._replace(wrap=None)

    def write(self, draft: Draft, wish: Wish) -> None:
        from fsdplint.dialects.lightning_shapes import shape_of

        shape = shape_of(draft.document)
        is_alone = shape is not None and shape.host == "strategy" and shape.strategy == "FSDPStrategy"
        if shape is None or not (shape.host == "trainer" or is_alone):
            raise Refused("only a Trainer's `strategy`, or an FSDPStrategy, is rewritten")
        at = shape.strategy_at
        if draft.plan.wrap_policy.value is Wrap.NONE or not draft.plan.wrap_policy.is_written:
            draft.note("without `auto_wrap_policy` the model is one unit: name its layer class there, or wrap in configure_model")
        if draft.document.value((*shape.at, "accelerator")) in ("cpu", "mps"):
            draft.put((*shape.at, "accelerator"), "gpu")
        if shape.strategy == "FSDPStrategy" and shape.is_stock:
            _arguments(draft, shape.arguments_at, wish)
            return
        if isinstance(draft.document.value(at), dict) and not shape.is_stock:
            raise Refused("the strategy is a class of the project's own")
        if wish.sharding is Sharding.FULL_SHARD:
            draft.put(at, "fsdp_cpu_offload" if wish.offload else "fsdp")
        elif shape.reader == "cli":
            draft.put(at, {"class_path": "FSDPStrategy", "init_args": {"sharding_strategy": wish.sharding.value}})
        elif shape.reader == "stock":
            namespace = _STRATEGIES[str(draft.document.value((*shape.at, "_target_"))).partition(".")[0]]
            draft.put(at, {"_target_": f"{namespace}.FSDPStrategy", "sharding_strategy": wish.sharding.value})
        else:
            raise Refused("SHARD_GRAD_OP needs FSDPStrategy as an object (`_target_`), in the namespace that the project imports")


def _strategy(draft: Draft) -> str | None:
    from fsdplint.dialects.lightning_shapes import shape_of

    shape = shape_of(draft.document)
    return shape.strategy if shape is not None else None


_STRATEGIES = {
    "lightning": "lightning.pytorch.strategies",
    "pytorch_lightning": "pytorch_lightning.strategies",
    "lightning_fabric": "lightning.fabric.strategies",
}
"""Where each of Lightning's packages has its strategies."""


def _arguments(draft: Draft, at: tuple[str, ...], wish: Wish) -> None:
    if draft.plan.sharding.value is not wish.sharding:
        draft.put((*at, "sharding_strategy"), wish.sharding.value)
    if bool(draft.plan.offload.value) is not wish.offload:
        draft.put((*at, "cpu_offload"), wish.offload)
