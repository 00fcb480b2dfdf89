"""Options of the FSDP version that does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose, is_among, is_known
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fsdp1KeyInFsdp2(Rule):
    """## What it does
    Finds keys that only FSDP1 reads, with FSDP2 in force and a value that asks for something.

    ## Why it matters
    FSDP2 has no such knob: the key is dropped, mostly without a word.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
      fsdp_backward_prefetch: BACKWARD_PRE
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
    ```

    ## Versions and evidence
    Which keys each FSDP version reads stands in the option tables.

    ## Fix
    A key is removed where FSDP2 does what it asks for anyway: safe where that is certain. What would be lost stays.
    """

    code, name, severity = "FSD406", "fsdp1-key-in-fsdp2", Severity.WARNING
    scope = "file"
    reads, runs = 1, 2

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True:
            return
        for item in context.written:
            option = item.option
            if option is None or option.schema.get("x-applies") != self.reads or not is_known(option, context.versions):
                continue
            version = context.dialect.version_at(context.plan, context.document, item.path)
            if version.value != self.runs:
                continue
            value = plain(item.entry.value)
            if is_placeholder(value) or value is None or is_among(value, option.schema.get("x-idle", [])):
                continue
            claim = choose(option.schema.get("x-otherwise", []), context.versions, context.plan, value)
            if claim:
                related = noted(version, f"FSDP{self.runs} is in force")
                yield self.claimed(
                    claim,
                    context.at(item.path, "entry"),
                    f"`{item.path[-1]}` is an FSDP{self.reads} option and FSDP{self.runs} runs",
                    related=related,
                )


class Fsdp2KeyInFsdp1(Fsdp1KeyInFsdp2):
    """## What it does
    Finds keys that only FSDP2 reads, with FSDP1 in force and a value that asks for something.

    ## Why it matters
    FSDP1 ignores the key, or stops on its value: a boolean `reshard_after_forward` is no sharding strategy.

    ## Example
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 1
      fsdp_activation_checkpointing: true
      fsdp_activation_checkpointing_offload: true
    ```

    ## Use instead
    ```yaml
    distributed_type: FSDP
    fsdp_config:
      fsdp_version: 2
      fsdp_activation_checkpointing: true
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
      fsdp_activation_checkpointing_offload: true
    ```

    ## Versions and evidence
    Which keys each FSDP version reads stands in the option tables.
    """

    code, name = "FSD407", "fsdp2-key-in-fsdp1"
    reads, runs = 2, 1


RULES = (Fsdp1KeyInFsdp2(), Fsdp2KeyInFsdp1())
