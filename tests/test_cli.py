"""The command line: options, exit codes, and what goes to stdout and stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomli
from console import BROKEN, CLEAN, FOREIGN, TWICE, check, run, write

import fsdplint
from fsdplint.cli import stop


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


# Exit codes


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (CLEAN, [], 0),
        (FOREIGN, [], 0),
        ("", [], 0),
        (TWICE, [], 1),
        (TWICE, ["--fail-on", "error"], 0),
        (TWICE, ["--fail-on", "warning"], 1),
        (BROKEN, ["--fail-on", "error"], 1),
        (BROKEN, ["--exit-zero"], 0),
        (BROKEN, ["--ignore", "FSD001"], 0),
    ],
)
def test_exit_code_follows_the_findings(folder: Path, text: str, options: list[str], code: int) -> None:
    write(folder, a_yaml=text)
    assert run("check", "a.yaml", *options).code == code


def test_fail_on_info_counts_remarks(folder: Path) -> None:
    write(folder, a_yaml=TWICE, fsdplint_toml='severity.FSD002 = "info"\n')
    assert run("check", "a.yaml").code == 0
    assert run("check", "a.yaml", "--fail-on", "info").code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dialect", "acelerate"], "unknown dialect 'acelerate'; did you mean accelerate?"),
        (["--select", "duplicate-keys"], "unknown rule 'duplicate-keys'; did you mean duplicate-key?"),
        (["--ignore", "XYZ"], "unknown rule 'XYZ'"),
        (["--format", "jsom"], "unknown format 'jsom'; did you mean json?"),
        (["--fail-on", "never"], "--fail-on never: use error, warning or info"),
        (["--config", "nowhere.toml"], "nowhere.toml: no such file"),
        (["--output", "no/such/folder.txt"], "no/such/folder.txt: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    write(folder, a_yaml=CLEAN)
    assert run("check", "a.yaml", *arguments) == (2, "", f"fsdplint: {message}\n")


def test_wrong_usage_is_said_where_there_is_nothing_to_check(folder: Path) -> None:
    write(folder, a_yaml=FOREIGN)
    for arguments in (["--select", "XYZ"], ["--ignore", "XYZ"], ["--target", "torch"], ["--device", "gpu"], ["--gpus", "0"]):
        assert run("check", "a.yaml", *arguments).code == 2


@pytest.mark.parametrize("arguments", [["--target", "torch"], ["--device", "gpu"], ["--gpus", "0"], ["--target", "torch=2.4"]])
def test_a_bad_target_is_one_line_and_exit_code_2(folder: Path, arguments: list[str]) -> None:
    write(folder, a_yaml=CLEAN)
    ran = run("check", "a.yaml", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"fsdplint: {arguments[0]} {arguments[1]}: ")


def test_an_unknown_option_is_wrong_usage() -> None:
    ran = run("check", "--selekt", "FSD001")
    assert ran.code == 2
    assert "--selekt" in ran.err


# Inputs


def test_a_missing_path_is_said_and_the_rest_is_reported(folder: Path) -> None:
    write(folder, a_yaml=TWICE)
    ran = check("nowhere.yaml", "a.yaml")
    assert ran.code == 2
    assert ran.err == "fsdplint: nowhere.yaml: No such file or directory\n"
    assert ran.statuses == {"nowhere.yaml": "failed", "a.yaml": "checked"}
    assert ran.found == [("a.yaml", 4, "FSD002")]


def test_exit_zero_does_not_hide_a_missing_path() -> None:
    assert run("check", "--exit-zero", "nowhere.yaml").code == 2


def test_files_that_are_no_training_configs_are_skipped_in_silence_also_when_named(folder: Path) -> None:
    write(folder, a_yaml=FOREIGN, b_json='{"name": "left-pad", "scripts": {"train": "x"}}', c_toml="[tool.black]\nline-length = 100\n")
    ran = run("check", "a.yaml", "b.json", "c.toml")
    assert ran == (0, "No training configs found\n", "")
    assert run("check", "-v", "a.yaml").err == "skipped a.yaml: no training config that is known\n"


def test_standard_input_takes_the_name_it_is_given() -> None:
    assert check("-", stdin=TWICE).found == [("<stdin>", 4, "FSD002")]
    assert check("-", "--stdin-filename", "conf/a.yaml", stdin=TWICE).found == [("conf/a.yaml", 4, "FSD002")]


def test_standard_input_is_judged_by_the_settings_of_its_name(folder: Path) -> None:
    write(folder, conf__fsdplint_toml='ignore = ["FSD002"]\n')
    assert check("-", "--stdin-filename", "conf/a.yaml", stdin=TWICE).found == []
    assert check("-", "--stdin-filename", "a.yaml", stdin=TWICE).found == [("a.yaml", 4, "FSD002")]


def test_the_current_folder_is_the_default(folder: Path) -> None:
    write(folder, conf__a_yaml=TWICE)
    assert check().found == [("conf/a.yaml", 4, "FSD002")]


# Rules


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], {"FSD001", "FSD002"}),
        (["--select", "ALL"], {"FSD001", "FSD002"}),
        (["--select", "fsd002"], {"FSD002"}),
        (["--select", "duplicate-key"], {"FSD002"}),
        (["--select", "FSD00"], {"FSD001", "FSD002"}),
        (["--select", "FSD001,FSD002"], {"FSD001", "FSD002"}),
        (["--select", "FSD001", "--select", "FSD002"], {"FSD001", "FSD002"}),
        (["--select", "FSD001", "--extend-select", "FSD002"], {"FSD001", "FSD002"}),
        (["--ignore", "syntax-error"], {"FSD002"}),
        (["--select", "FSD00", "--ignore", "FSD002"], {"FSD001"}),
        (["--select", "FSD002", "--ignore", "FSD"], {"FSD002"}),
        (["--select", "FSD0", "--ignore", "FSD0"], set()),
        (["--select", "FSD101"], set()),
    ],
)
def test_the_most_precise_selector_decides(folder: Path, options: list[str], codes: set[str]) -> None:
    write(folder, a_yaml=TWICE, b_yaml=BROKEN)
    assert {code for _, _, code in check(*options).found} == codes


def test_a_forced_dialect_is_not_recognised_but_taken(folder: Path) -> None:
    write(folder, a_yaml="debug: true\ndebug: false\n")
    assert check("a.yaml").statuses == {"a.yaml": "skipped"}
    assert [code for _, _, code in check("a.yaml", "--dialect", "accelerate", "--select", "FSD002").found] == ["FSD002"]


def test_a_forced_dialect_skips_files_that_it_cannot_be_written_in(folder: Path) -> None:
    write(folder, a_toml="a = 1\n")
    ran = run("check", "a.toml", "--dialect", "accelerate", "-v")
    assert (ran.code, ran.err) == (0, "skipped a.toml: accelerate is written in yaml or json\n")


def test_below_a_folder_a_forced_dialect_leaves_other_files_alone(folder: Path) -> None:
    write(folder, a_yaml=TWICE, compose_yaml=FOREIGN)
    assert check("--dialect", "accelerate", ".").statuses == {"a.yaml": "checked", "compose.yaml": "skipped"}


# Output


def test_output_writes_the_report_to_a_file(folder: Path) -> None:
    write(folder, a_yaml=TWICE)
    ran = run("check", "a.yaml", "--format", "json", "--output", "report.json")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert json.loads((folder / "report.json").read_text("utf-8"))["summary"]["warning"] == 1


def test_statistics_count_by_rule(folder: Path) -> None:
    write(folder, a_yaml=TWICE, b_yaml=TWICE, c_yaml=BROKEN)
    ran = run("check", "--statistics")
    assert (ran.code, ran.out) == (1, "    2 FSD002 duplicate-key\n    1 FSD001 syntax-error\n")
    counted = run("check", "--statistics", "--format", "json")
    assert counted.json == [
        {"code": "FSD002", "name": "duplicate-key", "count": 2},
        {"code": "FSD001", "name": "syntax-error", "count": 1},
    ]


def test_show_files_lists_what_is_recognised(folder: Path) -> None:
    write(folder, a_yaml=BROKEN, compose_yaml=FOREIGN)
    assert run("check", "--show-files") == (0, "a.yaml accelerate\n", "")


def test_quiet_leaves_out_the_closing_lines(folder: Path) -> None:
    write(folder, a_yaml=CLEAN, b_yaml=TWICE)
    assert run("check", "a.yaml").out == "No problems in 1 file\n"
    assert run("check", "-q", "a.yaml") == (0, "", "")
    assert run("check", "-q", "b.yaml").lines[-1] == ""
    assert run("check", "-qq", "b.yaml") == (1, "", "")


def test_verbose_says_what_the_target_is(folder: Path) -> None:
    write(folder, a_yaml=CLEAN)
    err = run("check", "-v", "a.yaml", "--target", "accelerate==1.6.0", "--target", "no-such-thing==1").err.splitlines()
    assert "target accelerate==1.6.0 (--target)" in err
    assert any("no-such-thing" in line and line.startswith("note: ") for line in err)


@pytest.mark.parametrize(
    ("environment", "options", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "0"}, [], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--no-color"], False),
        ({"FORCE_COLOR": "1"}, ["--format", "json"], False),
        ({"FORCE_COLOR": "1"}, ["--format", "concise"], True),
    ],
)
def test_colours(folder: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], options: list[str], colored: bool) -> None:
    write(folder, a_yaml=TWICE)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run("check", "a.yaml", *options).out) is colored


def test_what_an_encoding_lacks_is_escaped(folder: Path) -> None:
    (folder / "é.yaml").write_text(TWICE, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = subprocess.run(
        [sys.executable, "-m", "fsdplint", "check", "--format", "concise", "."],
        capture_output=True,
        cwd=folder,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"\\xe9.yaml:4:1: warning[FSD002] ")


# Errors


CRASHING = """
from fsdplint.rule import Rule

class Crashing(Rule):
    "Raises."
    code, name = "XXX001", "crashing"
    def check(self, context):
        raise ValueError("no luck")

RULES = (Crashing(),)
"""


def test_a_rule_that_crashes_is_named_with_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, a_yaml=CLEAN, pyproject_toml='[tool.fsdplint]\nrule-packs = ["crashing_pack"]\n', crashing_pack_py=CRASHING)
    monkeypatch.syspath_prepend(str(folder))
    ran = run("check", "a.yaml")
    assert ran == (2, "", "fsdplint: a.yaml: rule XXX001 crashing crashed: ValueError: no luck\n")
    assert "Traceback" in run("check", "-vv", "a.yaml").err
    assert run("check", "a.yaml", "--isolated").code == 0


def test_an_error_has_one_line_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        stop("two\n  lines", 2)
    assert (end.value.code, capsys.readouterr().err) == (2, "fsdplint: two lines\n")


def test_a_bug_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("fsdplint.check.find", broken)
    ran = run("check", ".")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "fsdplint: internal error: ZeroDivisionError: oh (-vv shows where)\n"


# The other commands


def test_the_version_is_that_of_the_package() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert fsdplint.__version__ == tomli.loads(project.read_text("utf-8"))["project"]["version"]
    assert run("--version").out == f"fsdplint, version {fsdplint.__version__}\n"


def test_help_names_every_command() -> None:
    out = run("--help").out
    assert all(f"\n  {name} " in out for name in ("check", "dialects", "explain", "rule", "rules", "schema", "smoke", "targets"))


def test_rule_shows_a_page_by_code_and_by_name() -> None:
    page = run("rule", "duplicate-key")
    assert page.code == 0
    assert page.lines[0] == "# FSD002 duplicate-key"
    assert "## What it does\nFinds the same key twice in one mapping.\n" in page.out
    assert run("rule", "fsd002").out == page.out


def test_rule_suggests_a_name() -> None:
    assert run("rule", "duplicate") == (2, "", "fsdplint: unknown rule 'duplicate'; did you mean duplicate-key?\n")


def test_rules_in_every_format() -> None:
    as_json = run("rules", "--format", "json").json["rules"]
    syntax = next(one for one in as_json if one["code"] == "FSD001")
    assert (syntax["name"], syntax["severity"], syntax["dialects"]) == ("syntax-error", "error", [])
    text, markdown = run("rules").lines, run("rules", "--format", "markdown").lines
    assert ["FSD001", "syntax-error", "error"] in [line.split()[:3] for line in text]
    assert markdown[:2] == ["| Code | Name | Severity | What it does |", "| --- | --- | --- | --- |"]
    assert len(as_json) == len(text) == len(markdown) - 2


def test_rules_include_the_packs_of_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, fsdplint_toml='rule-packs = ["crashing_pack"]\n', crashing_pack_py=CRASHING)
    monkeypatch.syspath_prepend(str(folder))
    assert "XXX001  crashing" in run("rules").out
    assert run("rule", "XXX001").out == "# XXX001 crashing\n\nUsually an error.\n\nRaises.\n"


def test_dialects_and_targets_are_listed() -> None:
    found = {one["name"]: one for one in run("dialects", "--format", "json").json}
    assert found["accelerate"]["package"] == "accelerate"
    assert found["accelerate"]["formats"] == "yaml, json"
    assert run("dialects").lines[0].split() == ["name", "title", "package", "formats"]
    known = {one["package"]: one for one in run("targets", "--format", "json").json}
    assert known["torch"]["known"] > 10
    assert any(line.split()[0] == "torch" for line in run("targets").lines)
