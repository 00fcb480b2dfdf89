"""Reads YAML as PyYAML's safe_load and OmegaConf do."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from typing import Any

import yaml

from .comments import find_comments
from .nodes import Problem, Span
from .reading import Reading
from .yaml_tree import TooDeep, TreeBuilder
from .yaml_values import flavour

# PyYAML 6.0: Reader.NON_PRINTABLE; the file is refused as a whole when one such character is in it.
_CONTROL = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Where libyaml accepts a text that the pure Python parser refuses or reads in another way.
_DOUBTFUL = re.compile("[\t?\ufeff\x85\u2028\u2029]|[|>][-+0-9]*#|^%", re.M)
_HARMLESS = "\t?|>"
# The pure parser takes some 15 microseconds per character.
_PURE_LIMIT = 300_000

_C_LOADER: Any = getattr(yaml, "CSafeLoader", None)


class _Attempt:
    """The tree that one parser gives, and the fault at which it stopped."""

    def __init__(self, text: str, parser: Any, loader: str, max_depth: int) -> None:
        self.tree = TreeBuilder(text, flavour(loader), max_depth)
        self.error: Exception | None = None
        try:
            self.tree.feed(parser(text))
        except (yaml.YAMLError, ValueError, OverflowError, TooDeep) as error:
            self.error = error
        self._text = text
        self._max_depth = max_depth

    def fault(self) -> Problem | None:
        """The error in plain words."""
        if self.error is None:
            return None
        from .yaml_faults import explain

        return explain(self.error, self._text, self.tree.reached, self.tree.open_quote(), self._max_depth)


def read_yaml(text: str, readable: int, loader: str, max_depth: int) -> Reading:
    """Read a text without byte order mark; only `text[:readable]` is known to be real.

    `loader` is "pyyaml" (yaml.safe_load, the pure Python SafeLoader of PyYAML 6.0) or "omegaconf" (2.4, libyaml).
    """
    control = _CONTROL.search(text, 0, readable)
    if control is not None:
        readable = control.start()
    whole = readable == len(text)
    tree, fault = _read(text if whole else text[:readable], loader, max_depth)
    problems = tree.problems
    if control is not None:
        problems.append(_control_problem(control))
    elif fault is not None and whole:
        problems = [*(problem for problem in problems if problem.span != fault.span), fault]
    problems.sort(key=lambda problem: problem.span)
    return Reading(tuple(tree.roots), tuple(problems), tuple(tree.duplicates), tree.opaque(), tree.reached)


def _read(text: str, loader: str, max_depth: int) -> tuple[TreeBuilder, Problem | None]:
    """libyaml's reading where it equals the pure parser's, which is the truth for safe_load; else the latter's.

    Where only the pure parser fails, its fault comes with libyaml's tree, which goes beyond the fault.
    """
    if _C_LOADER is None:
        pure = _Attempt(text, yaml.SafeLoader, loader, max_depth)
        return pure.tree, pure.fault()
    fast = _Attempt(text, _C_LOADER, loader, max_depth)
    if isinstance(fast.error, TooDeep) or len(text) > _PURE_LIMIT:
        return fast.tree, fast.fault()
    omegaconf = loader == "omegaconf"
    if fast.error is None and (omegaconf or not _differs(text, fast.tree)):
        return fast.tree, None
    pure = _Attempt(text, yaml.SafeLoader, loader, max_depth)
    if omegaconf and pure.error is None:
        return fast.tree, fast.fault()
    return (fast if fast.error is None and pure.error is not None else pure).tree, pure.fault()


def _differs(text: str, tree: TreeBuilder) -> bool:
    """Whether the pure parser may differ: a doubtful character that stands neither in quotes nor in a comment."""
    if _DOUBTFUL.search(text) is None:
        return False
    quoted = tree.opaque()
    harmless = [(start, end) for start, end, style in quoted if style is not None]
    harmless += find_comments(text, quoted, len(text))
    harmless.sort()
    flows = _outermost(tree.flows)
    for match in _DOUBTFUL.finditer(text):
        place = match.start()
        if text[place] not in _HARMLESS:
            return True
        if not _within(place, harmless) and (text[place] != "?" or _within(place, flows)):
            return True
    return False


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for span in sorted(spans):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


def _within(place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a place lies in one of some ordered spans that do not overlap."""
    index = bisect_right(spans, (place, sys.maxsize)) - 1
    return index >= 0 and place < spans[index][1]


def _control_problem(match: re.Match[str]) -> Problem:
    code = ord(match.group())
    span = Span(match.start(), match.end())
    if code == 0:
        return Problem("control", "a NUL character; YAML refuses it", span, "the file may be UTF-16: save it as UTF-8")
    return Problem("control", f"the control character U+{code:04X}; YAML refuses it", span, "delete it")
