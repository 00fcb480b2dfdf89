"""Shell commands within YAML: ``run:`` of GitHub workflows and SkyPilot, ``script:`` of GitLab, ``command`` and ``args`` of Kubernetes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsdplint.document import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsdplint.document import Document, Entry, Node

SHELL = frozenset({"run", "setup", "script", "before_script", "commands"})
"""Keys whose value a shell runs: a text, or a list of lines."""

_SPECIAL = re.compile(r"[\s;&|<>()'\"`*?\[\]{}~#\\!]")
_KUBERNETES = re.compile(r"\$\((\w+)\)")


def blocks(document: Document) -> Iterator[str]:
    """The scripts within a YAML file, each as a text in which everything else is blank, so that all places are those of the file."""
    stack: list[Node] = list(reversed(document.roots))
    while stack:
        node = stack.pop()
        if isinstance(node, Sequence):
            stack += [item for index, item in reversed(list(enumerate(node.items))) if index not in node.aliases]
        elif isinstance(node, Mapping):
            own = [entry for entry in node.entries if entry.at is None and not entry.inherited]
            stack += [entry.value for entry in reversed(own) if not isinstance(entry.value, Scalar)]
            for entry in own:
                if entry.name in SHELL:
                    yield from _script(document.text, _scalars(entry.value))
            yield from _arguments(document.text, own)


def _scalars(node: Node) -> list[Scalar] | None:
    """A text, or the items of a list of texts."""
    nodes = [node] if isinstance(node, Scalar) else node.items if isinstance(node, Sequence) and not node.aliases else []
    scalars = [one for one in nodes if isinstance(one, Scalar)]
    return scalars if scalars and len(scalars) == len(nodes) else None


def _script(text: str, scalars: Iterable[Scalar] | None) -> Iterator[str]:
    """The lines that a shell runs."""
    parts = [(scalar.span.start, _shell(text[slice(*scalar.span)], scalar)) for scalar in scalars or ()]
    if parts and all(part is not None for _, part in parts):
        yield _masked(text, [(start, part or "") for start, part in parts], keeps_lines=True)


def _shell(written: str, scalar: Scalar) -> str | None:
    """A text as a shell gets it, at the same places; None where YAML's escapes have moved something."""
    if scalar.style == "plain":
        return written if "\n" not in written else None
    if scalar.style in ("literal", "folded"):
        header, _, body = written.partition("\n")
        return " " * len(header) + "\n" + (body if scalar.style == "literal" else re.sub(r"(?<=\S)\n(?=[ \t]*\S)", " ", body))
    inner = written[1:-1]
    return None if "\\" in inner or "''" in inner or "\n" in inner else f" {inner} "


def _arguments(text: str, entries: Iterable[Entry]) -> Iterator[str]:
    """``command`` and ``args`` of a container: words that no shell splits, but for the script behind ``-c``."""
    named = {entry.name: entry.value for entry in entries if entry.name in ("command", "args")}
    command, args = named.get("command"), named.get("args")
    if isinstance(command, Scalar):
        yield from _script(text, [command])
        return
    items = [*(_scalars(command) or () if command else ()), *(_scalars(args) or () if args else ())]
    parts: list[tuple[int, str]] = []
    for item in items:
        if item.style in ("literal", "folded"):
            yield from _script(text, [item])
            return
        word = _word(_KUBERNETES.sub(r"${\1}", text[slice(*item.span)]), item)
        if word is None or (parts and item.span.start < parts[-1][0]):
            return
        parts.append((item.span.start, word))
    if parts:
        yield _masked(text, parts, keeps_lines=False)


def _word(written: str, scalar: Scalar) -> str | None:
    """An item of a list as one word for a shell; None where it cannot be written in as many characters."""
    if scalar.style == "plain":
        return None if _SPECIAL.search(written.replace("${", "").replace("}", "")) else written
    return None if "\\" in written or "''" in written else written


def _masked(text: str, parts: Iterable[tuple[int, str]], *, keeps_lines: bool) -> str:
    """A blank text of the same length with some parts in it; outside of them line breaks stay only where lines count."""
    found: list[str] = []
    place = 0
    for start, part in parts:
        found += [_blank(text[place:start], keeps_lines), part]
        place = start + len(part)
    return "".join(found) + _blank(text[place:], keeps_lines)


def _blank(text: str, keeps_lines: bool) -> str:
    return re.sub(r"[^\n]" if keeps_lines else r"[\s\S]", " ", text)
