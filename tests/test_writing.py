"""Writing files: the old content or the new one, never anything else, and nothing about the file but its bytes changes."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fsdplint.writing import Rewrite, WriteError, write, write_all

OLD = b"a: 1\n" * 2000
NEW = b"\xef\xbb\xbfb: 2\r\nno final newline" * 3000

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX only")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_bytes(OLD)
    return path


def alone(path: Path) -> bool:
    """Whether no temporary file was left."""
    return [one.name for one in path.parent.iterdir()] == [path.name]


def test_the_very_bytes_are_written(config: Path) -> None:
    write(config, NEW)
    assert config.read_bytes() == NEW
    assert alone(config)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_stays(config: Path, mode: int) -> None:
    config.chmod(mode)
    write(config, NEW)
    assert stat.S_IMODE(config.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(config: Path) -> None:
    os.chown(config, 1234, 2345)
    write(config, NEW)
    assert (config.stat().st_uid, config.stat().st_gid) == (1234, 2345)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_stay(config: Path) -> None:
    try:
        os.setxattr(config, "user.note", b"mine")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    write(config, NEW)
    assert os.getxattr(config, "user.note") == b"mine"


@posix
def test_a_link_stays_a_link(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "inner.yaml").symlink_to("../config.yaml")
    link = folder / "outer.yaml"
    link.symlink_to("inner.yaml")
    write(link, NEW)
    assert link.readlink() == Path("inner.yaml")
    assert (folder / "inner.yaml").readlink() == Path("../config.yaml")
    assert config.read_bytes() == NEW


def refusal(path: Path, data: bytes = NEW, expected: bytes | None = None) -> str:
    with pytest.raises(WriteError) as error:
        write(path, data, expected=expected)
    assert error.value.exit_code == 2
    return str(error.value)


def test_a_read_only_file_is_left_alone(config: Path) -> None:
    config.chmod(0o444)
    assert refusal(config) == f"{config}: cannot be written: the file is read-only"
    assert config.read_bytes() == OLD
    assert alone(config)


@posix
def test_a_read_only_folder_is_left_alone(config: Path) -> None:
    config.parent.chmod(0o555)
    try:
        assert refusal(config) == f"{config}: cannot be written: its folder is read-only"
        assert config.read_bytes() == OLD
        assert alone(config)
    finally:
        config.parent.chmod(0o755)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "absent.yaml") == f"{tmp_path / 'absent.yaml'}: cannot be written: no such file or directory"
    assert "no regular file" in refusal(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_changed_in_the_meantime_is_left_alone(config: Path) -> None:
    assert refusal(config, expected=b"what was read") == f"{config}: not written: the file has been changed in the meantime"
    assert config.read_bytes() == OLD
    assert alone(config)
    write(config, NEW, expected=OLD)
    assert config.read_bytes() == NEW


def test_a_full_disk_leaves_the_old_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert refusal(config) == f"{config}: cannot be written: no space left on device"
    assert config.read_bytes() == OLD
    assert alone(config)


PRELUDE = """
import os, signal, sys
from pathlib import Path
from fsdplint.writing import WriteError, write
path, data = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes()
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
"""


def run(code: str, config: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "new").write_bytes(NEW)
    command = [sys.executable, "-c", PRELUDE + code, str(config), str(folder / "new")]
    root = Path(__file__).parents[1]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@posix
def test_a_write_that_stops_half_way_leaves_the_old_file(config: Path, tmp_path: Path) -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (len(data) // 2, resource.RLIM_INFINITY))
try:
    write(path, data)
except WriteError as error:
    print(error)
"""
    done = run(code, config, tmp_path)
    assert done.stdout == f"{config}: cannot be written: file too large\n", done.stderr
    assert config.read_bytes() == OLD
    assert not list(tmp_path.glob(".*"))


@posix
@pytest.mark.parametrize(
    ("moment", "left"),
    [
        ("os.fdopen = die", OLD),
        ("import resource; signal.signal(signal.SIGXFSZ, die); resource.setrlimit(resource.RLIMIT_FSIZE, (len(data) // 2,) * 2)", OLD),
        ("os.fsync = die", OLD),
        ("os.chown = die", OLD),
        ("Path.replace = die", OLD),
        ("import fsdplint.writing; fsdplint.writing._force = die", NEW),
    ],
)
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(config: Path, tmp_path: Path, moment: str, left: bytes) -> None:
    done = run(f"{moment}\nwrite(path, data)", config, tmp_path)
    assert done.returncode < 0, done.stdout + done.stderr
    assert config.read_bytes() == left


def test_two_writers_at_once_never_mix(config: Path) -> None:
    contents = [b"x" * 50_000, b"y" * 60_000]
    seen: set[bytes] = set()
    stop = threading.Event()

    def keep_writing(data: bytes) -> None:
        for _ in range(40):
            write(config, data)

    def keep_reading() -> None:
        while not stop.is_set():
            seen.add(config.read_bytes())

    reader = threading.Thread(target=keep_reading)
    writers = [threading.Thread(target=keep_writing, args=(data,)) for data in contents]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert seen <= {OLD, *contents}
    assert config.read_bytes() in contents
    assert alone(config)


class TestSeveralFiles:
    @pytest.fixture
    def other(self, tmp_path: Path) -> Path:
        path = tmp_path / "other.yaml"
        path.write_bytes(b"other: 1\n")
        return path

    def test_all_are_written(self, config: Path, other: Path) -> None:
        write_all([Rewrite(config, NEW), Rewrite(other, b"other: 2\n")])
        assert (config.read_bytes(), other.read_bytes()) == (NEW, b"other: 2\n")

    def test_none_is_written_if_one_cannot_be(self, config: Path, other: Path, tmp_path: Path) -> None:
        other.chmod(0o444)
        with pytest.raises(WriteError, match=r"other\.yaml: .* read-only"):
            write_all([Rewrite(config, NEW), Rewrite(other, b"other: 2\n")])
        assert (config.read_bytes(), other.read_bytes()) == (OLD, b"other: 1\n")
        assert sorted(one.name for one in tmp_path.iterdir()) == ["config.yaml", "other.yaml"]

    def test_the_first_is_put_back_if_a_later_one_fails(self, config: Path, other: Path, tmp_path: Path) -> None:
        with pytest.raises(WriteError, match=r"other\.yaml: not written"):
            write_all([Rewrite(config, NEW, OLD), Rewrite(other, b"other: 2\n", b"what was read")])
        assert (config.read_bytes(), other.read_bytes()) == (OLD, b"other: 1\n")
        assert sorted(one.name for one in tmp_path.iterdir()) == ["config.yaml", "other.yaml"]
