"""Faults of a NeMo AutoModel recipe that only AutoModel has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.dialects import is_known
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALIASES = {"megatron-fsdp": "megatron_fsdp", "mfsdp": "megatron_fsdp"}


class ForeignOption(Rule):
    """## What it does
    Finds options of `distributed` that the chosen strategy does not take, and parallel sizes above 1 that it cannot do.

    ## Why it matters
    AutoModel checks the options against the strategy's own and stops (Unknown options for strategy, does not support).

    ## Example
    ```yaml
    model:
      _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
    distributed:
      strategy: ddp
      sequence_parallel: true
    ```

    ## Use instead
    ```yaml
    model:
      _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
    distributed:
      strategy: fsdp2
      sequence_parallel: true
    ```

    ## Versions and evidence
    recipes/_dist_setup.py of nemo-automodel 0.3.0, recipes/_dist_utils.py of 0.5.0 and 0.7.0 (their parser was run);
    components/distributed/mesh.py and mesh_utils.py for the sizes (read).
    """

    code, name = "NEM001", "nemo-foreign-option"
    dialects = ("nemo-automodel",)

    def check(self, context: Context) -> Iterator[Finding]:
        word = context.value("distributed", "strategy") if context.document.has(("distributed", "strategy")) else "fsdp2"
        strategy = _ALIASES.get(str(word).lower(), str(word).lower())
        if strategy not in ("fsdp2", "megatron_fsdp", "ddp") or context.versions.has("nemo-automodel<0.3.0"):
            return
        for item in context.written:
            takers = item.option.schema.get("x-strategies", [strategy]) if item.option else [strategy]
            if strategy in takers or item.option is None or not is_known(item.option, context.versions):
                continue
            value = plain(item.entry.value)
            if item.option.name.endswith("_size") and (not isinstance(value, int) or value <= 1):
                continue
            # Releases before 0.5 still take sequence_parallel: false everywhere.
            if not is_placeholder(value) and (value or not context.versions.has("nemo-automodel<0.5.0")):
                message = f"`{item.path[-1]}` is no option of {strategy}: AutoModel stops"
                yield self.finding(context.at(item.path, "entry"), message, help=f"remove it, or write {_spoken(takers)}")


def _spoken(strategies: list[str]) -> str:
    return " or ".join(f"`strategy: {strategy}`" for strategy in strategies)


RULES: tuple[Rule, ...] = (ForeignOption(),)
