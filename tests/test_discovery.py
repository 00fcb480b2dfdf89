"""Which files are looked at, and git's ignore patterns."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from inspect import cleandoc
from typing import TYPE_CHECKING

import pytest
from console import CLEAN, FOREIGN, check, run, write

from fsdplint.dialects import recognise
from fsdplint.discovery import JUNK, find
from fsdplint.document import parse
from fsdplint.gitignore import Ignore
from fsdplint.inputs import MARKERS
from fsdplint.rule import load_pack
from fsdplint.settings import NONE, Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*paths: str, settings: Settings = NONE, force_exclude: bool = False) -> list[str]:
    return [item.path for item in find(paths or (".",), lambda _: settings, force_exclude)]


def touch(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def test_a_walk_finds_yaml_toml_and_json_by_name(folder: Path) -> None:
    touch(folder, "b.yaml", "a.yml", "c/d.toml", "c/a.JSON", "c.json", "x.py", "x.yaml.j2", "yaml", "x.ipynb", "x.jsonc")
    assert found() == ["a.yml", "b.yaml", "c/a.JSON", "c/d.toml", "c.json"]
    assert found() == found()


def test_paths_below_a_folder_begin_as_the_folder_was_given(folder: Path) -> None:
    touch(folder, "c/d/a.yaml")
    assert found("c") == found("c/") == ["c/d/a.yaml"]
    assert found("./c") == ["./c/d/a.yaml"]
    assert found("./") == ["./c/d/a.yaml"]
    assert found("c/../c") == ["c/../c/d/a.yaml"]
    assert found(str(folder)) == [(folder / "c/d/a.yaml").as_posix()]


def test_a_given_file_is_taken_whatever_its_name(folder: Path) -> None:
    touch(folder, "x.txt", ".venv/a.yaml")
    assert found("x.txt", ".venv/a.yaml", "nowhere") == ["x.txt", ".venv/a.yaml", "nowhere"]


def test_folders_of_tools_are_not_walked(folder: Path) -> None:
    touch(folder, "a.yaml", *(f"{name}/a.yaml" for name in JUNK), ".github/a.yaml", "my-env/a.yaml", "my-env/pyvenv.cfg")
    assert found() == [".github/a.yaml", "a.yaml"]


def test_links_to_folders_are_not_followed_but_can_be_given(folder: Path) -> None:
    touch(folder, "real/a.yaml")
    (folder / "real" / "loop").symlink_to(folder)
    (folder / "link").symlink_to("real")
    (folder / "b.yaml").symlink_to("real/a.yaml")
    (folder / "dangling.yaml").symlink_to("nowhere")
    assert found() == ["b.yaml"]  # real/a.yaml is the same file
    assert found("link") == ["link/a.yaml"]


def test_odd_files_are_passed_over(folder: Path) -> None:
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    touch(folder, "a.yaml")
    assert found() == ["a.yaml"]


def test_gitignore_files_of_all_levels_hold(folder: Path) -> None:
    touch(folder, "a/x.yaml", "a/y.yaml", "a/b/x.yaml", "a/b/y.yaml", "out/x.yaml", "z.yaml")
    (folder / ".gitignore").write_text("out/\nx.yaml\n")
    (folder / "a" / ".gitignore").write_text("y.yaml\n!b/x.yaml\n")
    (folder / "a" / "b" / ".gitignore").write_text("!y.yaml\n")
    assert found() == ["a/b/x.yaml", "a/b/y.yaml", "z.yaml"]
    assert found("a/b") == ["a/b/x.yaml", "a/b/y.yaml"]
    assert found("a/x.yaml", "out/x.yaml") == ["a/x.yaml", "out/x.yaml"]


def test_the_excludes_of_the_repository_hold(folder: Path) -> None:
    touch(folder, "a.yaml", "b.yaml")
    (folder / ".git" / "info").mkdir()
    (folder / ".git" / "info" / "exclude").write_text("b.yaml\n")
    assert found() == ["a.yaml"]


def test_ignore_files_above_the_repository_do_not_hold(folder: Path) -> None:
    touch(folder, "inner/a.yaml")
    (folder / "inner" / ".git").mkdir()
    (folder / ".gitignore").write_text("*.yaml\n")
    assert found("inner") == ["inner/a.yaml"]


def test_exclude_settings(folder: Path) -> None:
    touch(folder, "conf/a.yaml", "conf/old/b.yaml", "old/c.yaml")
    settings = Settings(folder=str(folder), exclude=("conf/old",))
    assert found(settings=settings) == ["conf/a.yaml", "old/c.yaml"]
    assert found("conf/old", "conf/old/b.yaml", settings=settings) == ["conf/old/b.yaml"]
    assert found("conf/old/b.yaml", "old/c.yaml", settings=settings, force_exclude=True) == ["old/c.yaml"]


def test_a_folder_without_rights_is_said_and_the_rest_is_walked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, a__x_yaml=CLEAN, b__x_yaml=CLEAN)
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("a"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = check(".")
    assert (ran.code, ran.err) == (2, "fsdplint: a: Permission denied\n")
    assert ran.statuses == {"a": "failed", "b/x.yaml": "checked"}


def test_a_file_without_rights_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, x_yaml=CLEAN)

    def deny(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fsdplint.inputs._read", deny)
    assert run("check", "x.yaml").err == "fsdplint: x.yaml: Permission denied\n"


# Patterns

PATTERNS = (
    *("*.yaml", "/a.yaml", "a/b.yaml", "a/", "!a/b.yaml", "**/b", "a/**", "a/**/c.yaml", "b*", "[a-b].yaml", "[!a].yaml", "?.yaml"),
    *("\\!a.yaml", "c/ ", "a.yaml\\ ", "**", "foo*/", "/b/", "b/*", "!*.yaml", "c", "[[]a.yaml", "a**b", "# a", "", "[", "/", "!"),
)
PATHS = (
    *("a.yaml", "b.yaml", "a/b.yaml", "a/a.yaml", "a/x/c.yaml", "a/c.yaml", "b/c/a.yaml", "c/b/c.yaml", "b/b/b.yaml", "!a.yaml"),
    *("foo1/a.yaml", "[a.yaml", "axb.yaml", "c/a"),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("seed", range(40))
def test_patterns_mean_what_they_mean_to_git(folder: Path, seed: int) -> None:
    shutil.rmtree(folder / ".git")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    touch(folder, *PATHS)
    lines = random.Random(seed).choices(PATTERNS, k=1 + seed % 4)
    (folder / ".gitignore").write_text("\n".join(lines) + "\n")
    asked = ["git", "check-ignore", "-z", "--stdin", "--no-index"]
    told = subprocess.run(asked, cwd=folder, input="\0".join(PATHS), capture_output=True, text=True, check=False).stdout
    ours = {path for path in PATHS if _is_ignored(Ignore(tuple(lines)), path)}
    assert ours == set(filter(None, told.split("\0"))), lines


def _is_ignored(patterns: Ignore, path: str) -> bool:
    """As a walk sees it: what lies in an ignored folder is not come to."""
    parts = path.split("/")
    return any(patterns.verdict("/".join(parts[:end]), True) for end in range(1, len(parts))) or bool(patterns.verdict(path, False))


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("*.yaml", "a/b.yaml", True),
        ("a", "a/b.yaml", True),
        ("a/", "a/b.yaml", True),
        ("/b.yaml", "a/b.yaml", False),
        ("a/**", "a/b/c.yaml", True),
        ("**/c.yaml", "c.yaml", True),
        ("#a", "#a", False),
        ("\\#a", "#a", True),
    ],
)
def test_covers(pattern: str, path: str, covered: bool) -> None:
    assert Ignore((pattern,)).covers(path) is covered


# The look at the bytes


def test_every_example_of_a_rule_has_a_marker() -> None:
    """A file that any rule speaks of is never passed over unparsed."""
    pages = [cleandoc(rule.__doc__ or "") for rule in load_pack().rules]
    examples = [text for page in pages for text in re.findall(r"```(?:yaml|toml|json)\n(.*?)```", page, re.DOTALL)]
    assert len(examples) > 50
    assert [text for text in examples if recognise(parse(text, "")) and not any(marker in text.encode() for marker in MARKERS)] == []


def test_every_recognised_file_of_the_corpus_has_a_marker(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "files").rglob("*.*")):
        data = path.read_bytes()
        if path.is_file() and len(data) < 100_000 and not any(marker in data for marker in MARKERS):
            assert recognise(parse(data, path.name)) is None, path


def test_files_without_any_marker_are_not_parsed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, a_yaml=FOREIGN)
    monkeypatch.setattr("fsdplint.inputs.parse", None)
    assert run("check", "a.yaml").code == 0
