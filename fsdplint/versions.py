"""Release numbers and the specifiers that rules and option tables are bounded by, without importing ``packaging``.

Only the release part counts: ``2.13.0+cpu``, ``2.13.0.dev1`` and ``2.13.0rc1`` all compare as 2.13.0, because a nightly
or a local build of a release carries that release's behaviour more often than its predecessor's.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Release = tuple[int, ...]
"""A release number without trailing zeros, so that tuples compare as versions do: 2.6.0 is ``(2, 6)``."""

_RELEASE = re.compile(r"\s*[vV]?(?:\d+!)?(\d+(?:\.\d+)*)")
_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^,\s]+)")
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*")
_OPERATORS = ("==", ">=", "<=", "~=", "!=", ">", "<", "===")
_PART = r"([^\w.]*)(.*)"
_WRITTEN = (
    r"v?(?:\d+!)?\d+(?:\.\d+)*"
    r"(?:[._-]?(?:alpha|beta|preview|pre|rc|a|b|c)[._-]?\d*)?"
    r"(?:-\d+|[._-]?(?:post|rev|r)[._-]?\d*)?"
    r"(?:[._-]?dev[._-]?\d*)?"
    r"(?:\+[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
)


def release(text: str) -> Release | None:
    """The release tuple of a version string; None where it starts with no number (``nightly``)."""
    numbers = _numbers(text)
    return trimmed(numbers) if numbers else None


def _numbers(text: str) -> Release:
    match = _RELEASE.match(text)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def is_version(text: str) -> bool:
    """Whether a text is a whole version by PEP 440 (``2.2.0a0+git``), not only begins like one (``2.2 or so``)."""
    return re.fullmatch(_WRITTEN, text, re.IGNORECASE) is not None


def trimmed(numbers: Release) -> Release:
    """The same release without trailing zeros."""
    end = len(numbers)
    while end > 1 and numbers[end - 1] == 0:
        end -= 1
    return numbers[:end]


def shown(numbers: Release) -> str:
    """A release as people write it, with at least two parts: ``(2,)`` is ``2.0``."""
    return ".".join(map(str, numbers if len(numbers) > 1 else (*numbers, 0)))


def full(numbers: Release) -> str:
    """A release with at least three parts, as packages are tagged: ``(5, 4)`` is ``5.4.0``."""
    return ".".join(map(str, numbers + (0,) * (3 - len(numbers))))


def canonical(name: str) -> str:
    """A package name as PyPI compares it: lower case, runs of ``-_.`` as one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def clauses(specifier: str) -> tuple[tuple[str, Release, bool], ...]:
    """The comparisons of a specifier such as ``>=1.6,<2``: operator, release, and whether it ended in ``.*``.

    Raises ValueError for text that is no specifier.
    """
    found = []
    for part in filter(None, (piece.strip() for piece in specifier.split(","))):
        match = _CLAUSE.fullmatch(part)
        written = _numbers(match[2]) if match else ()
        if match is None or not written:
            raise ValueError(f"not a version specifier: {part!r}")
        wild = match[2].endswith(".*") and match[1] in ("==", "!=")
        # `~=` and `==2.0.*` need their written length: ~=2.2 and ~=2.2.0 differ.
        found.append((match[1], written if match[1] == "~=" or wild else trimmed(written), wild))
    return tuple(found)


def exact(specifier: str) -> Release | None:
    """The one release that an ``==`` (or ``===``) names; None for a specifier that leaves a choice."""
    return next((bound for operator, bound, wild in clauses(specifier) if operator in ("==", "===") and not wild), None)


def is_two_sided(specifier: str) -> bool:
    """Whether a specifier is bounded from below and from above, as ``>=1,<2``, ``~=1.2`` and ``==1.2.*`` are."""
    operators = {operator for operator, _, _ in clauses(specifier)}
    return bool(operators & {"~=", "==", "==="} or (operators & {">", ">="} and operators & {"<", "<="}))


def checked(text: str, name: str) -> str:
    """A specifier of the package ``name`` that a person wrote, without blanks.

    Raises ValueError, with a text that says what to write instead, for anything that pip would not accept.
    """
    parts = ["".join(part.split()) for part in text.split(",")]
    for part in parts:
        match = re.fullmatch(_PART, part)
        operator, version = match.groups() if match else ("", part)
        if not version:
            raise ValueError(f"no version after {operator!r}")
        if not is_version(version.removesuffix(".*") if operator in ("==", "!=") else version):
            raise ValueError(f"invalid version {version!r}")
        if operator in ("", "=", "@"):
            raise ValueError(f"use {name}=={version}")
        if operator not in _OPERATORS:
            turned = operator[::-1] if operator[::-1] in _OPERATORS else None
            hint = f"did you mean {turned}?" if turned else f"use one of {' '.join(_OPERATORS[:-1])}"
            raise ValueError(f"unknown operator {operator!r}, {hint}")
    if _is_empty(clauses(",".join(parts))):
        raise ValueError(f"no version lies in {','.join(parts)}")
    return ",".join(parts)


def _is_empty(comparisons: Iterable[tuple[str, Release, bool]]) -> bool:
    """Whether the bounds of a specifier cross; what else may exclude all versions is not looked at."""
    floors = [(trimmed(bound), operator == ">") for operator, bound, _ in comparisons if operator in (">=", ">")]
    tops = [(trimmed(bound), operator == "<") for operator, bound, _ in comparisons if operator in ("<=", "<")]
    if not floors or not tops:
        return False
    (floor, above), (top, below) = max(floors), min(tops, key=lambda bound: (bound[0], not bound[1]))
    return floor > top or (floor == top and (above or below))


def satisfies(number: Release, specifier: str) -> bool:
    """Whether a release lies in a specifier; the empty specifier admits all."""
    return all(_compare(number, *clause) for clause in clauses(specifier))


def _compare(number: Release, operator: str, bound: Release, wild: bool) -> bool:
    if operator == "~=":
        return number >= trimmed(bound) and _starts(number, bound[:-1])
    if wild:
        return _starts(number, bound) is (operator == "==")
    return {
        "==": number == bound,
        "===": number == bound,
        "!=": number != bound,
        "<": number < bound,
        "<=": number <= bound,
        ">": number > bound,
        ">=": number >= bound,
    }[operator]


def _starts(number: Release, prefix: Release) -> bool:
    padded = number + (0,) * len(prefix)
    return padded[: len(prefix)] == prefix


def split(requirement: str) -> tuple[str, str]:
    """A requirement such as ``accelerate[testing] >=1.6`` as the name, as written, and all that follows it.

    Raises ValueError where it begins with no name.
    """
    match = _NAME.match(requirement)
    if match is None:
        raise ValueError(f"not a requirement: {requirement!r}")
    return match[1], requirement[match.end() :].strip()


@cache
def requirements(text: str) -> tuple[tuple[str, str], ...]:
    """``"accelerate>=1.6 & torch<2.6"`` as pairs of canonical package name and specifier.

    Raises ValueError for text that is no requirement.
    """
    found = []
    for part in text.split("&"):
        name, specifier = split(part)
        clauses(specifier)
        found.append((canonical(name), specifier))
    return tuple(found)


def holds(text: str, versions: Mapping[str, Release]) -> bool:
    """Whether every requirement of ``text`` is met; a package that ``versions`` lacks meets none."""
    for package, specifier in requirements(text):
        number = versions.get(package)
        if number is None or not satisfies(number, specifier):
            return False
    return True


def is_older(text: str, versions: Mapping[str, Release]) -> bool:
    """Whether some package of a requirement is at hand in a release below the requirement's lower bound (``>1.0``: not above it).

    A package that ``versions`` lacks, or that the requirement bounds only from above, is never older.
    """
    for package, specifier in requirements(text):
        number = versions.get(package)
        floors = [(trimmed(bound), operator == ">") for operator, bound, _ in clauses(specifier) if operator in (">=", ">", "==", "~=")]
        if number is not None and floors:
            floor, is_outside = max(floors)
            if number < floor or (is_outside and number == floor):
                return True
    return False
