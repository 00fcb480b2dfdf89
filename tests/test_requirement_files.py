"""What each kind of requirement file says, with the line that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsdplint import requirement_files
from fsdplint.requirement_files import read

if TYPE_CHECKING:
    from pathlib import Path


class Project:
    """A folder of requirement files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str | bytes) -> None:
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def says(self, *names: str) -> list[str]:
        """All statements as ``package specifier file:line``."""
        found, remarks = read(self.folder, names or [file.name for file in self.folder.iterdir() if file.is_file()])
        assert remarks == []
        return sorted(f"{s.package} {s.specifier} {s.file.relative_to(self.folder).as_posix()}:{s.line}" for s in found)

    def remarks(self, *names: str) -> list[tuple[str, str]]:
        return [(file.name, reason) for file, reason in read(self.folder, names)[1]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


# requirements.txt


def test_requirements(project: Project) -> None:
    project.write(
        "requirements.txt",
        """\
# accelerate==0.1
--extra-index-url https://example.org/whl

torch == 2.6.0        # the cluster's
Accelerate[testing]>=1.2, <1.5
transformers ~= 4.51.0
llm_foundry==0.22.0
peft (>=0.10)
numpy==1.26
trl
-e .
./bitsandbytes==0.1
""",
    )
    assert project.says() == [
        "accelerate >=1.2,<1.5 requirements.txt:5",
        "llm-foundry ==0.22.0 requirements.txt:7",
        "peft >=0.10 requirements.txt:8",
        "torch ==2.6.0 requirements.txt:4",
        "transformers ~=4.51.0 requirements.txt:6",
    ]


def test_hashes_and_continued_lines(project: Project) -> None:
    project.write(
        "requirements.txt",
        "torch==2.6.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "accelerate==1.5.2 --hash=sha256:cc\n# trl==1 \\\npeft==0.15.0\ndeepspeed==0.16.0 \\",
    )
    assert project.says() == [
        "accelerate ==1.5.2 requirements.txt:4",
        "deepspeed ==0.16.0 requirements.txt:7",
        "peft ==0.15.0 requirements.txt:6",
        "torch ==2.6.0 requirements.txt:1",
    ]


def test_urls_say_a_version_only_in_a_wheel_name(project: Project) -> None:
    project.write(
        "requirements.txt",
        """\
torch @ https://example.org/whl/cu121/torch-2.3.1%2Bcu121-cp310-cp310-linux_x86_64.whl
./wheels/bitsandbytes-0.43.0-py3-none-any.whl
accelerate @ git+https://example.org/accelerate.git@v1.0.0
git+https://example.org/transformers.git@v4.40.0#egg=transformers
peft @ https://example.org/peft.zip
""",
    )
    assert project.says() == ["bitsandbytes ==0.43.0 requirements.txt:2", "torch ==2.3.1+cu121 requirements.txt:1"]


def test_markers_are_those_of_linux(project: Project) -> None:
    project.write(
        "requirements.txt",
        """\
torch==2.2.0; sys_platform == "darwin"
torch==2.6.0; sys_platform == "linux" and platform_machine == "x86_64"
accelerate==1.0.0; python_version < "3.0"
accelerate==1.5.0; python_version >= "3.0"
trl==0.1.0; extra == "old"
peft==0.15.0; what is this
""",
    )
    assert project.says() == [
        "accelerate ==1.5.0 requirements.txt:4",
        "peft ==0.15.0 requirements.txt:6",
        "torch ==2.6.0 requirements.txt:2",
    ]


def test_includes_are_followed_once(project: Project) -> None:
    project.write(
        "requirements.txt", "-r requirements/base.txt\n-c limits.txt\n--requirement=requirements.txt\n-r https://example.org/r.txt\n"
    )
    project.write("requirements/base.txt", "torch==2.6.0\n-r ../requirements.txt\n--constraint more.txt\n")
    project.write("requirements/more.txt", "trl==0.17.0\n")
    project.write("limits.txt", "accelerate<1.5\n")
    assert project.says("requirements.txt") == [
        "accelerate <1.5 limits.txt:1",
        "torch ==2.6.0 requirements/base.txt:1",
        "trl ==0.17.0 requirements/more.txt:1",
    ]


def test_a_missing_include_is_a_remark(project: Project) -> None:
    project.write("requirements.txt", "torch==2.6.0\n-r gone.txt\n")
    assert project.remarks("requirements.txt") == [("gone.txt", "no such file, included by line 2 of requirements.txt")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(project: Project, encoding: str, newline: str) -> None:
    project.write("requirements.txt", f"numpy{newline}torch==2.6.0{newline}".encode(encoding))
    assert project.says() == ["torch ==2.6.0 requirements.txt:2"]


# Which statement counts


def test_the_more_exact_statement_of_a_folder_counts(project: Project) -> None:
    project.write("requirements.txt", "torch>=2.1\naccelerate>=1.0,<2\ntrl>=0.1\n")
    project.write("constraints.txt", "torch==2.6.0\n")
    project.write("requirements-dev.txt", "accelerate~=1.5\ntrl==0.17.0\n")
    assert project.says() == [
        "accelerate >=1.0,<2 requirements.txt:2",
        "torch ==2.6.0 constraints.txt:1",
        "trl ==0.17.0 requirements-dev.txt:2",
    ]


def test_a_lock_beats_all_loose_files(project: Project) -> None:
    project.write("requirements.txt", "torch==2.1.0\naccelerate==1.0.0\n")
    project.write("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.5.0"\n')
    project.write("uv.lock", '[[package]]\nname = "torch"\nversion = "2.6.0"\n')
    assert project.says() == ["accelerate ==1.0.0 requirements.txt:2", "torch ==2.6.0 uv.lock:3"]


# pyproject.toml


def test_pyproject(project: Project) -> None:
    project.write(
        "pyproject.toml",
        """\
[project]
name = "torch-things"
dependencies = [
    "torch>=2.4",
    'accelerate == 1.5.2',
    "numpy",
]

[project.optional-dependencies]
train = ["trl==0.17.0"]

[dependency-groups]
dev = ["peft<0.16", {include-group = "more"}]
more = ["deepspeed~=0.16.0"]
""",
    )
    assert project.says() == [
        "accelerate ==1.5.2 pyproject.toml:5",
        "deepspeed ~=0.16.0 pyproject.toml:14",
        "peft <0.16 pyproject.toml:13",
        "torch >=2.4 pyproject.toml:4",
        "trl ==0.17.0 pyproject.toml:10",
    ]


def test_poetry(project: Project) -> None:
    project.write(
        "pyproject.toml",
        """\
[tool.poetry.dependencies]
python = "^3.10"
torch = "^2.4"
accelerate = {version = "~1.5.2", extras = ["testing"]}
transformers = [
    {version = "4.36.2", markers = "sys_platform == 'darwin'"},
    {version = "4.51.3", markers = "sys_platform == 'linux'"},
]
peft = "*"
trl = {git = "https://example.org/trl.git"}
bitsandbytes = "^0.42 || ^0.45"

[tool.poetry.group.dev.dependencies]
deepspeed = "0.16.*"

[tool.poetry.group.dev.dependencies.lightning]
version = ">=2.1 <2.6"
""",
    )
    assert project.says() == [
        "accelerate >=1.5.2,<1.6 pyproject.toml:4",
        "deepspeed ==0.16.* pyproject.toml:14",
        "lightning >=2.1,<2.6 pyproject.toml:16",
        "torch >=2.4,<3 pyproject.toml:3",
        "transformers ==4.51.3 pyproject.toml:5",
    ]


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0,<0.1"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1.2", ">=1.2,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.2", "~=1.2"),
        (">= 1.2, < 1.5", ">=1.2,<1.5"),
        ("1.2.*", "==1.2.*"),
        ("1.2.3", "==1.2.3"),
    ],
)
def test_poetry_constraints(project: Project, constraint: str, specifier: str) -> None:
    project.write("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = "{constraint}"\n')
    assert project.says() == [f"torch {specifier} pyproject.toml:2"]


@pytest.mark.parametrize("text", ["project = 1\n", "[project]\ndependencies = 'torch==2.0'\n[tool]\npoetry = []\n", "[project]\n"])
def test_odd_pyprojects_say_nothing_wrong(project: Project, text: str) -> None:
    project.write("pyproject.toml", text)
    assert len(project.says()) <= 1


def test_a_broken_pyproject_is_a_remark(project: Project) -> None:
    project.write("pyproject.toml", "[project\ndependencies = ['torch']\n")
    [(name, reason)] = project.remarks("pyproject.toml")
    assert name == "pyproject.toml"
    assert "line 1" in reason


# Lock files


@pytest.mark.parametrize(
    ("name", "header"), [("uv.lock", "package"), ("poetry.lock", "package"), ("pylock.toml", "packages"), ("pylock.gpu.toml", "packages")]
)
def test_locks(project: Project, name: str, header: str) -> None:
    project.write(
        name,
        f"""\
version = 1

[[{header}]]
name = "accelerate"
version = "1.5.2"
dependencies = [
    {{ name = "torch", version = "1.0" }},
]

[[{header}.wheels]]
name = "torch"
version = "1.1"

[[{header}]]
name = "torch"
version = "2.6.0+cu124"

[metadata]
name = "trl"
version = "1.0"
""",
    )
    assert project.says() == [f"accelerate ==1.5.2 {name}:5", f"torch ==2.6.0+cu124 {name}:16"]


def test_of_several_locked_releases_the_newest_counts(project: Project) -> None:
    entries = "".join(f'[[package]]\nname = "torch"\nversion = "{version}"\n' for version in ("2.6.0", "2.10.0", "2.9.1"))
    project.write("uv.lock", entries)
    assert project.says() == ["torch ==2.10.0 uv.lock:6"]


def test_a_lock_without_packages_is_a_remark(project: Project) -> None:
    project.write("uv.lock", "<<<<<<< HEAD\n")
    assert project.remarks("uv.lock") == [("uv.lock", "no packages in it")]


# Conda


def test_environment(project: Project) -> None:
    project.write(
        "environment.yml",
        """\
name: train
channels: [pytorch, conda-forge]
dependencies:
  - python=3.11
  - pytorch::pytorch=2.3
  - conda-forge::accelerate>=1.0,<1.5
  - peft=0.11.1=pyhd8ed1ab_0
  - lightning 2.3.3
  - pip
  - pip:
      - trl==0.9.6
      - -r requirements.txt
""",
    )
    project.write("requirements.txt", "deepspeed==0.14.0\n")
    assert project.says("environment.yml") == [
        "accelerate >=1.0,<1.5 environment.yml:6",
        "deepspeed ==0.14.0 requirements.txt:1",
        "lightning ==2.3.3 environment.yml:8",
        "peft ==0.11.1.* environment.yml:7",
        "torch ==2.3.* environment.yml:5",
        "trl ==0.9.6 environment.yml:11",
    ]


@pytest.mark.parametrize(
    ("spec", "specifier"),
    [
        ("pytorch=2.3", "==2.3.*"),
        ("pytorch=2.3.*", "==2.3.*"),
        ("pytorch=2.3*", "==2.3.*"),
        ("pytorch==2.3.1", "==2.3.1"),
        ("pytorch 2.3.1", "==2.3.1"),
        ("pytorch 2.3.1 py3.11_cuda12.1", "==2.3.1"),
        ("pytorch >=2.1,<2.4", ">=2.1,<2.4"),
        ("pytorch-lightning=2.1", None),
        ("pytorch=2.3|2.4", None),
        ("pytorch", None),
    ],
)
def test_match_specs(project: Project, spec: str, specifier: str | None) -> None:
    project.write("environment.yaml", f"dependencies:\n- {spec}\n")
    torch = [said for said in project.says() if said.startswith("torch ")]
    assert torch == ([f"torch {specifier} environment.yaml:2"] if specifier else [])


def test_lightning_keeps_its_name(project: Project) -> None:
    project.write("environment.yml", "dependencies: [pytorch-lightning=2.1, lightning==2.2.0]\n")
    assert project.says() == ["lightning ==2.2.0 environment.yml:1", "pytorch-lightning ==2.1.* environment.yml:1"]


@pytest.mark.parametrize(
    "text", ["torch", "- torch\n", "dependencies: torch\n", "dependencies:\n  torch: 1\n", "dependencies: [{pip: torch==1}]\n"]
)
def test_odd_environments_say_nothing(project: Project, text: str) -> None:
    project.write("environment.yml", text)
    assert project.says() == []


def test_a_broken_environment_is_a_remark(project: Project) -> None:
    project.write("environment.yml", "dependencies:\n- torch=2.3\n  x: [\n")
    [(name, reason)] = project.remarks("environment.yml")
    assert name == "environment.yml"
    assert reason.startswith("no YAML, line ")


# Files that cannot be read


def test_bytes_that_are_no_text(project: Project) -> None:
    project.write("requirements.txt", b"torch==2.6.0\n\xff\n")
    assert project.remarks("requirements.txt") == [("requirements.txt", "neither UTF-8 nor UTF-16")]


def test_large_files_are_left_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirement_files, "MAX_BYTES", 10)
    project.write("requirements.txt", "torch==2.6.0\n")
    assert project.remarks("requirements.txt") == [("requirements.txt", "larger than 10 bytes")]


def test_an_odd_specifier_of_a_known_package_is_a_remark(project: Project) -> None:
    project.write("requirements.txt", "numpy=1\ntorch=2.6\naccelerate==1.5.2\n")
    found, remarks = read(project.folder, ["requirements.txt"])
    assert [s.package for s in found] == ["accelerate"]
    assert [reason for _, reason in remarks] == ["line 2: not a version specifier: '=2.6'"]


def test_numbers_without_end_and_impossible_names_are_remarks(project: Project) -> None:
    project.write("uv.lock", f'[[package]]\nname = "torch"\nversion = "{"9" * 5000}"\n')
    project.write("requirements.txt", f"torch=={'9' * 5000}\n-r \0\naccelerate==1.5.2\n")
    found, remarks = read(project.folder, ["uv.lock", "requirements.txt"])
    assert [(s.package, s.line) for s in found] == [("accelerate", 3)]
    assert [file.name for file, _ in remarks] == ["uv.lock", "requirements.txt", "\0"]


def test_many_includes_come_to_an_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirement_files, "MAX_INCLUDES", 3)
    for number in range(6):
        project.write(f"requirements{number}.txt", f"-r requirements{number + 1}.txt\n{'torch==2.6.0' if number == 5 else ''}\n")
    assert project.says("requirements0.txt") == []
