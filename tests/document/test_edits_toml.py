"""Edits of TOML by example: the text before, the operations, the text after or the refusal."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from fsdplint.document import parse
from fsdplint.document.edits import Delete, Insert, Refused, Rename, Replace, Set, apply

if TYPE_CHECKING:
    from fsdplint.document.edits import Operation

TABLES = """\
# head
title = "x"

[job]
folder = "./out"  # where

# how
[parallel]
shard = -1
# end

[train]
steps = 10

[train.sub]
x = 1

[[rows]]
name = "a"
[rows.deep]
x = 1
[[rows]]
name = "b"
"""

CASES: dict[str, tuple[str, Operation, str]] = {
    # --- set
    "set keeps the comment": ("a = 1   # one\n", Set(("a",), 2.0), "a = 2.0   # one\n"),
    "set keeps single quotes": ("a = 'x'\n", Set(("a",), "C:\\y"), "a = 'C:\\y'\n"),
    "set writes escapes in double quotes": ("a = 'x'\n", Set(("a",), "it's"), 'a = "it\'s"\n'),
    "set of a text over several lines": ('a = """\nx\n"""  # c\nb = 1\n', Set(("a",), "y"), 'a = "y"  # c\nb = 1\n'),
    "set of a small float": ("lr = 1e-4\n", Set(("lr",), 1e-5), "lr = 1.0e-05\n"),
    "set of a date": ("a = 1\n", Set(("a",), datetime.datetime(2024, 1, 2, 3, 4)), "a = 2024-01-02T03:04:00\n"),
    "set behind dots": ("a.b = 1\n", Set(("a", "b"), True), "a.b = true\n"),
    "set of an inline table": ("a = { x = 1 }\n", Set(("a",), {"y": [1, "z"]}), 'a = { y = [1, "z"] }\n'),
    "set in a row": ("[[r]]\nn = 1\n[[r]]\nn = 2\n", Set(("r", 1, "n"), 3), "[[r]]\nn = 1\n[[r]]\nn = 3\n"),
    "set of a table": ("[a]  # c\nx = 1\ny = 2  # two\n\n[b]\n", Set(("a",), {"z": 1}), "[a]  # c\nz = 1\n\n[b]\n"),
    "replace of a table and what lies in it": (
        "[a]\nx = 1\n[a.b]\ny = 2\n\n[c]\n[a.d]\n",
        Replace(("a",), {"z": {"w": 1}}),
        "[a]\nz = { w = 1 }\n\n[c]\n",
    ),
    # --- rename
    "rename keeps the quotes": ("'a b' = 1\n", Rename(("a b",), "c"), "'c' = 1\n"),
    "rename quotes what cannot be bare": ("a = 1\n", Rename(("a",), "b c"), '"b c" = 1\n'),
    "rename of a table, wherever it is named": (
        "[a]\nx = 1\n[a.b]\n[[a.c]]\n[z]\n",
        Rename(("a",), "new"),
        "[new]\nx = 1\n[new.b]\n[[new.c]]\n[z]\n",
    ),
    "rename of a part between dots": ("a.b.c = 1\na . b.d = 2\n", Rename(("a", "b"), "x"), "a.x.c = 1\na . x.d = 2\n"),
    "rename of a list of tables": ("[[a]]\n[a.b]\n[[a]]\n", Rename(("a",), "r"), "[[r]]\n[r.b]\n[[r]]\n"),
    "rename in the second row": ("[[a]]\n[a.b]\n[[a]]\n[a.b]\n", Rename(("a", 1, "b"), "c"), "[[a]]\n[a.b]\n[[a]]\n[a.c]\n"),
    "rename in braces": ("a = {x = 1}\n", Rename(("a", "x"), "y"), "a = {y = 1}\n"),
    # --- insert: pairs
    "insert outside of all tables": (
        TABLES,
        Insert(("seed",), 1),
        TABLES.replace('title = "x"\n', 'title = "x"\nseed = 1\n'),
    ),
    "insert before the first table and the comment on it": (
        "# about a\n[a]\nx = 1\n",
        Insert(("seed",), 1),
        "seed = 1\n\n# about a\n[a]\nx = 1\n",
    ),
    "insert into a table": (TABLES, Insert(("parallel", "tp"), 2), TABLES.replace("shard = -1\n", "shard = -1\ntp = 2\n")),
    "insert into a table that has tables": (TABLES, Insert(("train", "lr"), 0.1), TABLES.replace("steps = 10\n", "steps = 10\nlr = 0.1\n")),
    "insert behind a sibling": ("[a]\nx = 1 # c\ny = 2\n", Insert(("a", "z"), 3, "x"), "[a]\nx = 1 # c\nz = 3\ny = 2\n"),
    "insert into an empty table": ("[a]  # c\n\n[b]\n", Insert(("a", "x"), 1), "[a]  # c\nx = 1\n\n[b]\n"),
    "insert in the table's indentation": ("[a]\n  x=1\n", Insert(("a", "y"), 2), "[a]\n  x=1\n  y=2\n"),
    "insert beside keys with dots": ("a.b.x = 1\nc = 2\n", Insert(("a", "b", "y"), 2), "a.b.x = 1\na.b.y = 2\nc = 2\n"),
    "insert into a table that is only named in headers": (
        "[z]\n\n# on b\n[a.b]\nx = 1\n",
        Insert(("a", "y"), 2),
        "[z]\n\n[a]\ny = 2\n\n# on b\n[a.b]\nx = 1\n",
    ),
    "insert into the first row": (TABLES, Insert(("rows", 0, "y"), 2), TABLES.replace('"a"\n', '"a"\ny = 2\n')),
    "insert into a row's table": (TABLES, Insert(("rows", 0, "deep", "y"), 2), TABLES.replace("x = 1\n[[rows]]", "x = 1\ny = 2\n[[rows]]")),
    "insert into nothing": ("", Insert(("a",), 1), "a = 1\n"),
    "insert behind the last line without an end": ("[a]\nx = 1", Insert(("a", "y"), 2), "[a]\nx = 1\ny = 2"),
    "insert keeps carriage returns": ("[a]\r\nx = 1\r\n", Insert(("a", "y"), 2), "[a]\r\nx = 1\r\ny = 2\r\n"),
    # --- insert: tables and rows
    "insert of a table": ("[a]\nx = 1\n", Insert(("b",), {"y": {"z": 1}, "w": []}), "[a]\nx = 1\n\n[b]\ny = { z = 1 }\nw = []\n"),
    "insert of a table in a table, behind its others": (
        TABLES,
        Insert(("train", "opt", "fused"), True),
        TABLES.replace("x = 1\n\n[[rows]]", "x = 1\n\n[train.opt]\nfused = true\n\n[[rows]]"),
    ),
    "insert of a table into an empty text": ("# c\n", Insert(("a",), {"b": 1}), "# c\n\n[a]\nb = 1\n"),
    "append of a row": (
        "[[r]]\nn = 1\n[r.s]\n\n[z]\n",
        Insert(("r", 1), {"n": 2}),
        "[[r]]\nn = 1\n[r.s]\n\n[[r]]\nn = 2\n\n[z]\n",
    ),
    # --- insert: arrays and inline tables
    "append to an array": ("a = [1, 2] # c\n", Insert(("a", 2), 3), "a = [1, 2, 3] # c\n"),
    "append to an array over several lines": (
        "a = [\n  1,  # one\n  2  # two\n]\n",
        Insert(("a", 2), 3),
        "a = [\n  1,  # one\n  2,  # two\n  3\n]\n",
    ),
    "insert into an inline table": ("a = { x = 1 }\n", Insert(("a", "y"), {"z": 1}), "a = { x = 1, y = { z = 1 } }\n"),
    "insert into a tight inline table": ("a = {x=1}\n", Insert(("a", "y"), 2), "a = {x=1, y=2}\n"),
    "insert into an empty inline table": ("a = {}\n", Insert(("a", "y"), 2), "a = { y = 2 }\n"),
    # --- delete
    "delete of a pair": ("a = 1\nb = 2  # two\n# on c\nc = 3\n", Delete(("b",)), "a = 1\n# on c\nc = 3\n"),
    "delete of the last pair of a table": ("[a]\nx = 1\n", Delete(("a", "x")), "[a]\n"),
    "delete of the last pair of a text without a line end": ("a = 1\nb = 2", Delete(("b",)), "a = 1"),
    "delete of a table and one blank line": (
        TABLES,
        Delete(("job",)),
        TABLES.replace('[job]\nfolder = "./out"  # where\n\n', ""),
    ),
    "delete of a table with the tables in it": (
        TABLES,
        Delete(("train",)),
        TABLES.replace("[train]\nsteps = 10\n\n[train.sub]\nx = 1\n\n", ""),
    ),
    "delete of the last table": ("a = 1\n\n[b]\nx = 1\n", Delete(("b",)), "a = 1\n"),
    "delete of a row": (TABLES, Delete(("rows", 0)), TABLES.replace('[[rows]]\nname = "a"\n[rows.deep]\nx = 1\n', "")),
    "delete of keys with dots": ("a.x = 1\nb = 2\na.y = 3\n", Delete(("a",)), "b = 2\n"),
    "delete of the last keys with dots of a text without a line end": ("b = 2\na.x = 1\na.y = 3 # c", Delete(("a",)), "b = 2"),
    "delete of all keys of a text without a line end": ("a.x = 1\na.y = 3 # c", Delete(("a",)), ""),
    "delete in an array": ("a = [1, 2, 3]\n", Delete(("a", 0)), "a = [2, 3]\n"),
    "delete in an inline table": ("a = { x = 1, y = 2 }\n", Delete(("a", "y")), "a = { x = 1 }\n"),
}

REFUSED: dict[str, tuple[str, Operation, str]] = {
    "null": ("a = 1\n", Set(("a",), None), "TOML has no null"),
    "null in a list": ("a = 1\n", Insert(("b",), [None]), "TOML has no null"),
    "a number of more than 64 bits": ("a = 1\n", Set(("a",), 2**63), "TOML has no whole numbers beyond 64 bits"),
    "a table by a value": ("[a]\n", Set(("a",), 1), "a table cannot become another kind of value where it stands"),
    "a table without a header": ("a.b = 1\n", Set(("a",), {"c": 1}), "the table has no header of its own"),
    "the only key of a table without a header": ("a.b = 1\n", Delete(("a", "b")), "nothing would be left of what it stands in"),
    "the only row": ("[[a]]\nx = 1\n", Delete(("a", 0)), "nothing would be left of what it stands in"),
    "a row that is no table": ("[[a]]\nx = 1\n", Insert(("a", 1), 5), "the list holds tables only"),
    "dots in braces": ("a = { b.c = 1, d = 2 }\n", Delete(("a", "d")), "a key with dots stands in the braces"),
    "a name with dots in braces": ("a = { b.c = 1 }\n", Rename(("a", "b"), "x"), "the key has dots and stands in braces"),
}


@pytest.mark.parametrize("name", CASES)
def test_edit(name: str) -> None:
    before, operation, after = CASES[name]
    edited = apply(parse(before, "a.toml"), [operation])
    assert edited.text == after
    if not isinstance(operation, Delete):
        assert apply(edited.document, [operation]).edits == ()


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    text, operation, reason = REFUSED[name]
    with pytest.raises(Refused) as refused:
        apply(parse(text, "a.toml"), [operation])
    assert refused.value.reason == reason
