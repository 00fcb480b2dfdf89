"""Files come back byte by byte."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fsdplint.smoke.originals import Originals

if TYPE_CHECKING:
    from pathlib import Path


def test_changed_files_come_back_and_others_are_left_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    other.write_bytes(b"b: 2")
    originals = Originals([one, other])
    one.write_text("a: 2\n")
    before = other.stat().st_ino
    assert originals.restore() == [str(one)]
    assert one.read_bytes() == b"\xef\xbb\xbfa: 1\r\n"
    assert other.stat().st_ino == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.yaml", "other.yaml"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of Unix")
def test_mode_and_link_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("a: 1\n")
    real.chmod(0o640)
    link.symlink_to(real)
    originals = Originals([link])
    real.write_text("a: 2\n")
    originals.restore()
    assert link.is_symlink()
    assert real.read_text() == "a: 1\n"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_gone_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    originals = Originals([path])
    path.unlink()
    assert originals.restore() == [str(path)]
    assert path.read_text() == "a: 1\n"
