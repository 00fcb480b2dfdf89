"""What a launch is meant to run on: who decides, which points a rule looks at, and how it is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fsdplint import releases, target
from fsdplint.target import Pin, Target, TargetError, Versions, resolve_target

SHARED = Path(__file__).parents[1].parent / "shared"


@pytest.fixture(autouse=True)
def fresh() -> None:
    target.forget()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is the current folder."""
    root = tmp_path.resolve() / "repository"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def told(pins: dict[str, Pin]) -> dict[str, str]:
    """Pins as ``specifier from source``."""
    return {name: f"{pin.specifier} from {pin.source}" for name, pin in pins.items()}


def texts(points: tuple[Versions, ...], *packages: str) -> list[str]:
    return [" ".join(point.text(package) for package in packages) for point in points]


# Versions: one point


def test_has() -> None:
    versions = Versions({"accelerate": (1, 6), "torch": (2, 5, 1)})
    assert versions.has("accelerate>=1.6.0 & torch<2.6.0")
    assert not versions.has("accelerate>=1.7.0")
    assert not versions.has("trl>=0.1")
    assert versions.has("")
    with pytest.raises(ValueError, match="not a version specifier"):
        versions.has("accelerate=1.6")


def test_a_point_is_a_value() -> None:
    one, two = Versions({"torch": (2, 6)}), Versions({"torch": (2, 6)})
    assert one == two
    assert len({one, two, Versions({"torch": (2, 7)})}) == 2
    assert one != Versions({"torch": (2, 6), "trl": (1,)})
    assert (one.release("torch"), one.release("trl")) == ((2, 6), None)
    assert (one.get("torch", (1,)), one.get("trl", (1,)), one.get("trl")) == ((2, 6), (1,), None)
    assert (one.text("torch"), one.text("trl")) == ("2.6.0", "")
    assert one.is_older("torch>=2.7")
    assert not one.is_older("trl>=2.7")
    assert repr(one) == "Versions(torch 2.6.0)"


# Nobody says anything


def test_the_newest_is_assumed() -> None:
    filled = resolve_target().for_dialect("accelerate")
    assert told(filled.pins)["accelerate"] == "==1.15.0 from newest known"
    assert filled.pins.keys() == releases.NEWEST.keys()
    assert not any(pin.declared for pin in filled.pins.values())
    assert filled.points() == (filled.at_newest,)
    assert filled.at_newest.has("accelerate==1.15.0 & torch==2.13.0 & transformers==5.24.0 & llamafactory==0.9.6")


def test_before_a_dialect_only_what_was_stated_is_there() -> None:
    stated = resolve_target(options=["torch==2.6.0"])
    assert told(stated.pins) == {"torch": "==2.6.0 from --target"}
    assert not stated.at_newest.has("accelerate>=0")


def test_a_file_that_no_package_reads() -> None:
    assert resolve_target().for_dialect(None).at_newest.has("accelerate==1.15.0")


def test_a_dialect_brings_its_pins() -> None:
    pins = told(resolve_target().for_dialect("axolotl").pins)
    assert pins["axolotl"] == "==0.19.0 from newest known"
    assert pins["transformers"] == "==5.16.1 from pinned by axolotl 0.19.0"
    assert pins["accelerate"] == "==1.13.0 from pinned by axolotl 0.19.0"
    assert pins["trl"] == "==1.9.0 from pinned by axolotl 0.19.0"
    assert pins["torch"] == "==2.12.1 from pinned by axolotl 0.19.0"
    assert pins["lightning"] == "==2.6.6 from newest known"


def test_the_dialects_release_decides_on_its_pins() -> None:
    old = resolve_target(options=["axolotl==0.8.0", "accelerate==1.6.0"]).for_dialect("axolotl")
    assert told(old.pins)["transformers"] == "==4.50.3 from pinned by axolotl 0.8.0"
    assert told(old.pins)["accelerate"] == "==1.6.0 from --target"
    assert old.at_newest.has("axolotl==0.8.0 & transformers==4.50.3 & accelerate==1.6.0 & torch==2.13.0")


def test_in_a_launch_of_two_dialects_the_first_decides() -> None:
    launch = resolve_target().for_dialect("axolotl").for_dialect("accelerate")
    assert launch.dialects == ("axolotl", "accelerate")
    assert launch.at_newest.has("accelerate==1.13.0 & transformers==5.16.1")
    assert launch.for_dialect("llamafactory").at_newest.has("transformers==5.16.1 & llamafactory==0.9.6")


def test_a_pinned_dialect_pins_in_turn() -> None:
    launch = resolve_target(options=["llm-foundry==0.11.0"]).for_dialect("llm-foundry").for_dialect("mosaicml")
    assert launch.at_newest.has("mosaicml==0.23.5 & torch==2.3.1")


def test_targets_are_made_once() -> None:
    once = resolve_target(options=["torch==2.6.0"])
    assert resolve_target(options=["torch==2.6.0"]) is once
    assert once.for_dialect("axolotl") is once.for_dialect("axolotl")
    assert once.for_dialect("axolotl").for_dialect("axolotl") is once.for_dialect("axolotl")
    assert once.for_dialect("axolotl").for_dialect(None) is once.for_dialect("axolotl")


# --target


def test_options() -> None:
    pins = resolve_target(options=["Torch >= 2.4, < 2.6", "llm_foundry==0.22.0", "accelerate[testing]==1.5.2"]).pins
    assert told(pins) == {
        "torch": ">=2.4,<2.6 from --target",
        "llm-foundry": "==0.22.0 from --target",
        "accelerate": "==1.5.2 from --target",
    }
    assert pins["torch"].points == ((2, 5, 1), (2, 5), (2, 4, 1), (2, 4))
    assert all(pin.declared for pin in pins.values())


def test_several_options_for_a_package_hold_together() -> None:
    pins = resolve_target(options=["torch>=2.4", "torch<2.5"]).pins
    assert told(pins) == {"torch": ">=2.4,<2.5 from --target"}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("accelerate=1.2", "--target accelerate=1.2: use accelerate==1.2"),
        ("accelerate 1.2", "--target accelerate 1.2: use accelerate==1.2"),
        ("accelerate", "--target accelerate: name a version, too, such as accelerate==1.15.0"),
        ("torch=>2.4", "--target torch=>2.4: unknown operator '=>', did you mean >=?"),
        ("torch==nightly", "--target torch==nightly: invalid version 'nightly'"),
        ("torch==", "--target torch==: no version after '=='"),
        ("==1.2", "--target ==1.2: not a requirement: '==1.2'"),
        ("", "--target : not a requirement: ''"),
    ],
)
def test_bad_options(option: str, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        resolve_target(options=[option])
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


def test_two_versions_of_one_package() -> None:
    with pytest.raises(TargetError, match=r"--target torch==2\.5: two versions of torch, ==2\.4 and ==2\.5"):
        resolve_target(options=["torch==2.4", "torch==2.5"])


def test_any_package_name_is_allowed() -> None:
    stated = resolve_target(options=["megatron-core==0.9", "torch==2.6"])
    assert stated.unknown_packages() == ("megatron-core",)
    assert stated.notes == ()
    assert stated.for_dialect("accelerate").at_newest.has("megatron-core>=0.9")


def test_a_near_miss_is_a_note() -> None:
    stated = resolve_target(options=["acelerate==1.5"])
    assert stated.notes == ("--target: no table knows acelerate; did you mean accelerate?",)
    assert stated.unknown_packages() == ("acelerate",)


@pytest.mark.parametrize(
    ("version", "met"),
    [("2.2.0a0+git", True), ("2.10.0", True), ("2", False), ("2.1.2", False), ("2.13.0+cpu", True)],
)
def test_a_floor_looks_at_the_release(version: str, met: bool) -> None:
    assert resolve_target(options=[f"torch=={version}"]).at_newest.has("torch>=2.2.0") is met


def test_of_a_package_without_any_known_release_nothing_is_assumed() -> None:
    filled = resolve_target(options=["torch<1.0"]).for_dialect("accelerate")
    assert filled.pins["torch"].points == ()
    assert not filled.at_newest.has("torch>=0")
    assert not filled.at_newest.has("torch<1")


def test_lightning_goes_by_two_names() -> None:
    filled = resolve_target(options=["pytorch-lightning==2.1.4"]).for_dialect("lightning")
    assert filled.at_newest.has("lightning==2.1.4 & pytorch-lightning==2.1.4")
    both = resolve_target(options=["pytorch-lightning==2.1.4", "lightning==2.2.0"])
    assert both.at_newest.has("lightning==2.2.0 & pytorch-lightning==2.1.4")
    interval = resolve_target(options=["pytorch-lightning>=2.6.4"])
    assert texts(interval.points(), "lightning", "pytorch-lightning") == ["2.6.6 2.6.6", "2.6.5 2.6.5", "2.6.4 2.6.4"]


# Settings


def test_settings() -> None:
    pins = resolve_target(settings={"Torch": "2.6.0", "accelerate": ">= 1.5, < 1.7"}, settings_source="fsdplint.toml [target]").pins
    assert told(pins) == {
        "torch": "==2.6.0 from fsdplint.toml [target]",
        "accelerate": ">=1.5,<1.7 from fsdplint.toml [target]",
    }
    assert pins["accelerate"].points == ((1, 6), (1, 5, 2), (1, 5))


def test_bad_settings() -> None:
    with pytest.raises(TargetError) as caught:
        resolve_target(settings={"torch": "=2.6"})
    assert str(caught.value) == '[tool.fsdplint.target] torch = "=2.6": use torch==2.6'


# Devices


@pytest.mark.parametrize("device", target.DEVICES)
def test_devices(device: str) -> None:
    stated = resolve_target(device=device.upper())
    assert (stated.device, stated.device_source) == (device, "--device")
    assert stated.for_dialect("axolotl").device == device


@pytest.mark.parametrize(
    ("device", "hint"),
    [("gpu", "; did you mean cuda?"), ("cuda0", "; did you mean cuda?"), ("rocmm", "; did you mean rocm?"), ("qqqq", "")],
)
def test_unknown_devices(device: str, hint: str) -> None:
    with pytest.raises(TargetError) as caught:
        resolve_target(device=device)
    allowed = "cuda, rocm, xpu, npu, hpu, mlu, musa, mps, cpu, tpu"
    assert str(caught.value) == f"--device {device}: unknown device, use one of {allowed}{hint}"


def test_gpus() -> None:
    stated = resolve_target(gpus=8, gpus_source="settings").for_dialect("axolotl")
    assert (stated.gpus, stated.gpus_source) == (8, "settings")
    assert (resolve_target().gpus, resolve_target().device, resolve_target().device_source) == (None, None, "")
    with pytest.raises(TargetError, match="--gpus 0: a launch has at least one process"):
        resolve_target(gpus=0)


# Points of intervals


def test_one_interval() -> None:
    filled = resolve_target(options=["accelerate>=1.5,<1.8"]).for_dialect("accelerate")
    assert texts(filled.points(), "accelerate", "torch") == ["1.7.0 2.13.0", "1.6.0 2.13.0", "1.5.2 2.13.0", "1.5.0 2.13.0"]


def test_two_intervals() -> None:
    stated = resolve_target(options=["accelerate>=1.5,<1.7", "torch>=2.12"])
    assert texts(stated.points(), "accelerate", "torch") == [
        "1.6.0 2.13.0",
        "1.5.2 2.13.0",
        "1.5.0 2.13.0",
        "1.6.0 2.12.1",
        "1.6.0 2.12.0",
        "1.5.0 2.12.0",
    ]
    assert stated.at_newest is stated.points()[0]


def test_no_point_comes_twice() -> None:
    stated = resolve_target(options=["accelerate>=1.6,<1.8"])
    assert texts(stated.points(), "accelerate") == ["1.7.0", "1.6.0"]


def test_an_interval_of_the_dialect_takes_its_pins_along() -> None:
    filled = resolve_target(options=["axolotl>=0.16.1,<0.19", "trl==1.0.0"]).for_dialect("axolotl")
    assert texts(filled.points(), "axolotl", "transformers", "torch", "trl") == [
        "0.18.0 5.14.1 2.12.1 1.0.0",
        "0.17.0 5.9.0 2.13.0 1.0.0",
        "0.16.1 5.5.0 2.13.0 1.0.0",
    ]
    assert filled.runs(point for point in filled.points() if point.has("transformers<5.10")) == "axolotl 0.16.1-0.17.0"


@pytest.mark.parametrize(
    ("options", "fault", "told"),
    [
        (["transformers>=5.4,<5.13"], "transformers>=5.4,<5.10", "transformers 5.4.0-5.9.0"),
        (["transformers>=5.9,<5.13"], "transformers>=5.4,<5.10", "transformers 5.9.0"),
        (["accelerate>=1.4,<1.8"], "accelerate!=1.5.2", "accelerate 1.4.0-1.5.0, 1.6.0-1.7.0"),
        (["accelerate>=1.6,<1.8"], "accelerate>=1", "accelerate 1.6.0-1.7.0"),
        (["accelerate>=1.6,<1.8"], "accelerate>=2", ""),
        (["accelerate==1.6"], "accelerate>=1", ""),
        # two intervals: each alone, both together at the newest, and only both together at the lowest
        (["accelerate>=1.5,<1.7", "torch>=2.12"], "accelerate<1.6", "accelerate 1.5.0-1.5.2"),
        (["accelerate>=1.5,<1.7", "torch>=2.12"], "accelerate>=1.6 & torch>=2.12.1", "accelerate 1.6.0 with torch 2.12.1-2.13.0"),
        (["accelerate>=1.5,<1.7", "torch>=2.12"], "accelerate<1.6 & torch<2.12.1", "accelerate 1.5.0 with torch 2.12.0"),
    ],
)
def test_runs(options: list[str], fault: str, told: str) -> None:
    filled = resolve_target(options=options).for_dialect("accelerate")
    assert filled.runs([point for point in filled.points() if point.has(fault)]) == told


def test_runs_of_packages_of_which_each_suffices() -> None:
    stated = resolve_target(options=["accelerate>=1.5,<1.7", "torch>=2.12.1"])
    hits = [point for point in stated.points() if point.has("accelerate<1.5.2") or point.has("torch<2.13")]
    assert stated.runs(hits) == "accelerate 1.5.0 or torch 2.12.1"


# --python


def test_the_interpreter_counts_below_options_and_above_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    installed = {"torch": "2.6.0+cu124", "accelerate": "1.5.2", "trl": "unreadable"}
    monkeypatch.setattr(releases, "installed", lambda python: asked.append(python) or installed)
    for _ in range(2):
        stated = resolve_target(options=["accelerate==1.6.0"], settings={"torch": "==2.1", "trl": "==1.0"}, python="venv/bin/python")
    assert told(stated.pins) == {
        "accelerate": "==1.6.0 from --target",
        "torch": "==2.6.0+cu124 from --python venv/bin/python",
        "trl": "==1.0 from [tool.fsdplint.target]",
    }
    assert asked == ["venv/bin/python"]


def test_an_interpreter_without_anything_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "installed", lambda _: {})
    assert resolve_target(python="py").notes == ("--python py: none of the packages that count is installed there",)


def test_an_interpreter_that_does_not_answer(tmp_path: Path) -> None:
    python = str(tmp_path / "python")
    with pytest.raises(TargetError) as caught:
        resolve_target(python=python)
    assert str(caught.value).startswith(f"--python {python}: ")


# Requirement files


def test_the_nearest_file_decides_package_by_package(repository: Path) -> None:
    (repository / "configs" / "deep").mkdir(parents=True)
    (repository / "requirements.txt").write_text("numpy\ntorch==2.1.0\naccelerate==1.0.0\n", encoding="utf-8")
    (repository / "configs" / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    stated = resolve_target(start=Path("configs/deep"), options=["trl==1.0.0"], settings={"peft": "==0.15.0"})
    assert told(stated.pins) == {
        "trl": "==1.0.0 from --target",
        "peft": "==0.15.0 from [tool.fsdplint.target]",
        "torch": "==2.6.0 from configs/requirements.txt:1",
        "accelerate": "==1.0.0 from requirements.txt:3",
    }
    assert stated.pins["torch"].declared


def test_options_and_settings_beat_files_and_files_beat_the_dialect(repository: Path) -> None:
    (repository / "uv.lock").write_text(
        "".join(f'[[package]]\nname = "{name}"\nversion = "1.0.0"\n' for name in ("torch", "accelerate", "trl")), encoding="utf-8"
    )
    stated = resolve_target(start=repository, options=["torch==2.0.0"], settings={"accelerate": "==2.0.0", "torch": "==3.0.0"})
    filled = told(stated.for_dialect("axolotl").pins)
    assert filled["torch"] == "==2.0.0 from --target"
    assert filled["accelerate"] == "==2.0.0 from [tool.fsdplint.target]"
    assert filled["trl"] == "==1.0.0 from uv.lock:9"
    assert filled["transformers"] == "==5.16.1 from pinned by axolotl 0.19.0"


@pytest.mark.parametrize(
    ("requirement", "points", "declared"),
    [
        ("accelerate>=0.20", ["1.15.0"], False),  # a lower bound alone that was only discovered
        ("accelerate>1.5", ["1.15.0"], False),
        ("accelerate<1.6", ["1.5.2"], False),
        ("accelerate>=1.5,<1.7", ["1.6.0", "1.5.2", "1.5.0"], True),
        ("accelerate~=1.5.0", ["1.5.2", "1.5.0"], True),
        ("accelerate==1.5.*", ["1.5.2", "1.5.0"], True),
        ("accelerate==1.5.2", ["1.5.2"], True),
        ("accelerate>=9", ["9.0.0"], False),
    ],
)
def test_discovered_bounds(repository: Path, requirement: str, points: list[str], declared: bool) -> None:
    (repository / "requirements.txt").write_text(f"{requirement}\n", encoding="utf-8")
    stated = resolve_target(start=repository)
    assert texts(stated.points(), "accelerate") == points
    assert stated.pins["accelerate"].declared is declared
    assert stated.pins["accelerate"].source == "requirements.txt:1"


def test_a_declared_lower_bound_means_the_interval() -> None:
    assert len(resolve_target(options=["accelerate>=1.13"]).points()) == 3
    assert len(resolve_target(settings={"accelerate": ">=1.13"}).points()) == 3


def test_a_mere_bound_yields_to_what_the_dialect_pins(repository: Path) -> None:
    (repository / "requirements.txt").write_text("accelerate>=0.20\ntransformers>=5.20\ntorch>=2.0,<3\n", encoding="utf-8")
    stated = resolve_target(start=repository)
    filled = told(stated.for_dialect("axolotl").pins)
    assert filled["accelerate"] == "==1.13.0 from pinned by axolotl 0.19.0"
    assert filled["transformers"] == ">=5.20 from requirements.txt:2"  # which axolotl's 5.16.1 does not meet
    assert filled["torch"] == ">=2.0,<3 from requirements.txt:3"
    assert stated.for_dialect("axolotl").at_newest.has("accelerate==1.13.0 & transformers==5.24.0 & torch==2.13.0")
    assert stated.for_dialect("accelerate").at_newest.has("accelerate==1.15.0")


def test_a_name_without_a_version_says_nothing(repository: Path) -> None:
    (repository / "requirements.txt").write_text("accelerate\ntransformers\n", encoding="utf-8")
    filled = resolve_target(start=repository).for_dialect("axolotl")
    assert told(filled.pins)["accelerate"] == "==1.13.0 from pinned by axolotl 0.19.0"


def test_isolated_leaves_out_settings_and_files(repository: Path) -> None:
    (repository / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    stated = resolve_target(start=repository, settings={"torch": "==2.5.0"}, options=["trl==1.0"], isolated=True)
    assert told(stated.pins) == {"trl": "==1.0 from --target"}


def test_nothing_above_the_repository_counts(repository: Path) -> None:
    (repository.parent / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    assert resolve_target(start=repository).pins == {}


def test_without_a_repository_the_current_folder_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path.resolve()
    inner = root / "current" / "configs" / "deep"
    inner.mkdir(parents=True)
    (root / "requirements.txt").write_text("peft==0.15.0\n", encoding="utf-8")
    (root / "current" / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    (inner / "requirements.txt").write_text("trl==1.0.0\n", encoding="utf-8")
    monkeypatch.chdir(root / "current")
    assert resolve_target(start=inner).pins.keys() == {"trl", "torch"}
    assert resolve_target(start=Path("configs")).pins.keys() == {"torch"}
    monkeypatch.chdir(inner)
    assert resolve_target(start=Path("..")).pins.keys() == set()
    assert resolve_target(start=root).pins.keys() == {"peft"}


def test_files_outside_the_current_folder_are_named_as_seen_from_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    (repository / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(repository / "a" / "b")
    assert resolve_target(start=Path()).pins["torch"].source == "../../requirements.txt:1"
    (repository / "c").mkdir()
    (repository / "c" / "requirements.txt").write_text("trl==1.0.0\n", encoding="utf-8")
    assert resolve_target(start=repository / "c").pins["trl"].source == f"{(repository / 'c').as_posix()}/requirements.txt:1"


def test_a_file_is_read_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsdplint import requirement_files

    for name in ("a", "b"):
        (repository / name).mkdir()
    (repository / "requirements.txt").write_text("torch==2.6.0\n", encoding="utf-8")
    opened = []
    monkeypatch.setattr(requirement_files, "_text", lambda file: opened.append(file.name) or "torch==2.6.0\n")
    for _ in range(3):
        assert resolve_target(start=Path("a")).pins.keys() == resolve_target(start=Path("b")).pins.keys() == {"torch"}
    assert opened == ["requirements.txt"]
    target.forget()
    resolve_target(start=Path("a"))
    assert opened == ["requirements.txt"] * 2


def test_a_file_that_cannot_be_read_is_a_note(repository: Path) -> None:
    (repository / "pyproject.toml").write_text("[torch\n", encoding="utf-8")
    (repository / "requirements.txt").write_text("torch==2.6.0\naccelerate=1.0\n", encoding="utf-8")
    stated = resolve_target(start=repository)
    assert told(stated.pins) == {"torch": "==2.6.0 from requirements.txt:1"}
    assert stated.notes[0] == "requirements.txt: line 2: not a version specifier: '=1.0'"
    assert stated.notes[1].startswith("pyproject.toml: ")
    assert stated.for_dialect("axolotl").notes == stated.notes


def test_folders_that_do_not_exist_and_odd_entries_say_nothing(repository: Path) -> None:
    (repository / "requirements.txt").mkdir()
    assert resolve_target(start=Path("nowhere/at/all")).pins == {}


def test_file_names_that_count(repository: Path) -> None:
    names = ["requirements-dev.txt", "Requirements_gpu.txt", "requirements.in", "my-requirements.txt", "requirements.txt.bak"]
    for package, name in zip(["torch", "accelerate", "trl", "peft", "deepspeed"], names, strict=True):
        (repository / name).write_text(f"{package}==1.0\n", encoding="utf-8")
    assert resolve_target(start=repository).pins.keys() == {"torch", "accelerate"}


# What the hot path costs

PROBE = """
import sys, pathlib, functools, re, typing, collections.abc
before = set(sys.modules)
from fsdplint.target import resolve_target
target = resolve_target(start=pathlib.Path(sys.argv[1]), device="cuda").for_dialect("axolotl")
assert target.at_newest.has("axolotl==0.19.0 & transformers==5.16.1")
print(*sorted(set(sys.modules) - before))
"""


def loaded(folder: Path) -> set[str]:
    command = [sys.executable, "-c", PROBE, str(folder)]
    return set(subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"json", "packaging", "tomli", "yaml", "difflib", "subprocess", "importlib.metadata", "jsonschema", "tempfile", "logging"}


def test_a_target_of_a_bare_repository_loads_nothing_heavy(repository: Path) -> None:
    found = loaded(repository)
    assert "fsdplint.target" in found
    assert not found & (HEAVY | {"fsdplint.requirement_files"})


def test_a_plain_requirement_file_loads_only_its_reader(repository: Path) -> None:
    (repository / "requirements.txt").write_text("accelerate>=0.20\ntorch==2.6.0\n", encoding="utf-8")
    (repository / "pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    found = loaded(repository)
    assert "fsdplint.requirement_files" in found
    assert not found & HEAVY


# The versions that configs were really run with


@pytest.mark.skipif(not SHARED.is_dir(), reason="the cases are not here")
def test_the_versions_of_all_cases_are_understood() -> None:
    lines = (SHARED / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    seen = {json.dumps(json.loads(line)["target"], sort_keys=True) for line in lines}
    assert len(seen) > 40
    for text in sorted(seen):
        stated = json.loads(text)
        options = [f"{name}=={version}" for name, version in stated.items() if name not in ("device", "num_gpus")]
        resolved = resolve_target(options=options, device=stated["device"], gpus=stated.get("num_gpus"))
        assert (resolved.device, resolved.gpus) == (stated["device"], stated.get("num_gpus"))
        assert len(resolved.points()) == 1
        assert all(resolved.at_newest.has(option) for option in options)
        assert resolved.unknown_packages() == ()


def test_a_target_can_be_made_of_pins() -> None:
    made = Target({"torch": Pin.stated("torch", "==2.6.0", "a test")}, device="cpu")
    assert made.at_newest.has("torch==2.6.0")
    assert repr(made.pins["torch"]) == "Pin(torch==2.6.0, 'a test')"
