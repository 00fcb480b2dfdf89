"""The built-in rules, one module per family. A pack is a module with ``RULES``; see CONTRIBUTING.md for writing one."""

from __future__ import annotations

from fsdplint_rules import (
    accelerate,
    axolotl,
    backends,
    compile,
    deepspeed,
    defaults,
    devices,
    engines,
    fsdp_versions,
    generations,
    hf_trainer,
    keys,
    launches,
    lifetimes,
    missing,
    saving,
    sharding,
    soup,
    soup_runs,
    syntax,
    training,
    trl,
    values,
    wrapping,
)

__all__ = ["RULES"]

RULES = (
    *syntax.RULES,
    *keys.RULES,
    *values.RULES,
    *lifetimes.RULES,
    *generations.RULES,
    *defaults.RULES,
    *missing.RULES,
    *fsdp_versions.RULES,
    *engines.RULES,
    *launches.RULES,
    *sharding.RULES,
    *devices.RULES,
    *backends.RULES,
    *compile.RULES,
    *wrapping.RULES,
    *training.RULES,
    *saving.RULES,
    *accelerate.RULES,
    *hf_trainer.RULES,
    *trl.RULES,
    *axolotl.RULES,
    *soup.RULES,
    *soup_runs.RULES,
    *deepspeed.RULES,
)
