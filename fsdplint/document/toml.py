"""Reads TOML: values and validity from tomli, places from an own scanner."""

from __future__ import annotations

import re
from typing import NamedTuple

from .nodes import Mapping, Node, Problem, Scalar, Sequence, Span
from .reading import Reading
from .toml_scan import Stop, TomlScanner

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class _Attempt(NamedTuple):
    """A scan of a text, where it stopped, and tomli's error: message and offset."""

    scanner: TomlScanner
    stop: Stop | None
    values: dict[str, object] | None
    message: str
    offset: int


def read_toml(text: str, readable: int, bom: bool, max_depth: int) -> Reading:
    """Read a TOML text as tomli does; on a fault, the tree holds the statements before it.

    Syntax of TOML 1.1, which tomli 2.4 and newer accepts and the tomllib of Python 3.11 to 3.14 refuses, is a
    problem of the kind "toml-1.1".
    """
    problems: list[Problem] = []
    if bom:
        message = "the file starts with a byte order mark, which TOML readers refuse"
        problems.append(Problem("encoding", message, Span(0, 0), "save it as UTF-8 without a byte order mark"))
    attempt = _attempt(text if readable == len(text) else text[:readable], max_depth)
    opaque = tuple(attempt.scanner.strings)
    reached = attempt.scanner.position
    if attempt.values is None:
        whole, failed = attempt, True
        attempt = _before(attempt, max_depth)
        if readable == len(text):
            from .toml_faults import explain

            problems.append(explain(whole, attempt.scanner, max_depth))
    scanner = attempt.scanner
    if attempt.values is None:
        return Reading((), tuple(problems), (), opaque, reached)
    problems += [
        Problem("toml-1.1", f"{what} is TOML 1.1, which tomllib of Python 3.11 to 3.14 refuses", span)
        for what, span in scanner.newer
    ]
    root: Node = scanner.root if _fill(scanner.root, attempt.values) else _unplaced(attempt.values)
    return Reading((root,), tuple(problems), (), opaque, reached)
