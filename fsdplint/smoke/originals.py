"""Files as they were before they were rewritten, to be brought back when the smoke test does not pass."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Originals:
    """The bytes of files at the time when this was made."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._bytes = {Path(path).resolve(): Path(path).read_bytes() for path in paths}

    def restore(self) -> list[str]:
        """Write the original bytes back where they differ; returns those paths.

        Mode and symbolic links stay; a file is replaced whole or not at all.
        """
        changed = [path for path, data in self._bytes.items() if not path.exists() or path.read_bytes() != data]
        for path in changed:
            _replace(path, self._bytes[path])
        return [str(path) for path in changed]


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
