"""Writes files so that at any moment the old content or the new one is there, whole.

The new content goes to a temporary file in the same folder, is forced to the disk, and takes the old one's place by a
rename. A process that is killed on the way leaves at worst that temporary file, `.NAME.*.fsdplint`.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .errors import FsdplintError

if TYPE_CHECKING:
    from collections.abc import Sequence


class WriteError(FsdplintError):
    """A file cannot be written; it is as it was."""


class Rewrite(NamedTuple):
    """New content for an existing file, and what the file must still hold then, if that matters."""

    path: str | Path
    data: bytes
    expected: bytes | None = None


class _Staged(NamedTuple):
    """A rewrite whose content lies ready; `target` is where the path's links lead, `old` what is there."""

    rewrite: Rewrite
    target: Path
    temporary: Path
    old: bytes


def write(path: str | Path, data: bytes, *, expected: bytes | None = None) -> None:
    """Give an existing file other bytes. Mode, symbolic links, and where possible owner and attributes stay.

    A second hard link to the file keeps the old content, as with any rename.
    Raises WriteError if that cannot be done, or if the file no longer holds `expected`.
    """
    write_all([Rewrite(path, data, expected)])


def write_all(rewrites: Sequence[Rewrite]) -> None:
    """Write all files, or none: those already in place are put back if a later one fails. Raises WriteError."""
    staged: list[_Staged] = []
    done: list[_Staged] = []
    try:
        for rewrite in rewrites:
            staged.append(_stage(rewrite))
        for one in staged:
            _commit(one)
            done.append(one)
    except BaseException:
        for one in reversed(done):
            with suppress(WriteError):
                _commit(_stage(Rewrite(one.target, one.old)))
        raise
    finally:
        for one in staged:
            with suppress(OSError):
                one.temporary.unlink()


def _stage(rewrite: Rewrite) -> _Staged:
    """Check that the file can be written, and write the new content beside it."""
    target = Path(os.path.realpath(rewrite.path))
    try:
        status = target.stat()
        _check(rewrite.path, target, status)
        old = target.read_bytes()
        return _Staged(rewrite, target, _temporary(target, status, rewrite.data), old)
    except OSError as error:
        raise _failed(rewrite.path, error) from error


def _check(path: str | Path, target: Path, status: os.stat_result) -> None:
    """A rename needs no right on the file itself, so the file is asked whether it may be changed."""
    if not stat.S_ISREG(status.st_mode):
        raise WriteError(f"{path}: cannot be written: it is no regular file")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise WriteError(f"{path}: cannot be written: the file is read-only")
    folder = target.parent
    # On Windows, a folder's read-only flag says nothing about the files in it.
    has_write_bit = os.name == "nt" or bool(folder.stat().st_mode & 0o222)
    if not has_write_bit or not os.access(folder, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: cannot be written: its folder is read-only")


def _temporary(target: Path, status: os.stat_result, data: bytes) -> Path:
    from tempfile import mkstemp

    descriptor, name = mkstemp(dir=target.parent, prefix=f".{target.name[:60]}.", suffix=".fsdplint")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _take_over(target, status, temporary)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _take_over(target: Path, status: os.stat_result, temporary: Path) -> None:
    """Owner and extended attributes (access lists are among them) where possible, the mode always."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
    temporary.chmod(stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(target):
                os.setxattr(temporary, name, os.getxattr(target, name))


def _commit(staged: _Staged) -> None:
    path, expected = staged.rewrite.path, staged.rewrite.expected
    try:
        if expected is not None and staged.target.read_bytes() != expected:
            raise WriteError(f"{path}: not written: the file has been changed in the meantime")
        staged.temporary.replace(staged.target)
    except OSError as error:
        raise _failed(path, error) from error
    _force(staged.target.parent)


def _force(folder: Path) -> None:
    """Force a rename to the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failed(path: str | Path, error: OSError) -> WriteError:
    return WriteError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}")
