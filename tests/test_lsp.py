"""What the language server knows of an open document, without the protocol."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from console import CLEAN, FOREIGN, TWICE, run, write
from lsp_client import FSDP1_KEYS, TRAINER

from fsdplint.lsp.certainty import is_without_effect
from fsdplint.lsp.documents import OpenDocument, location_of
from fsdplint.lsp.hover import hover
from fsdplint.lsp.judging import Judged, judge
from fsdplint.lsp.line_edits import line_edits
from fsdplint.lsp.text import Text
from fsdplint.request import Request

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own, which is the current folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Texts


@pytest.mark.parametrize(
    ("source", "encoding", "offset", "point"),
    [
        ("a: b\nc: d\n", "utf-16", 8, (1, 3)),
        ("a: b\r\nc: d\r\n", "utf-16", 9, (1, 3)),
        ("a: b\rc: d", "utf-16", 8, (1, 3)),
        ("é: 😀 x", "utf-16", 5, (0, 6)),
        ("é: 😀 x", "utf-8", 5, (0, 9)),
        ("é: 😀 x", "utf-32", 5, (0, 5)),
        ("a: \u2028\x0c\x85b\nc", "utf-16", 8, (1, 0)),
        ("\ufeffa: b\nc: d", "utf-16", 0, (0, 1)),
        ("\ufeffa: b\nc: d", "utf-8", 3, (0, 6)),
        ("\ufeffa: b\nc: d", "utf-16", 8, (1, 3)),
    ],
)
def test_offsets_are_points_and_back(source: str, encoding: str, offset: int, point: tuple[int, int]) -> None:
    text = Text(source, encoding)
    assert text.point(offset) == point
    assert text.offset(*point) == offset


def test_points_beyond_a_text_are_its_ends() -> None:
    text = Text("a: b\r\nc: d")
    assert text.point(99) == (1, 4)
    assert text.offset(0, 99) == 4
    assert text.offset(9, 0) == 10
    assert Text("😀x").offset(0, 1) == 0
    assert Text("\ufeffa").offset(0, 0) == 0


def test_line_edits_touch_no_line_that_stays() -> None:
    old, new = "a\r\nb\r\nc\r\nd", "a\r\nB\r\nc\r\nd\r\ne"
    edits = list(line_edits("x.yaml", old, new))
    assert [edit[1:] for edit in edits] == [(3, 6, "B\r\n"), (9, 10, "d\r\ne")]


# Documents


def document(folder: Path, text: str, name: str = "a.yaml") -> OpenDocument:
    return OpenDocument((folder / name).as_uri(), str(folder / name), text, 1)


def judged(folder: Path, text: str, name: str = "a.yaml", *others: OpenDocument) -> Judged:
    return judge(Request(), document(folder, text, name), others)


def codes(found: Judged) -> list[tuple[str, int]]:
    return [(diagnostic.code, diagnostic.range.start.line) for diagnostic in found.diagnostics]


def test_only_files_and_new_documents_in_a_language_of_configs_are_judged(folder: Path) -> None:
    assert location_of("file", str(folder / "a.yml"), None) == str(folder / "a.yml")
    assert location_of("file", str(folder / "config"), "yaml") == str(folder / "config")
    assert location_of("file", str(folder / "a.py"), "python") is None
    assert location_of("untitled", "Untitled-1", "yaml") == str(folder / "Untitled-1.yaml")
    assert location_of("untitled", str(folder / "new.yaml"), "yaml") == str(folder / "new.yaml")
    assert location_of("untitled", "Untitled-1", "plaintext") is None
    assert location_of("vscode-notebook-cell", str(folder / "a.ipynb"), "yaml") is None


def test_the_byte_order_mark_that_editors_hide_counts(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert document(folder, "a: 2\n").data == b"\xef\xbb\xbfa: 2\n"
    assert document(folder, "a: 2\n", "b.yaml").data == b"a: 2\n"


def test_the_open_text_is_judged_and_not_the_file(folder: Path) -> None:
    write(folder, a_yaml=CLEAN)
    assert codes(judged(folder, TWICE)) == [("FSD002", 4)]


def test_settings_and_requirement_files_are_read_anew(folder: Path) -> None:
    text = CLEAN.replace("fsdp_version: 2", "fsdp_version: 2\n  fsdp_activation_checkpointing_offload: true")
    text += "  fsdp_activation_checkpointing: true\n"
    assert codes(judged(folder, text)) == []
    write(folder, requirements_txt="accelerate==1.14.0\n")
    assert codes(judged(folder, text)) == [("FSD401", 8)]
    write(folder, fsdplint_toml="ignore = ['FSD401']\n")
    assert codes(judged(folder, text)) == []


def test_what_settings_exclude_is_not_judged(folder: Path) -> None:
    write(folder, fsdplint_toml="exclude = ['a.yaml']\n")
    assert codes(judged(folder, TWICE)) == []
    assert codes(judged(folder, TWICE, "b.yaml")) == [("FSD002", 4)]


def test_a_large_text_that_is_no_config_is_not_read_to_its_end(folder: Path) -> None:
    large = "- model: x\n" * 10_000 + TWICE
    assert codes(judged(folder, large)) == []
    assert codes(judged(folder, TWICE + "# comment\n" * 10_000)) == [("FSD002", 4)]


def test_other_open_documents_count_by_their_text(folder: Path) -> None:
    write(folder, ds_json='{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}')
    other = document(folder, '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}', "ds.json")
    alone = judged(folder, TRAINER)
    assert codes(alone) == []
    assert alone.reads == {os.path.realpath(folder / "ds.json")}
    (found,) = judged(folder, TRAINER, "a.yaml", other).diagnostics
    assert (found.code, found.path, found.key) == ("DSP001", "a.yaml", "per_device_train_batch_size")
    assert [(place.path, place.range.start.column) for place in found.related] == [("ds.json", 36)]


@pytest.mark.parametrize(
    ("key", "faded"),
    [("fsdp_unheard_of: 1", True), ("fsdp_backward_prefetch: BACKWARD_PRE", True), ("fsdp_sharding_strategy: FULL_SHARD", False)],
)
def test_only_keys_that_are_certainly_ignored_fade(folder: Path, key: str, faded: bool) -> None:
    found = judged(folder, f"{CLEAN}  {key}\n")
    assert [is_without_effect(found, diagnostic) for diagnostic in found.diagnostics] == [faded]


def test_a_key_that_makes_upstream_refuse_the_file_does_not_fade(folder: Path) -> None:
    found = judged(folder, CLEAN + "unheard_of: 1\n")
    assert [(d.code, d.severity.word, is_without_effect(found, d)) for d in found.diagnostics] == [("FSD003", "error", False)]


# Comments that silence


@pytest.mark.parametrize(
    ("text", "silenced"),
    [
        (TWICE, TWICE.replace("mixed_precision: bf16\nnum", "mixed_precision: bf16  # fsdplint: ignore[FSD002]\nnum")),
        (
            TWICE.replace("\n", "\r\n"),
            TWICE.replace("mixed_precision: bf16\nnum", "mixed_precision: bf16  # fsdplint: ignore[FSD002]\nnum").replace("\n", "\r\n"),
        ),
        (
            CLEAN + '  fsdp_unknown: "a\n    b"\n',
            CLEAN + '  # fsdplint: ignore[FSD003]\n  fsdp_unknown: "a\n    b"\n',
        ),
        (
            CLEAN + "# fsdplint: ignore[]\nuse_cpu: true\n",
            CLEAN + "# fsdplint: ignore[ACC001]\nuse_cpu: true\n",
        ),
    ],
)
def test_a_comment_silences_and_does_nothing_else(folder: Path, text: str, silenced: str) -> None:
    found = judged(folder, text)
    wanted = next(diagnostic for diagnostic in found.diagnostics if diagnostic.code != "FSD008")
    insertion = found.silenced(wanted)
    assert insertion is not None
    assert insertion.applied(text) == silenced


def test_json_has_no_comments(folder: Path) -> None:
    found = judged(folder, '{"zero_optimization": {"stage": 9}}', "ds.json")
    assert [(d.code, found.silenced(d)) for d in found.diagnostics] == [("FSD004", None)]


# Hover


def hovered(folder: Path, text: str, key: str) -> str | None:
    found = hover(judged(folder, text), text.index(key) + 1)
    return found.text if found is not None else None


def test_hovering_over_a_key_tells_its_values_and_releases(folder: Path) -> None:
    text = hovered(folder, CLEAN, "fsdp_version")
    assert text is not None
    assert text.startswith("**`fsdp_config.fsdp_version`** (accelerate")
    assert "- known to `accelerate>=1.6.0`" in text.splitlines()
    write(folder, requirements_txt="accelerate==1.5.2\n")
    text = hovered(folder, CLEAN, "fsdp_version")
    assert text is not None
    assert "accelerate 1.5.2, by which this file is judged, does not know it" in text
    assert "**[FSD401](https://github.com/fsdplint/fsdplint/blob/main/docs/rules/FSD401.md) version-too-old**" in text


def test_hovering_over_a_key_says_which_fsdp_reads_it_and_why_a_rule_speaks(folder: Path) -> None:
    text = hovered(folder, FSDP1_KEYS, "fsdp_backward_prefetch")
    assert text is not None
    assert "- read by FSDP1 only" in text
    assert text.endswith("FSDP2 has no such knob: the key is dropped, mostly without a word.")


@pytest.mark.parametrize(("text", "key"), [(CLEAN + "unheard_of: 1\n", "unheard_of"), (CLEAN, "SHARDED_STATE"), (FOREIGN, "image")])
def test_hovering_over_what_no_table_knows_tells_nothing(folder: Path, text: str, key: str) -> None:
    assert hovered(folder, text, key) is None


# The command


def test_without_pygls_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("fsdplint.lsp.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("pygls", "lsprotocol"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = run("lsp")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == 'fsdplint: the language server needs pygls 2: pip install "fsdplint[lsp]"\n'
