"""Reads TOML: values and validity from tomli, places from an own scanner."""

from __future__ import annotations

import re
from typing import NamedTuple

from .nodes import Entry, Mapping, Node, Problem, Scalar, Sequence, Span
from .reading import Reading
from .toml_scan import Stop, TomlScanner

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Attempt(NamedTuple):
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
        whole = attempt
        attempt = _before(attempt, max_depth)
        if readable == len(text):
            from .toml_faults import explain

            problems.append(explain(whole, attempt.scanner, max_depth))
    scanner = attempt.scanner
    if attempt.values is None:
        return Reading((), tuple(problems), (), opaque, reached)
    for what, span in scanner.newer.items():
        message = f"{what} is TOML 1.1, which tomllib of Python 3.11 to 3.14 refuses"
        problems.append(Problem("toml-1.1", message, span))
    root: Node = scanner.root if _fill(scanner.root, attempt.values) else _unplaced(attempt.values)
    return Reading((root,), tuple(problems), (), opaque, reached)


def _attempt(text: str, max_depth: int) -> Attempt:
    scanner = TomlScanner(text, max_depth)
    stop: Stop | None = None
    try:
        scanner.scan()
    except Stop as reached:
        stop = reached
        if stop.deep:
            return Attempt(scanner, stop, None, "too deep", stop.offset)
    import tomli

    try:
        return Attempt(scanner, stop, tomli.loads(text), "", 0)
    except RecursionError:
        return Attempt(scanner, Stop(scanner.position, deep=True), None, "too deep", scanner.position)
    except ValueError as error:
        message, offset = _place(error, text)
        return Attempt(scanner, stop, None, message, offset)


def _place(error: ValueError, text: str) -> tuple[str, int]:
    """tomli's message and the offset it means; tomli counts a CRLF as one character and before 2.1 tells it in words only."""
    message = str(error)
    where = _AT.search(message)
    if where is None:
        return message, 0
    if where[1] is None:
        return message[: where.start()], len(text)
    line, column = int(where[1]), int(where[2])
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return message[: where.start()], start + column - 1


def _before(failed: Attempt, max_depth: int) -> Attempt:
    """What can be read before the statement that failed."""
    starts = [start for start in failed.scanner.starts if start <= failed.offset]
    text = failed.scanner.text
    for cut in (*reversed(starts[-3:]), 0):
        attempt = _attempt(text[:cut], max_depth)
        if attempt.values is not None:
            return attempt
    return _attempt("", max_depth)


def _fill(root: Node, values: object) -> bool:
    """Give every scalar its value; False if scanner and tomli disagree about what there is."""
    stack: list[tuple[Node, object]] = [(root, values)]
    while stack:
        node, value = stack.pop()
        if isinstance(node, Mapping):
            if not isinstance(value, dict) or set(node.keys()) != value.keys():
                return False
            stack.extend((entry.value, value[name]) for name, entry in node.items())
        elif isinstance(node, Sequence):
            if not isinstance(value, list) or len(node.items) != len(value):
                return False
            stack.extend(zip(node.items, value, strict=True))
        elif isinstance(value, (dict, list)):
            return False
        else:
            node.value = value
    return True


def _unplaced(values: object) -> Node:
    """A tree without places, should the scanner ever misread what tomli accepts: no wrong place is given."""
    nowhere = Span(0, 0)
    root = Sequence(nowhere)
    stack: list[tuple[Mapping | Sequence, str, object]] = [(root, "", values)]
    while stack:
        owner, name, value = stack.pop()
        node: Node
        if isinstance(value, dict):
            node = Mapping(nowhere, flow=True)
            stack.extend((node, key, item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            node = Sequence(nowhere, flow=True)
            stack.extend((node, "", item) for item in reversed(value))
        else:
            node = Scalar(nowhere, value, "")
        if isinstance(owner, Mapping):
            owner.add(Entry(name, name, nowhere, node))
        else:
            owner.items.append(node)
    return root.items[0]
