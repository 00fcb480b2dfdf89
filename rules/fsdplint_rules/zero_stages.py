"""Which stage of ZeRO a launch's DeepSpeed runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Place
from fsdplint_rules.deepspeed import Setting, engine_setting

if TYPE_CHECKING:
    from fsdplint.rule import Context

_NAMED = re.compile(r"(?<![a-z])(?:z|zero|zero[-_]?stage|stage)[-_]?([0-3])(?!\d)", re.IGNORECASE)


def zero_stage(context: Context) -> Setting | None:
    """The stage that DeepSpeed's settings state: in the training file, in the JSON that it names, in the accelerate file, else by the name.

    None where nothing tells it. Frameworks ship files such as ``ds_z3_config.json``, and words such as ``zero3``, whose name is the stage.
    """
    stated = engine_setting(context, ("zero_optimization", "stage"))
    if stated is not None:
        return stated if isinstance(stated.value, int) else None
    for file in context.launch.files:
        path = ("deepspeed_config", "zero_stage")
        if file.dialect.name == "accelerate" and isinstance(file.document.value(path), int):
            return Setting(file.document.value(path), Place(file.document, path))
    named = context.plan.deepspeed_config
    found = (
        _NAMED.search(re.split(r"[/\\]", named.value)[-1])
        if isinstance(named.value, str) and not named.value.lstrip().startswith("{")
        else None
    )
    return Setting(int(found[1]), named.place) if found and named.place else None


def is_zero3(context: Context) -> bool:
    """Whether DeepSpeed is on and shards the parameters."""
    if not (context.plan.deepspeed.value or context.plan.deepspeed_config.value):
        return False
    stage = zero_stage(context)
    return stage is not None and stage.value == 3
