"""Faults of a verl config that only verl has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWN = ("param_offload", "optimizer_offload")


class OffloadTwice(Rule):
    """## What it does
    Finds verl's own offloading (`param_offload`, `optimizer_offload`) beside FSDP2's `offload_policy: true`.

    ## Why it matters
    With the policy verl switches its own offloading off: between the phases of a step nothing is moved, and the two keys have no effect.

    ## Example
    ```yaml
    actor_rollout_ref:
      actor:
        strategy: fsdp2
        fsdp_config:
          offload_policy: true
          param_offload: true
    ```

    ## Use instead
    ```yaml
    actor_rollout_ref:
      actor:
        strategy: fsdp2
        fsdp_config:
          offload_policy: true
    ```

    ## Versions and evidence
    workers/fsdp_workers.py of verl 0.4.0 to 0.7.1, workers/engine/fsdp/transformer_impl.py of 0.6.0 to 0.9.1 (read): the branch
    of FSDP2 that builds the policy sets both switches to false.
    """

    code, name, severity = "VRL001", "verl-offload-twice", Severity.WARNING
    dialects = ("verl",)
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        for item in context.written:
            block = item.path[:-1]
            if item.path[-1] not in _OWN or context.value(*item.path) is not True or context.value(*block, "offload_policy") is not True:
                continue
            if context.dialect.version_at(context.plan, context.document, item.path).value == 2:
                yield self.finding(
                    context.at(item.path, "entry"),
                    f"`{item.path[-1]}` beside `offload_policy`: verl switches its own offloading off where FSDP2 offloads",
                    help="remove it, or write `offload_policy: false`",
                    related=[(context.at((*block, "offload_policy"), "entry"), "FSDP2 offloads")],
                )


RULES: tuple[Rule, ...] = (OffloadTwice(),)
