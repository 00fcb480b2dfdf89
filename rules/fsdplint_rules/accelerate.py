"""Faults that only files of `accelerate launch` have. The rules stand in the modules `accelerate_*`, one per topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint_rules import accelerate_blocks, accelerate_launcher

if TYPE_CHECKING:
    from fsdplint.rule import Rule

RULES: tuple[Rule, ...] = (*accelerate_blocks.RULES, *accelerate_launcher.RULES)
