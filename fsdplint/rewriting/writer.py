"""What writes a wish in one dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft
    from fsdplint.target import Versions

FSDP2_FLOORS = ("torch>=2.6.0", "accelerate>=1.7.0")
"""What FSDP2 through accelerate needs; 1.6.0 has it without whole state dicts (utils/constants.py and dataclasses.py of 1.7.0)."""


class Writer:
    """How one dialect states sharding: what hinders a wish there, and the changes that write it.

    ``wraps``: whether its files can say that transformer layers are wrapped, without naming a class.
    """

    wraps: bool = True

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        """Why the releases at hand cannot do what is wished; None where they can."""
        raise NotImplementedError

    def write(self, draft: Draft, wish: Wish) -> None:
        """Change the draft. Raises Refused where the file has something that cannot be brought along."""
        raise NotImplementedError


class Elsewhere(Writer):
    """A dialect whose files cannot say it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:  # noqa: ARG002
        return self.reason


def too_old_for_fsdp2(versions: Versions) -> str | None:
    """The first package that is below what FSDP2 through accelerate needs, as a reason."""
    floor = next((floor for floor in FSDP2_FLOORS if versions.is_older(floor)), None)
    if floor is None:
        return None
    package = floor.partition(">")[0]
    return f"FSDP2 needs {floor.replace('>=', ' ')} or newer, the target has {versions.text(package)}"
