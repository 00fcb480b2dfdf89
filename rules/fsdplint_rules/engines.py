"""Which engine shards: FSDP, DeepSpeed, both, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.plan import Fact


def spoken(fact: Fact[Any]) -> str:
    """A fact's written value in words."""
    value = getattr(fact.written, "value", fact.written)
    return str(value).lower() if isinstance(value, bool) else str(value)


class FsdpWithDeepspeed(Rule):
    """## What it does
    Finds launches that configure FSDP and DeepSpeed together.

    ## Why it matters
    Both engines shard the same parameters. The HF Trainer, axolotl (with its `fsdp` list) and soup refuse the pair; accelerate obeys
    `distributed_type` and drops the
    other block without a word; axolotl with `fsdp_config` alone does not notice.

    ## Example
    ```yaml
    output_dir: out
    deepspeed: ds_z3.json
    fsdp: full_shard auto_wrap
    ```

    ## Use instead
    ```yaml
    output_dir: out
    fsdp: full_shard auto_wrap
    ```

    ## Versions and evidence
    TRF-DS-01, TRF-DS-03, acc-deepspeed-and-fsdp, axo-ds-fsdp-list, axo-ds-fsdp-config-gap, soup-fsdp-ds (all run but one).
    """

    code, name = "FSD101", "fsdp-with-deepspeed"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        fsdp = plan.fsdp if plan.fsdp.value is True else plan.fsdp_options
        deepspeed = plan.deepspeed if plan.deepspeed.value is True else plan.deepspeed_config
        if not fsdp.value or not deepspeed.value or fsdp.place is None or deepspeed.place is None:
            return
        loser, winner = (fsdp, deepspeed) if plan.fsdp.value is not True else (deepspeed, fsdp)
        apart = fsdp.place.document is not deepspeed.place.document
        if apart and winner.place and winner.place.document is context.document:
            loser, winner = winner, loser
        # Over two files it is the main file's reader that meets both engines.
        claim = context.consequence(self) if apart else context.consequence(self, loser, across=True)
        if claim and loser.place and winner.place:
            yield self.claimed(
                claim,
                loser.place,
                "FSDP and DeepSpeed are both configured",
                related=[(winner.place, "the other engine")],
                help="keep one of the two engines",
            )


class FsdpNotEnabled(Rule):
    """## What it does
    Finds FSDP options that nothing puts in force.

    ## Why it matters
    The run is plain DDP: every rank holds the whole model, and the memory plan of the file is off by the world size.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_GPU
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 2
    ```

    ## Versions and evidence
    acc-fsdp-config-without-type, TRF-FSDP-34, axo-fsdp-config-without-list-old, axo-fsdp-version-only.
    """

    code, name = "FSD102", "fsdp-not-enabled"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        options = plan.fsdp_options
        if options.value is not True or options.place is None or plan.fsdp.value is not False or plan.fsdp.unknown:
            return
        if plan.deepspeed.value or plan.deepspeed_config.value:
            return
        claim = context.consequence(self, options)
        if claim:
            related = noted(plan.fsdp, "this decides")
            yield self.claimed(claim, options.place, "FSDP options without FSDP", related=related)


class VersionConflict(Rule):
    """## What it does
    Finds two places of a launch that disagree on FSDP1 or FSDP2, and versions other than 1 and 2.

    ## Why it matters
    One of the places loses without a message, and with it every option that only the other FSDP reads.

    ## Example
    ```yaml
    base_model: meta-llama/Llama-3.1-8B
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      fsdp_version: 1
    ```

    ## Use instead
    ```yaml
    base_model: meta-llama/Llama-3.1-8B
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-fsdp-version-conflict, TRF-FSDP-18, TRF-FSDP-21, TRF-MF-01.
    """

    code, name = "FSD103", "fsdp-version-conflict"

    def check(self, context: Context) -> Iterator[Finding]:
        version = context.plan.fsdp_version
        if version.place is None:
            return
        rival = version.contradicted
        if rival and rival.place:
            claim = context.consequence(self, rival, across=True)
            if claim:
                related = [(version.place, f"FSDP{version.value} runs" if version.value else "this one wins")]
                yield self.claimed(
                    claim,
                    rival.place,
                    f"two FSDP versions: {spoken(rival)} here, {spoken(version)} elsewhere",
                    related=related,
                )
        elif version.because and not version.as_written:
            yield self.finding(
                version.place,
                f"FSDP{spoken(version)} is asked for and FSDP{version.value} runs: {version.because}",
                outcome="misleads",
            )


class ContradictoryOptions(Rule):
    """## What it does
    Finds two options of one file of which one must lose: `full_shard` beside `shard_grad_op`, `offload` in the list beside
    `offload_params: false`.

    ## Why it matters
    Which of them wins is nowhere in the file.

    ## Example
    ```yaml
    output_dir: out
    fsdp: full_shard shard_grad_op auto_wrap
    ```

    ## Use instead
    ```yaml
    output_dir: out
    fsdp: full_shard auto_wrap
    ```

    ## Versions and evidence
    TRF-FSDP-01, TRF-FSDP-15, axo-fsdp-list-offload-conflict.
    """

    code, name = "FSD104", "contradictory-options"
    decisions = (
        "sharding",
        "offload",
        "wrap_policy",
        "wrap_classes",
        "state_dict",
        "activation_checkpointing",
        "ram_efficient",
        "min_num_params",
        "sync_module_states",
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for decision in self.decisions:
            fact = context.plan.fact(decision)
            rival = fact.contradicted
            if not rival or not rival.place or not fact.place or rival.place.document is not fact.place.document:
                continue
            claim = context.consequence(self, rival)
            if claim:
                yield self.claimed(
                    claim,
                    rival.place,
                    f"{spoken(rival)} here and {spoken(fact)} elsewhere",
                    related=[(fact.place, "this one wins")],
                )


class LaunchDisagreement(Rule):
    """## What it does
    Finds files or flags of one launch that say different things, and says who wins.

    ## Why it matters
    Every file for itself looks right. What runs is a mixture: of an accelerate file's FSDP block, offloading and activation checkpointing
    leak through where the training
    file sets FSDP up again.

    ## Example
    An accelerate file with `mixed_precision: fp16` and a training file with `bf16: true`.

    ## Use instead
    Say each thing in one of the files.

    ## Versions and evidence
    TRF-MF-01 (run with transformers 5.24.0 and 4.57.6), facts on launches of several files.
    """

    code, name, severity = "FSD108", "launch-disagreement", Severity.WARNING
    handled_elsewhere = frozenset({"fsdp_version", "fsdp", "deepspeed"})

    def check(self, context: Context) -> Iterator[Finding]:
        for decision, fact in context.plan:
            if decision in self.handled_elsewhere:
                continue
            rival = fact.contradicted
            if not rival or not rival.place or (fact.place and rival.place.document is fact.place.document):
                continue
            what = decision.replace("_", " ")
            if fact.place:
                is_flag = context.launch.command is not None and fact.place.origin.document is context.launch.command.document
                message = f"{what} is {spoken(rival)} here and {spoken(fact)} in {fact.place.origin.document.path}, which wins"
                yield self.finding(rival.place, message, outcome="advice" if is_flag else None, related=[(fact.place, "this one wins")])
            elif decision == "precision":
                yield self.finding(rival.place, f"{what} is {spoken(rival)} here, and the {fact.source} wins: {spoken(fact)}")


RULES = (FsdpWithDeepspeed(), FsdpNotEnabled(), VersionConflict(), ContradictoryOptions(), LaunchDisagreement())
