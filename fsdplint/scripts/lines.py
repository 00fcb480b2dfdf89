"""The command lines of a script that start a training run, each with the places of its words."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.document import Span
from fsdplint.scripts.shell import commands
from fsdplint.scripts.variables import ASSIGNMENT, Text, Variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREFIXES = frozenset(
    {
        *("env", "srun", "nohup", "time", "exec", "sudo", "mpirun", "mpiexec", "uv", "poetry", "pdm", "hatch", "pipenv", "rye"),
        *("conda", "mamba", "micromamba", "pixi", "singularity", "apptainer", "docker", "podman", "stdbuf", "numactl", "timeout", "nice"),
        *("nsys", "ncu", "jsrun", "aprun", "ibrun", "fsdplint", "bash", "sh", "eval", "accelerate", "accelerate-launch"),
    }
)
"""Programs that run the command in their arguments."""

ALONE = frozenset({"torchrun", "deepspeed", "accelerate-launch", "composer", "litgpt"})
FIRST = {"accelerate": ("launch",), "axolotl": ("train",), "llamafactory-cli": ("train",), "soup": ("train",), "tune": ("run",)}
MANAGING = frozenset({"pip", "pip3", "install", "uninstall", "add", "remove", "pull", "push", "build", "list", "show"})
"""Words after which a launcher's name is that of a package or an image."""

MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "axolotl.cli.train", "soup_cli"})
SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


class Line(NamedTuple):
    """A command line that starts a run: its words after all expansions, ``text`` with each of them quoted for a shell.

    ``folders``: those that the script has gone into before, as written; an unknown one is not among them.
    """

    words: tuple[Text, ...]
    text: str
    folders: tuple[str, ...] = ()

    def place(self, start: int, end: int, source: str) -> Span:
        """The stretch of the script that a stretch of ``text`` stands for: exact within words that are written as they are meant."""
        first, last = self._at(start), self._at(max(start, end - 1))
        inner = first[0].span.start + (start - first[1] if _is_plain(first[0], source) else 0)
        outer = last[0].span.start + end - last[1] if _is_plain(last[0], source) else last[0].span.end
        return Span(inner, max(inner, min(outer, last[0].span.end)))

    def own(self) -> Iterator[tuple[Text, int]]:
        """The words from the launcher's name on, each with where it starts in the text."""
        names = [_base(word.text) for word in self.words]
        start = next((index for index in range(len(names)) if _is_launcher(names, index)), len(names))
        place = 0
        for index, word in enumerate(self.words):
            if index >= start:
                yield word, place
            place += len(shlex.quote(word.text)) + 1

    def _at(self, offset: int) -> tuple[Text, int]:
        """The word at an offset, and where it starts in the text."""
        place, found = 0, (self.words[0], 0)
        for word in self.words:
            if place > offset:
                break
            found = (word, place)
            place += len(shlex.quote(word.text)) + 1
        return found


def _is_plain(word: Text, source: str) -> bool:
    return source[slice(*word.span)] == word.text == shlex.quote(word.text)


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def lines(source: str) -> Iterator[Line]:
    """The command lines of a script that start a run. Raises Unreadable where the script cannot be understood."""
    script = list(commands(source))
    variables = Variables(script)
    folders: list[str] = []
    for command in script:
        variables.learn(command)
        words = tuple(text for word in command.words for text in variables.texts(word))
        if len(words) == 2 and words[0].text == "cd":
            folders += [words[1].text] if words[1].is_known else []
            continue
        for found in _launching(words):
            yield Line(found, shlex.join(word.text for word in found), tuple(folders))


def _launching(words: tuple[Text, ...]) -> Iterator[tuple[Text, ...]]:
    """A command if it starts a run, or those in the string that it hands to a shell."""
    program = next((index for index, word in enumerate(words) if not ASSIGNMENT.match(word.text)), len(words))
    names = [_base(word.text) for word in words[program:]]
    if not names or not (names[0] in PREFIXES or names[0].startswith("python") or _is_launcher(names, 0)):
        return
    inner = _inner(words[program:], names)
    if inner is not None:
        for line in lines(inner.text):
            yield tuple(word._replace(span=inner.span) for word in line.words)
    elif any(_is_launcher(names, index) for index in _where(names)):
        yield words


def _where(names: Sequence[str]) -> Iterator[int]:
    """The places in a command where the launcher's name may stand."""
    for index, name in enumerate(names):
        if name in MANAGING:
            return
        yield index
        if names[0].startswith("python") and index and (name == "-m" or not name.startswith("-")):
            return


def _inner(words: Sequence[Text], names: Sequence[str]) -> Text | None:
    """The string that ``bash -c`` or ``eval`` runs."""
    if names[0] == "eval" and len(words) > 1:
        return Text(" ".join(word.text for word in words[1:]), Span(words[1].span.start, words[-1].span.end))
    for index, name in enumerate(names[:-2]):
        if name in SHELLS and re.fullmatch(r"-[a-z]*c", names[index + 1]):
            return words[index + 2]
    return None


def _is_launcher(names: Sequence[str], index: int) -> bool:
    name, after = names[index], names[index + 1] if index + 1 < len(names) else ""
    if name in ALONE or after in FIRST.get(name, ()):
        return True
    if name in ("trl", "swift"):
        return bool(re.fullmatch(r"[a-z]+", after)) and after not in ("env", "chat", "deploy", "infer", "eval", "export", "app")
    return name == "-m" and after in MODULES
