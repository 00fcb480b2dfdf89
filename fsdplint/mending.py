"""Fixes applied to whole launches: one after the other, each judged by what is found in the text that it leaves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import Severity
from fsdplint.document import TextEdit, encoded
from fsdplint.document.patchwork import ordered, spliced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fsdplint.diagnostics import Diagnostic, Fix
    from fsdplint.document import Document

MOST = 500
"""Fixes after which a launch is left as it is: no file that people write needs as many."""


class Trial(NamedTuple):
    """What is found in some texts: the diagnostics, and the document of each given file by its path as shown.

    ``engines``: FSDP (with its version) and DeepSpeed, where they are on.
    """

    diagnostics: tuple[Diagnostic, ...]
    documents: dict[str, Document]
    engines: frozenset[str] = frozenset()


class Mended(NamedTuple):
    """What fixing a launch came to: the diagnostics that were fixed, in order, and old and new content of each changed file.

    ``rejected``: the fixes that were not kept, each with what spoke against it.
    """

    fixed: tuple[Diagnostic, ...]
    changes: dict[str, tuple[bytes, bytes]]
    rejected: dict[Fix, str]


def mend(judge: Callable[[dict[str, bytes]], Trial], *, unsafe: bool) -> Mended:
    """Apply one fix after the other until none is left; ``judge`` says what is found when files have other contents.

    A fix is kept if the fault is gone and nothing new is found; for an unsafe one, which changes what runs, if there is no new error.
    """
    contents: dict[str, bytes] = {}
    fixed: list[Diagnostic] = []
    trial = first = judge(contents)
    seen = {_state(trial)}
    rejected: dict[Fix, str] = {}
    while len(fixed) < MOST:
        rejected.clear()
        step = _step(judge, trial, contents, unsafe, seen, rejected)
        if step is None:
            break
        diagnostic, contents, trial = step
        seen.add(_state(trial))
        fixed.append(diagnostic)
    old = {path: encoded(first.documents[path], first.documents[path].text) for path in contents}
    return Mended(tuple(fixed), {path: (old[path], new) for path, new in contents.items() if new != old[path]}, rejected)


def fixable(diagnostics: Iterable[Diagnostic], *, unsafe: bool) -> list[Diagnostic]:
    """The diagnostics whose fix may be applied, safe ones first."""
    found = [d for d in diagnostics if d.fix is not None and (unsafe or d.fix.applicability == "safe")]
    return sorted(found, key=lambda d: d.fix is not None and d.fix.applicability != "safe")


def _step(
    judge: Callable[[dict[str, bytes]], Trial],
    trial: Trial,
    contents: dict[str, bytes],
    unsafe: bool,
    seen: set[tuple[str, ...]],
    rejected: dict[Fix, str],
) -> tuple[Diagnostic, dict[str, bytes], Trial] | None:
    """The first fix that can be kept, with what it leaves; those tried in vain are noted."""
    for diagnostic in fixable(trial.diagnostics, unsafe=unsafe):
        changed = _applied(diagnostic, trial.documents)
        if changed is None:
            continue
        candidate = {**contents, **changed}
        outcome = judge(candidate)
        against = objections(diagnostic, trial.diagnostics, outcome.diagnostics)
        assert diagnostic.fix is not None
        lost = trial.engines - outcome.engines if diagnostic.fix.applicability == "safe" else frozenset()
        if not against and not lost and _state(outcome) not in seen:
            return diagnostic, candidate, outcome
        rejected[diagnostic.fix] = _why_not(against, lost)
    return None


def _why_not(against: Sequence[Diagnostic], lost: frozenset[str]) -> str:
    if against:
        return f"it would bring {against[0].code} {against[0].name}"
    return f"it would switch {' and '.join(sorted(lost))} off" if lost else "it would undo another fix"


def _applied(diagnostic: Diagnostic, documents: dict[str, Document]) -> dict[str, bytes] | None:
    """The new contents of the files that a fix edits; None where one of them is not given."""
    assert diagnostic.fix is not None
    edits: dict[str, list[TextEdit]] = {}
    for path, start, end, text in diagnostic.fix.edits:
        edits.setdefault(path, []).append(TextEdit(start, end, text))
    if not edits.keys() <= documents.keys():
        return None
    return {path: encoded(documents[path], spliced(documents[path].text, ordered(own))) for path, own in edits.items()}


def _state(trial: Trial) -> tuple[str, ...]:
    return tuple(trial.documents[path].text for path in sorted(trial.documents))


def objections(fixed: Diagnostic, before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What speaks against a fix: its fault is still there, or others are new; of an unsafe fix, errors."""
    others = [diagnostic for diagnostic in before if diagnostic is not fixed]
    old, new = Counter(map(identity, others)), Counter(map(identity, after))
    if new[identity(fixed)] > old[identity(fixed)]:
        return [fixed]
    assert fixed.fix is not None
    places = {(d.code, d.path, _moved(d.range.start.offset, d.path, fixed.fix)) for d in others}
    # A diagnostic may stand for several places: with the first one mended, it stands at the next.
    places |= {(d.code, r.path, _moved(r.range.start.offset, r.path, fixed.fix)) for d in before for r in d.related}
    fresh = [d for d in after if new[identity(d)] > old[identity(d)] and (d.code, d.path, d.range.start.offset) not in places]
    return [d for d in fresh if fixed.fix.applicability == "safe" or d.severity is Severity.ERROR]


def identity(diagnostic: Diagnostic) -> tuple[str, str, str | None]:
    """What stays the same of a fault while the text around it changes."""
    return diagnostic.code, diagnostic.path, diagnostic.key


def _moved(offset: int, path: str, fix: Fix) -> int:
    """Where the character at an offset stands after a fix; of one that is replaced, where the new text begins."""
    shift = 0
    for edit in sorted(fix.edits, key=lambda edit: edit.start):
        if edit.path != path or edit.start > offset:
            continue
        if offset < edit.end:
            return edit.start + shift
        shift += len(edit.text) - (edit.end - edit.start)
    return offset + shift
