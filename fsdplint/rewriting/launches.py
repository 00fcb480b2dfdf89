"""One launch rewritten: the file that upstream obeys, in the same words for every release of the target, proved before it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects.hf_trainer import FsdpConfigFile
from fsdplint.document import Refused
from fsdplint.launch import LAUNCHER, TRAINERS
from fsdplint.linter import plans_of
from fsdplint.rewriting.aim import misses, wish_for
from fsdplint.rewriting.draft import Draft
from fsdplint.rewriting.migration import migration
from fsdplint.rewriting.notes import another_preset, changes_of_mind, lost_with_deepspeed
from fsdplint.rewriting.writers import writer
from fsdplint.rewriting.zero import zero_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.launch import ConfigFile
    from fsdplint.plan import Fact
    from fsdplint.rewriting.aim import Aim, Wish
    from fsdplint.session import Job
    from fsdplint.target import Versions


class Rewriting(NamedTuple):
    """New texts by path as shown, what they state under every release of the target, and what the user has to know."""

    texts: dict[str, str]
    wish: Wish
    notes: tuple[str, ...]


def rewritings(job: Job, aim: Aim) -> list[Rewriting]:
    """What may state the wish on every release of the target, one for each text that some release would get, the oldest first; none where
    a migration finds nothing to convert. Raises Refused with the reason where there is none.
    """
    points = job.target.points()
    file = obeyed(job, points[0])
    for one in (file, _options_of(job, file)):
        if one is not None and one.document.path not in job.given:
            raise Refused(f"{one.document.path} decides how to shard, and it is not among the given files")
    if any(problem.fatal for problem in file.document.problems):
        raise Refused("the file cannot be read: mend its syntax first")
    if file.dialect.predates(file.document):
        raise Refused("the file is written for a generation of the framework that no known release reads")
    switch = plans_of(job.launch, job.target, points[0])[0].fsdp.place
    if switch is not None and switch.origin.document.format == "command" and switch.path:
        raise Refused(f"`{switch.origin.path[-1]}` on the launch line switches FSDP on: say the rest there, or take it off")
    wishes = _wishes(job, file, aim, points)
    wished = [(point, wish) for point, wish in zip(points, wishes, strict=True) if wish is not None]
    found = [_rewriting(job, file, wish, point) for point, wish in reversed(wished)]
    return [one for index, one in enumerate(found) if (one.texts, one.wish) not in [(other.texts, other.wish) for other in found[:index]]]


def unconverted(job: Job) -> str:
    """What to say of a launch in which a migration finds nothing to convert."""
    point = job.target.points()[0]
    if plans_of(job.launch, job.target, point)[0].deepspeed.value is True:
        file = job.launch.main
        zero = zero_of(job.launch, Draft(file.document.original, file.dialect, point))
        how = f"--preset {zero.preset} shards in the same way" if zero is not None and zero.preset else "choose a --preset"
        return f"DeepSpeed runs{f' ({zero})' if zero is not None else ''}, not FSDP: {how}"
    return "no FSDP of another version: nothing to convert"


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
            decision, says = missing[0]
            return says + _outside(job, plan.fact(decision))
    return None


def _outside(job: Job, fact: Fact[Any]) -> str:
    """Who decides otherwise, where that is the launch line or a file that it names."""
    place = fact.place.origin if fact.place is not None else None
    if place is None or job.launch.command is None or place.document.path in job.given:
        return ""
    if place.document.format == "command":
        return f": `{place.path[-1]}` on the launch line decides that" if place.path else ""
    return f": {place.document.path}, which the launch line names, decides that"


def _wishes(job: Job, file: ConfigFile, aim: Aim, points: Sequence[Versions]) -> list[Wish | None]:
    """What is to be written on each release, under the newest FSDP version that all of them can do, unless one is asked for."""
    reasons: list[str] = []
    for version in (2, 1) if aim.version is None else (aim.version,):
        try:
            return [_wish(job, file, aim.preset, version, point) for point in points]
        except Hindered as hindered:
            reasons.append(hindered.reason)
    raise Refused(reasons[0])


class Hindered(Refused):
    """A release cannot do what is wished under one FSDP version."""


def _wish(job: Job, file: ConfigFile, preset: str | None, version: int, versions: Versions) -> Wish | None:
    """What is to be written on one release; None where nothing is to be converted. Raises Hindered, and Refused."""
    scribe, draft = writer(file.dialect), Draft(file.document, file.dialect, versions)
    wish = wish_for(preset or "full_shard", version)
    hindrance = scribe.hindrance(draft, wish)
    if hindrance is None and preset is None:
        plan = plans_of(job.launch, job.target, versions)[0]
        found = migration(plan, version, file.dialect.name, is_outdated=scribe.is_outdated(draft, version))
        if found is None:
            return None
        wish = found
        hindrance = scribe.hindrance(draft, wish)
    if hindrance is not None:
        raise Hindered(hindrance)
    return scribe.within(draft, wish)


def _rewriting(job: Job, file: ConfigFile, wish: Wish, versions: Versions) -> Rewriting:
    """The texts on one release: of the obeyed file, and of a training file whose DeepSpeed would take over."""
    draft = Draft(file.document.original, file.dialect, versions)
    options = _options_of(job, file)
    if options is not None:
        whole = file.dialect.completed(draft.plan, file.document, job.launch.members, versions)
        draft.section(("fsdp_config",), Draft(options.document, options.dialect, versions), whole)
    notes = [*changes_of_mind(draft.plan, wish), *another_preset(job.launch, draft, wish), *lost_with_deepspeed(job.launch, draft)]
    writer(file.dialect).write(draft, wish)
    texts = draft.texts()
    for other in job.launch.files:
        path = other.document.path
        if path not in texts and path in job.given and other.dialect.name in TRAINERS:
            beside = Draft(other.document.original, other.dialect, versions)
            beside.drop(("deepspeed",))
            texts[path] = beside.document.text
    return Rewriting(texts, wish, (*draft.notes, *notes))
