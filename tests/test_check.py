"""From paths and texts to reports: the Python API, launches of several files, companions, targets, limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import BROKEN, CLEAN, FOREIGN, TWICE, check, run, write

import fsdplint.inputs
from fsdplint import check_paths, check_text
from fsdplint.check import check as check_request
from fsdplint.diagnostics import Severity
from fsdplint.errors import UsageError
from fsdplint.inputs import HEAD
from fsdplint.parallel import MANY
from fsdplint.request import Request

if TYPE_CHECKING:
    from pathlib import Path

TRAINING = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.00001\n"
ENGINE = '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "zero_optimization": {"stage": 2}}'
"""A DeepSpeed file with a key written twice: FSD002."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The Python API


def test_check_text_returns_the_diagnostics_of_a_text() -> None:
    (found,) = check_text(TWICE, path="conf/a.yaml", isolated=True)
    assert (found.code, found.severity, found.path, found.dialect) == ("FSD002", Severity.WARNING, "conf/a.yaml", "accelerate")
    assert (found.range.start.line, found.range.start.column) == (4, 1)
    assert check_text(CLEAN, isolated=True) == ()
    assert check_text(FOREIGN, isolated=True) == ()
    assert check_text(b"\xff\xfe" + CLEAN.encode("utf-16-le"), isolated=True)[0].code == "FSD001"


def test_check_text_takes_rules_and_dialect() -> None:
    assert check_text(TWICE, ignore=["duplicate-key"], isolated=True) == ()
    assert [d.code for d in check_text("a: [", dialect="accelerate", select=["FSD001"], isolated=True)] == ["FSD001"]
    with pytest.raises(UsageError, match="did you mean axolotl"):
        check_text(CLEAN, dialect="axolot", isolated=True)


def test_check_paths_takes_files_and_folders(folder: Path) -> None:
    write(folder, conf__a_yaml=TWICE, conf__b_yaml=BROKEN)
    assert [(d.path, d.code) for d in check_paths(["conf"])] == [("conf/a.yaml", "FSD002"), ("conf/b.yaml", "FSD001")]
    assert [d.path for d in check_paths("conf/a.yaml")] == ["conf/a.yaml"]
    assert [d.path for d in check_paths([folder / "conf" / "a.yaml"])] == [(folder / "conf" / "a.yaml").as_posix()]


def test_the_package_has_no_other_lazy_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'check_nothing'"):
        _ = fsdplint.check_nothing


# Order and paths


def test_diagnostics_are_sorted_and_files_keep_their_order(folder: Path) -> None:
    write(folder, b_yaml=TWICE, a_yaml=TWICE)
    ran = check("b.yaml", "a.yaml")
    assert [path for path, _, _ in ran.found] == ["a.yaml", "b.yaml"]
    assert list(ran.statuses) == ["b.yaml", "a.yaml"]


def test_paths_are_shown_as_given(folder: Path) -> None:
    write(folder, conf__a_yaml=TWICE)
    absolute = (folder / "conf" / "a.yaml").as_posix()
    for given, shown in [("conf/a.yaml", "conf/a.yaml"), ("./conf/a.yaml", "./conf/a.yaml"), (absolute, absolute)]:
        assert check(given).found == [(shown, 4, "FSD002")]


def test_a_file_given_twice_is_checked_once(folder: Path) -> None:
    write(folder, a_yaml=TWICE)
    (folder / "link.yaml").symlink_to("a.yaml")
    ran = check("./a.yaml", "a.yaml", ".", "link.yaml")
    assert ran.found == [("./a.yaml", 4, "FSD002")]
    assert ran.json["summary"]["files"] == 1


# Launches


def launched(*args: str) -> list[tuple[str, str]]:
    """Which file names stand beside the training file's own in an explained launch."""
    launches = json.loads(run("explain", "--format", "json", "--isolated", *args).out)["launches"]
    return [tuple(file["path"] for file in one["files"]) for one in launches]


def test_together_makes_one_launch_of_all_files(folder: Path) -> None:
    write(folder, acc_yaml=CLEAN, train_yaml=TRAINING)
    assert launched("acc.yaml", "train.yaml") == [("acc.yaml",), ("train.yaml",)]
    assert launched("--together", "acc.yaml", "train.yaml") == [("acc.yaml", "train.yaml")]


LINE = "accelerate launch --config_file conf/acc.yaml train.py train.yaml"


def test_a_launch_line_gathers_the_files_that_it_names(folder: Path) -> None:
    write(folder, conf__acc_yaml=CLEAN, train_yaml=TRAINING, other_yaml=TRAINING)
    assert launched("--launch", LINE, "conf/acc.yaml", "other.yaml", "train.yaml") == [("conf/acc.yaml", "train.yaml"), ("other.yaml",)]


def test_a_launch_line_names_files_by_their_last_part_where_the_path_is_not_given(folder: Path) -> None:
    write(folder, elsewhere__acc_yaml=CLEAN, elsewhere__train_yaml=TRAINING)
    assert launched("--launch", LINE, "elsewhere/acc.yaml", "elsewhere/train.yaml") == [("elsewhere/acc.yaml", "elsewhere/train.yaml")]


def test_of_files_with_one_name_the_path_decides(folder: Path) -> None:
    write(folder, x__conf__acc_yaml=CLEAN, y__acc_yaml=CLEAN, train_yaml=TRAINING)
    given = ("y/acc.yaml", "x/conf/acc.yaml", "train.yaml")
    assert launched("--launch", LINE, *given) == [("x/conf/acc.yaml", "train.yaml"), ("y/acc.yaml",)]
    assert launched("--launch", LINE.replace("conf/", ""), *given)[0] == ("train.yaml",)


def test_files_that_only_the_launch_line_names_belong_to_it_but_are_not_reported(folder: Path) -> None:
    write(folder, conf__acc_yaml=TWICE, train_yaml=TRAINING)
    assert launched("--launch", LINE, "train.yaml") == [("train.yaml", "conf/acc.yaml")]
    ran = check("--launch", LINE, "train.yaml", "--select", "FSD002")
    assert (ran.found, ran.statuses) == ([], {"train.yaml": "checked"})


def test_a_launch_line_without_files_speaks_of_the_only_given_one(folder: Path) -> None:
    write(folder, acc_yaml=CLEAN.replace("  fsdp_version: 2\n", "  fsdp_version: 1\n"))
    command = json.loads(run("explain", "--format", "json", "--launch", "accelerate launch train.py", "acc.yaml").out)["launches"][0]
    assert command["command"] == "accelerate launch train.py"


def test_a_launch_line_that_names_no_given_file_is_remarked(folder: Path) -> None:
    write(folder, a_yaml=CLEAN, b_yaml=CLEAN)
    remark = "note: --launch names none of the given files, so nothing is known of it; --together takes them all\n"
    for line in (LINE, "torchrun train.py"):
        assert run("check", "--launch", line, "a.yaml", "b.yaml") == (0, "No problems in 2 files\n", remark)
    assert run("check", "-q", "--launch", LINE, "a.yaml").err == ""


def test_a_launch_line_tells_the_dialect_of_what_cannot_be_recognised(folder: Path) -> None:
    write(folder, acc_yaml="debug: false\n", tiny_yaml="backend: unsloth\n")
    assert check("acc.yaml", "tiny.yaml").statuses == {"acc.yaml": "skipped", "tiny.yaml": "skipped"}
    ran = check("--launch", "accelerate launch --config_file acc.yaml train.py", "acc.yaml")
    assert ran.json["files"] == [{"path": "acc.yaml", "dialect": "accelerate", "status": "checked"}]
    ran = check("--launch", "soup train --config tiny.yaml", "tiny.yaml")
    assert ran.json["files"] == [{"path": "tiny.yaml", "dialect": "soup", "status": "checked"}]


def test_settings_tell_launches(folder: Path) -> None:
    settings = f"[[launch]]\nfiles = ['conf/acc.yaml']\ncommand = '{LINE}'\n[[launch]]\nfiles = ['a.yaml', 'b.yaml']\n"
    write(folder, fsdplint_toml=settings, conf__acc_yaml=CLEAN, train_yaml=TRAINING, a_yaml=CLEAN, b_yaml=TRAINING, c_yaml=TRAINING)
    explained = run("explain", "--format", "json", "conf/acc.yaml", "train.yaml", "a.yaml", "c.yaml").json["launches"]
    files = [[file["path"] for file in one["files"]] for one in explained]
    assert files == [["conf/acc.yaml", "train.yaml"], ["a.yaml", "b.yaml"], ["c.yaml"]]
    assert [one["command"] for one in explained] == [LINE, None, None]


def test_a_forced_dialect_is_that_of_the_primary_file(folder: Path) -> None:
    write(folder, acc_yaml=CLEAN, train_yaml="output_dir: out\n")
    ran = check("--together", "--dialect", "trl", "acc.yaml", "train.yaml")
    assert [file["dialect"] for file in ran.json["files"]] == ["accelerate", "trl"]


# Companions


def test_a_companion_is_found_beside_the_file_and_in_folders_above(folder: Path) -> None:
    for named, place in [("ds.json", "conf/ds.json"), ("ds/z.json", "ds/z.json"), ("conf/z.json", "conf/z.json")]:
        write(folder, conf__train_yaml=f"{TRAINING}deepspeed: {named}\n")
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(ENGINE)
        assert launched("conf/train.yaml") == [("conf/train.yaml", place)]


def test_a_companion_is_not_looked_for_above_the_repository(folder: Path) -> None:
    write(folder, ds_json=ENGINE, inner__train_yaml=f"{TRAINING}deepspeed: ds.json\n")
    (folder / "inner" / ".git").mkdir()
    assert launched("inner/train.yaml") == [("inner/train.yaml",)]


def test_a_companion_speaks_only_where_it_is_given(folder: Path) -> None:
    write(folder, ds_json=ENGINE, train_yaml=f"{TRAINING}deepspeed: ds.json\n")
    only = ("--select", "FSD002")
    assert (check(*only, "train.yaml").found, check(*only, "train.yaml").statuses) == ([], {"train.yaml": "checked"})
    for given in (["train.yaml", "ds.json"], ["ds.json", "train.yaml"], ["."], ["--together", "train.yaml", "ds.json"]):
        ran = check(*only, *given)
        assert ran.found == [("ds.json", 1, "FSD002")], given
        assert ran.statuses == {"train.yaml": "checked", "ds.json": "checked"}


def test_a_companion_of_two_files_is_reported_once(folder: Path) -> None:
    write(folder, ds_json=ENGINE, a_yaml=f"{TRAINING}deepspeed: ds.json\n", b_yaml=f"{TRAINING}deepspeed: ds.json\n")
    assert check("--select", "FSD002", ".").found == [("ds.json", 1, "FSD002")]


def test_a_placeholder_names_no_file(folder: Path) -> None:
    write(folder, train_yaml=f"{TRAINING}deepspeed: ${{DS}}/ds.json\n")
    assert check("train.yaml", "--select", "FSD007").found == []


# Targets


def test_the_report_says_which_versions_it_rests_on(folder: Path) -> None:
    write(folder, a_yaml=CLEAN, requirements_txt="accelerate==1.6.0\nrequests==2\n")
    target = check("a.yaml").json["target"]
    assert target["accelerate"] == {"specifier": "==1.6.0", "source": "requirements.txt:1"}
    assert target["torch"]["source"] == "newest known"
    assert "requests" not in target
    assert check("a.yaml", "--isolated").json["target"]["accelerate"]["source"] == "newest known"
    assert check("a.yaml", "--target", "accelerate==1.7.0").json["target"]["accelerate"] == {"specifier": "==1.7.0", "source": "--target"}


def test_files_of_other_folders_may_rest_on_other_versions(folder: Path) -> None:
    write(folder, a__x_yaml=CLEAN, b__x_yaml=CLEAN, b__y_yaml=CLEAN)
    write(folder, a__requirements_txt="accelerate==1.6.0\n", b__requirements_txt="accelerate==1.7.0\n")
    ran = check("-v")
    assert ran.json["target"]["accelerate"] == {"specifier": "==1.7.0", "source": "b/requirements.txt:1"}
    assert "note: for other files, accelerate is ==1.6.0 (a/requirements.txt:1)\n" in ran.err


def test_settings_tell_versions_and_device(folder: Path) -> None:
    write(folder, a_yaml=CLEAN, fsdplint_toml='device = "cpu"\ntarget.accelerate = "1.6.0"\n')
    assert check("a.yaml").json["target"]["accelerate"] == {"specifier": "==1.6.0", "source": "fsdplint.toml"}
    explained = json.loads(run("explain", "--format", "json", "a.yaml").out)["launches"][0]
    assert explained["device"] == "cpu"
    assert json.loads(run("explain", "--format", "json", "a.yaml", "--device", "cuda").out)["launches"][0]["device"] == "cuda"


# Files that are hard to read


def test_a_broken_file_is_recognised_from_what_stands_before_the_error(folder: Path) -> None:
    write(folder, a_yaml=BROKEN, b_yaml="nothing: [\n")
    ran = check("a.yaml", "b.yaml")
    assert [(path, code) for path, _, code in ran.found] == [("a.yaml", "FSD001")]
    assert ran.statuses == {"a.yaml": "checked", "b.yaml": "skipped"}


def test_a_file_that_is_too_large_is_said_once_if_it_is_a_config(folder: Path) -> None:
    ballast = "# " + "x" * 1000 + "\n"
    write(folder, a_yaml=CLEAN + ballast * 2100, b_yaml=FOREIGN + ballast * 2100)
    ran = check("a.yaml", "b.yaml")
    assert [(path, code) for path, _, code in ran.found] == [("a.yaml", "FSD001")]
    assert "too large" in ran.json["diagnostics"][0]["message"]
    assert [code for _, _, code in check("b.yaml", "--dialect", "accelerate").found] == ["FSD001"]


def test_a_large_file_is_read_only_if_its_head_is_recognised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, a_yaml=CLEAN + "# x\n" * 30_000 + "mixed_precision: bf16\n", b_json='["model"' + ', "train"' * 30_000 + "]")
    seen: list[int] = []
    real = fsdplint.inputs.parse
    monkeypatch.setattr("fsdplint.inputs.parse", lambda data, *args, **more: seen.append(len(data)) or real(data, *args, **more))
    assert [code for _, _, code in check("a.yaml", "b.json").found] == ["FSD002"]
    assert [size > HEAD for size in seen] == [False, True, False]


def test_a_file_that_is_too_deep_is_said_once_if_it_is_a_config(folder: Path) -> None:
    deep = "[" * 5000 + "]" * 5000
    write(folder, a_json=f'{{"distributed_type": "FSDP", "compute_environment": {deep}}}', b_json=f'{{"a": {deep}}}')
    ran = check("a.json", "b.json")
    assert [(path, code) for path, _, code in ran.found] == [("a.json", "FSD001")]
    assert [code for _, _, code in check("b.json", "--dialect", "accelerate").found] == ["FSD001"]


def test_many_files_are_judged_by_several_processes_with_the_same_result(folder: Path) -> None:
    for number in range(MANY + 5):
        (folder / f"{number:04d}.yaml").write_text(TWICE if number % 50 == 0 else CLEAN)
    serial, parallel = (check_request(Request(jobs=jobs)) for jobs in (1, 2))
    assert len(serial.report.diagnostics) == 5
    assert parallel == serial


@pytest.mark.parametrize("options", ["{}", '{"version": 2}', '{"version": 2, "cpu_offlod": true}'])
def test_who_names_a_file_of_options_knows_what_it_is(folder: Path, options: str) -> None:
    write(folder, t_yaml=TRAINING + "fsdp: true\nfsdp_config: o.json\noptim: adamw_8bit\n", o_json=options)
    for paths in (("t.yaml",), ("t.yaml", "o.json"), (".",)):
        report = check_request(Request(paths=paths, isolated=True)).report
        assert [d.code for d in report.diagnostics if d.severity is Severity.ERROR] == ["FSD705"]
    misspelt = [d.key for d in report.diagnostics if d.path.endswith("o.json")]
    assert misspelt == (["cpu_offlod"] if "offlod" in options else [])


def test_a_broken_file_of_options_is_said(folder: Path) -> None:
    write(folder, t_yaml=TRAINING + "fsdp: true\nfsdp_config: o.json\n", o_json='{"version": 2,')
    report = check_request(Request(paths=("t.yaml", "o.json"), isolated=True)).report
    assert [(d.code, d.path) for d in report.diagnostics] == [("FSD001", "o.json")]


def test_companions_are_not_looked_for_above_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".git").rmdir()
    write(folder, ds_json=ENGINE, a__b__t_yaml=TRAINING + "deepspeed: ds.json\n")
    for here, expected in ((folder, ["FSD002"]), (folder / "a", [])):
        monkeypatch.chdir(here)
        report = check_request(
            Request(paths=(str(folder / "a" / "b" / "t.yaml"), *([str(folder / "ds.json")] if expected else [])), isolated=True)
        ).report
        assert [d.code for d in report.diagnostics if d.severity is not Severity.INFO] == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: b: c\n" + CLEAN, ["FSD001"]),
        ("output_dir: [out\n" + TRAINING.partition("\n")[2] + "gradient_checkpointing: true\nbf16: true\n", ["FSD001"]),
    ],
)
def test_a_config_that_breaks_at_its_start_is_said(folder: Path, text: str, code: list[str]) -> None:
    write(folder, c_yaml=text, ci_yaml="name: [a\non: push\njobs: {}\n")
    report = check_request(Request(paths=(".",), isolated=True)).report
    assert [(d.code, d.path) for d in report.diagnostics] == [(code[0], "c.yaml")]
