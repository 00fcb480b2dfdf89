"""``fix`` and ``check --fix``: what is written, what is shown, and how they end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from console import BROKEN, CLEAN, FOREIGN, run, write
from test_clean_run import loaded

from fsdplint.diagnostics import Diagnostic, Edit, Fix, Position, Range, Severity, Snippet
from fsdplint.fixing import fix
from fsdplint.mending import Trial, mend, objections
from fsdplint.request import Request

if TYPE_CHECKING:
    from pathlib import Path

RENAMED = CLEAN.replace("fsdp_version: 2", "fsdp_version: 1").replace(
    "  fsdp_reshard_after_forward: true\n", "  fsdp_backward_prefetch_policy: BACKWARD_PRE  # early\n"
)
"""An accelerate file with one fault, whose fix is safe."""

MENDED = RENAMED.replace("prefetch_policy", "prefetch")

MISSPELT = CLEAN + "  fsdp_offload_param: true\n"
"""One whose fix is unsafe."""

RIGHT = MISSPELT.replace("offload_param:", "offload_params:")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fixed(name: str, *args: str, command: str = "fix") -> tuple[int, str, str]:
    """Exit code, stdout and the file's text after a fix."""
    ran = run(command, *args, name)
    with open(name, encoding="utf-8", newline="") as file:
        return ran.code, ran.out, file.read()


def test_safe_fixes_are_written_and_reported(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    code, out, text = fixed("a.yaml")
    assert (code, text) == (0, MENDED)
    assert out.splitlines() == [
        "fixed a.yaml:9: FSD404 renamed-key: rename `fsdp_backward_prefetch_policy` to `fsdp_backward_prefetch`",
        "No problems in 1 file",
        "fixed 1, 0 left",
    ]


def test_a_second_run_changes_nothing(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    run("fix", "a.yaml")
    before = os.stat("a.yaml").st_mtime_ns
    assert fixed("a.yaml") == (0, "No problems in 1 file\n", MENDED)
    assert os.stat("a.yaml").st_mtime_ns == before


def test_check_fixes_only_when_asked(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    assert fixed("a.yaml", command="check")[::2] == (1, RENAMED)
    assert fixed("a.yaml", "--fix", command="check")[::2] == (0, MENDED)


def test_unsafe_fixes_need_their_option(folder: Path) -> None:
    write(folder, a_yaml=MISSPELT)
    code, out, text = fixed("a.yaml")
    assert (code, text) == (1, MISSPELT)
    assert out.splitlines()[-1] == "fixed 0, 1 left; 1 more with --unsafe-fixes"
    assert fixed("a.yaml", "--unsafe-fixes")[::2] == (0, RIGHT)


def test_what_cannot_be_fixed_decides_the_exit_code(folder: Path) -> None:
    write(folder, a_yaml=RENAMED + "mixed_precision: bf16\n")
    code, out, text = fixed("a.yaml")
    assert (code, text) == (1, MENDED + "mixed_precision: bf16\n")
    assert out.splitlines()[-1] == "fixed 1, 1 left"


def test_several_fixes_in_one_file(folder: Path) -> None:
    write(folder, a_yaml=RENAMED.replace("bf16", "no") + "  fsdp_offload_param: true\n")
    assert fixed("a.yaml", "--unsafe-fixes")[2] == MENDED.replace("bf16", "'no'") + "  fsdp_offload_params: true\n"


def test_a_suppressed_fault_is_not_fixed(folder: Path) -> None:
    text = RENAMED.replace("# early", "# fsdplint: ignore[FSD404]")
    write(folder, a_yaml=text)
    assert fixed("a.yaml")[::2] == (0, text)


def test_rules_that_are_not_selected_fix_nothing(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    assert fixed("a.yaml", "--ignore", "FSD404")[2] == RENAMED


def test_a_diff_writes_nothing(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    for command in ("fix", "check"):
        ran = run(command, "--diff", "a.yaml")
        assert ran.code == 1
        assert ran.lines[:3] == ["--- a.yaml", "+++ a.yaml", "@@ -6,5 +6,5 @@"]
        assert "-  fsdp_backward_prefetch_policy: BACKWARD_PRE  # early" in ran.lines
        assert "+  fsdp_backward_prefetch: BACKWARD_PRE  # early" in ran.lines
        assert ran.err == "would fix 1 in 1 file, 0 left\n"
    assert (folder / "a.yaml").read_text() == RENAMED


def test_check_asks_only_whether_something_would_change(folder: Path) -> None:
    write(folder, a_yaml=RENAMED, b_yaml=MISSPELT)
    ran = run("fix", "--check", "a.yaml")
    assert (ran.code, ran.lines[-1]) == (1, "would fix 1, 0 left")
    assert ran.lines[0].startswith("would fix a.yaml:9: FSD404")
    assert (folder / "a.yaml").read_text() == RENAMED
    assert run("fix", "--check", "b.yaml").code == 0, "nothing would change"
    assert run("fix", "--diff", "b.yaml").code == 0
    assert run("check", "--diff", "b.yaml").code == 1, "check fails for what remains"


def test_standard_input_comes_out_fixed_byte_for_byte() -> None:
    ran = run("fix", "--stdin-filename", "a.yaml", "-", stdin=b"\xef\xbb\xbf" + RENAMED.replace("\n", "\r\n").encode())
    assert ran.out.encode() == b"\xef\xbb\xbf" + MENDED.replace("\n", "\r\n").encode()
    assert ran.err.splitlines()[-1] == "fixed 1, 0 left"
    assert run("fix", "-", stdin=FOREIGN).out == FOREIGN
    assert run("check", "--fix", "-", stdin=BROKEN).out == BROKEN


def test_line_endings_and_a_missing_last_one_stay(folder: Path) -> None:
    text = RENAMED.replace("\n", "\r\n").removesuffix("\r\n")
    (folder / "a.yaml").write_bytes(text.encode())
    assert fixed("a.yaml")[2] == MENDED.replace("\n", "\r\n").removesuffix("\r\n")
    ran = run("fix", "--diff", "-", stdin=RENAMED.removesuffix("\n"))
    assert "\\ No newline at end of file" in ran.lines


def test_json_shows_the_fix_and_what_was_fixed(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    (found,) = run("check", "--format", "json", "a.yaml").json["diagnostics"]
    start = RENAMED.index("fsdp_backward_prefetch_policy")
    edit = {
        "path": "a.yaml",
        "start": start + len("fsdp_backward_prefetch"),
        "end": start + len("fsdp_backward_prefetch_policy"),
        "text": "",
    }
    whole = {"path": "a.yaml", "start": start, "end": start + len("fsdp_backward_prefetch_policy"), "text": "fsdp_backward_prefetch"}
    assert found["fix"]["applicability"] == "safe"
    assert found["fix"]["edits"] in ([edit], [whole])
    report = run("fix", "--format", "json", "a.yaml").json
    assert (report["diagnostics"], report["summary"]["fixed"]) == ([], 1)
    assert report["fixed"][0]["code"] == "FSD404"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_without_any_right_is_not_written(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    (folder / "a.yaml").chmod(0o400)
    assert fixed("a.yaml")[0] == 2


def test_a_read_only_file_stays_and_the_others_are_written(folder: Path) -> None:
    write(folder, a_yaml=RENAMED, b_yaml=RENAMED)
    (folder / "a.yaml").chmod(0o444)
    ran = run("fix", "a.yaml", "b.yaml")
    assert ran.code == 2
    assert ran.err == "fsdplint: a.yaml: cannot be written: the file is read-only\n"
    assert [(folder / name).read_text() for name in ("a.yaml", "b.yaml")] == [RENAMED, MENDED]
    assert ran.lines[-1] == "fixed 1, 1 left"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    (folder / "b.yaml").symlink_to("a.yaml")
    run("fix", "b.yaml")
    assert (folder / "b.yaml").is_symlink()
    assert (folder / "a.yaml").read_text() == MENDED


def test_a_member_that_is_not_given_is_not_written(folder: Path) -> None:
    write(folder, a_yaml=RENAMED, train_yaml="output_dir: out\nper_device_train_batch_size: 1\n")
    line = "accelerate launch --config_file a.yaml train.py train.yaml"
    assert run("fix", "train.yaml", "--launch", line).code in (0, 1)
    assert (folder / "a.yaml").read_text() == RENAMED
    run("fix", "train.yaml", "a.yaml", "--launch", line)
    assert (folder / "a.yaml").read_text() == MENDED


def test_an_interval_is_fixed_only_where_every_release_takes_the_fix(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    assert fixed("a.yaml", "--target", "accelerate>=0.20")[2] == RENAMED
    assert fixed("a.yaml", "--target", "accelerate>=1.1")[2] == MENDED


def test_a_fix_that_brings_another_fault_is_not_applied_and_says_so(folder: Path) -> None:
    text = CLEAN + "  fsdp_state_dict_type_: FULL\n"
    write(folder, a_yaml=text.replace("  fsdp_state_dict_type: SHARDED_STATE_DICT\n", ""))
    code, out, after = fixed("a.yaml", "--unsafe-fixes")
    assert (code, after) == (1, text.replace("  fsdp_state_dict_type: SHARDED_STATE_DICT\n", ""))
    assert "fix:" not in out.replace("no automatic fix:", "")


def test_a_clean_check_and_one_without_fixes_do_not_load_the_edit_layer(folder: Path) -> None:
    write(folder, a_yaml=CLEAN, b_yaml=RENAMED)
    edit_layer = {"fsdplint.fixes", "fsdplint.mending", "fsdplint.fixing", "fsdplint.document.steps", "fsdplint.document.edits_yaml"}
    assert not loaded(folder, "check", "a.yaml") & {*edit_layer, "fsdplint.document.operations"}
    assert not loaded(folder, "check", "--exit-zero", "--format", "concise", "b.yaml") & {"fsdplint.document.steps", "fsdplint.mending"}
    assert "fsdplint.document.steps" in loaded(folder, "check", "--exit-zero", "b.yaml")


def test_files_are_only_shown_when_that_is_asked(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    assert fixed("a.yaml", "--show-files") == (0, "a.yaml accelerate\n", RENAMED)


def test_the_engine_alone() -> None:
    request = Request(paths=("-",), stdin=RENAMED.encode(), stdin_filename="a.yaml", isolated=True)
    found = fix(request)
    (change,) = found.changes
    assert (change.old, change.new, change.is_stdin) == (RENAMED.encode(), MENDED.encode(), True)
    assert found.outcome.exit_code == 0


def diagnostic(code: str, key: str, offset: int = 0, fix: Fix | None = None, severity: Severity = Severity.WARNING) -> Diagnostic:
    place = Position(1, offset + 1, offset)
    return Diagnostic(code, code.lower(), severity, code, None, "a.yaml", None, key, Range(place, place), Snippet(1, ("",)), (), fix)


def test_what_speaks_against_a_fix() -> None:
    safe = diagnostic("A", "x", fix=Fix("", "safe", (Edit("a.yaml", 0, 1, "yyy"),)))
    unsafe = safe._replace(fix=Fix("", "unsafe", (Edit("a.yaml", 0, 1, "yyy"),)))
    other = diagnostic("B", "x", 0)
    late = diagnostic("B", "z", 5)
    assert objections(safe, [safe, other], [other]) == []
    assert objections(safe, [safe], [safe]) == [safe], "it is still there"
    assert objections(safe, [safe], [late]) == [late], "something is new"
    assert objections(unsafe, [unsafe], [late]) == [], "an unsafe fix may bring a warning"
    worse = late._replace(severity=Severity.ERROR)
    assert objections(unsafe, [unsafe], [worse]) == [worse]
    assert objections(safe, [safe, other], [other._replace(key="yyy")]) == [], "the same fault at the renamed key"
    moved = diagnostic("B", "w", 7)
    assert objections(safe, [safe, late], [moved]) == [], "the same fault, two characters on"


def test_fixes_that_undo_each_other_end() -> None:
    from fsdplint.document import parse

    def judge(contents: dict[str, bytes]) -> Trial:
        text = contents.get("a.yaml", b"a: 1\n").decode()
        other = "b" if text[0] == "a" else "a"
        code = "A" if text[0] == "a" else "B"
        found = diagnostic(code, text[0], fix=Fix("", "unsafe", (Edit("a.yaml", 0, 1, other),)))
        return Trial((found,), {"a.yaml": parse(text, "a.yaml")})

    mended = mend(judge, unsafe=True)
    assert [d.code for d in mended.fixed] == ["A"]
    assert mended.changes == {"a.yaml": (b"a: 1\n", b"b: 1\n")}
    assert list(mended.rejected.values()) == ["it would undo another fix"]


def test_a_safe_fix_switches_no_engine_off(folder: Path) -> None:
    block = "fsdp_config:\n  limit_all_gathers: true\n"
    text = "base_model: a/b\ndatasets: [{path: a/b, type: alpaca}]\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n" + block
    write(folder, alone_yaml=text, beside_yaml=text + "  offload_params: false\n")
    assert fix(Request(paths=("alone.yaml",), isolated=True)).changes == ()
    (left,) = [d for d in fix(Request(paths=("alone.yaml",), isolated=True)).outcome.report.diagnostics if d.code == "FSD403"]
    assert "no automatic fix: it would switch FSDP1 off" in (left.help or "")
    (change,) = fix(Request(paths=("beside.yaml",), isolated=True)).changes
    assert b"limit_all_gathers" not in change.new


def test_a_folder_to_report_to_is_refused_before_anything_is_written(folder: Path) -> None:
    write(folder, a_yaml=RENAMED)
    (folder / "reports").mkdir()
    assert run("fix", "--isolated", "--output", "reports", "a.yaml").code == 2
    assert (folder / "a.yaml").read_text() == RENAMED
