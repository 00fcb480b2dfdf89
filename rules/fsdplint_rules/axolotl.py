"""Faults that only axolotl has. Its rules stand in the modules `axolotl_*`, one per topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint_rules import (
    axolotl_features,
    axolotl_fsdp,
    axolotl_kernels,
    axolotl_optimizers,
    axolotl_parallel,
    axolotl_quantization,
    axolotl_training,
)

if TYPE_CHECKING:
    from fsdplint.rule import Rule

RULES: tuple[Rule, ...] = (
    *axolotl_fsdp.RULES,
    *axolotl_features.RULES,
    *axolotl_optimizers.RULES,
    *axolotl_quantization.RULES,
    *axolotl_parallel.RULES,
    *axolotl_kernels.RULES,
    *axolotl_training.RULES,
)
"""All rules of axolotl."""
