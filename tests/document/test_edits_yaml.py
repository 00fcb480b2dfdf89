"""Edits of YAML by example: the text before, the operations, the text after or the refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsdplint.document import parse
from fsdplint.document.edits import Delete, Insert, Refused, Rename, Replace, Set, apply

if TYPE_CHECKING:
    from fsdplint.document.edits import Operation

CASES: dict[str, tuple[str, Operation, str]] = {
    # --- set: scalars
    "set keeps the comment and what stands around the value": ("a:   1   # one\nb: 2\n", Set(("a",), 3), "a:   3   # one\nb: 2\n"),
    "set keeps double quotes": ('a: "x"\n', Set(("a",), "y"), 'a: "y"\n'),
    "set keeps single quotes": ("a: 'x'\n", Set(("a",), "it's"), "a: 'it''s'\n"),
    "set drops quotes that a number does not have": ("a: '1'\n", Set(("a",), 1), "a: 1\n"),
    "set quotes a text that would be a boolean": ("a: no\n", Set(("a",), "no"), "a: 'no'\n"),
    "set takes the quotes of the file": ('a: no\nb: "x"\n', Set(("a",), "no"), 'a: "no"\nb: "x"\n'),
    "set writes escapes in double quotes only": ("a: 'x'\n", Set(("a",), "x\ny"), 'a: "x\\ny"\n'),
    "set writes a float that is one": ("lr: 1e-4\n", Set(("lr",), 1e-5), "lr: 1.0e-05\n"),
    "set fills an empty value before its comment": ("a:  # why\nb: 1\n", Set(("a",), 2), "a: 2  # why\nb: 1\n"),
    "set empties a value": ("a: 1\n", Set(("a",), None), "a: null\n"),
    "set of a text over several lines": ("a: one\n  two  # t\nb: 1\n", Set(("a",), "x"), "a: x  # t\nb: 1\n"),
    "set keeps the comment on a block text": ("a: |-  # why\n  x\n  y\n\nb: 1\n", Set(("a",), 1), "a: 1  # why\n\nb: 1\n"),
    "set in a list": ("a:\n- x  # one\n-\n", Set(("a", 1), "w"), "a:\n- x  # one\n- w\n"),
    "set over an alias changes the alias only": ("a: &n 1\nb: *n\n", Set(("b",), 2), "a: &n 1\nb: 2\n"),
    "set of a merged key writes an own one": ("a: &m {x: 1}\nb:\n  <<: *m\n", Set(("b", "x"), 2), "a: &m {x: 1}\nb:\n  <<: *m\n  x: 2\n"),
    "below an anchor that nothing uses": ("a: &x\n  b: 1  # c\n", Set(("a", "b"), 2), "a: &x\n  b: 2  # c\n"),
    "insert below an anchor that nothing uses": ("a: &x\n  b: 1\n", Insert(("a", "c"), 2), "a: &x\n  b: 1\n  c: 2\n"),
    "set of an explicit key's value": ("? k\n: 1\n", Set(("k",), 2), "? k\n: 2\n"),
    "set in a flow mapping": ("a: {x: 1,y: no} # c\n", Set(("a", "y"), "no"), "a: {x: 1,y: 'no'} # c\n"),
    "set of a flow key without a colon": ("a: {x, y: }\n", Set(("a", "x"), 1), "a: {x: 1, y: }\n"),
    "set in JSON within YAML": ('{"a": {"b": 1}}\n', Set(("a", "b"), "x"), '{"a": {"b": "x"}}\n'),
    # --- set: collections
    "set of a flow list stays one": ("a: [x, y]  # c\n", Set(("a",), ["z"]), "a: [z]  # c\n"),
    "set of a block list by a text": (
        "fsdp:  # how\n- full_shard\n# between\n- auto_wrap  # w\n  # deeper\n# same\nb: 1\n",
        Set(("fsdp",), "full_shard auto_wrap"),
        "fsdp: full_shard auto_wrap  # how\n# same\nb: 1\n",
    ),
    "set of a text by a mapping": ("a: x  # c\nb:\n    c: 1\n", Set(("a",), {"w": "no"}), "a:  # c\n    w: 'no'\nb:\n    c: 1\n"),
    "set of a text by a list as the file has them": ("a: x\nb:\n- c\n", Set(("a",), ["w", "z"]), "a:\n- w\n- z\nb:\n- c\n"),
    "set of a list's item by a mapping": ("a:\n- x\n- y # c\n", Set(("a", 0), {"k": 1, "l": 2}), "a:\n- k: 1\n  l: 2\n- y # c\n"),
    "set of a mapping in a list by a text": ("- a: 1\n  b: 2\n- c\n", Set((0,), "x"), "- x\n- c\n"),
    "set of a block by nothing": ("a:\n  b: 1\nc: 2\n", Set(("a",), {}), "a: {}\nc: 2\n"),
    # --- rename
    "rename keeps the quotes": ("\"fsdp\" : 1\n'b': 2\n", Rename(("fsdp",), "x"), "\"x\" : 1\n'b': 2\n"),
    "rename quotes a key that would be a boolean": ("a: 1\n", Rename(("a",), "on"), "'on': 1\n"),
    "rename of a key that is none": ("on: 1\n", Rename(("on",), "off_"), "off_: 1\n"),
    "rename of a key of an anchored value": ("a: &x 1\nb: *x\n", Rename(("a",), "c"), "c: &x 1\nb: *x\n"),
    "rename in a flow mapping": ("a: {x: 1, y: 2}\n", Rename(("a", "x"), "z"), "a: {z: 1, y: 2}\n"),
    # --- insert
    "insert goes behind the last key, its comment included": (
        "a:\n    x: 1  # c\n\n    # end\nb: 2\n",
        Insert(("a", "w"), True),
        "a:\n    x: 1  # c\n    w: true\n\n    # end\nb: 2\n",
    ),
    "insert behind a sibling and all that is below it": (
        "a:\n  x: 1\nb: 2\n",
        Insert(("c",), 3, "a"),
        "a:\n  x: 1\nc: 3\nb: 2\n",
    ),
    "insert with a sibling that is not there": ("a: 1\n", Insert(("b",), 2, "z"), "a: 1\nb: 2\n"),
    "insert with a sibling that is written twice": ("a: 1\nb: 2\na: 3\nc: 4\n", Insert(("d",), 5, "a"), "a: 1\nb: 2\na: 3\nc: 4\nd: 5\n"),
    "insert of missing parents does not look for the sibling among them": (
        "a: 1\nb: 2\n",
        Insert(("c", "d"), 3, "a"),
        "a: 1\nb: 2\nc:\n  d: 3\n",
    ),
    "insert behind a key that is null": ("~: a\nb: c\n", Insert(("d",), 1, "~"), "~: a\nd: 1\nb: c\n"),
    "insert takes the siblings' quotes": ('"a": 1\n', Insert(("b",), 2), '"a": 1\n"b": 2\n'),
    "insert beside plain and quoted keys": ("a: 1\n'on': 2\n", Insert(("b",), 3), "a: 1\n'on': 2\nb: 3\n"),
    "insert of a block in the file's indentation": (
        "a:\n    - x\nb:\n   c: 1\n",
        Insert(("d",), {"e": [1, {"f": 2, "g": 3}], "h": {}}),
        "a:\n    - x\nb:\n   c: 1\nd:\n   e:\n       - 1\n       - f: 2\n         g: 3\n   h: {}\n",
    ),
    "insert creates what is missing": ("a: 1\n", Insert(("b", "c", "d"), "no"), "a: 1\nb:\n  c:\n    d: 'no'\n"),
    "insert into an empty value": ("a:  # why\nb: 1\n", Insert(("a", "x"), 1), "a:  # why\n  x: 1\nb: 1\n"),
    "insert in place of a null": ("a: ~  # why\nb: 1\n", Insert(("a", "x"), 1), "a:  # why\n  x: 1\nb: 1\n"),
    "insert into a mapping in a list": ("- a: 1\n- b\n", Insert((0, "c"), 2), "- a: 1\n  c: 2\n- b\n"),
    "insert behind a text that keeps its line ends": ("a: |+\n  x\n\nb: 1\n", Insert(("c",), 1, "a"), "a: |+\n  x\n\nc: 1\nb: 1\n"),
    "insert into a merging mapping": ("m: &m {x: 1}\na:\n  <<: *m\n", Insert(("a", "w"), 1), "m: &m {x: 1}\na:\n  <<: *m\n  w: 1\n"),
    "insert over a merged key": ("m: &m {x: 1}\na:\n  <<: *m\n", Insert(("a", "x"), 2), "m: &m {x: 1}\na:\n  <<: *m\n  x: 2\n"),
    "insert into nothing": ("", Insert(("a",), 1), "a: 1\n"),
    "insert into comments": ("# c", Insert(("a", "b"), 1), "# c\na:\n  b: 1"),
    "insert behind the mark of a document": ("---\n", Insert(("a",), 1), "---\na: 1\n"),
    "insert at the end of a text without a line end": ("a: 1", Insert(("b",), 2), "a: 1\nb: 2"),
    "insert keeps carriage returns": ("a: 1\r\nb:\r\n  c: 1\r\n", Insert(("b", "d"), [1]), "a: 1\r\nb:\r\n  c: 1\r\n  d:\r\n    - 1\r\n"),
    "append to a list": ("a:\n  - x # c\nb: 1\n", Insert(("a", 1), {"k": 1, "l": 2}), "a:\n  - x # c\n  - k: 1\n    l: 2\nb: 1\n"),
    "append to a flow list": ("a: [x]\n", Insert(("a", 1), "no"), "a: [x, 'no']\n"),
    "append to an empty list": ("a: []\n", Insert(("a", 0), {"k": 1}), "a: [{k: 1}]\n"),
    "insert into braces": ("a: {x: 1}\n", Insert(("a", "w"), [1]), "a: {x: 1, w: [1]}\n"),
    "insert into empty braces": ("a: {}\n", Insert(("a", "w"), 1), "a: {w: 1}\n"),
    "insert into tight braces": ('a: {"x":1,"y":2}\n', Insert(("a", "z"), 3), 'a: {"x":1,"y":2,"z": 3}\n'),
    "insert into braces behind a sibling": ("a: {x: 1, y: 2}\n", Insert(("a", "z"), 3, "x"), "a: {x: 1, z: 3, y: 2}\n"),
    "insert into braces with a comma at the end": ("a: {x: 1, }\n", Insert(("a", "w"), 2), "a: {x: 1, w: 2, }\n"),
    "insert into braces over several lines": (
        "a: {\n  x: 1,  # one\n  y: 2   # two\n}\n",
        Insert(("a", "z"), 3),
        "a: {\n  x: 1,  # one\n  y: 2,   # two\n  z: 3\n}\n",
    ),
    "insert into braces over several lines, behind a sibling": (
        "a: {\n  x: 1,  # one\n  y: 2}\n",
        Insert(("a", "z"), 3, "x"),
        "a: {\n  x: 1,  # one\n  z: 3,\n  y: 2}\n",
    ),
    "insert into braces that hold a comment": ("a: {\n  # none\n}\n", Insert(("a", "z"), 3), "a: {\n  # none\n  z: 3\n}\n"),
    # --- delete
    "delete takes the comments on the key, not those above": (
        "a: 1\n# above\nb:  # b\n  x: 1\n\n  # deeper\n\n# below\nc: 2\n",
        Delete(("b",)),
        "a: 1\n# above\n\n# below\nc: 2\n",
    ),
    "delete of the last key": ("a: 1\nb: 2\n", Delete(("b",)), "a: 1\n"),
    "delete of the last key of a text without a line end": ("a: 1\nb: 2", Delete(("b",)), "a: 1"),
    "delete of the only key leaves an empty mapping": ("a:  # why\n  b: 1\nc: 2\n", Delete(("a", "b")), "a: {}  # why\nc: 2\n"),
    "delete of the only item leaves an empty list": ("a:\n- b\nc: 2\n", Delete(("a", 0)), "a: []\nc: 2\n"),
    "delete of the only key in a list": ("- a: 1  # x\n- b\n", Delete((0, "a")), "- {}\n- b\n"),
    "delete of the first key behind a dash": ("- a:\n    x: 1\n  b: 2\n", Delete((0, "a")), "- b: 2\n"),
    "delete of an item": ("a:\n- x # c\n- y\n", Delete(("a", 0)), "a:\n- y\n"),
    "delete of a list's first list's first item": ("- - a\n  - b\n- c\n", Delete((0, 0)), "- - b\n- c\n"),
    "delete of an anchored value that nobody uses": ("a: &x 1\nb: 2\n", Delete(("a",)), "b: 2\n"),
    "delete in braces": ("a: {x: 1, y: 2, z: 3}\n", Delete(("a", "y")), "a: {x: 1, z: 3}\n"),
    "delete of the first in braces": ("a: { x: 1, y: 2 }\n", Delete(("a", "x")), "a: { y: 2 }\n"),
    "delete of the last in braces": ("a: {x: 1, y: 2,}\n", Delete(("a", "y")), "a: {x: 1,}\n"),
    "delete of the only one in braces": ("a: { x: 1, }\n", Delete(("a", "x")), "a: {}\n"),
    "delete in braces over several lines": (
        "a: [\n  x,  # one\n  y,  # two\n  z   # three\n]\n",
        Delete(("a", 2)),
        "a: [\n  x,  # one\n  y  # two\n]\n",
    ),
    "delete of two on a line": ("a: [x, y,\n    z]\n", Delete(("a", 1)), "a: [x,\n    z]\n"),
    # --- replace
    "replace of a block": (
        "a:\n   x: 1\n   y: 2  # two\n   # end\nb: 1\n",
        Replace(("a",), {"z": {"w": 1}}),
        "a:\n   z:\n      w: 1\n   # end\nb: 1\n",
    ),
    "replace of braces by a block": ("a: {x: 1}  # c\nb: 2\n", Replace(("a",), {"w": 2}), "a:  # c\n  w: 2\nb: 2\n"),
    "replace of braces in brackets": ("a: [{x: 1}]\n", Replace(("a", 0), {"w": [1]}), "a: [{w: [1]}]\n"),
    "replace of a list by a mapping": ("a:\n- x\n- y\nb: 1\n", Replace(("a",), {"k": 1}), "a:\n  k: 1\nb: 1\n"),
    "replace of a mapping by a list": ("a:\n  x: 1\nb: 1\n", Replace(("a",), ["k", "l"]), "a:\n  - k\n  - l\nb: 1\n"),
    "replace of a mapping in a list": ("- x: 1\n  y: 2\n- z\n", Replace((0,), {"k": 1, "l": 2}), "- k: 1\n  l: 2\n- z\n"),
    "replace by nothing": ("a:\n  x: 1\nb: 1\n", Replace(("a",), {}), "a: {}\nb: 1\n"),
}

REFUSED: dict[str, tuple[str, Operation, str]] = {
    "an anchored value": ("a: &x 1\nb: *x\n", Set(("a",), 2), "'a' has the anchor '&x': an edit would change every alias of it"),
    "below an anchor": ("a: &x {b: 1}\nc: *x\n", Set(("a", "b"), 2), "'a' has the anchor '&x': an edit would change every alias of it"),
    "through an alias": ("a: &x {b: 1}\nc: *x\n", Set(("c", "b"), 2), "'c' is an alias: an edit would change what it stands for"),
    "an anchor that is in use": (
        "a: &x 1\nb: *x\n",
        Delete(("a",)),
        "the result could not be read: the alias '*x' has no anchor '&x' before it",
    ),
    "a merged key": ("m: &m {x: 1}\na:\n  <<: *m\n  y: 1\n", Delete(("a", "x")), "'a.x' is merged from elsewhere"),
    "an own key over a merged one": (
        "m: &m {x: 1}\na:\n  <<: [*m]\n  x: 2\n  y: 1\n",
        Delete(("a", "x")),
        "'a.x' would then be merged from elsewhere",
    ),
    "a tagged value": ("a: !!str 5\n", Set(("a",), 2), "'a' has the tag 'tag:yaml.org,2002:str'"),
    "a key written twice": ("a: 1\nb: 2\na: 3\n", Delete(("a",)), "'a' is written twice"),
    "two keys with one name": ('1: a\n"1": b\n', Set(("1",), 2), "'1' is written twice"),
    "two keys that are one to Python": ("1: a\ntrue: b\n", Rename(("true",), "x"), "'true' is written twice"),
    "two keys that are null": ("~: a\nnull: b\n", Delete(("null",)), "'null' is written twice"),
    "an explicit key": ("? k\n: 1\nb: 2\n", Rename(("k",), "l"), "the key is written with a '?'"),
    "an anchored key": ("&x a: 1\nb: *x\n", Rename(("a",), "c"), "the key has an anchor or a tag, or is an alias"),
    "a pair in brackets": ("a: [b: 1]\n", Insert(("a", 0, "c"), 2), "it has no braces of its own"),
    "the last root key": ("a: 1\n", Delete(("a",)), "it is all that the document holds"),
    "a comment behind the dash's key": (
        "- a: 1\n  # on b\n  b: 2\n",
        Delete((0, "a")),
        "a comment stands between the key and the next one",
    ),
    "blank lines that would join a text": (
        "a: |+\n  x\nb: 1\n\nc: 2\n",
        Delete(("b",)),
        "'a' would change with it",
    ),
    "a line end that would join a text": ("a: |\n  x", Insert(("b",), 1), "'a' would change with it"),
    "a line end that would leave a text": ("a: |\n  x\nb: 1", Delete(("b",)), "'a' would change with it"),
}


@pytest.mark.parametrize("name", CASES)
def test_edit(name: str) -> None:
    before, operation, after = CASES[name]
    edited = apply(parse(before, "a.yaml"), [operation])
    assert edited.text == after
    if not isinstance(operation, Delete):
        assert apply(edited.document, [operation]).edits == ()


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    text, operation, reason = REFUSED[name]
    with pytest.raises(Refused) as refused:
        apply(parse(text, "a.yaml"), [operation])
    assert refused.value.reason == reason
