"""The formats that people read."""

from __future__ import annotations

import pytest
from reports import DOCUMENT, EMPTY, ERROR, FULL, INFO, NOTHING, WARNING

from fsdplint.diagnostics import Edit, Position, Range, Snippet, text_range
from fsdplint.document import parse
from fsdplint.reporters import render
from fsdplint.reporters.snippets import WIDTH, Marked, marked

EXPECTED = """\
conf/a b,c.yaml:1:13: info[FSD601] no-wrap-policy
  message of FSD601
  1 | base_model: "日本 語"
    |             ^^^^^^^^^

conf/a b,c.yaml:4:15: warning[FSD404] renamed-key
  message of FSD404
  4 | fsdp_config: {version: 1}  # 😀 note
    |               ^^^^^^^
  fix: rename the key (safe)
  - fsdp_config: {version: 1}  # 😀 note
  + fsdp_config: {fsdp_version: 1}  # 😀 note

conf/a b,c.yaml:5:12: error[FSD101] fsdp-with-deepspeed
  100 % wrong: a,
  b
  5 | deepspeed: zero3.json
    |            ^^^^^^^^^^
  note: conf/a b,c.yaml:2:1: FSDP is switched on here
  2 | fsdp:
    | ----
  help: remove one

assumed axolotl 0.19.0 (newest known); declare others with --target
1 error, 1 warning, 1 info in 1 file (2 suppressed)
1 fixable with `fsdplint fix`
"""


def test_full() -> None:
    assert render("full", FULL) == EXPECTED


def test_full_when_quiet_ends_with_the_last_diagnostic() -> None:
    assert render("full", FULL, quiet=True) == EXPECTED[: EXPECTED.index("assumed")]
    assert render("full", EMPTY, quiet=True) == ""


def test_full_without_findings() -> None:
    assert render("full", EMPTY) == "No problems in 1 file\n"
    assert render("full", EMPTY._replace(suppressed=1)) == "No problems in 1 file (1 suppressed)\n"
    assert render("full", NOTHING) == "No training configs found\n"


def test_full_says_what_is_held_back() -> None:
    assert WARNING.fix is not None
    unsafe = WARNING._replace(fix=WARNING.fix._replace(applicability="unsafe"))
    last = render("full", FULL._replace(diagnostics=(unsafe, WARNING))).splitlines()[-1]
    assert last == "1 fixable with `fsdplint fix`, 1 more with --unsafe-fixes"


def test_full_shows_no_line_for_a_fix_elsewhere() -> None:
    assert WARNING.fix is not None
    elsewhere = WARNING._replace(fix=WARNING.fix._replace(edits=(Edit("other.yaml", 0, 1, "x"),)))
    assert "\n  - " not in render("full", FULL._replace(diagnostics=(elsewhere,)))


def test_full_in_colour_says_the_same() -> None:
    colored = render("full", FULL, color=True)
    plain = colored
    for code in ("0", "1", "2", "1;31", "1;32", "1;33", "1;34", "1;36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == EXPECTED
    assert "\x1b[1;31merror[FSD101]\x1b[0m" in colored


def test_concise() -> None:
    assert render("concise", FULL).splitlines() == [
        "conf/a b,c.yaml:1:13: info[FSD601] message of FSD601",
        "conf/a b,c.yaml:4:15: warning[FSD404] message of FSD404",
        "conf/a b,c.yaml:5:12: error[FSD101] 100 % wrong: a, b",
    ]
    assert render("concise", EMPTY) == ""


@pytest.mark.parametrize("format", ["full", "concise"])
def test_control_characters_do_not_reach_the_terminal(format: str) -> None:
    evil = ERROR._replace(message="\x1b[2J\x07", help="\x1b]0;x\x07", path="\x1b[1m", snippet=Snippet(5, ("deepspeed: \x1b[31m.json ",)))
    assert "\x1b" not in render(format, EMPTY._replace(diagnostics=(evil,)))


# Snippets


def lines(text: str, start: int, end: int) -> list[Marked]:
    return marked(*text_range(parse(text, "a.yaml"), start, end))


def test_marks_stand_below_tabs_and_wide_characters() -> None:
    assert lines("\ta: 日本: x\n", 8, 9) == [Marked(1, "    a: 日本: x", " " * 13 + "^")]
    assert lines("x\ty: 1\n", 2, 3) == [Marked(1, "x   y: 1", "    ^")]
    assert lines("é: e\u0301x: 1\n", 5, 6) == [Marked(1, "é: e\u0301x: 1", "    ^")]


def test_an_empty_range_has_one_mark() -> None:
    assert lines("a:\n", 2, 2) == [Marked(1, "a:", "  ^")]
    assert lines("", 0, 0) == [Marked(1, "", "^")]


def test_a_range_over_lines_marks_each_from_its_indentation() -> None:
    text = "a:\n  b: 1\n  c: 2\nd: 3\n"
    assert lines(text, 5, 17) == [Marked(2, "  b: 1", "  ^^^^"), Marked(3, "  c: 2", "  ^^^^")]
    assert lines(text, 5, 10) == [Marked(2, "  b: 1", "  ^^^^")]


def test_a_range_over_many_lines_shows_the_first_three() -> None:
    text = "".join(f"k{number}: 1\n" for number in range(9))
    assert [line.number for line in lines(text, 0, len(text))] == [1, 2, 3]


def test_a_long_line_is_cut_around_its_marks() -> None:
    text = "a: [" + "x, " * 500 + "here, " + "y, " * 500 + "]"
    (line,) = lines(text, text.index("here"), text.index("here") + 4)
    assert line.text[line.marks.index("^") :].startswith("here")
    assert len(line.text) == WIDTH + 2
    assert (line.text[0], line.text[-1], line.marks.strip()) == ("…", "…", "^^^^")
    (head,) = lines(text, 0, 1)
    assert (head.text[:4], head.text[-1], head.marks) == ("a: [", "…", "^")


def test_a_snippet_may_lack_the_lines_of_a_range() -> None:
    assert marked(Range(Position(7, 1, 0), Position(7, 2, 1)), Snippet(1, ("a: 1",))) == []
    assert DOCUMENT.problems == ()
    assert INFO.snippet.first_line == 1
