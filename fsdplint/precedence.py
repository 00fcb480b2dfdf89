"""Who wins where two members of a launch decide the same thing.

Facts: launches of accelerate 1.15.0 with transformers 5.24.0 (two processes, run) and with 4.57.6 (run with the
launcher's environment), and the
code of ``TrainingArguments`` in 4.57.6, 5.0.0, 5.4.0 and 5.24.0 and of accelerate's FSDP plugin (read).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.plan import DECISIONS, FSDP_OPTIONS, NOWHERE, Fact, Plan, Precision, Sharding, StateDict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsdplint.target import Versions

TRAINERS = frozenset({"hf-trainer", "trl", "llama-factory", "ms-swift"})
"""The dialects whose FSDP goes through transformers' ``TrainingArguments``."""

SIZES = ("dp_replicate", "dp_shard", "tp", "cp", "sp")
"""The sizes of accelerate's parallelism config."""

SIZES_FLAG = "--use_parallelism_config"
"""The flag without which the launcher drops the sizes among its flags, unless the file has some (accelerate 1.15.0, run)."""

MACHINES = ("launcher", "processes", "machines", "device", *SIZES)
"""What the launcher starts; a training file has no say, unless the launcher says nothing."""

FSDP = ("fsdp", "fsdp_options", *FSDP_OPTIONS)
"""The decisions of an FSDP block."""

DEEPSPEED = ("deepspeed", "deepspeed_config")

LAUNCHED_SIZE = 100_000_000
"""The parameters of a unit that ``accelerate launch`` exports for the size policy where nobody says it (accelerate 1.15.0)."""

TAKEN_OVER = "the training file's DeepSpeed takes over"
"""Why a launcher's FSDP does not run."""

_FSDP1_KNOBS = ("forward_prefetch", "backward_prefetch", "orig_params", "sync_module_states")


def flags_over_file(file: Plan, flags: Plan) -> Plan:
    """What ``accelerate launch`` makes of its config file and the flags that are written (accelerate 1.15.0 commands/launch.py, run)."""
    plan = file.copy()
    idle = () if any(file.fact(size).is_written for size in SIZES) else SIZES
    for decision in DECISIONS:
        flag = flags.fact(decision)
        if flag.place and decision != "sharding" and not (decision in idle and not flag.place.document.has((SIZES_FLAG,))):
            plan.set(decision, flag.beating(file.fact(decision)))
    if flags.fsdp.is_written and flags.fsdp.value is True and file.fsdp.value is not True:
        _started(plan, flags)
    if plan.fsdp_version.value != file.fsdp_version.value:
        _other_version(plan, file)
    sharding = _read_under(flags.sharding, plan.fsdp_version.value)
    if sharding is not None:
        plan.sharding = sharding.beating(file.sharding)
    return plan


def _started(plan: Plan, flags: Plan) -> None:
    """FSDP that a flag starts beside a file of another kind: its defaults are the launcher's."""
    for decision in FSDP:
        if plan.fact(decision).is_silent:
            plan.set(decision, flags.fact(decision))


def _other_version(plan: Plan, file: Plan) -> None:
    """A flag changed the FSDP version: what the file's version decided is decided anew."""
    if not plan.state_dict.is_written:
        plan.state_dict = _default_state_dict(plan)
    plan.sharding = _read_under(file.sharding, plan.fsdp_version.value) or Fact(Sharding.FULL_SHARD, source="the launcher's default")


def _default_state_dict(plan: Plan) -> Fact[StateDict]:
    second = plan.fsdp_version.value == 2
    return Fact(StateDict.SHARDED if second else StateDict.FULL, source=f"accelerate's default for FSDP{2 if second else 1}")


def _read_under(fact: Fact[Any], version: int | None) -> Fact[Any] | None:
    """Of the two keys that say what is sharded the one that the FSDP version reads; ``fsdp_reshard_after_forward`` is FSDP2's."""
    for stated in (fact, *fact.rivals):
        if stated.place is not None and ("reshard" in str(stated.place.path[-1])) is (version == 2):
            return Fact(stated.written, stated.place, unknown=stated.unknown)
    return None


def with_flags(plan: Plan, flags: Plan) -> Plan:
    """A training file's plan under its own launcher's flags (``soup train``): every decision that the command line
    makes, written or not.
    """
    for decision in DECISIONS:
        flag = flags.fact(decision)
        if not flag.is_silent:
            plan.set(decision, flag.beating(plan.fact(decision)))
    return plan


def with_processes(plan: Plan, flags: Plan) -> Plan:
    """A plan under a launcher that starts processes and decides nothing else."""
    for decision in ("processes", "machines"):
        if flags.fact(decision).is_written:
            plan.set(decision, flags.fact(decision))
    return plan


def with_companion(plan: Plan, companion: Plan) -> Plan:
    """A plan with what a file says that another one names: a DeepSpeed JSON can switch its own engine on, a file of
    ``fsdp_config`` holds its options.
    """
    if companion.deepspeed.value is True:
        if plan.deepspeed.value is None and not plan.deepspeed.unknown:
            plan.deepspeed = companion.deepspeed
    elif companion.fsdp.value is True and plan.fsdp.value is True:
        for decision in FSDP[2:]:
            fact = companion.fact(decision)
            if not plan.fact(decision).is_written and plan.fact(decision).value is None and (fact.is_written or decision != "sharding"):
                plan.set(decision, fact)
    return plan


def trainer_over_launcher(training: Plan, launcher: Plan, dialect: str, versions: Versions) -> Plan:
    """One plan from a training file's and the launcher's (accelerate file and flags).

    For ``TRAINERS`` what transformers does; for other frameworks the training file wins wherever it is written, and
    the launcher's FSDP is in force
    where the training file switches none on.
    """
    plan = training.copy()
    _fill(plan, launcher, MACHINES)
    _engines(plan, training, launcher)
    plan.precision = _precision(training.precision, launcher.precision)
    plan.compile = training.compile if training.compile.value else _stated(launcher.compile, training.compile)
    if launcher.fsdp.value is not True or plan.deepspeed.value is True:
        _fill_gaps(plan, launcher)
        return plan
    if training.fsdp.value is not True:
        return _under_launcher(plan, training, launcher, versions) if dialect in TRAINERS else _taken(plan, launcher, FSDP)
    if dialect in TRAINERS:
        return _both(plan, training, launcher, versions)
    for decision in FSDP:
        mine, theirs = training.fact(decision), launcher.fact(decision)
        plan.set(decision, mine.beating(theirs) if mine.is_written else theirs if theirs.is_written else mine)
    return plan


def _fill(plan: Plan, launcher: Plan, decisions: Iterable[str]) -> None:
    for decision in decisions:
        mine, theirs = plan.fact(decision), launcher.fact(decision)
        plan.set(decision, theirs.beating(mine) if theirs.is_written else _stated(mine, theirs))


def _fill_gaps(plan: Plan, launcher: Plan) -> None:
    """FSDP that the launcher does not start, and options that it has all the same."""
    if launcher.fsdp.value is False:
        plan.fsdp = _stated(plan.fsdp, launcher.fsdp)
        plan.fsdp_options = _stated(plan.fsdp_options, launcher.fsdp_options)


def _stated(first: Fact[Any], second: Fact[Any]) -> Fact[Any]:
    """The first of two facts unless only the second says anything."""
    return second if first.is_silent else first


def _taken(plan: Plan, other: Plan, decisions: Iterable[str]) -> Plan:
    for decision in decisions:
        plan.set(decision, other.fact(decision))
    return plan


def _engines(plan: Plan, training: Plan, launcher: Plan) -> None:
    """DeepSpeed in the training file switches the launcher's FSDP off without a word; the launcher's DeepSpeed stays on
    beside the training file's FSDP.
    """
    if training.deepspeed.value is True:
        if launcher.fsdp.value is True and training.fsdp.value is not True:
            plan.fsdp, plan.fsdp_options = launcher.fsdp.overruled(False, TAKEN_OVER), NOWHERE
    elif launcher.deepspeed.value is True:
        _taken(plan, launcher, DEEPSPEED)


def _precision(mine: Fact[Precision], theirs: Fact[Precision]) -> Fact[Precision]:
    """A precision that the training file asks for, or has by default (TRL), wins; false and nothing leave it to the launcher."""
    if mine.unknown or mine.value not in (None, Precision.NONE):
        return mine.beating(theirs)
    return theirs if theirs.value is not None or theirs.is_written else mine


def _under_launcher(plan: Plan, training: Plan, launcher: Plan, versions: Versions) -> Plan:
    """The launcher's FSDP is in force; transformers before 5.10 still takes two options out of the idle ``fsdp_config``."""
    _taken(plan, launcher, FSDP)
    if versions.has("transformers<5.10.0"):
        for decision in ("activation_checkpointing", "limit_all_gathers"):
            if training.fact(decision).is_written:
                plan.set(decision, training.fact(decision).beating(launcher.fact(decision)))
    return plan


def _both(plan: Plan, training: Plan, launcher: Plan, versions: Versions) -> Plan:
    """FSDP set up twice: ``TrainingArguments`` hand over some options, defaults included, and accelerate takes all
    others from the launcher.
    """
    mine = _handed_over(training, launcher, versions)
    for decision in FSDP:
        own, other = training.fact(decision), launcher.fact(decision)
        if decision in mine:
            plan.set(decision, own.beating(other))
        else:
            plan.set(decision, other.beating(own) if own.is_written or not other.is_silent else own)
    if not plan.state_dict.is_written and "state_dict" not in mine:
        plan.state_dict = _default_state_dict(plan)
    if not plan.min_num_params.value and launcher.min_num_params.is_silent:
        plan.min_num_params = Fact(LAUNCHED_SIZE, source="default of accelerate launch")
    if training.fsdp_version.value == 1 and versions.has("transformers>=5.4.0"):
        # The launcher always exports a strategy, and FSDP1 takes that before what TrainingArguments hand over.
        exported = _read_under(launcher.sharding, 1)
        plan.sharding = exported.beating(training.sharding) if exported else training.sharding.beating(launcher.sharding)
    return plan


def _handed_over(training: Plan, launcher: Plan, versions: Versions) -> set[str]:
    """The decisions that the training file wins, written or not."""
    mine = {"fsdp", "fsdp_options", "ram_efficient"}
    if training.offload.value is True:
        mine.add("offload")
    mine.update(d for d in ("activation_checkpointing", "limit_all_gathers") if training.fact(d).is_written)
    if versions.has("transformers<5.0.0"):
        return mine | {*_FSDP1_KNOBS} | ({"sharding"} if launcher.fsdp_version.value != 2 else set()) | _wrapping(training)
    mine |= {"fsdp_version", "sharding", "sync_module_states"}
    if training.fsdp_version.value == 1:
        mine.update(_FSDP1_KNOBS)
    if versions.has("transformers>=5.10.0"):
        return mine | {"wrap_policy", "state_dict"} | _sizes(training)
    return mine | _wrapping(training)


def _sizes(training: Plan) -> set[str]:
    """What a policy that is handed over takes from the launcher where the training file does not say it."""
    named = {"wrap_classes"} if training.wrap_classes.is_written else set()
    return named | ({"min_num_params"} if training.min_num_params.value else set())


def _wrapping(training: Plan) -> set[str]:
    """Before 5.10 only the word ``auto_wrap`` hands a policy over."""
    return {"wrap_policy"} | _sizes(training) if training.wrap_policy.is_written else set()
