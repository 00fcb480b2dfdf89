"""Files as they were before they were rewritten, to be brought back when the smoke test does not pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fsdplint.writing import Rewrite, write_all

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


class Originals:
    """The bytes of files at the time when this was made."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._bytes = {Path(path).resolve(): Path(path).read_bytes() for path in paths}

    def restore(self) -> list[str]:
        """Write the original bytes back where they differ; returns those paths.

        Mode and symbolic links stay; the files are replaced whole, all or none. Raises WriteError.
        """
        changed = [path for path, data in self._bytes.items() if not path.exists() or path.read_bytes() != data]
        for path in changed:
            path.touch()
        write_all([Rewrite(path, self._bytes[path]) for path in changed])
        return [str(path) for path in changed]
