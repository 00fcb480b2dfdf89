"""One launch rewritten: the file that upstream obeys, in the same words for every release of the target, proved before it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.dialects.hf_trainer import FsdpConfigFile
from fsdplint.document import Refused
from fsdplint.launch import LAUNCHER, TRAINERS
from fsdplint.linter import plans_of
from fsdplint.rewriting.aim import misses, wish_for
from fsdplint.rewriting.draft import Draft
from fsdplint.rewriting.migration import migration
from fsdplint.rewriting.writers import writer

if TYPE_CHECKING:
    from fsdplint.launch import ConfigFile
    from fsdplint.rewriting.aim import Aim, Wish
    from fsdplint.session import Job
    from fsdplint.target import Versions


class Rewriting(NamedTuple):
    """New texts by path as shown, what they state under every release of the target, and what the user has to know."""

    texts: dict[str, str]
    wish: Wish
    notes: tuple[str, ...]


def rewriting(job: Job, aim: Aim) -> Rewriting | None:
    """The rewriting of a launch; None where a migration finds no FSDP. Raises Refused with the reason where there is none."""
    points = job.target.points()
    file = obeyed(job, points[0])
    for one in (file, _options_of(job, file)):
        if one is not None and one.document.path not in job.given:
            raise Refused(f"{one.document.path} decides how to shard, and it is not among the given files")
    if any(problem.fatal for problem in file.document.problems):
        raise Refused("the file cannot be read: mend its syntax first")
    if file.dialect.predates(file.document):
        raise Refused("the file is written for a generation of the framework that no known release reads")
    wishes = {point: _wish(job, file, aim, point) for point in points}
    if all(wish is None for wish in wishes.values()):
        return None
    wish = wishes[points[0]]
    if wish is None or any(other != wish for other in wishes.values()):
        raise Refused("the releases of the target need different texts: name one with --target")
    found = [_texts(job, file, wish, point) for point in points]
    if any(texts != found[0][0] for texts, _ in found):
        raise Refused("the releases of the target need different texts: name one with --target")
    return Rewriting(found[0][0], wish, found[0][1])


def obeyed(job: Job, versions: Versions) -> ConfigFile:
    """The file whose word counts: the training file, unless it leaves FSDP to the launcher's file."""
    main = job.launch.main
    launcher = next((file for file in job.launch.files if file.dialect.name == LAUNCHER), None)
    if launcher is None or main is launcher or main.dialect.name not in TRAINERS:
        return main
    return main if main.dialect.read(main.document, versions).fsdp.value is True else launcher


def _options_of(job: Job, file: ConfigFile) -> ConfigFile | None:
    """The file of FSDP's options that the ``fsdp_config`` of a training file names, if it does."""
    if not isinstance(file.document.value(("fsdp_config",)), str):
        return None
    return next((member for member in job.launch.members if isinstance(member.dialect, FsdpConfigFile)), None)


def unproved(job: Job, wish: Wish) -> str | None:
    """What the plan of a rewritten launch lacks, on the first release of the target where it lacks something."""
    for point in job.target.points():
        plan = plans_of(job.launch, job.target, point)[0]
        missing = list(misses(wish, plan))
        if missing:
            return missing[0]
    return None


def _wish(job: Job, file: ConfigFile, aim: Aim, versions: Versions) -> Wish | None:
    """What is to be written on one release; the newest FSDP version that it can do, unless one is asked for."""
    reason = None
    for version in (2, 1) if aim.version is None else (aim.version,):
        if aim.preset is not None:
            wish = wish_for(aim.preset, version)
            wish = wish if writer(file.dialect).wraps else wish._replace(wrap=None)
        else:
            plan = plans_of(job.launch, job.target, versions)[0]
            found = migration(plan, version)
            if found is None:
                return None
            wish = found
        hindrance = writer(file.dialect).hindrance(Draft(file.document, file.dialect, versions), wish)
        if hindrance is None:
            return wish
        reason = reason or hindrance
    raise Refused(reason or "")


def _texts(job: Job, file: ConfigFile, wish: Wish, versions: Versions) -> tuple[dict[str, str], tuple[str, ...]]:
    """The texts on one release: of the obeyed file, and of a training file whose DeepSpeed would take over."""
    draft = Draft(file.document, file.dialect, versions)
    options = _options_of(job, file)
    if options is not None:
        whole = file.dialect.completed(draft.plan, file.document, job.launch.members, versions)
        draft.section(("fsdp_config",), Draft(options.document, options.dialect, versions), whole)
    writer(file.dialect).write(draft, wish)
    texts = draft.texts()
    for other in job.launch.files:
        path = other.document.path
        if path not in texts and path in job.given and other.dialect.name in TRAINERS:
            beside = Draft(other.document, other.dialect, versions)
            beside.drop(("deepspeed",))
            texts[path] = beside.document.text
    return texts, (*draft.notes, *_only_in_json(job))


def _only_in_json(job: Job) -> list[str]:
    """What a DeepSpeed JSON says beyond sharding, which nothing says any more once no file names it."""
    notes = []
    for file in job.launch.files:
        if file.dialect.name == "deepspeed":
            block = file.document.value(())
            keys = [str(key) for key, value in block.items() if key not in _SHARDING and value != "auto"] if isinstance(block, dict) else []
            told = f", which also says {', '.join(keys)}: write that where it belongs now" if keys else ""
            notes.append(f"nothing names {file.document.path} any more{told}")
    return notes


_SHARDING = frozenset(
    {"zero_optimization", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer", "steps_per_print", "wall_clock_breakdown"}
)
"""Keys of the JSON that say how to shard, or how to report."""
