"""The launches of a script, with the config files that its lines name, and what is found in them placed in the script."""

# Paths are text here: shown as they are given, normalised by name alone.

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.commands import PATH, read_command
from fsdplint.diagnostics import FileStatus, text_range
from fsdplint.dialects import recognise
from fsdplint.dialects.launchers import Launcher
from fsdplint.discovery import Input
from fsdplint.document import Document, parse
from fsdplint.document.reading import Reading
from fsdplint.document.source import decode
from fsdplint.folders import folders_above, shown
from fsdplint.mentions import LAUNCHER_FLAGS, told
from fsdplint.scripts.lines import Line, lines
from fsdplint.scripts.variables import UNKNOWN
from fsdplint.scripts.words import Unreadable
from fsdplint.shell_hints import HINTS, LIMIT, content, is_script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsdplint.commands import Command
    from fsdplint.diagnostics import Diagnostic, Range, Related, Snippet
    from fsdplint.rule import Pack
    from fsdplint.suppressions import Suppressions


class Script:
    """A launch line of a script, which places what was found in the line as such."""

    __slots__ = ("dialect", "document", "input", "line")

    def __init__(self, item: Input, document: Document, line: Line, dialect: str) -> None:
        self.input = item
        self.document = document
        self.line = line
        self.dialect = dialect

    def status(self, is_judged: bool) -> FileStatus:
        """What became of the script."""
        if is_judged:
            return FileStatus(self.input.path, self.dialect, "checked")
        return FileStatus(self.input.path, None, "skipped", "no launch that is known")

    def suppressions(self, command: Command, pack: Pack) -> dict[str, Suppressions]:
        """What the comments of the script silence, by its path."""
        if "fsdplint:" not in self.document.text:
            return {}
        from fsdplint.scripts.comments import ScriptSuppressions

        line, _ = self.document.position(self.line.words[0].span.start)
        return {self.input.path: ScriptSuppressions(self.document, command.dialect, pack, line)}

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic of which all that concerns the launch line points into the script; edits of the line are no fix."""
        fix = None if diagnostic.fix and any(edit.path == PATH for edit in diagnostic.fix.edits) else diagnostic.fix
        diagnostic = diagnostic._replace(
            message=diagnostic.message.replace(PATH, self.input.path),
            related=tuple(self._moved(place) for place in diagnostic.related),
            fix=fix,
        )
        if diagnostic.path != PATH:
            return diagnostic
        where, snippet = self._range(diagnostic.range)
        return diagnostic._replace(path=self.input.path, range=where, snippet=snippet)

    def _moved(self, related: Related) -> Related:
        if related.path != PATH:
            return related
        where, snippet = self._range(related.range)
        return related._replace(path=self.input.path, range=where, snippet=snippet)

    def _range(self, where: Range) -> tuple[Range, Snippet]:
        return text_range(self.document, *self.line.place(where.start.offset, where.end.offset, self.document.text))


class ScriptLaunch(NamedTuple):
    """A launch of a script: the given files and the others that its line names, and the dialects that the line tells of files, by place."""

    script: Script
    command: Command
    given: tuple[Input, ...]
    others: tuple[Input, ...]
    named: tuple[tuple[str, str], ...]


def launches(item: Input, given: Mapping[str, Input]) -> list[ScriptLaunch]:
    """The launches of a script, or of the scripts in a YAML file; none where nothing can be read or understood.

    ``given``: all given files by their real places. A line of which an unknown part may change what it asks for is left out.
    """
    data = content(item)
    if not any(hint in data for hint in HINTS):
        return []
    source = decode(data, LIMIT)
    document = Document(item.path, "command", "command", source, Reading(), 1)
    scripts = [source.text] if is_script(item) else _blocks(item, data)
    found = [_launch(item, document, line, given) for script in scripts for line in _lines(script)]
    return [launch for launch in found if launch is not None]


def _blocks(item: Input, data: bytes) -> list[str]:
    """The scripts of a YAML file that is no training config itself."""
    from fsdplint.scripts.blocks import blocks

    document = parse(data, item.path)
    return [] if recognise(document) is not None or document.problems else list(blocks(document))


def _lines(script: str) -> list[Line]:
    try:
        return list(lines(script))
    except (Unreadable, RecursionError):
        return []


def _launch(item: Input, document: Document, line: Line, given: Mapping[str, Input]) -> ScriptLaunch | None:
    command = read_command(line.text)
    if command is None or _is_open(line, command):
        return None
    found: dict[str, Input] = {}
    named: list[tuple[str, str]] = []
    resolved: set[str] = set()
    for _, name in command.mentions:
        location = None if UNKNOWN.search(name) else _location(name, line.folders, item.location)
        if location is not None:
            resolved.add(name)
            found[location] = given.get(os.path.realpath(location)) or Input(shown(location), location)
            dialect = told(command, name)
            named += [(found[location].location, dialect)] if dialect else []
    if not _is_whole(command, resolved):
        return None
    own = tuple(one for one in found.values() if os.path.realpath(one.location) in given)
    others = tuple(one for one in found.values() if one not in own)
    script = Script(item, document, line, command.dialect.name)
    return ScriptLaunch(script, command, own, others, tuple(named))


def _is_open(line: Line, command: Command) -> bool:
    """Whether there is a word among the launcher's own that may be any number of flags."""
    launcher = command.dialect
    if not isinstance(launcher, Launcher) or not launcher.table.options:
        return False
    program = command.script[0].span.start if command.script and launcher.ends_at_script else len(line.text)
    before = ""
    for word, place in line.own():
        is_value = before.startswith("--") and "=" not in before and launcher.takes_value(before)
        if word.is_loose and not is_value and place < program:
            return True
        before = word.text
    return False


def _is_whole(command: Command, resolved: set[str]) -> bool:
    """Whether the files that the launcher itself reads are known: without them nothing may be concluded from its flags."""
    from fsdplint.dialects.trl import SHIPPED

    wanted = [command.document.value((flag,)) for flag in LAUNCHER_FLAGS]
    if command.dialect.starts == "training":
        wanted.append(command.document.value(("--config",)))
    return all(name is None or name in resolved or name in SHIPPED for name in wanted)


def _location(name: str, folders: Sequence[str], script: str) -> str | None:
    """Where a file is that a script names, if there is just one that it can be: as seen from the script's folder, from those above up to
    the root of the repository (or the current folder), and from where the script goes.
    """
    if os.path.isabs(name):
        return os.path.normpath(name) if os.path.isfile(name) else None
    found: dict[str, str] = {}
    for base in folders_above(os.path.dirname(script)):
        for folder in ("", *folders):
            location = os.path.normpath(os.path.join(base, folder, name))
            if os.path.isfile(location):
                found.setdefault(os.path.realpath(location), location)
    return next(iter(found.values())) if len(found) == 1 else None
