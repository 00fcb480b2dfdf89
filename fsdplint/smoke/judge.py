"""The judge: from what the ranks observed to verdicts. Pure functions; an exit code proves nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.smoke.outcome import Verdict, judged
from fsdplint.smoke.sightings import checkpoint_seen, compile_seen, curve, is_finite, shown, steps_seen, wrap_seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsdplint.smoke.plan import SmokePlan

Facts = dict[str, Any]
Ranks = dict[int, Facts]

SAME_LOSS = 1e-3
"""How far the loss on one and the same batch may differ between ranks, relative to its size: they hold the same parameters."""

SAME_CURVE = 0.05
"""How far a compiled loss curve may be from the eager one, relative to its size: kernels differ, training must not."""

COMPARED = {
    "fsdp": "whether FSDP is on",
    "fsdp_version": "the FSDP version",
    "sharding": "the sharding",
    "offload": "CPU offload",
    "wrap_policy": "the wrap policy",
    "wrap_classes": "the layer classes to wrap",
    "state_dict": "the state dict type",
    "activation_checkpointing": "activation checkpointing",
    "precision": "mixed precision",
    "compile": "torch.compile",
}
"""Decisions of which what is asked for must be what runs, with their names in sentences."""

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp8": "bfloat16", "no": "float32"}
"""The dtype in which a block computes, by mixed precision."""


def disagreements(plan: SmokePlan) -> tuple[str, ...]:
    """What the files ask for and will not get, one sentence each. ``plan`` must not be fitted to a device yet."""
    found = []
    for name, title in COMPARED.items():
        setting = plan.setting(name)
        if not setting.holds and not _means_the_same(plan, name):
            because = f": {setting.because}" if setting.because else ""
            runs = "nothing" if setting.value is None else shown(setting.value)
            found.append(f"{title}: {setting.where} asks for {shown(setting.written)}, {runs} runs{because}")
    return tuple(found)


def _means_the_same(plan: SmokePlan, name: str) -> bool:
    """Whether another value than the written one makes no difference to how the launch trains."""
    setting = plan.setting(name)
    if name == "sharding":
        # FSDP2 says with a mesh what FSDP1 says with a strategy.
        return str(setting.written).startswith("HYBRID") and plan.value("dp_replicate", 1) > 1
    if name == "wrap_classes":
        # Classes that are left over beside another policy are not asked for.
        policy = plan.setting("wrap_policy")
        return not setting.written or (policy.asked and policy.holds and policy.value != "TRANSFORMER_BASED_WRAP")
    return setting.value is None and name != "fsdp"


def hopeless(plan: SmokePlan) -> tuple[str, ...]:
    """Why a plan cannot shard anything, whatever the machine; empty where it can."""
    if plan.value("deepspeed") is True:
        return (f"DeepSpeed is in force ({plan.setting('deepspeed').where}): FSDP does not run",)
    fsdp = plan.setting("fsdp")
    if fsdp.value is not True:
        because = f": {fsdp.because}" if fsdp.because else ""
        said = (
            f"FSDP is asked for ({fsdp.where}) and not in force{because}"
            if fsdp.asked and fsdp.written
            else f"nothing in the files turns FSDP on{because}"
        )
        return (f"{said}; every rank would keep the whole model",)
    if plan.value("processes") == 1:
        return (f"the launch starts one process ({plan.setting('processes').where}): there is nothing to shard over",)
    return ()


def judge_wrap(plan: SmokePlan, ranks: Ranks) -> Verdict:
    """Whether the model is sharded as planned, on every rank."""
    faults = [*_missing(plan, ranks), *_world_faults(plan, ranks)]
    if not faults:
        for check in _WRAP_CHECKS:
            faults += _each(ranks, check, plan)
    unproved = [*_alone(plan), *(_each(ranks, _doubts, plan) if not faults else ())]
    return judged("wrap", faults, unproved=unproved, seen=wrap_seen(ranks), facts=_by_rank(ranks))


def judge_steps(plan: SmokePlan, ranks: Ranks) -> Verdict:
    """Whether all ranks trained, together, in the planned dtype."""
    faults = [*_missing(plan, ranks)]
    if not faults:
        for check in (_finite, _falling, _moved, _dtype):
            faults += _each(ranks, check, plan)
        faults += _same_on_all(ranks)
    return judged("steps", faults, seen=steps_seen(ranks), facts=_by_rank(ranks))


def judge_checkpoint(plan: SmokePlan, ranks: Ranks) -> Verdict:
    """Whether a checkpoint brings back every parameter and the optimizer's state."""
    faults = [*_missing(plan, ranks)]
    if not faults:
        faults += _each(ranks, _round_trip, plan)
    return judged("checkpoint", faults, seen=checkpoint_seen(ranks), facts=_by_rank(ranks))


def judge_compile(plan: SmokePlan, ranks: Ranks, eager: Ranks) -> Verdict:
    """Whether the compiled model was compiled, and trains as the eager one did."""
    faults = [*_missing(plan, ranks)]
    if not faults:
        for check in (_finite, _falling, _compiled):
            faults += _each(ranks, check, plan)
        faults += _same_curve(ranks, eager)
    return judged("compile", faults, seen=compile_seen(ranks), facts=_by_rank(ranks))


def _missing(plan: SmokePlan, ranks: Ranks) -> Iterator[str]:
    absent = sorted(set(range(plan.world_size)) - set(ranks))
    if absent:
        yield f"no result from rank {', '.join(map(str, absent))}"


def _alone(plan: SmokePlan) -> tuple[str, ...]:
    if plan.world_size > 1:
        return ()
    way = "--processes 2 would share" if plan.device == "cpu" else "--on cpu shares"
    return (f"one rank on one {plan.device} device: nothing is shared out, so sharding is not proved ({way} between two ranks)",)


def _each(ranks: Ranks, check: Callable[[SmokePlan, Facts], Iterator[str]], plan: SmokePlan) -> list[str]:
    """What a check says of the ranks; said once, with the ranks of which it is true."""
    said: dict[str, list[int]] = {}
    for rank, facts in sorted(ranks.items()):
        for fault in check(plan, facts):
            said.setdefault(fault, []).append(rank)
    return [fault if len(on) == len(ranks) else f"rank {', '.join(map(str, on))}: {fault}" for fault, on in said.items()]


def _world_faults(plan: SmokePlan, ranks: Ranks) -> Iterator[str]:
    worlds = {facts["world_size"] for facts in ranks.values()} | {facts["peers"] for facts in ranks.values()}
    if worlds and worlds != {plan.world_size}:
        found = " and ".join(map(str, sorted(worlds)))
        yield f"a world of {found} where {plan.world_size} ranks were started: the processes do not train together"


def _kind(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    wanted = f"FSDP{plan.value('fsdp_version', 2)}"
    if facts["kind"] != wanted:
        shown = {"plain": "the model is not wrapped at all", "DDP": "the model is wrapped in DDP"}.get(
            facts["kind"], f"{facts['kind']} is in force"
        )
        yield f"{wanted} is planned, but {shown}: {facts['root']}"
    if facts.get("distributed") not in (None, "FSDP"):
        yield f"accelerate's distributed type is {facts['distributed']}, not FSDP"


def _shards(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    """Whether a rank holds its share; a model that is whole on purpose (NO_SHARD) is whole."""
    total, local, world = facts["total"], facts["local"], facts["shard_world"]
    if plan.value("sharding") == "NO_SHARD":
        return
    if facts["whole"]:
        some = ", ".join(facts["whole"][:3]) + (" and more" if len(facts["whole"]) > 3 else "")
        yield f"{len(facts['whole'])} of {facts['tensors']} parameters are not sharded: {some}"
    if local > facts["share"]:
        yield f"{local} of {total} elements are held, where a share of 1/{world} is at most {facts['share']}"
    if local * world < total * 0.5:
        yield f"{local} of {total} elements are held, far less than a share of 1/{world}"


def _strategy(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    wanted = plan.value("sharding", "FULL_SHARD")
    found = facts["sharding"]
    # On one rank FSDP1 switches to NO_SHARD, whatever is asked for.
    if plan.world_size > 1 and found and found != [wanted]:
        yield f"{wanted} is planned, {' and '.join(found)} is in force"


def _units(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    if plan.value("wrap_policy") != "TRANSFORMER_BASED_WRAP":
        return
    for name in plan.value("wrap_classes") or []:
        present, wrapped = facts["classes"].get(name, 0), facts["unit_classes"].get(name, 0)
        if not present and name not in facts["doubtful"]:
            yield f"the model has no layer of class {name}: it has {', '.join(facts['blocks'])}"
        elif wrapped < present:
            yield f"{wrapped} of {present} layers of class {name} are FSDP units"


def _doubts(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    for name in facts["doubtful"]:
        if plan.value("wrap_policy") == "TRANSFORMER_BASED_WRAP" and not facts["classes"].get(name):
            yield f"the twin has no layer of class {name}, but it may not be the model's whole family: it has {', '.join(facts['blocks'])}"


def _offloaded(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    if plan.device == "cpu":
        return
    wanted = "cpu" if plan.value("offload") is True else plan.device
    if facts["devices"] != [wanted]:
        yield f"parameters rest on {' and '.join(facts['devices'])}, planned is {wanted}"


def _checkpointed(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    wanted = plan.value("activation_checkpointing") is True
    if wanted and not facts["checkpointed"]:
        yield "activation checkpointing is planned, no layer has it"
    if not wanted and facts["checkpointed"]:
        yield f"activation checkpointing is on for {facts['checkpointed']} layers, which nothing plans"


_WRAP_CHECKS = (_kind, _shards, _strategy, _units, _offloaded, _checkpointed)


def _finite(_plan: SmokePlan, facts: Facts) -> Iterator[str]:
    for step, loss in enumerate(facts["losses"], 1):
        if not is_finite(loss):
            yield f"the loss of step {step} is {loss}"
            return


def _falling(_plan: SmokePlan, facts: Facts) -> Iterator[str]:
    losses = facts["losses"]
    if len(losses) > 1 and all(map(is_finite, losses)) and losses[-1] >= losses[0]:
        yield f"the loss on a fixed batch does not fall: {curve(losses)}"


def _moved(_plan: SmokePlan, facts: Facts) -> Iterator[str]:
    if facts["held"] and not facts["moved"]:
        yield f"none of its {facts['held']} parameter shards moved"


def _dtype(plan: SmokePlan, facts: Facts) -> Iterator[str]:
    wanted = DTYPES.get(str(plan.value("precision", "no")), "float32")
    if facts["compute_dtype"] and facts["compute_dtype"] != wanted:
        yield f"the layers compute in {facts['compute_dtype']}, planned is {wanted}"


def _same_on_all(ranks: Ranks) -> Iterator[str]:
    losses = {rank: facts["probe"] for rank, facts in sorted(ranks.items())}
    values = [loss for loss in losses.values() if is_finite(loss)]
    if values and max(values) - min(values) > SAME_LOSS * max(1.0, abs(values[0])):
        shown = ", ".join(f"rank {rank} {loss:.4f}" for rank, loss in losses.items() if is_finite(loss))
        yield f"after training, the loss on one and the same batch differs: {shown}"


def _round_trip(_plan: SmokePlan, facts: Facts) -> Iterator[str]:
    if not facts["perturbed"]:
        yield "changing the parameters had no effect: the round trip shows nothing"
    if facts["lost"]:
        yield f"{len(facts['lost'])} of {facts['held']} tensors did not come back: {', '.join(facts['lost'][:3])}"
    if facts["lost_optimizer"]:
        yield f"{len(facts['lost_optimizer'])} of the optimizer's tensors did not come back: {', '.join(facts['lost_optimizer'][:3])}"
    before, after = facts["before"], facts["after"]
    if not (is_finite(before) and is_finite(after) and abs(before - after) <= SAME_LOSS * max(1.0, abs(before))):
        yield f"the loss was {before} before the checkpoint and is {after} after loading it"


def _compiled(_plan: SmokePlan, facts: Facts) -> Iterator[str]:
    if not facts["graphs"]:
        yield "torch.compile captured no graph: everything ran eagerly"


def _same_curve(ranks: Ranks, eager: Ranks) -> Iterator[str]:
    for rank, facts in sorted(ranks.items()):
        one, other = facts["losses"], eager.get(rank, {}).get("losses", [])
        pairs = [(a, b) for a, b in zip(one, other, strict=False) if is_finite(a) and is_finite(b)]
        if any(abs(a - b) > SAME_CURVE * max(1.0, abs(b)) for a, b in pairs):
            yield f"the compiled loss ({curve(one)}) leaves the eager one ({curve(other)})"
            return


def _by_rank(ranks: Ranks) -> Facts:
    return {"ranks": [{"rank": rank, **facts} for rank, facts in sorted(ranks.items())]}
