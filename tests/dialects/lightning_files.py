"""Small files of Lightning, and what is told of them."""

from __future__ import annotations

from linting import lint, told

NEWEST = ("lightning==2.6.6", "torch==2.13.0")


def trainer(*lines: str, gpu: bool = True) -> str:
    """A LightningCLI file of a Trainer on two GPUs."""
    head = "trainer:\n" + ("  accelerator: gpu\n  devices: 2\n" if gpu else "")
    return head + "".join(f"  {line}\n" for text in lines for line in text.splitlines())


def fsdp(*arguments: str, cls: str = "FSDPStrategy", more: str = "") -> str:
    """A LightningCLI file with a strategy class and its arguments."""
    text = f"strategy:\n  class_path: {cls}\n"
    if arguments:
        text += "  init_args:\n" + "".join(f"    {line}\n" for argument in arguments for line in argument.splitlines())
    return trainer(text) + more


def hydra(*arguments: str, cls: str = "lightning.pytorch.strategies.FSDPStrategy") -> str:
    """A strategy group of Hydra."""
    return f"_target_: {cls}\n" + "".join(f"{argument}\n" for argument in arguments)


def faults(text: str, *target: str, dialect: str | None = "lightning") -> list[tuple[str, str, str | None]]:
    """What is told of a text at or above a warning."""
    return [row for row in told(lint(text, dialect=dialect, target=target or NEWEST)) if row[0] != "info"]


def helps(text: str, *target: str) -> str:
    """All help texts of what is told at or above a warning."""
    return " | ".join(d.help or "" for d in lint(text, dialect="lightning", target=target or NEWEST) if d.severity.word != "info")
