"""The built-in rules, one module per family. A pack is a module with ``RULES``; see CONTRIBUTING.md for writing one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set

    from fsdplint.rule import Rule

FAMILIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("syntax", "keys", "values", "lifetimes", "generations", "defaults", "missing", "fsdp_versions", "engines"), ()),
    **dict.fromkeys(("sharding", "devices", "backends", "compile", "wrapping", "training", "saving"), ()),
    "accelerate": ("accelerate",),
    "launch_flags": ("accelerate", "trl"),
    "launches": ("hf-trainer", "trl", "llama-factory", "ms-swift"),
    "hf_trainer": ("hf-trainer", "trl", "llama-factory", "ms-swift"),
    "hf_trainer_fsdp": ("hf-trainer", "trl", "llama-factory"),
    "trl": ("trl",),
    "axolotl": ("axolotl",),
    "llama_factory": ("llama-factory",),
    "llama_factory_runs": ("llama-factory",),
    "llama_factory_v1": ("llama-factory",),
    "ms_swift": ("ms-swift",),
    "ms_swift_runs": ("ms-swift",),
    "torchtitan": ("torchtitan",),
    "torchtune": ("torchtune",),
    "composer": ("composer",),
    "soup": ("soup",),
    "soup_runs": ("soup",),
    "lightning": ("lightning",),
    "lightning_training": ("lightning", "litgpt"),
    "nemo_automodel": ("nemo-automodel",),
    "verl": ("verl",),
    "deepspeed": ("deepspeed", "hf-trainer", "trl", "llama-factory"),
}
"""Every module of rules, and the dialects that it speaks about; none: all."""


def rules_for(dialects: Set[str] | None = None) -> tuple[Rule, ...]:
    """The rules that can speak about these dialects, all rules by default. Modules that cannot are not imported."""
    wanted = [name for name, about in FAMILIES.items() if dialects is None or not about or not dialects.isdisjoint(about)]
    return tuple(rule for name in wanted for rule in import_module(f"{__name__}.{name}").RULES)


def __getattr__(name: str) -> tuple[Rule, ...]:
    if name == "RULES":
        return rules_for()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
