"""Settings: where they are found, what they may say, and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console import BROKEN, CLEAN, TWICE, check, run, write
from jsonschema import Draft202012Validator

from fsdplint.settings_check import schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


IGNORE = 'ignore = ["FSD002"]\n'


def test_the_closest_settings_hold(folder: Path) -> None:
    write(folder, pyproject_toml=f"[tool.fsdplint]\n{IGNORE}", a__x_yaml=TWICE, b__x_yaml=TWICE, b__c__x_yaml=TWICE, b__fsdplint_toml="")
    assert check().found == [("b/c/x.yaml", 4, "FSD002"), ("b/x.yaml", 4, "FSD002")]


def test_fsdplint_toml_wins_in_one_folder(folder: Path) -> None:
    write(folder, pyproject_toml=f"[tool.fsdplint]\n{IGNORE}", fsdplint_toml="", a_yaml=TWICE)
    assert check("a.yaml").found == [("a.yaml", 4, "FSD002")]


@pytest.mark.parametrize(
    "project", ["[project]\nname = 'x'\n", "[project]\nname = 'fsdplint-user'\n", "[tool.other]\n", "tool = 3\n# fsdplint\n"]
)
def test_a_pyproject_without_our_table_is_passed_over(folder: Path, project: str) -> None:
    write(folder, fsdplint_toml=IGNORE, sub__pyproject_toml=project, sub__a_yaml=TWICE)
    assert check("sub/a.yaml").found == []


def test_isolated_and_config(folder: Path) -> None:
    write(folder, fsdplint_toml=IGNORE, a_yaml=TWICE, b_yaml=BROKEN, own_toml='ignore = ["FSD001"]\n')
    write(folder, conf__pyproject_toml='[tool.fsdplint]\nselect = ["FSD008"]\n', empty__pyproject_toml="[project]\nname = 'x'\n")
    for options, codes in [
        ((), ["FSD001"]),
        (("--isolated",), ["FSD002", "FSD001"]),
        (("--config", "own.toml"), ["FSD002"]),
        (("--config", "conf/pyproject.toml"), []),
        (("--config", "empty/pyproject.toml"), ["FSD002", "FSD001"]),
    ]:
        assert [code for _, _, code in check("a.yaml", "b.yaml", *options).found] == codes, options


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('\nselct = ["FSD001"]\n', "fsdplint.toml:2: unknown setting 'selct'; did you mean select?"),
        ('fail_on = "error"\n', "fsdplint.toml:1: unknown setting 'fail_on'; did you mean fail-on?"),
        ('fail-on = "eror"\n', "fsdplint.toml:1: fail-on: 'eror' is none of error, warning, info; did you mean error?"),
        ('select = "FSD001"\n', "fsdplint.toml:1: select must be a list, not 'FSD001'"),
        ('[severity]\nFSD001 = "off"\n', "fsdplint.toml:2: severity.FSD001: 'off' is none of error, warning, info"),
        ('[[launch]]\nfile = ["a"]\n', "fsdplint.toml:2: unknown setting 'file'; did you mean files?"),
        ("[target]\ntorch = 2.4\n", "fsdplint.toml:2: target.torch must be a text, not 2.4"),
        ('select = ["FSD999"]\n', "fsdplint.toml: unknown rule 'FSD999'"),
        ('[severity]\nduplicate-keys = "info"\n', "fsdplint.toml: unknown rule 'duplicate-keys'; did you mean duplicate-key?"),
        ('rule-packs = ["no_such_pack"]\n', "fsdplint.toml: rule-packs: ModuleNotFoundError: No module named 'no_such_pack'"),
        ('rule-packs = ["json"]\n', "fsdplint.toml: rule-packs: AttributeError: module 'json' has no attribute 'RULES'"),
    ],
)
def test_bad_settings_are_one_line_with_the_place(folder: Path, settings: str, message: str) -> None:
    write(folder, fsdplint_toml=settings, a_yaml=CLEAN)
    assert run("check", "a.yaml") == (2, "", f"fsdplint: {message}\n")


def test_the_line_in_pyproject_counts_from_its_top(folder: Path) -> None:
    write(folder, pyproject_toml='[project]\nname = "x"\n\n[tool.fsdplint]\nselect = []\nignor = []\n', a_yaml=CLEAN)
    assert run("check", "a.yaml").err == "fsdplint: pyproject.toml:6: unknown setting 'ignor'; did you mean ignore?\n"


@pytest.mark.parametrize("settings", ["select = [\n", "a = 1\na = 2\n"])
def test_settings_that_do_not_parse(folder: Path, settings: str) -> None:
    write(folder, fsdplint_toml=settings, a_yaml=CLEAN)
    ran = run("check", "a.yaml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("fsdplint: fsdplint.toml: ")


def test_a_bad_target_in_settings_names_the_settings(folder: Path) -> None:
    write(folder, fsdplint_toml='target.torch = "newest"\n', a_yaml=CLEAN)
    ran = run("check", "a.yaml")
    assert ran.code == 2
    assert ran.err.startswith("fsdplint: fsdplint.toml torch")


def test_rules_are_selected_as_on_the_command_line(folder: Path) -> None:
    write(folder, a_yaml=TWICE, b_yaml=BROKEN)
    for settings, codes in [
        ('select = ["FSD001"]', ["FSD001"]),
        ('select = ["FSD001"]\nextend-select = ["duplicate-key"]', ["FSD002", "FSD001"]),
        ('ignore = ["FSD0"]\nselect = ["FSD001"]', ["FSD001"]),
        ('ignore = ["FSD0"]', []),
    ]:
        write(folder, fsdplint_toml=settings)
        assert [code for _, _, code in check("a.yaml", "b.yaml").found] == codes


def test_the_command_line_adds_to_settings_and_its_select_replaces_them(folder: Path) -> None:
    write(folder, a_yaml=TWICE, b_yaml=BROKEN, fsdplint_toml=IGNORE)
    assert [code for _, _, code in check("a.yaml", "b.yaml", "--extend-select", "FSD002").found] == ["FSD002", "FSD001"]
    assert [code for _, _, code in check("a.yaml", "b.yaml", "--ignore", "FSD001").found] == []
    assert [code for _, _, code in check("a.yaml", "b.yaml", "--select", "FSD002").found] == ["FSD002"]


def test_severity_and_fail_on(folder: Path) -> None:
    write(folder, a_yaml=TWICE, fsdplint_toml='fail-on = "error"\n[severity]\nduplicate-key = "warning"\n')
    assert run("check", "a.yaml").code == 0
    write(folder, fsdplint_toml='fail-on = "error"\n[severity]\nFSD002 = "error"\n')
    ran = check("a.yaml")
    assert (ran.code, ran.json["diagnostics"][0]["severity"]) == (1, "error")
    assert run("check", "a.yaml", "--fail-on", "warning").code == 1


@pytest.mark.parametrize(
    ("glob", "ignored"),
    [
        ("a.yaml", ["conf/a.yaml", "conf/deep/a.yaml"]),
        ("conf/*.yaml", ["conf/a.yaml", "conf/b.yaml"]),
        ("conf/**/a.yaml", ["conf/a.yaml", "conf/deep/a.yaml"]),
        ("deep/", ["conf/deep/a.yaml"]),
        ("/a.yaml", []),
        ("b.yml", []),
    ],
)
def test_per_file_ignores(folder: Path, glob: str, ignored: list[str]) -> None:
    write(folder, conf__a_yaml=TWICE, conf__b_yaml=TWICE, conf__deep__a_yaml=TWICE)
    write(folder, fsdplint_toml=f"[per-file-ignores]\n'{glob}' = ['FSD00']\n")
    ran = check()
    assert sorted({"conf/a.yaml", "conf/b.yaml", "conf/deep/a.yaml"} - {path for path, _, _ in ran.found}) == ignored
    assert ran.json["summary"]["suppressed"] == len(ignored)


def test_exclude_holds_for_folders_and_with_force_for_given_files(folder: Path) -> None:
    write(folder, conf__a_yaml=TWICE, old__a_yaml=TWICE, fsdplint_toml="exclude = ['old/']\n")
    assert check().found == [("conf/a.yaml", 4, "FSD002")]
    assert check("old/a.yaml").found == [("old/a.yaml", 4, "FSD002")]
    assert check("--force-exclude", "old/a.yaml").statuses == {}
    assert check("--force-exclude", "-", "--stdin-filename", "old/a.yaml", stdin=TWICE).statuses == {}
    assert check("old").found == []
    assert check("--isolated", "old").found == [("old/a.yaml", 4, "FSD002")]


def test_the_schema_is_one_and_knows_every_setting_of_the_contract() -> None:
    Draft202012Validator.check_schema(schema())
    assert set(schema()["properties"]) == {
        *("select", "extend-select", "ignore", "per-file-ignores", "severity", "fail-on", "exclude", "device"),
        *("rule-packs", "target", "launch"),
    }
