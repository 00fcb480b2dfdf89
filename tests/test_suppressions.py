"""Comments that silence diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from console import CLEAN, check, write

from fsdplint.diagnostics import Diagnostic, Severity, text_range
from fsdplint.dialects import dialect
from fsdplint.document import parse
from fsdplint.launch import ConfigFile
from fsdplint.rule import load_pack
from fsdplint.suppressions import Suppressions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def twice(comment: str = "", above: str = "", top: str = "") -> str:
    """A file in which line 5 repeats a key (FSD002): with a comment at that line's end, with lines above it, with a first line."""
    head, tail = CLEAN.split("mixed_precision: bf16\n")
    return f"{top}\n{head}mixed_precision: bf16\n{above}mixed_precision: bf16{comment}\n{tail}"


def codes(text: str, *options: str, name: str = "a.yaml") -> list[str]:
    return [code for _, _, code in check("-", "--stdin-filename", name, *options, stdin=text).found]


def faults(text: str, *options: str) -> list[dict[str, Any]]:
    return [d for d in check("-", "--stdin-filename", "a.yaml", *options, stdin=text).json["diagnostics"] if d["code"] == "FSD008"]


@pytest.mark.parametrize(
    "comment",
    [
        "  # fsdplint: ignore[FSD002]",
        "  # fsdplint: ignore[duplicate-key]",
        "  # fsdplint: ignore[fsd002] it is known",
        "  #fsdplint:ignore[FSD002]",
        "  # fsdplint: ignore[ FSD002 ,FSD002]",
        "  # noqa # fsdplint: ignore[FSD002]",
        "  # yamllint disable-line rule:key-duplicates  # fsdplint: ignore[FSD002] (see above)",
    ],
)
def test_a_comment_at_the_end_of_the_line_silences_it(comment: str) -> None:
    assert codes(twice()) == ["FSD002"]
    assert codes(twice(comment)) == []


@pytest.mark.parametrize(
    "above",
    [
        "# fsdplint: ignore[FSD002]\n",
        "      # fsdplint: ignore[FSD002]\n",
        "# fsdplint: ignore[FSD002] first\n# and a word about it\n",
        "# fsdplint: ignore[FSD002]\n# fsdplint: ignore[duplicate-key]\n",
    ],
)
def test_a_comment_on_the_line_above_silences_it(above: str) -> None:
    assert codes(twice(above=above)) == []


@pytest.mark.parametrize("above", ["# fsdplint: ignore[FSD002]\n\n", "debug: false  # fsdplint: ignore[FSD002]\n"])
def test_a_comment_on_another_line_does_not(above: str) -> None:
    assert sorted(codes(twice(above=above))) == ["FSD002", "FSD008"]


@pytest.mark.parametrize("where", [{"top": "# fsdplint: ignore-file[FSD002]"}, {"comment": "\n# fsdplint: ignore-file[duplicate-key] why"}])
def test_a_file_can_be_silenced_from_anywhere_in_it(where: dict[str, str]) -> None:
    assert codes(twice(**where)) == []


def test_a_comment_speaks_for_its_rules_only() -> None:
    assert codes(twice("  # fsdplint: ignore[FSD001]"), "--ignore", "FSD008") == ["FSD002"]


def test_suppressed_diagnostics_are_counted() -> None:
    report = check("-", "--stdin-filename", "a.yaml", stdin=twice("  # fsdplint: ignore[FSD002]")).json
    assert (report["summary"]["suppressed"], report["summary"]["warning"]) == (1, 0)


def test_an_inner_block_is_silenced_by_the_comment_above_its_first_line() -> None:
    inner = CLEAN + "  # fsdplint: ignore[FSD002]\n  fsdp_version: 2\n"
    assert codes(inner) == []


def test_the_first_line_of_a_long_range_counts() -> None:
    document = parse("a: 1  # fsdplint: ignore[FSD002]\nb: 1\nc: 1  # fsdplint: ignore[FSD001]\n", "a.yaml")
    comments = Suppressions(ConfigFile(document, dialect("accelerate")), load_pack())
    where, snippet = text_range(document, 0, len(document.text))
    long = Diagnostic("FSD002", "duplicate-key", Severity.WARNING, "", None, "a.yaml", None, None, where, snippet)
    assert comments.silences(long)
    assert not comments.silences(long._replace(code="FSD001"))


def test_a_word_in_a_text_is_no_comment() -> None:
    text = CLEAN + 'downcast_bf16: "# fsdplint: ignore[FSD999]"\n'
    assert "FSD008" not in codes(text)


# Suppressions that are wrong


@pytest.mark.parametrize(
    ("comment", "marked", "message"),
    [
        ("# fsdplint: ignore[FSD001]", "FSD001", "FSD001 silences nothing here"),
        ("# fsdplint: ignore[FSD002, FSD101]", "FSD101", "FSD101 silences nothing here"),
        ("# fsdplint: ignore[FSD999]", "FSD999", "no rule is called 'FSD999'"),
        ("# fsdplint: ignore[FSD]", "FSD", "no rule is called 'FSD'"),
        ("# fsdplint: ignore[duplicate-keys]", "duplicate-keys", "no rule is called 'duplicate-keys'; did you mean duplicate-key?"),
        ("# fsdplint: ignore-file[FSD101]", "FSD101", "FSD101 silences nothing here"),
        ("# fsdplint: ignore", "# fsdplint: ignore", "`ignore` names no rule: write ignore[CODE]"),
        ("# fsdplint: ignore[]", "# fsdplint: ignore[]", "`ignore` names no rule: write ignore[CODE]"),
        (
            "# fsdplint: disable[FSD002]",
            "# fsdplint: disable[FSD002]",
            "`fsdplint: disable` means nothing: write ignore[CODE] or ignore-file[CODE]",
        ),
    ],
)
def test_a_useless_suppression_is_reported_at_its_very_word(comment: str, marked: str, message: str) -> None:
    text = twice(f"  {comment}")
    (fault,) = faults(text)
    assert (fault["message"], fault["name"], fault["severity"]) == (message, "bad-suppression", "warning")
    assert text[fault["range"]["start"]["offset"] : fault["range"]["end"]["offset"]] == marked


def test_the_suppression_of_a_rule_that_does_not_run_is_left_alone() -> None:
    text = CLEAN + "# fsdplint: ignore-file[FSD101]\n"
    assert len(faults(text)) == 1
    assert faults(text, "--select", "FSD002,FSD008") == []
    assert faults(text, "--ignore", "FSD101") == []


def test_a_broken_file_does_not_make_suppressions_useless() -> None:
    text = CLEAN + "a: [  # fsdplint: ignore[FSD101, FSD999]\n"
    assert [fault["message"] for fault in faults(text)] == ["no rule is called 'FSD999'"]


def test_bad_suppressions_can_be_silenced_too(folder: Path) -> None:
    text = CLEAN + "# fsdplint: ignore-file[FSD101]\n"
    assert faults(text, "--ignore", "FSD008") == []
    assert faults(text + "# fsdplint: ignore-file[FSD008]\n") == []
    write(folder, fsdplint_toml="[per-file-ignores]\n'a.yaml' = ['FSD008']\n")
    assert faults(text) == []


PACK = """
from fsdplint.rule import Rule

class BesideOne(Rule):
    "Speaks of an accelerate file that is launched together with one.yaml."
    code, name, dialects = "XXX001", "beside-one", ("accelerate",)
    scope = "file"
    def check(self, context):
        if any(file.document.path == "one.yaml" for file in context.launch.files):
            yield self.finding(context.at(("distributed_type",)), "beside one.yaml")

RULES = (BesideOne(),)
"""


def test_a_suppression_is_of_use_if_one_launch_of_the_file_needs_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    launches = "[[launch]]\nfiles = ['acc.yaml', 'one.yaml']\n[[launch]]\nfiles = ['acc.yaml', 'two.yaml']\n"
    training = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.001\n"
    write(folder, beside_pack_py=PACK, fsdplint_toml=f"rule-packs = ['beside_pack']\n{launches}", one_yaml=training, two_yaml=training)
    only = ("--select", "XXX001,FSD008")
    write(folder, acc_yaml=CLEAN)
    assert check(*only, "acc.yaml", "one.yaml", "two.yaml").found == [("acc.yaml", 2, "XXX001")]
    write(folder, acc_yaml=CLEAN + "# fsdplint: ignore-file[XXX001]\n")
    assert check(*only, "acc.yaml", "one.yaml", "two.yaml").found == []
    write(folder, fsdplint_toml="rule-packs = ['beside_pack']\n[[launch]]\nfiles = ['acc.yaml', 'two.yaml']\n")
    assert [code for _, _, code in check(*only, "acc.yaml", "one.yaml", "two.yaml").found] == ["FSD008"]


def test_a_suppression_beside_a_setting_is_of_use(folder: Path) -> None:
    write(folder, fsdplint_toml="[per-file-ignores]\n'*.yaml' = ['FSD002']\n")
    assert codes(twice("  # fsdplint: ignore[FSD002]")) == []


def test_json_has_no_comments() -> None:
    text = '{"distributed_type": "FSDP", "compute_environment": "# fsdplint: ignore[FSD999]"}'
    assert codes(text, "--select", "FSD008", name="a.json") == []
