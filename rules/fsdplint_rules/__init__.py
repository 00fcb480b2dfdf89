"""The built-in rules, one module per family. A pack is a module with ``RULES``; see CONTRIBUTING.md for writing one."""

from __future__ import annotations

from fsdplint_rules import (
    accelerate,
    axolotl,
    backends,
    compile,
    devices,
    engines,
    hf_trainer,
    keys,
    saving,
    sharding,
    soup,
    syntax,
    training,
    trl,
    wrapping,
)

__all__ = ["RULES"]

RULES = (
    *syntax.RULES,
    *keys.RULES,
    *engines.RULES,
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
)
