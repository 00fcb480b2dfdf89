"""Whatever a script holds: it is understood or left alone, and words are those that a shell sees."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from fsdplint.scripts.lines import lines
from fsdplint.scripts.shell import commands
from fsdplint.scripts.words import Unreadable

CHARACTERS = "ab=1 \t\n\r\\'\"$`(){}[]<>|&;#*?~!@-é"
PIECES = [
    *("torchrun ", "accelerate launch ", "bash -c ", "eval ", "$X", "${X:-a}", "$(a)"),
    *("<<A\n", "\nA\n", "X=", "X=(", ")", "\\\n", "\\\r\n"),
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(CHARACTERS, max_size=4)), max_size=12).map("".join))
def test_any_text(script: str) -> None:
    try:
        found = list(lines(script))
    except Unreadable:
        return
    for line in found:
        for start in range(len(line.text)):
            first, last = line.place(start, start + 1, script)
            assert 0 <= first <= last <= len(script)


@given(st.lists(st.text("ab=1.\\'\"é ", min_size=1, max_size=6), min_size=1, max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    (line,) = lines(shlex.join(["torchrun", *words]))
    assert [word.text for word in line.words] == ["torchrun", *words]


@given(st.text("ab1=.-/\\'\"é \t", max_size=30))
def test_words_are_those_of_shlex(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        expected = None
    try:
        found = [word.literal for command in commands(text) for word in command.words]
    except Unreadable:
        found = None
    assert found == expected
