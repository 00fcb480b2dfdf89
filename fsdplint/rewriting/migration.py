"""FSDP1 to FSDP2 and back, keeping what the file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.document import Refused
from fsdplint.launch import LAUNCHER
from fsdplint.plan import Sharding, StateDict, Wrap
from fsdplint.rewriting.aim import Wish

if TYPE_CHECKING:
    from fsdplint.plan import Plan

UNREPLICATED = {Sharding.HYBRID_SHARD: Sharding.FULL_SHARD, Sharding.HYBRID_SHARD_ZERO2: Sharding.SHARD_GRAD_OP}
"""What a hybrid strategy does within one of its replicas."""


def migration(plan: Plan, version: int, dialect: str, *, is_outdated: bool = False) -> Wish | None:
    """What a plan comes to under another FSDP version; None where no FSDP is on or the version is that one already, unless in words that
    are outdated.

    Of a strategy that FSDP1 loses, what is written counts; but accelerate's FSDP1 never read one from ``fsdp_reshard_after_forward``.
    Raises Refused where the plan has no equal there, or is not known well enough.
    """
    if plan.fsdp.value is not True or (plan.fsdp_version.value == version and not is_outdated):
        return None
    for decision in ("fsdp_version", "sharding", "offload"):
        if plan.fact(decision).value is None:
            raise Refused(f"it cannot be told what {decision} the file asks for")
    sharding, state = plan.sharding.value if dialect == LAUNCHER else plan.sharding.written, plan.state_dict.value
    if sharding is Sharding.NO_SHARD and version == 2:
        how = " (`distributed_type: MULTI_GPU`)" if dialect == LAUNCHER else ""
        raise Refused(f"NO_SHARD has no equal in FSDP2: it is plain data parallelism{how}, or choose a --preset")
    if version == 1 and (plan.dp_replicate.value or 1) > 1:
        raise Refused("a mesh with replicas belongs to FSDP2 alone")
    state = StateDict.SHARDED if state is StateDict.LOCAL else state
    wrap = plan.wrap_policy.value
    if wrap is Wrap.SIZE and plan.min_num_params.value is None:
        wrap = None
    assert sharding is not None
    assert plan.offload.value is not None
    wish = Wish(version, sharding, plan.offload.value, wrap, state, keeps=True)
    return _meshed(plan, wish, dialect) if version == 2 and sharding in UNREPLICATED else wish


def _meshed(plan: Plan, wish: Wish, dialect: str) -> Wish:
    """A hybrid strategy shards within a machine and replicates over the machines; on one machine it only shards."""
    machines, processes = plan.machines.value, plan.processes.value
    sharding = UNREPLICATED[wish.sharding]
    if machines == 1:
        return wish._replace(sharding=sharding)
    if not machines or not processes or processes % machines:
        how = "write num_machines and num_processes" if dialect == LAUNCHER else "give the line that starts it (--launch)"
        raise Refused(f"{wish.sharding.value} needs the number of machines and of processes: {how}, or choose a --preset")
    return wish._replace(sharding=sharding, replicas=machines, shards=processes // machines)
