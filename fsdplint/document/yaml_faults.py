"""Says in plain words, and at the place of the cause, why PyYAML refuses a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import Problem, Span

if TYPE_CHECKING:
    from .yaml_tree import TreeBuilder

def explain(error, text: str, tree: TreeBuilder, max_depth: int) -> Problem:
    mark=getattr(error,'problem_mark',None)
    off=mark.index if mark else getattr(error,'offset',tree.reached)
    return Problem("syntax",str(getattr(error,'problem',error)),Span(off,off))
