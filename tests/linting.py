"""Linting texts in tests: launches, targets, diagnostics and plans without files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fsdplint.commands import read_command
from fsdplint.dialects import dialect as dialect_named
from fsdplint.dialects import recognise
from fsdplint.document import parse
from fsdplint.launch import ConfigFile, Launch
from fsdplint.linter import lint as lint_launch
from fsdplint.linter import plans_of, settled_target
from fsdplint.rule import load_pack
from fsdplint.target import resolve_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsdplint.diagnostics import Diagnostic
    from fsdplint.plan import Plan

SHARED = Path(__file__).parents[1].parent / "shared"


def launch_of(*texts: str, dialects: Sequence[str | None] = (), paths: Sequence[str] = (), line: str | None = None) -> Launch:
    """A launch of texts and a launch line; a dialect of None is recognised from the text."""
    files = []
    for number, text in enumerate(texts):
        name = dialects[number] if number < len(dialects) else None
        path = paths[number] if number < len(paths) else f"file{number}.yaml"
        found = dialect_named(name) if name else recognise(parse(text, path))
        assert found is not None, "not recognised"
        document = parse(text, path, loader=found.loader)
        files.append(ConfigFile(document, found.for_document(document)))
    return Launch(tuple(files), read_command(line) if line else None)


def target_of(target: Sequence[str] = (), device: str | None = None, gpus: int | None = None):
    return resolve_target(options=list(target), settings={}, start=None, device=device, gpus=gpus, python=None, isolated=True)


def lint(
    text: str,
    *more: str,
    dialect: str | None = None,
    dialects: Sequence[str | None] = (),
    target: Sequence[str] = (),
    device: str | None = None,
    gpus: int | None = None,
    path: str = "file0.yaml",
    line: str | None = None,
) -> list[Diagnostic]:
    """The diagnostics of one file, or of several as one launch (then name ``dialects``); ``line`` is the launch line."""
    launch = launch_of(text, *more, dialects=dialects or (dialect,), paths=(path,), line=line)
    return lint_launch(launch, target_of(target, device, gpus), load_pack().rules)


def read(
    text: str,
    *more: str,
    dialect: str | None = None,
    dialects: Sequence[str | None] = (),
    target: Sequence[str] = (),
    device: str | None = None,
    gpus: int | None = None,
    line: str | None = None,
) -> Plan:
    """The merged plan of one file, or of several as one launch, on the newest point of the target."""
    launch = launch_of(text, *more, dialects=dialects or (dialect,), line=line)
    full = settled_target(launch, target_of(target, device, gpus))
    return plans_of(launch, full, full.points()[0])[0]


def told(diagnostics: list[Diagnostic]) -> list[tuple[str, str, str | None]]:
    """What tests compare: (severity, code, key)."""
    return [(d.severity.word, d.code, d.key) for d in diagnostics]


def marked(text: str, diagnostic: Diagnostic) -> str:
    """The very characters that a diagnostic points at."""
    return text[diagnostic.range.start.offset : diagnostic.range.end.offset]
