"""What is sharded, over how many processes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import met
from fsdplint.plan import Sharding
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.engines import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator


class ShardingNotAsWritten(Rule):
    """## What it does
    Finds sharding that is written and not run in the target's versions.

    ## Why it matters
    SHARD_GRAD_OP that silently runs as FULL_SHARD gathers every parameter twice per step; the reverse runs out of memory.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 1
      fsdp_reshard_after_forward: SHARD_GRAD_OP
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_version: 1
      fsdp_sharding_strategy: SHARD_GRAD_OP
    ```

    ## Versions and evidence
    acc-reshard-ignored-fsdp1, acc-sharding-strategy-ignored-fsdp2, TRF-FSDP-19, TRF-FSDP-20, axo-fsdp1-strategy-ignored (all run).

    ## Fix
    The strategy is written at the key that the FSDP version in force reads; where transformers' FSDP1 cannot do it, as FSDP2. Unsafe, since
    training changes.
    """

    code, name = "FSD105", "sharding-not-as-written"

    def check(self, context: Context) -> Iterator[Finding]:
        fact = context.plan.sharding
        if context.plan.fsdp.value is True and fact.place and fact.because and fact.value and not fact.as_written:
            claim = context.consequence(self, fact)
            message = f"{spoken(fact)} is written and {fact.value.value} runs: {fact.because}"
            if claim:
                yield self.claimed(claim._replace(outcome="misleads", says=""), fact.place, message)
            else:
                yield self.finding(fact.place, message, outcome="misleads")


class NothingToShard(Rule):
    """## What it does
    Finds FSDP over one process, and shard groups of one.

    ## Why it matters
    With a world size of 1 torch switches to NO_SHARD: nothing is sharded, nothing is saved.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 1
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 8
    ```

    ## Versions and evidence
    acc-num-processes-1, acc-num-processes-not-divisible (run with accelerate 1.15.0).
    """

    code, name = "FSD106", "nothing-to-shard"
    facts = ("acc-num-processes-1", "acc-num-processes-not-divisible", "TRF-FSDP-36")

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.fsdp.value is not True:
            return
        processes, machines = plan.processes.value, plan.machines.value or 1
        if processes is None or processes < 1:
            return
        if "FSD106" in context.table.schema.get("x-consequences", {}):
            yield from self._by_table(context, processes)
            return
        home = context.home("processes")
        at = home if home.path else plan.fsdp.place or home
        certain = context.launch.command is not None or not plan.processes.is_written
        outcome = "misleads" if certain else "ignored"
        if processes == 1 or processes < machines:
            alone = "torch switches to NO_SHARD" if plan.fsdp_version.value == 1 else "the one process holds the whole model"
            says = (
                f"FSDP over one process shards nothing: {alone}" if processes == 1 else "fewer processes than machines: no process starts"
            )
            yield self.finding(at, says, outcome=outcome, help="start at least two processes (num_processes, or the launcher's flag)")
        elif processes % machines and plan.processes.is_written:
            started = processes // machines * machines
            yield self.finding(
                at,
                f"{processes} processes over {machines} machines: only {started} are started",
                outcome=outcome,
                help="write a multiple of the number of machines",
            )

    def _by_table(self, context: Context, processes: int) -> Iterator[Finding]:
        """What a framework that lays its own mesh out does with one process."""
        claim = context.consequence(self) if processes == 1 else None
        if claim:
            at = context.plan.fsdp.place or context.home("dp_shard")
            yield self.claimed(claim, at, "FSDP over one process")


class BadMesh(Rule):
    """## What it does
    Finds parallel sizes that do not multiply to the world size, exclude each other, or leave FSDP no dimension to shard over.

    ## Why it matters
    The device mesh is built in the workers: every rank stops after the nodes were allocated.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 4
    fsdp_config:
      fsdp_version: 2
    parallelism_config:
      parallelism_config_cp_size: 2
      parallelism_config_sp_size: 2
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 4
    fsdp_config:
      fsdp_version: 2
    parallelism_config:
      parallelism_config_dp_shard_size: 2
      parallelism_config_cp_size: 2
    ```

    ## Versions and evidence
    acc-pc-mismatch, acc-pc-tp-dpr, acc-pc-cp-sp, acc-pc-no-shard-dim (run with accelerate 1.10.0 to 1.15.0).
    """

    code, name = "FSD107", "bad-mesh"
    sizes = ("dp_replicate", "dp_shard", "tp", "cp", "sp", "pp")

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        facts = {name: plan.fact(name) for name in self.sizes}
        written = [name for name, fact in facts.items() if fact.is_written]
        if not written or any(fact.unknown or (fact.is_written and fact.value is None) for fact in facts.values()):
            return
        size = {name: fact.value or 1 for name, fact in facts.items()}
        at = {name: context.home(name) for name in self.sizes}
        table = context.table.schema.get("x-mesh", [])
        for check in table:
            if ("when" in check and not context.versions.has(check["when"])) or not met(check.get("if"), plan):
                continue
            guilty = _mesh_fault(check["fault"], size, plan.processes.value)
            if guilty and (plan.fsdp.value is not False or check.get("engine") == "any"):
                here = next((n for n in guilty if n in written), written[0])
                related = [(at[n], f"{n} {size[n]}") for n in guilty if n != here and n in written]
                if check["fault"] in ("product", "world", "remainder") and plan.processes.place:
                    related.append((plan.processes.place, f"{plan.processes.value} processes"))
                yield self.finding(
                    at[here],
                    check["says"],
                    outcome=check.get("outcome", "refused"),
                    related=related,
                    help=check.get("help"),
                )
                return


def _mesh_fault(fault: str, size: dict[str, int], processes: int | None) -> list[str]:
    """The sizes at fault in one check of a table's ``x-mesh``; empty where the check is passed. Sizes that are all 1 make no mesh."""
    above = [name for name, number in size.items() if number > 1]
    if fault == "world":
        return (above or list(size)) if processes and processes > 0 and min(size.values()) > 0 and prod(size.values()) != processes else []
    if fault == "remainder":
        fixed = [name for name in above if name != "dp_shard"]
        leftover = (processes or 0) % prod(size[name] for name in fixed)
        return fixed if size["dp_shard"] == -1 and leftover else []
    if not above or min(size.values()) < 1:
        return []
    if fault == "replicas-alone" and "dp_replicate" in above and not {"dp_shard", "cp"} & set(above):
        others = [name for name in ("tp", "pp") if name in above]
        return [*others, "dp_replicate"] if others else []
    if fault == "cp-and-sp" and {"cp", "sp"} <= set(above):
        return ["cp", "sp"]
    if fault == "pure-replicate" and "dp_replicate" in above and "dp_shard" not in above and {"tp", "cp"} & set(above):
        return ["tp" if "tp" in above else "cp", "dp_replicate"]
    if fault == "no-shard-dimension" and not {"dp_shard", "cp"} & set(above):
        return ["tp" if "tp" in above else above[0]]
    if fault == "product" and processes and processes > 0 and "sp" not in above and prod(size.values()) != processes:
        return above
    return []


class UnsupportedSharding(Rule):
    """## What it does
    Finds sharding strategies that the FSDP version or the framework cannot do.

    ## Why it matters
    FSDP2 has no NO_SHARD and says HYBRID_SHARD with a device mesh; torch announced the end of NO_SHARD for FSDP1.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_sharding_strategy: NO_SHARD
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_GPU
    num_processes: 2
    ```

    ## Versions and evidence
    acc-no-shard-deprecated, TRF-FSDP-26, axo-fsdp-list-v2-hybrid (run).
    """

    code, name, severity = "FSD109", "unsupported-sharding", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        fact = context.plan.sharding
        if context.plan.fsdp.value is not True or fact.place is None or fact.written in (None, Sharding.FULL_SHARD, Sharding.SHARD_GRAD_OP):
            return
        claim = context.consequence(self, fact)
        if claim:
            yield self.claimed(claim, fact.place, f"{spoken(fact)} with FSDP{context.plan.fsdp_version.value or ''}")


RULES = (ShardingNotAsWritten(), NothingToShard(), BadMesh(), UnsupportedSharding())
