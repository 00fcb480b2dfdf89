"""Faults of a launch whose files are each right: an accelerate file beside the training file of a Hugging Face trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Severity
from fsdplint.launch import FSDP, TAKEN_OVER, TRAINERS
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.engines import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.plan import Fact, Plan


class LaunchRule(Rule):
    """A rule about a launch of several members; it speaks once per launch."""

    dialects = tuple(sorted(TRAINERS))
    scope = "launch"

    def launcher(self, context: Context) -> Plan | None:
        """The plan of the launcher's member that has FSDP on; None where there is none."""
        others = (plan for file, plan in context.plans.items() if file is not context.file and file.dialect.name in ("accelerate", "trl"))
        return next((plan for plan in others if plan.fsdp.value is True), None)


def _is_from(fact: Fact[Any], plan: Plan, decision: str) -> bool:
    place = plan.fact(decision).place
    return place is not None and fact.place is not None and fact.place.document is place.document and fact.place.path == place.path


class FsdpTwice(LaunchRule):
    """## What it does
    Finds FSDP set up in the accelerate file and again in the training file, where the two differ.

    ## Why it matters
    Neither file runs. `TrainingArguments` hand accelerate the version, the sharding, the wrap policy, the state dict
    type and RAM-efficient loading, defaults included;
    what they leave out (CPU offload, activation checkpointing) accelerate takes from its own file.

    ## Example
    `accelerate launch --use_fsdp --fsdp_version 2 --fsdp_offload_params true train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Versions and evidence
    TRF-MF-01 (two processes with transformers 5.24.0 and accelerate 1.15.0; 4.57.6 with the launcher's environment).
    """

    code, name = "HFT201", "fsdp-configured-twice"
    facts = ("TRF-MF-01",)

    def check(self, context: Context) -> Iterator[Finding]:
        launcher, own, plan = self.launcher(context), context.own, context.plan
        at = own.fsdp.place
        if launcher is None or at is None or own.fsdp.value is not True or plan.deepspeed.value is True:
            return
        lost = [d for d in FSDP if launcher.fact(d).is_written and _differ(plan.fact(d), launcher.fact(d))]
        leaking = [d for d in ("offload", "activation_checkpointing") if _is_from(plan.fact(d), launcher, d) and plan.fact(d).value is True]
        if not lost and not leaking:
            return
        says = [f"this file wins for {_names(lost)}"] if lost else []
        says += [f"{_names(leaking)} of the launcher's stays on"] if leaking else []
        related = [(launcher.fact(d).place, f"{_name(d)} {spoken(launcher.fact(d))} is lost") for d in lost]
        related += [(launcher.fact(d).place, f"{_name(d)} stays on") for d in leaking]
        yield self.finding(
            at,
            f"FSDP is set up here and for the launcher: {', and '.join(says)}",
            outcome="misleads",
            help="set FSDP up in one of the two files",
            related=[(place, text) for place, text in related if place],
        )


def _differ(runs: Fact[Any], asked: Fact[Any]) -> bool:
    return runs.value is not None and asked.value is not None and runs.value != asked.value


def _name(decision: str) -> str:
    return decision.replace("_", " ")


def _names(decisions: list[str]) -> str:
    return " and ".join(_name(decision) for decision in decisions) if len(decisions) < 3 else ", ".join(map(_name, decisions))


class DeepspeedTakesOver(LaunchRule):
    """## What it does
    Finds `deepspeed` in the training file of a launch whose accelerate file starts FSDP.

    ## Why it matters
    DeepSpeed runs and FSDP is off, without a word.

    ## Example
    `accelerate launch --use_fsdp train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    deepspeed: ds_z2.json
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Versions and evidence
    TRF-DS-02 (run with transformers 5.24.0).
    """

    code, name = "HFT202", "deepspeed-takes-over"
    facts = ("TRF-DS-02",)

    def check(self, context: Context) -> Iterator[Finding]:
        fsdp, deepspeed = context.plan.fsdp, context.plan.deepspeed
        if fsdp.because == TAKEN_OVER and fsdp.place and deepspeed.place:
            outcome = "misleads" if context.versions.has("transformers>=5.0") else "ignored"
            message = "DeepSpeed here and FSDP for the launcher: DeepSpeed runs, FSDP is off"
            yield self.finding(
                deepspeed.place, message, outcome=outcome, help="drop one of the two", related=[(fsdp.place, "FSDP is started here")]
            )


class IdleFsdpConfig(LaunchRule):
    """## What it does
    Finds `fsdp_config` without `fsdp` in the training file of a launch whose accelerate file starts FSDP.

    ## Why it matters
    The accelerate file's FSDP runs. transformers 5.10 and newer read nothing of the training file's block; 4.x takes
    `activation_checkpointing` and `limit_all_gathers` out of it.

    ## Example
    `accelerate launch --use_fsdp train.py config.yaml` with
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp_config:
      state_dict_type: SHARDED_STATE_DICT
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    ```

    ## Versions and evidence
    Launches with transformers 5.24.0 and 4.57.6 (run with the launcher's environment).
    """

    code, name, severity = "HFT203", "idle-fsdp-config", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        launcher, own = self.launcher(context), context.own
        options = own.fsdp_options
        if (
            launcher is None
            or own.fsdp.value is True
            or own.fsdp.unknown
            or options.value is not True
            or options.place is None
            or context.plan.fsdp.value is not True
        ):
            return
        related = [(launcher.fsdp.place, "this FSDP runs")] if launcher.fsdp.place else []
        yield self.finding(
            options.place,
            "`fsdp_config` without `fsdp`: the launcher's FSDP runs and this block is not read",
            help="move the options to the accelerate file or the launch line",
            related=related,
        )


RULES = (FsdpTwice(), DeepspeedTakesOver(), IdleFsdpConfig())
