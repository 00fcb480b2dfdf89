"""What holds for edits of any format: several in a row, minimal edits, nothing done twice, refusals."""

from __future__ import annotations

import pytest

from fsdplint.document import parse
from fsdplint.document.edits import Delete, Insert, Refused, Rename, Replace, Set, TextEdit, apply, encoded
from fsdplint.document.patchwork import Patchwork, ordered, spliced

CONFIG = """\
fsdp:
- full_shard  # all of it
fsdp_config:
  fsdp_version: 1
  # keep this
  fsdp_offload_params: no
"""


def test_operations_follow_each_other_and_the_edits_lead_from_the_first_text_to_the_last() -> None:
    document = parse(CONFIG, "a.yaml")
    edited = apply(
        document,
        [
            Rename(("fsdp_config", "fsdp_offload_params"), "offload_params"),
            Set(("fsdp_config", "offload_params"), True),
            Insert(("fsdp_config", "wrap"), "LlamaDecoderLayer", "fsdp_version"),
            Set(("fsdp_config", "wrap"), "Qwen3DecoderLayer"),
            Insert(("fsdp", 1), "auto_wrap"),
            Delete(("fsdp_config", "fsdp_version")),
        ],
    )
    assert edited.text == (
        "fsdp:\n- full_shard  # all of it\n- auto_wrap\nfsdp_config:\n  wrap: Qwen3DecoderLayer\n  # keep this\n  offload_params: true\n"
    )
    assert edited.document.text == edited.text
    assert edited.edits == (
        TextEdit(31, 31, "\n- auto_wrap"),
        TextEdit(45, 62, "  wrap: Qwen3DecoderLayer"),
        TextEdit(79, 98, "offload_params"),
        TextEdit(100, 102, "true"),
    )
    assert spliced(CONFIG, edited.edits) == edited.text


def test_what_is_written_and_taken_back_leaves_no_edit() -> None:
    edited = apply(parse(CONFIG, "a.yaml"), [Insert(("seed",), 1), Delete(("seed",)), Rename(("fsdp",), "x"), Rename(("x",), "fsdp")])
    assert edited == (CONFIG, (), edited.document)


def test_nothing_is_done_twice() -> None:
    document = parse("a: 1\nb: [x]\n", "a.yaml")
    done = [Set(("a",), 1), Rename(("old",), "a"), Insert(("a",), 1), Insert(("b", 0), "x"), Delete(("c", "d")), Replace(("b",), ["x"])]
    assert apply(document, done).edits == ()


def test_a_value_of_another_type_is_another_value() -> None:
    document = parse("a: 1\nb: no\nc: 0\n", "a.yaml")
    edited = apply(document, [Set(("a",), 1.0), Set(("b",), "no"), Set(("c",), False)])
    assert edited.text == "a: 1.0\nb: 'no'\nc: false\n"


def test_if_one_operation_is_refused_none_is_done() -> None:
    document = parse(CONFIG, "a.yaml")
    with pytest.raises(Refused) as refused:
        apply(document, [Set(("fsdp",), "x"), Set(("nothing", "here"), 1)])
    assert refused.value.reason == "there is no 'nothing.here'"
    assert document.text == CONFIG


@pytest.mark.parametrize(
    ("text", "operation", "reason"),
    [
        ("a: 1\n", Set(("b",), 1), "there is no 'b'"),
        ("a: 1\n", Set((), {}), "the whole document cannot be edited at once"),
        ("a: 1\n", Delete(()), "the whole document cannot be edited at once"),
        ("a: 1\n", Insert((), 1), "the whole document cannot be inserted"),
        ("a: 1\n", Insert(("a",), 2), "'a' is there already"),
        ("a: 1\nb: 2\n", Rename(("a",), "b"), "'b' is there already"),
        ("a: 1\n", Rename(("c",), "b"), "there is no 'c'"),
        ("a: [x]\n", Rename(("a", 0), "b"), "'a[0]' is an item of a list"),
        ("a: [x]\n", Insert(("a", 2), "y"), "'a' has 1 items: [2] is not the next one"),
        ("a: [x]\n", Insert(("a", "b"), "y"), "'a' has 1 items: [b] is not the next one"),
        ("a: {x: 1}\n", Insert(("a", 0), "y"), "'a' is no list"),
        ("a: text\n", Insert(("a", "b"), 1), "'text' stands where a mapping is needed"),
        ("a: 1\n", Insert(("b", 2), 1), "there is no 'b[2]' to append to"),
        ("a: 1\n", Set(("a",), object()), "a value of the type object cannot be written"),
        ("a: 1\n", Set(("a",), {1: 2}), "the key 1 is no text"),
        ("a: 1\n", Set(("a",), "\ud800"), "half a surrogate pair cannot be written in YAML"),
        ("a: =\n", Set(("a",), 1), "the file has a fault: the loader has no value for a plain '='"),
        ("a: 1\n---\nb: 1\n", Set(("a",), 2), "the file has a fault: a second document starts here, but the file is read as one"),
    ],
)
def test_refusals_say_why(text: str, operation: Set | Rename | Insert | Delete, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        apply(parse(text, "a.yaml"), [operation])
    assert refused.value.reason == reason
    assert str(refused.value) == reason


def test_the_byte_order_mark_and_line_breaks_stay() -> None:
    data = b"\xef\xbb\xbfa: 1\r\n\xc3\xa9: 2"
    document = parse(data, "a.yaml")
    edited = apply(document, [Set(("a",), 5), Insert(("c",), 3)])
    assert edited.edits == (TextEdit(3, 4, "5"), TextEdit(10, 10, "\r\nc: 3"))
    assert encoded(document, edited.text) == b"\xef\xbb\xbfa: 5\r\n\xc3\xa9: 2\r\nc: 3"
    assert edited.document.bom


def test_the_loader_of_the_document_judges_the_result() -> None:
    text = "lr: 1e-4\n"
    assert apply(parse(text, "a.yaml", loader="omegaconf"), [Set(("lr",), 1e-4)]).edits == ()
    assert apply(parse(text, "a.yaml"), [Set(("lr",), 1e-4)]).text == "lr: 0.0001\n"


def test_edits_that_touch_become_one_and_overlaps_are_an_error() -> None:
    assert ordered([TextEdit(3, 4, "b"), TextEdit(1, 3, "a"), TextEdit(7, 7, ""), TextEdit(9, 9, "c")]) == [
        TextEdit(1, 4, "ab"),
        TextEdit(9, 9, "c"),
    ]
    assert ordered([TextEdit(1, 4, ""), TextEdit(2, 3, ""), TextEdit(3, 5, "")]) == [TextEdit(1, 5, "")]
    with pytest.raises(ValueError, match="overlap"):
        ordered([TextEdit(1, 4, ""), TextEdit(3, 5, "x")])


def test_rounds_of_edits_add_up() -> None:
    patchwork = Patchwork(6)
    patchwork.splice([TextEdit(1, 2, "XY"), TextEdit(6, 6, "!")])
    patchwork.splice([TextEdit(2, 4, ""), TextEdit(5, 6, "Z")])
    assert patchwork.edits("abcdef") == (TextEdit(1, 3, "X"), TextEdit(4, 5, "Z"), TextEdit(6, 6, "!"))
    assert spliced("abcdef", patchwork.edits("abcdef")) == "aXdZf!"
