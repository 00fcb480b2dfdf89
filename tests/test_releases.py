"""Which releases are known, and what a framework's release brings along."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from fsdplint import releases
from fsdplint.versions import canonical, clauses, release, satisfies

TABLE = json.loads(Path(releases.__file__).with_name("releases.json").read_text(encoding="utf-8"))
FACTS = Path(__file__).parents[1].parent / "shared" / "facts"


@pytest.mark.parametrize("package", releases.NEWEST)
def test_a_list_is_sorted_and_holds_the_newest(package: str) -> None:
    listed = [release(text) for text in TABLE["releases"][package]]
    assert None not in listed
    assert listed == sorted(set(listed))
    assert releases.newest(package) in listed
    assert releases.known(package) == tuple(listed)


def test_every_list_has_a_newest() -> None:
    assert set(TABLE["releases"]) == set(releases.NEWEST)


@pytest.mark.parametrize("package", ["torchtitan", "nemo-toolkit"])
def test_the_newest_release_that_reads_files_is_not_the_last(package: str) -> None:
    assert releases.newest(package) == releases.known(package)[-2]


@pytest.mark.parametrize("package", sorted({*releases.NEWEST_STACKS, *TABLE["stacks"]}))
def test_stacks_are_sorted_and_name_known_packages(package: str) -> None:
    older = TABLE["stacks"].get(package, {})
    numbers = [release(text) for text in older]
    assert numbers == sorted(numbers)
    assert all(number < releases.newest(package) for number in numbers)
    for stack in (*older.values(), releases.NEWEST_STACKS[package]):
        assert stack.keys() <= releases.NEWEST.keys() - {package}
        assert all(release(text) <= releases.known(name)[-1] for name, text in stack.items())


@pytest.mark.parametrize(
    ("at", "transformers"),
    [
        ("0.19.0", "5.16.1"),
        ("0.20.0", "5.16.1"),  # not out yet: like the newest
        ("0.18.0", "5.14.1"),
        ("0.12.1", "4.55.0"),  # not listed: like 0.12.0
        ("0.8.0", "4.50.3"),
    ],
)
def test_axolotl_pins_its_stack(at: str, transformers: str) -> None:
    assert releases.stack("axolotl", release(at) or ())["transformers"] == transformers


def test_no_stack_below_the_first_listed_release_nor_without_a_table() -> None:
    assert releases.stack("axolotl", (0, 4)) == {}
    assert releases.stack("trl", (1, 16)) == {}
    assert releases.stack("somebody-elses", (1,)) == {}


def test_a_stack_leaves_open_what_the_release_leaves_open() -> None:
    assert "torch" not in releases.stack("axolotl", (0, 16))
    assert releases.stack("llamafactory", (0, 9, 5)) == {
        "transformers": "5.6.0",
        "accelerate": "1.11.0",
        "trl": "0.24.0",
        "peft": "0.18.1",
    }


@pytest.mark.parametrize(
    ("package", "specifier", "inside"),
    [
        ("accelerate", "==1.15.0", ["1.15.0"]),
        ("accelerate", "==9.9", ["9.9"]),  # that very release, even if unknown
        ("accelerate", ">=1.5,<1.7", ["1.6.0", "1.5.2", "1.5.0"]),
        ("torch", "==2.3.*", ["2.3.1", "2.3.0"]),
        ("torch", "~=2.12", ["2.13.0", "2.12.1", "2.12.0"]),
        ("torchtitan", ">=0.2.2", ["0.3.0", "0.2.2"]),
        ("torch", ">=2.14", ["2.14"]),  # none known inside: its own bound
        ("accelerate", ">=1.5.1,<1.5.2", ["1.5.1"]),
        ("torch", ">=2.14,<=2.15", ["2.15", "2.14"]),
        ("torch", ">2.13", ["2.13"]),  # no bound inside: the nearest below
        ("torch", ">2.13,<2.12", []),
        ("torch", "<1.0", []),
        ("somebody-elses", ">=1.2", ["1.2"]),
        ("somebody-elses", ">1.2", []),
    ],
)
def test_within(package: str, specifier: str, inside: list[str]) -> None:
    assert releases.within(package, specifier) == tuple(release(text) for text in inside)


@pytest.mark.parametrize(
    ("package", "specifier", "number"),
    [
        ("accelerate", ">=0.20", "1.15.0"),
        ("accelerate", "<1.6", "1.5.2"),
        ("accelerate", "!=1.15.0", "1.14.0"),
        ("torch", ">=2.14", "2.14"),
        ("torchtitan", ">=0.1", "0.2.2"),
        ("torchtitan", ">=0.3", "0.3.0"),
        ("torch", "<1.0", None),
    ],
)
def test_newest_within(package: str, specifier: str, number: str | None) -> None:
    assert releases.newest_within(package, specifier) == (release(number) if number else None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acelerate", "accelerate"),
        ("llama-factory", "llamafactory"),
        ("LLaMA_Factory", "llamafactory"),
        ("transformer", "transformers"),
        ("accelerate", None),
        ("LLM_Foundry", None),
        ("numpy", None),
    ],
)
def test_nearest_name(name: str, meant: str | None) -> None:
    assert releases.nearest_name(name) == meant


def installed_from(folder: Path, **versions: str) -> None:
    for name, version in versions.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")


def test_installed_asks_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_from(tmp_path, torch="2.6.0+cu124", soup_cli="0.77.0", numpy="2.0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = releases.installed(sys.executable)
    assert (found["torch"], found["soup-cli"]) == ("2.6.0+cu124", "0.77.0")
    assert found.keys() <= releases.NEWEST.keys()


def test_installed_does_not_run_what_lies_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert isinstance(releases.installed(sys.executable), dict)


def test_installed_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"No such file|cannot find"):
        releases.installed(str(tmp_path / "python"))
    monkeypatch.setattr(releases, "_ASK", "print('hello')")
    with pytest.raises(ValueError, match="not a Python interpreter"):
        releases.installed(sys.executable)
    monkeypatch.setattr(releases, "_ASK", "raise RuntimeError('broken')")
    with pytest.raises(ValueError, match="RuntimeError: broken"):
        releases.installed(sys.executable)
    monkeypatch.setattr(releases, "_ASK", "import time; time.sleep(60)")
    monkeypatch.setattr(releases, "ASK_SECONDS", 0.2)
    with pytest.raises(ValueError, match=re.escape("no answer within 0.2 seconds")):
        releases.installed(sys.executable)


def ranges() -> list[str]:
    """Every version range of the facts, one package each."""
    found = set()
    for file in sorted(FACTS.glob("*/facts.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts = [row.get("versions"), *(other["versions"] for other in row.get("other_ranges") or ())]
            found |= {part.strip() for text in texts if text for part in text.split("&")}
    return sorted(found)


@pytest.mark.skipif(not FACTS.is_dir(), reason="the facts are not here")
def test_every_range_of_the_facts_has_known_releases_on_both_sides_of_its_bounds() -> None:
    parsed = [match.groups() for text in ranges() if (match := re.fullmatch(r"([a-z-]+?)((?:[<>=!~]+[\d.]+,?)+)", text))]
    assert len(parsed) > 150
    unreached = []
    for name, specifier in parsed:
        known = releases.known(canonical(name))
        inside = any(satisfies(number, specifier) for number in known)
        floors = [bound for operator, bound, _ in clauses(specifier) if operator in (">=", "==")]
        ceilings = [bound for operator, bound, _ in clauses(specifier) if operator == "<"]
        sides = all(known and known[0] < c for c in ceilings) and all(known and known[-1] >= f for f in floors)
        if not (inside and sides):
            unreached.append(f"{name}{specifier}")
    # That one tells of a development branch.
    assert unreached == ["torchtune>0.6.1"]


@pytest.mark.parametrize(
    ("others", "number"),
    [
        ({}, "1.16.0"),
        ({"transformers": "5.24.0", "accelerate": "1.15.0"}, "1.16.0"),
        ({"transformers": "5.24.0", "accelerate": "1.5.2"}, "1.15.0"),
        ({"transformers": "4.56.1"}, "0.28.0"),
        ({"transformers": "4.50.3", "accelerate": "1.6.0"}, "0.18.2"),
        ({"transformers": "4.45.0"}, "0.12.2"),
        ({"transformers": "4.20.0"}, "1.16.0"),
    ],
)
def test_newest_trl_beside_others(others: dict[str, str], number: str) -> None:
    found = releases.newest_beside("trl", {name: release(version) or () for name, version in others.items()})
    assert found == release(number)
