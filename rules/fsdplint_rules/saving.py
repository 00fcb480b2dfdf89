"""How sharded parameters are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import choose
from fsdplint.document import plain
from fsdplint.plan import StateDict
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator


class StateDictUnsupported(Rule):
    """## What it does
    Finds state dict types that the FSDP version cannot do in the target: LOCAL_STATE_DICT under FSDP2, FULL_STATE_DICT under FSDP2 in
    accelerate 1.6.0.

    ## Why it matters
    Every worker raises when the plugin is built.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
      fsdp_state_dict_type: LOCAL_STATE_DICT
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
      fsdp_state_dict_type: SHARDED_STATE_DICT
    ```

    ## Versions and evidence
    acc-sd-local-fsdp2, acc-sd-full-fsdp2-1.6, axo-local-state-dict-fsdp2, TRF-FSDP-29 (run).

    ## Fix
    accelerate: SHARDED_STATE_DICT is written: unsafe, since other files are saved.
    """

    code, name = "FSD801", "state-dict-unsupported"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        state = plan.state_dict
        if plan.fsdp.value is not True or state.place is None or state.value is None:
            return
        claim = context.consequence(self, state)
        if claim:
            related = noted(plan.fsdp_version, f"FSDP{plan.fsdp_version.value}")
            yield self.claimed(claim, state.place, f"{state.value.value} with FSDP{plan.fsdp_version.value or ''}", related=related)


class ShardedStateDictBlocksSaving(Rule):
    """## What it does
    Finds SHARDED_STATE_DICT, also where it is the default, beside settings that need whole weights, such as `save_only_model`.

    ## Why it matters
    transformers refuses the pair when the Trainer is built.

    ## Example
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      state_dict_type: SHARDED_STATE_DICT
    save_only_model: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      state_dict_type: FULL_STATE_DICT
    save_only_model: true
    ```

    ## Versions and evidence
    TRF-FSDP-10, TRF-MF-03 (run with transformers 5.24.0).
    """

    code, name = "FSD802", "sharded-state-dict-blocks-saving"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if (
            plan.fsdp.value is not True
            or plan.state_dict.value is not StateDict.SHARDED
            or plan.save_only_model.value is not True
            or plan.save_only_model.place is None
        ):
            return
        claim = context.consequence(self, plan.save_only_model, across=True)
        if claim:
            state = plan.state_dict
            fault = "save_only_model with SHARDED_STATE_DICT" + ("" if state.place else f" ({state.source})")
            yield self.claimed(claim, plan.save_only_model.place, fault, related=noted(state, "the state dict type"))


class FinalStateDictIgnored(Rule):
    """## What it does
    Finds settings of the final save that nothing reads.

    ## Why it matters
    After days of training the weights lie in shards, though the file asked for one file.

    ## Example
    An axolotl file with `final_state_dict_type` and no FSDP.

    ## Use instead
    `state_dict_type: FULL_STATE_DICT`

    ## Versions and evidence
    The frameworks' tables name the releases.
    """

    code, name, severity = "FSD803", "final-state-dict-ignored", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            claims = item.option.schema.get("x-final-save") if item.option else None
            claim = choose(claims, context.versions, context.plan) if claims and plain(item.entry.value) is not None else None
            if claim:
                yield self.claimed(claim, context.at(item.path, "entry"), f"`{item.path[-1]}` has no effect")


RULES = (StateDictUnsupported(), ShardedStateDictBlocksSaving(), FinalStateDictIgnored())
