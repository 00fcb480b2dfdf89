"""Which preset shards as a launch's DeepSpeed does: the ZeRO stage and where states are offloaded to.

Stage 3 shards what FULL_SHARD does; stage 2 what SHARD_GRAD_OP does, and so does stage 1 but for the gradients (DeepSpeed 0.19.8,
runtime/zero/config.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.launch import Launch
    from fsdplint.rewriting.draft import Draft

_BY_NAME = re.compile(r"(?:zero|z)[-_]?(?:stage[-_]?)?([0-3])", re.IGNORECASE)
_IDLE = (None, "none", "None", "", False)


class Zero(NamedTuple):
    """ZeRO's stage, and whether anything is offloaded."""

    stage: int
    offload: bool

    @property
    def preset(self) -> str | None:
        """The preset that shards in the same way; None for stage 0, which shards nothing."""
        if self.stage == 0:
            return None
        return "full_offload" if self.offload else "full_shard" if self.stage == 3 else "shard_grad"

    def __str__(self) -> str:
        return f"ZeRO-{self.stage}{' with offload' if self.offload else ''}"


def zero_of(launch: Launch, draft: Draft) -> Zero | None:
    """What DeepSpeed does, by its JSON, by the file's own block, or else by the name of a JSON that is not at hand; None: nobody tells."""
    return next(_told(launch, draft), None)


def _told(launch: Launch, draft: Draft) -> Iterator[Zero]:
    for file in launch.files:
        if file.dialect.name == "deepspeed":
            yield from _of_json(file.document.value(()))
    for key in ("deepspeed", "deepspeed_config"):
        value = draft.value(key)
        yield from _of_json(value)
        yield from _of_block(value)
        if isinstance(value, str):
            name = value.replace("\\", "/").rpartition("/")[2]
            found = _BY_NAME.search(name)
            if found:
                yield Zero(int(found[1]), "offload" in name.lower())


def _of_json(block: object) -> Iterator[Zero]:
    """DeepSpeed's own options."""
    section = block.get("zero_optimization") if isinstance(block, dict) else None
    if isinstance(section, dict) and section.get("stage") in (0, 1, 2, 3):
        devices = [part.get("device") for key in ("offload_param", "offload_optimizer") if isinstance(part := section.get(key), dict)]
        yield Zero(section["stage"], any(device not in _IDLE for device in (*devices, section.get("cpu_offload"))))


def _of_block(block: object) -> Iterator[Zero]:
    """The block of an accelerate file."""
    stage = str(block.get("zero_stage")) if isinstance(block, dict) else ""
    if isinstance(block, dict) and stage in ("0", "1", "2", "3"):
        yield Zero(int(stage), any(block.get(f"offload_{what}_device") not in _IDLE for what in ("param", "optimizer")))
