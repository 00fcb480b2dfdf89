"""The edits of the parsing study, each with the exact text or the refusal that it expects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fsdplint.document import dotted, parse
from fsdplint.document.edits import Delete, Insert, Operation, Refused, Rename, Replace, Set, apply

INPUTS = Path(__file__).parents[2].parent / "shared" / "facts" / "parsing" / "inputs"
ROWS: list[dict[str, Any]] = []
if (INPUTS / "expected_edits.json").exists():
    ROWS = json.loads((INPUTS / "expected_edits.json").read_text("utf-8"))

pytestmark = pytest.mark.skipif(not ROWS, reason="the study's inputs are not here")

QUOTES = "a file without quotes gets single ones, as PyYAML and so accelerate writes them"

# Where we differ: why, what of the study's text (None: it refuses), and what instead.
ARGUED: dict[str, tuple[str, str | None, str]] = {
    "30_edit_tail_comments.yaml insert new": (QUOTES, 'new: "no"', "new: 'no'"),
    "30_edit_tail_comments.yaml replace_block fsdp_config": (QUOTES, 's: "1e-4"', "s: '1e-4'"),
    "06_block_scalars.yaml delete ind": (
        "no blank line follows, so the text before keeps its value: that is checked, not assumed",
        None,
        "keep: |+\n  k\n\nafter: 1\n",
    ),
}


def operation(row: dict[str, Any]) -> Operation:
    path, *rest = row["args"]
    path = tuple(path)
    if row["op"] == "delete":
        return Delete(path)
    if row["op"] == "insert":
        return Insert((*path, rest[0]), rest[1])
    return {"set": Set, "rename": Rename, "replace_block": Replace}[row["op"]](path, rest[0])


def label(row: dict[str, Any]) -> str:
    return f"{row['input']} {row['op']} {dotted(operation(row).path)}" if row else "absent"


@pytest.mark.parametrize("row", ROWS or [{}], ids=label)
def test_row(row: dict[str, Any]) -> None:
    document = parse((INPUTS / row["input"]).read_bytes(), row["input"])
    _, theirs, ours = ARGUED.get(label(row), ("", "", ""))
    if "refuse" in row and not ours:
        with pytest.raises(Refused):
            apply(document, [operation(row)])
        return
    text = apply(document, [operation(row)]).text
    if theirs is None:
        assert ours in text
    else:
        assert text == row["output"].replace(theirs, ours)
    assert not ours or ours in text


def test_every_argued_row_is_there() -> None:
    assert set(ARGUED) <= {label(row) for row in ROWS}
