"""Whose command line some words are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.dialects.launchers import AccelerateLaunch, Launcher, SoupTrain, TrlLaunch
from fsdplint.dialects.starters import ComposerLaunch, DeepspeedLaunch, EnvironmentLaunch, FactoryLaunch, TorchRun, TuneRun

if TYPE_CHECKING:
    from collections.abc import Sequence


@cache
def _the(kind: type[Launcher]) -> Launcher:
    return kind()


class Found(NamedTuple):
    """Whose command line some words are, the index of the first word after its name, and, where they stand before that, the words of
    the program that it starts (from, to).
    """

    launcher: Launcher
    start: int
    script: tuple[int, int] | None = None


def launcher(words: Sequence[str]) -> Found:
    """The launcher of some words; the plain ``Launcher`` and 0 for any other command.

    Whatever stands before the launcher (environment, ``nohup``, ``srun``) is skipped.
    """
    names = [word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe") for word in words]
    for index, name in enumerate(names):
        after = names[index + 1] if index + 1 < len(names) else ""
        if name in ("soup", "soup_cli") and after == "train":
            return Found(_the(SoupTrain), index + 2)
        if name == "trl" and after and not after.startswith("-"):
            return Found(_the(TrlLaunch), index + 2)
    for index, name in enumerate(names):
        after = names[index + 1] if index + 1 < len(names) else ""
        if name in ("accelerate-launch", "accelerate.commands.launch"):
            return Found(_the(AccelerateLaunch), index + 1)
        if name in ("accelerate", "accelerate.commands.accelerate_cli") and after == "launch":
            return Found(_the(AccelerateLaunch), index + 2)
    return _starter(words, names)


def _starter(words: Sequence[str], names: list[str]) -> Found:
    """A launcher that only starts processes, among the words before the first script."""
    end = next((index for index, name in enumerate(names) if name.endswith(".py")), len(names))
    for index, name in enumerate(names[:end]):
        before, after = (names[index - 1] if index else ""), (names[index + 1] if index + 1 < len(names) else "")
        if name == "torchrun" or (name in ("torch.distributed.run", "torch.distributed.launch") and before == "-m"):
            return Found(_the(TorchRun), index + 1)
        if name == "tune" and after == "run":
            return Found(_the(TuneRun), index + 2)
        if name in ("composer", "deepspeed") and end < len(names):
            return Found(_the(ComposerLaunch if name == "composer" else DeepspeedLaunch), index + 1)
        if name in ("llamafactory-cli", "llamafactory", "lmf") and after == "train":
            return Found(_the(FactoryLaunch), index + 2)
        if name in ("swift", "megatron") and after in ("sft", "pt", "rlhf"):
            return Found(_the(EnvironmentLaunch), index + 2)
        if name in ("axolotl", "axolotl.cli.main") and after == "train":
            return _axolotl(words, index + 2)
    return Found(_the(Launcher), 0)


def _axolotl(words: Sequence[str], start: int) -> Found:
    """``axolotl train a.yaml --launcher torchrun -- --nproc_per_node 2`` (axolotl 0.19.0 cli/main.py): the launcher's own words stand
    behind ``--``; without a launcher it is accelerate's.
    """
    end = words.index("--", start) if "--" in words[start:] else len(words)
    own = list(words[start:end])
    named = next((own[n + 1] for n, word in enumerate(own[:-1]) if word == "--launcher"), "")
    named = next((word.partition("=")[2] for word in own if word.startswith("--launcher=")), named)
    if end == len(words) or named not in ("", "accelerate", "torchrun"):
        return Found(_the(Launcher), 0, (start, end))
    return Found(_the(TorchRun if named == "torchrun" else AccelerateLaunch), end + 1, (start, end))
