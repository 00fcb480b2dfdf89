"""Edits of JSON by example: the text before, the operations, the text after or the refusal."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from fsdplint.document import parse
from fsdplint.document.edits import Delete, Insert, Refused, Rename, Replace, Set, apply

if TYPE_CHECKING:
    from fsdplint.document.edits import Operation

CONFIG = """\
{
    "fp16": {"enabled": false},
    "zero": {
        "stage": 3,
        "betas": [0.9, 0.95]
    },
    "empty": {}
}
"""

CASES: dict[str, tuple[str, Operation, str]] = {
    "set": (CONFIG, Set(("zero", "stage"), 2), CONFIG.replace("3,", "2,")),
    "set of a text": ('{"a": 1}', Set(("a",), 'é "x"\n'), '{"a": "é \\"x\\"\\n"}'),
    "set of half a surrogate pair": ('{"a": 1}', Set(("a",), "\ud800"), '{"a": "\\ud800"}'),
    "set of an infinite number": ('{"a": 1}', Set(("a",), float("-inf")), '{"a": -Infinity}'),
    "set of a mapping on one line": (CONFIG, Set(("fp16",), {"a": [1]}), CONFIG.replace('{"enabled": false}', '{"a": [1]}')),
    "set of a value by a mapping": (
        CONFIG,
        Set(("zero", "stage"), {"a": 1, "b": [{"c": None}], "d": []}),
        CONFIG.replace(
            '"stage": 3,',
            '"stage": {\n            "a": 1,\n            "b": [\n                {\n                    "c": null\n'
            '                }\n            ],\n            "d": []\n        },',
        ),
    ),
    "replace": (CONFIG, Replace(("zero",), {"stage": 1}), CONFIG.replace('"stage": 3,\n        "betas": [0.9, 0.95]', '"stage": 1')),
    "set in a tight file": ('{"a":1,"b":2}', Set(("a",), {"x": [1, 2]}), '{"a":{"x":[1,2]},"b":2}'),
    "rename": (CONFIG, Rename(("zero",), "zero_optimization"), CONFIG.replace('"zero"', '"zero_optimization"')),
    "insert": (
        CONFIG,
        Insert(("bf16",), {"enabled": True}),
        CONFIG.replace('"empty": {}\n', '"empty": {},\n    "bf16": {\n        "enabled": true\n    }\n'),
    ),
    "insert behind a sibling": (CONFIG, Insert(("x",), 1, "fp16"), CONFIG.replace("false},\n", 'false},\n    "x": 1,\n')),
    "insert into empty braces": (CONFIG, Insert(("empty", "x"), 1), CONFIG.replace("{}", '{\n        "x": 1\n    }')),
    "insert on one line": (CONFIG, Insert(("fp16", "x"), [1]), CONFIG.replace("false}", 'false, "x": [1]}')),
    "insert into a tight file": ('{"a":1,"b":2}', Insert(("c",), [1, 2]), '{"a":1,"b":2,"c":[1,2]}'),
    "insert with tabs and carriage returns": (
        '{\r\n\t"a": 1\r\n}',
        Insert(("b",), {"c": 1}),
        '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 1\r\n\t}\r\n}',
    ),
    "insert in place of a null": ('{\n  "a": null\n}\n', Insert(("a", "b"), 1), '{\n  "a": {\n    "b": 1\n  }\n}\n'),
    "insert creates what is missing": ('{\n  "a": 1\n}\n', Insert(("b", "c"), 1), '{\n  "a": 1,\n  "b": {\n    "c": 1\n  }\n}\n'),
    "append to a list": (CONFIG, Insert(("zero", "betas", 2), 1), CONFIG.replace("0.95]", "0.95, 1]")),
    "insert into a file of empty braces": ("{}", Insert(("a",), 1), '{\n  "a": 1\n}'),
    "delete of the first": (CONFIG, Delete(("fp16",)), CONFIG.replace('    "fp16": {"enabled": false},\n', "")),
    "delete of the last and the comma before it": (CONFIG, Delete(("empty",)), CONFIG.replace('},\n    "empty": {}\n', "}\n")),
    "delete of the only one": (CONFIG, Delete(("fp16", "enabled")), CONFIG.replace('{"enabled": false}', "{}")),
    "delete of the last on a line": ('{"a": 1, "b": 2}\n', Delete(("b",)), '{"a": 1}\n'),
    "delete of all": ('{\n  "a": 1\n}\n', Delete(("a",)), "{}\n"),
    "delete in a list": ("[1, 2, 3]", Delete((1,)), "[1, 3]"),
}

REFUSED: dict[str, tuple[str, Operation, str]] = {
    "a date": ('{"a": 1}', Set(("a",), datetime.date(2024, 1, 2)), "JSON has no dates"),
    "a key written twice": ('{"a": 1, "a": 2}', Set(("a",), 3), "'a' is written twice"),
    "an empty file": ("", Insert(("a",), 1), "the file has a fault: the file is empty; JSON needs a value"),
    "a comment": ('{"a": 1} // x', Set(("a",), 2), "the file has a fault: a comment; JSON has none"),
    "a byte order mark": (
        "\ufeff{}",
        Insert(("a",), 1),
        "the file has a fault: the file starts with a byte order mark, which json.load refuses",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_edit(name: str) -> None:
    before, operation, after = CASES[name]
    edited = apply(parse(before, "a.json"), [operation])
    assert edited.text == after
    if not isinstance(operation.path[-1], int):
        assert apply(edited.document, [operation]).edits == ()


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    text, operation, reason = REFUSED[name]
    with pytest.raises(Refused) as refused:
        apply(parse(text, "a.json"), [operation])
    assert refused.value.reason == reason
