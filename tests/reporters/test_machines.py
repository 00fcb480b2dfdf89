"""The formats that other programs read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from reports import EMPTY, ERROR, FIX, FULL, INFO, LAUNCH, NOTHING, PATH, TEXT

from fsdplint.diagnostics import Position, Range, Report, Snippet
from fsdplint.reporters import FORMATS, render
from fsdplint.reporters.places import relative, utf8_column, utf16_column


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def as_json(format: str, report: Report) -> Any:
    return json.loads(render(format, report))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_ends_in_a_line_break_or_is_empty(format: str) -> None:
    for report in (FULL, EMPTY, NOTHING, LAUNCH):
        text = render(format, report)
        assert text == "" or text.endswith("\n")
        assert text.isascii() or format in ("full", "concise", "github", "junit")


def test_no_other_format() -> None:
    with pytest.raises(KeyError):
        render("yaml", FULL)


# json, jsonl


def test_json_has_the_keys_of_version_1_in_their_order() -> None:
    report = as_json("json", FULL)
    assert list(report) == ["version", "fsdplint", "diagnostics", "files", "target", "summary"]
    assert (report["version"], report["fsdplint"]) == (1, "1.2.3")
    assert list(report["diagnostics"][0]) == [
        *("code", "name", "severity", "message", "help", "path", "dialect", "key", "range", "related", "fix", "versions", "url"),
    ]
    assert report["files"] == [
        {"path": PATH, "dialect": "axolotl", "status": "checked"},
        {"path": "b.yaml", "dialect": None, "status": "skipped"},
        {"path": "c.yaml", "dialect": None, "status": "failed"},
    ]
    assert report["target"] == {
        "axolotl": {"specifier": "==0.19.0", "source": "newest known"},
        "torch": {"specifier": ">=2.4", "source": "--target"},
    }
    assert report["summary"] == {"files": 1, "error": 1, "warning": 1, "info": 1, "suppressed": 2, "fixable": 1}


def test_json_counts_code_points_from_one_and_ends_are_exclusive() -> None:
    info, warning, error = as_json("json", FULL)["diagnostics"]
    assert info["range"] == {"start": {"line": 1, "column": 13, "offset": 12}, "end": {"line": 1, "column": 19, "offset": 18}}
    assert (info["key"], info["help"], info["fix"], info["versions"]) == ("base_model", None, None, None)
    assert (warning["key"], warning["versions"]) == ("fsdp_config.version", "transformers>=5")
    edit = FIX.edits[0]
    assert warning["fix"] == {
        "message": "rename the key",
        "applicability": "safe",
        "edits": [{"path": PATH, "start": edit.start, "end": edit.end, "text": "fsdp_version"}],
    }
    assert error["related"] == [
        {
            "message": "FSDP is switched on here",
            "path": PATH,
            "key": "fsdp",
            "range": {"start": {"line": 2, "column": 1, "offset": 19}, "end": {"line": 2, "column": 5, "offset": 23}},
        }
    ]
    assert error["url"].endswith("/rules/FSD101.md")


def test_jsonl_is_one_diagnostic_a_line() -> None:
    lines = render("jsonl", FULL).splitlines()
    assert [json.loads(line) for line in lines] == as_json("json", FULL)["diagnostics"]
    assert render("jsonl", EMPTY) == ""


# github


def test_github_commands_are_escaped_and_the_worst_come_first() -> None:
    error, warning, info = render("github", FULL).splitlines()
    assert error == (
        "::error file=conf/a b%2Cc.yaml,line=5,endLine=5,col=12,endColumn=22,title=fsdplint FSD101 fsdp-with-deepspeed"
        "::conf/a b,c.yaml:5:12: FSD101 100 %25 wrong: a,%0Ab%0Ahelp: remove one"
    )
    assert warning.startswith("::warning file=")
    assert info.startswith("::notice file=")


def test_github_gets_columns_of_one_line_only() -> None:
    long = INFO._replace(range=Range(INFO.range.start, Position(3, 4, 40)))
    command = render("github", EMPTY._replace(diagnostics=(long,)))
    assert "line=1,endLine=3,title=" in command


def test_github_gets_no_file_for_the_launch_line() -> None:
    assert render("github", LAUNCH).startswith("::notice title=fsdplint FSD601 no-wrap-policy::<launch>:1:13: ")


# gitlab


def test_gitlab_severities_and_places() -> None:
    info, warning, error = as_json("gitlab", FULL)
    assert [one["severity"] for one in (info, warning, error)] == ["info", "minor", "major"]
    assert error["check_name"] == "FSD101 fsdp-with-deepspeed"
    assert error["location"] == {"path": PATH, "positions": {"begin": {"line": 5, "column": 12}, "end": {"line": 5, "column": 22}}}


def test_gitlab_fingerprints_differ_and_outlive_other_lines() -> None:
    moved = ERROR._replace(range=Range(Position(9, 1, 90), Position(9, 2, 91)))
    prints = [one["fingerprint"] for one in as_json("gitlab", EMPTY._replace(diagnostics=(ERROR, ERROR, INFO)))]
    assert len(set(prints)) == 3
    assert [one["fingerprint"] for one in as_json("gitlab", EMPTY._replace(diagnostics=(moved, moved, INFO)))] == prints


# sarif


def test_sarif_has_what_code_scanning_reads() -> None:
    report = as_json("sarif", FULL)
    (run,) = report["runs"]
    assert (report["version"], run["columnKind"]) == ("2.1.0", "utf16CodeUnits")
    assert run["invocations"] == [{"executionSuccessful": False}]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["FSD101", "FSD404"]
    assert rules[0]["name"] == "FsdpWithDeepspeed"
    assert rules[0]["helpUri"].endswith("/FSD101.md")
    info, warning, error = run["results"]
    assert [one["level"] for one in (info, warning, error)] == ["note", "warning", "error"]
    assert ("ruleIndex" not in info, warning["ruleIndex"], error["ruleIndex"]) == (True, 1, 0)
    assert error["message"]["text"] == "100 % wrong: a,\nb\nremove one"
    place = error["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "conf/a%20b%2Cc.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5, "startColumn": 12, "endLine": 5, "endColumn": 22},
    }
    assert place["logicalLocations"] == [{"fullyQualifiedName": "deepspeed"}]
    assert error["relatedLocations"][0]["message"] == {"text": "FSDP is switched on here"}


def test_sarif_without_findings_has_empty_results() -> None:
    (run,) = as_json("sarif", EMPTY)["runs"]
    assert (run["results"], run["invocations"]) == ([], [{"executionSuccessful": True}])


def test_sarif_has_no_file_for_the_launch_line() -> None:
    (run,) = as_json("sarif", LAUNCH)["runs"]
    assert run["results"][0]["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "--fsdp"}]}]


# junit, rdjson


def test_junit_counts_and_escapes() -> None:
    suites = ET.fromstring(render("junit", FULL))
    assert suites.attrib == {"name": "fsdplint", "tests": "4", "failures": "3", "errors": "1"}
    first, second = suites
    assert first.attrib == {"name": PATH, "tests": "3", "failures": "3", "errors": "0"}
    failure = first[2].find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "error", "message": "100 % wrong: a,\nb"}
    assert failure.text == "conf/a b,c.yaml:5:12: 100 % wrong: a,\nb\nhelp: remove one"
    assert second[0][0].attrib == {"message": "gone"}


def test_junit_has_a_passed_test_for_a_clean_file_and_no_forbidden_characters() -> None:
    suites = ET.fromstring(render("junit", EMPTY))
    assert [(case.attrib, len(case)) for case in suites[0]] == [({"classname": PATH, "name": "fsdplint"}, 0)]
    odd = INFO._replace(message='<&">\x00\x1b\ud800')
    case = ET.fromstring(render("junit", EMPTY._replace(diagnostics=(odd,))))[0][0]
    assert case[0].attrib["message"] == '<&">\ufffd\ufffd\ufffd'


def test_rdjson_counts_bytes() -> None:
    result = as_json("rdjson", FULL)
    assert result["source"]["name"] == "fsdplint"
    info, _, error = result["diagnostics"]
    assert info["location"] == {"path": PATH, "range": {"start": {"line": 1, "column": 13}, "end": {"line": 1, "column": 25}}}
    assert (error["severity"], error["code"]["value"]) == ("ERROR", "FSD101")
    assert error["relatedLocations"][0]["location"]["range"]["start"] == {"line": 2, "column": 1}


# Paths and columns


def test_columns_in_units_of_others() -> None:
    line = TEXT.splitlines()[3]
    end = Position(4, line.index("note") + 1, 0)
    snippet = Snippet(4, (line,))
    assert (end.column, utf16_column(end, snippet), utf8_column(end, snippet)) == (32, 33, 35)
    assert utf16_column(Position(9, 1, 0), snippet) is None


def test_relative_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    inner = tmp_path / "repo" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert relative("./a/../b.yaml", "GITHUB_WORKSPACE") == "b.yaml"
    assert relative(str(inner / "b.yaml")) == "b.yaml"
    assert relative("../b.yaml") == "../b.yaml"
    assert relative("/elsewhere/b.yaml") == "/elsewhere/b.yaml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "repo"))
    assert relative("b.yaml", "GITHUB_WORKSPACE") == "inner/b.yaml"
    assert relative("../b.yaml", "GITHUB_WORKSPACE", "CI_PROJECT_DIR") == "b.yaml"
