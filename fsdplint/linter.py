"""Linting one launch: recognise, read, run the rules on every point of the target, and resolve what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Diagnostic, Place, Related, Severity, ordered, resolve
from fsdplint.errors import RuleCrash
from fsdplint.launch import ConfigFile, Launch, merged
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsdplint.diagnostics import Fix
    from fsdplint.fixes import SymbolicFix
    from fsdplint.plan import Plan
    from fsdplint.target import Target, Versions


class _Seen(NamedTuple):
    """One fault over the points of a target: its first finding, the points on which it held, its severities and fixes there."""

    finding: Finding
    points: list[Versions]
    severities: list[Severity]
    fixes: list[SymbolicFix | None]


def lint(launch: Launch, target: Target, rules: Iterable[Rule], *, fixes: bool = True) -> list[Diagnostic]:
    """The diagnostics of one launch, in the contract's order.

    A fault that holds on every point of the target keeps its severity; one that holds on some is at most a warning and says on which.
    Where upstream refuses the launch nothing trains, so that what would mislead is a warning beside the refusal.
    ``fixes``: whether fixes are worked out; one is given only where it is the same on every point of the target.
    Raises RuleCrash when a rule raises.
    """
    rules = list(rules)
    seen: dict[object, _Seen] = {}
    target = settled_target(launch, target)
    points = target.points()
    for versions in points:
        found = dict(_findings(launch, target, versions, rules))
        refused = any(finding.outcome == "refused" for finding in found.values())
        for key, finding in found.items():
            entry = seen.setdefault(key, _Seen(finding, [], [], []))
            entry.points.append(versions)
            entry.fixes.append(finding.fix if fixes else None)
            entry.severities.append(Severity.WARNING if refused and finding.outcome == "misleads" else finding.severity)
    names = {file.document.path: file.dialect.name for file in launch.members}
    return ordered(_diagnostic(entry, len(points), target, names) for entry in seen.values())


def settled_target(launch: Launch, target: Target) -> Target:
    """The target with what the launch's dialect packages pin, the most specific dialect first."""
    for file in reversed(launch.files or launch.members):
        target = target.for_dialect(file.dialect.package)
    return target


def plans_of(launch: Launch, target: Target, versions: Versions) -> tuple[Plan, dict[ConfigFile, Plan]]:
    """The merged plan of a launch on one point of the target, and each member's own."""
    own = {file: file.dialect.read(file.document, versions) for file in launch.members}
    return merged(launch, own, versions, target), own


def _findings(launch: Launch, target: Target, versions: Versions, rules: list[Rule]) -> Iterator[tuple[object, Finding]]:
    plan, own = plans_of(launch, target, versions)
    for file in launch.members:
        context = Context(launch, file, plan, own, versions, target)
        broken = any(problem.fatal for problem in file.document.problems)
        for rule in rules:
            if rule.dialects and file.dialect.name not in rule.dialects:
                continue
            if (broken and rule.needs_tree) or (rule.scope == "launch" and file is not launch.main):
                continue
            for finding in _run(rule, context):
                at = finding.at.origin
                yield (
                    (rule.code, at.document.path, at.path, at.part, len(at.path) and finding.message.split(":")[0]),
                    finding,
                )


def _run(rule: Rule, context: Context) -> list[Finding]:
    try:
        return list(rule.check(context))
    except Exception as error:
        raise RuleCrash(f"rule {rule.code} {rule.name} crashed: {type(error).__name__}: {error}") from error


def _diagnostic(seen: _Seen, points: int, target: Target, names: dict[str, str]) -> Diagnostic:
    finding = seen.finding
    severity, message = min(seen.severities), finding.message
    if len(seen.points) < points:
        severity = min(severity, Severity.WARNING)
        message = f"{message} (only with {target.runs(seen.points)})"
    key, where, snippet = resolve(finding.at)
    fix, why_not = _fix(seen, points)
    return Diagnostic(
        code=finding.rule.code,
        name=finding.rule.name,
        severity=severity,
        message=message,
        help=finding.help if why_not is None else f"{finding.help}\n{why_not}" if finding.help else why_not,
        path=finding.at.origin.document.path,
        dialect=names.get(finding.at.document.path),
        key=key,
        range=where,
        snippet=snippet,
        related=tuple(_related(place, text) for place, text in finding.related),
        fix=fix,
        versions=finding.versions,
    )


def _fix(seen: _Seen, points: int) -> tuple[Fix | None, str | None]:
    """The fix of a fault as edits, and why there is none although its rule proposes one."""
    first = seen.fixes[0]
    if first is None or len(seen.fixes) < points or any(fix != first for fix in seen.fixes):
        return None, None
    from fsdplint.document import Refused
    from fsdplint.fixes import text_fix

    try:
        return text_fix(first), None
    except Refused as refusal:
        return None, f"no automatic fix: {refusal.reason}"


def _related(place: Place, text: str) -> Related:
    key, where, snippet = resolve(place)
    return Related(text, place.origin.document.path, key, where, snippet)
