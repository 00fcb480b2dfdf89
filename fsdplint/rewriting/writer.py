"""What writes a wish in one dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsdplint.rewriting.aim import Wish
    from fsdplint.rewriting.draft import Draft, Names
    from fsdplint.target import Versions

FSDP2_FLOORS = ("torch>=2.6.0", "accelerate>=1.7.0")
"""What FSDP2 through accelerate needs; 1.6.0 has it without whole state dicts (utils/constants.py and dataclasses.py of 1.7.0)."""


class Writer:
    """How one dialect states sharding: what hinders a wish there, and the changes that write it."""

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:
        """Why the releases at hand cannot do what is wished; None where they can."""
        raise NotImplementedError

    def is_outdated(self, draft: Draft, version: int) -> bool:  # noqa: ARG002
        """Whether a file that states an FSDP version already does so in words that are to be replaced."""
        return False

    def within(self, draft: Draft, wish: Wish) -> Wish:  # noqa: ARG002
        """A wish without what no key of the dialect's files can say."""
        return wish

    def write(self, draft: Draft, wish: Wish) -> None:
        """Change the draft. Raises Refused where the file has something that cannot be brought along."""
        raise NotImplementedError


class Elsewhere(Writer):
    """A dialect whose files cannot say it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def hindrance(self, draft: Draft, wish: Wish) -> str | None:  # noqa: ARG002
        return self.reason


def one_replica(draft: Draft, replicate: Names, shard: Names, absent: int | None = None) -> None:
    """Make one that shards over all of its processes out of a mesh with replicas: the sizes multiply as before.

    ``absent``: the size of a shard group that is not written; None where it is what the other sizes leave.
    """
    replicas, shards = draft.value(*replicate), draft.value(*shard)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
        return
    size = absent if shards is None else shards
    if isinstance(size, int) and size > 0:
        draft.put(shard, replicas * size, replicate[-1])
    draft.put(replicate, 1)
    draft.note(f"the mesh held {replicas} replicas; now all of its processes share one set of shards")


def replaced(draft: Draft, key: str, successors: Mapping[str, str]) -> None:
    """Put an optimizer that works on FSDP2's tensors in the place of one that does not, and tell it."""
    old = draft.value(key)
    new = successors.get(str(old))
    if new:
        draft.put((key,), new)
        needs = ", which needs torchao" if "8bit" in new else ""
        draft.note(f"`{key}: {old}` fails with FSDP2: the file says {new} now{needs}")


def too_old_for_fsdp2(versions: Versions) -> str | None:
    """The first package that is below what FSDP2 through accelerate needs, as a reason."""
    floor = next((floor for floor in FSDP2_FLOORS if versions.is_older(floor)), None)
    if floor is None:
        return None
    package = floor.partition(">")[0]
    return f"FSDP2 needs {floor.replace('>=', ' ')} or newer, the target has {versions.text(package)}"
