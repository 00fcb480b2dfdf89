"""Random documents under random edits: never unparsable, no wrong value, no lost comment, no byte changed outside.

FSDPLINT_EXAMPLES sets the number of documents per format; each gets up to three edits, each on the unchanged document.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import tomli
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_documents import JsonWriter, TomlWriter, YamlWriter, documents, names, values

from fsdplint.document import Document, Mapping, Scalar, Sequence, parse
from fsdplint.document.edits import Delete, Edited, Insert, Operation, Refused, Rename, Replace, Set, TextEdit, apply, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.document import Node, Path

EXAMPLES = int(os.environ.get("FSDPLINT_EXAMPLES", "200"))
NIGHTLY = "FSDPLINT_EXAMPLES" in os.environ
PROFILE = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not NIGHTLY,
    database=None,
    suppress_health_check=list(HealthCheck),
)

LOADERS: dict[str, Callable[[str], Any]] = {
    "yaml": lambda text: yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)),
    "toml": tomli.loads,
    "json": json.loads,
}
_COMMENT = re.compile(r"# c[0-9]+")
_QUOTED = re.compile(r"'[^']*'")
_BLANK_OR_EMPTY = re.compile(r"\s*(?:null|~)?\s*")


def paths_of(document: Document) -> list[Path]:
    """All paths, the root's first; none of those that go on behind an alias."""
    found: list[Path] = []
    stack: list[tuple[Path, Node]] = [] if document.root is None else [((), document.root)]
    while stack:
        path, node = stack.pop()
        found.append(path)
        if isinstance(node, Mapping):
            stack += [((*path, name), entry.value) for name, entry in node.items() if len(path) < 6]
        elif isinstance(node, Sequence):
            stack += [((*path, index), item) for index, item in enumerate(node.items) if len(path) < 6]
    return found


@st.composite
def operations(draw: Any, document: Document) -> Operation:
    """An operation that fits the document more often than not."""
    paths = paths_of(document) or [()]
    path = draw(st.sampled_from(paths[1:] or paths))
    kinds = ["set", "set", "rename", "insert", "insert", "insert", "delete", "delete", "replace"]
    kind = draw(st.sampled_from(kinds if path else ["insert"]))
    written = values(document.format)
    node = document.node(path)
    if document.format == "toml" and isinstance(node, Mapping) and not node.flow:
        written = st.dictionaries(names, written, max_size=3)
    if kind == "set":
        return Set(path, draw(written))
    if kind == "rename":
        return Rename(path, draw(names))
    if kind == "delete":
        return Delete(path)
    if kind == "replace":
        found = [path for path in paths[1:] if not isinstance(document.node(path), Scalar)]
        return Replace(draw(st.sampled_from(found or [path])), draw(written))
    owners = [path for path in paths if not isinstance(node := document.node(path), Scalar) or node.value is None] or [()]
    owner = draw(st.sampled_from(owners))
    node = document.node(owner)
    if isinstance(node, Sequence):
        return Insert((*owner, len(node.items)), draw(written))
    after = draw(st.sampled_from([None, None, *(node.keys() if isinstance(node, Mapping) else [])]))
    more = draw(st.sampled_from([(), (), (), ("deep",), (0,)]))
    return Insert((*owner, draw(names), *more), draw(written), after)


def unshared(value: Any) -> Any:
    """A copy in which nothing is shared, for edits in place."""
    if isinstance(value, dict):
        return {key: unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if isinstance(value, list) else value


def loader_key(document: Document, path: Path) -> Any:
    entry = document.entry(path)
    return path[-1] if entry is None else entry.key


def expected(document: Document, before: Any, operation: Operation) -> Any:
    """What the loader must give after an operation; a new key of TOML is put last."""
    root = unshared(before)
    path = operation.path
    keys = [loader_key(document, path[: depth + 1]) for depth in range(len(path))]
    if root is None:
        root = {}
    value = operation.value if isinstance(operation, (Set, Replace, Insert)) else None
    owner = root
    for depth, key in enumerate(keys[:-1]):
        below = owner.get(key) if isinstance(owner, dict) else owner[key] if key < len(owner) else None
        if below is None:
            for part in reversed(path[depth + 1 :]):
                value = {part: value} if isinstance(part, str) else [value]
            exists = isinstance(owner, list) or key in owner
            operation = Set(path[: depth + 1], value) if exists else Insert(path[: depth + 1], value)
            break
        owner = below
    else:
        depth = len(keys) - 1
    key = keys[depth]
    if isinstance(operation, Rename):
        pairs = [(operation.key if one == key else one, item) for one, item in owner.items()]
        owner.clear()
        owner.update(pairs)
    elif isinstance(operation, Delete):
        del owner[key]
    elif isinstance(operation, Insert):
        if isinstance(owner, list):
            owner.append(value)
        else:
            put_behind(owner, key, value, document, operation)
    else:
        owner[key] = value
    return root


def put_behind(owner: dict[Any, Any], key: Any, value: Any, document: Document, operation: Insert) -> None:
    owner.pop(key, None)
    node = document.node(operation.path[:-1])
    siblings = [entry for entry in node.entries if entry.name == operation.after] if isinstance(node, Mapping) else []
    pairs = list(owner.items())
    place = list(owner).index(siblings[0].key) + 1 if len(siblings) == 1 and not siblings[0].inherited else len(pairs)
    pairs.insert(place, (key, value))
    owner.clear()
    owner.update(pairs)


def check_values(document: Document, edited: Edited, operation: Operation) -> None:
    load = LOADERS[document.format]
    wanted, got = expected(document, load(document.text), operation), load(edited.text)
    if (document.format == "toml" and isinstance(operation, Insert)) or "<<:" in document.text:
        wanted, got = in_order(wanted), in_order(got)
    assert repr(wanted) == repr(got)


def in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value, key=repr)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


def check_order(document: Document, edited: Edited, operation: Insert) -> None:
    """The old keys keep their order around a new one."""
    load = LOADERS[document.format]
    before, after = load(document.text), load(edited.text)
    for part in operation.path[:-1]:
        if not isinstance(before, (dict, list)) or (part not in before if isinstance(before, dict) else part >= len(before)):
            return
        before, after = before[part], after[part]
    if isinstance(before, dict):
        assert [key for key in after if key in before] == list(before)


def owned_lines(document: Document, operation: Operation) -> tuple[int, int]:
    """The lines whose comments may go: of a deleted entry its own and deeper ones below, of a replaced value those in it."""
    span, key = document.value_span(operation.path), document.key_span(operation.path)
    if span is None or key is None or isinstance(operation, (Insert, Rename)):
        return 0, -1
    if isinstance(operation, (Set, Replace)) and isinstance(document.node(operation.path), Scalar):
        return 0, -1
    first, last = document.position(min(key.start, span.start))[0], document.position(max(span.end - 1, span.start))[0]
    if document.format == "toml":
        return toml_lines(document, operation.path, first, last)
    if document.format == "json":
        return first, last
    limit = document.position(key.start)[1] - 1
    owner = document.node(operation.path[:-1])
    if isinstance(owner, Sequence) and not owner.flow:
        first, limit = dash(document, first)
    number = last + 1
    while number <= len(document.text.splitlines()) + 1:
        line = document.line(number)
        if line.strip() and not (line.lstrip().startswith("#") and len(line) - len(line.lstrip()) > limit):
            break
        last = number if line.strip() else last
        number += 1
    return first, last


def dash(document: Document, first: int) -> tuple[int, int]:
    """Line and column of the dash before a list's item."""
    while not document.line(first).lstrip().startswith("-") and first > 1:
        first -= 1
    line = document.line(first)
    return first, len(line) - len(line.lstrip())


def toml_lines(document: Document, path: Path, first: int, last: int) -> tuple[int, int]:
    """Tables may be scattered: all lines, unless the value stands on one or is an inline one."""
    node = document.node(path)
    scattered = not isinstance(node, Scalar) and node is not None and not node.flow
    return (0, 10**9) if scattered else (first, last)


def check_comments(document: Document, edited: Edited, operation: Operation) -> None:
    first, last = owned_lines(document, operation)
    kept = [text for line, _, text in document.comments() if not first <= line <= last]
    left = [text for _, _, text in edited.document.comments()]
    assert Counter(kept) <= Counter(left)
    assert Counter(left) <= Counter(text for _, _, text in document.comments())
    assert set(_COMMENT.findall(edited.text)) <= set(_COMMENT.findall(document.text))


def check_edits(document: Document, edited: Edited, operation: Operation) -> None:
    """The edits are in order, do not touch, lead to the text, and take away no more than the operation may."""
    place = -1
    built = ""
    for start, end, text in edited.edits:
        assert start > place
        assert (start, end, text) != (start, start, "")
        assert document.text[start:end] != text
        built += document.text[max(place, 0) : start] + text
        place = end
    assert built + document.text[max(place, 0) :] == edited.text
    removed = [document.text[edit.start : edit.end] for edit in edited.edits]
    if isinstance(operation, Insert):
        assert all(_BLANK_OR_EMPTY.fullmatch(text) for text in removed)
    if isinstance(operation, Rename) and document.format != "toml":
        span = document.key_span(operation.path)
        assert span is not None
        assert edited.edits == (TextEdit(span.start, span.end, edited.edits[0].text),)
    if isinstance(operation, Set) and isinstance(document.node(operation.path), Scalar) and not isinstance(operation.value, (dict, list)):
        check_span(document, edited, operation.path)


def check_span(document: Document, edited: Edited, path: Path) -> None:
    """A scalar in place of another takes its very place; a comment behind the `|` of a block scalar stays."""
    entry, node, span = document.entry(path), document.node(path), document.value_span(path)
    assert isinstance(node, Scalar) and span is not None
    if entry is not None and entry.inherited:
        assert all(edit.start == edit.end for edit in edited.edits)
    elif node.style in ("literal", "folded") and document.text[span.start] in "|>":
        assert all(span.start <= edit.start and edit.end <= span.end for edit in edited.edits)
    else:
        assert [(edit.start, edit.end) for edit in edited.edits] == [span]


def check_lines(document: Document, edited: Edited, operation: Operation) -> None:
    """Line breaks stay what they are, and the end of the text stays with or without one."""
    found = set(re.findall(r"\r\n|\n|\r", document.text))
    if len(found) == 1:
        assert set(re.findall(r"\r\n|\n|\r", edited.text)) <= found
    if document.text.strip() and edited.text.strip() and not isinstance(operation, (Delete, Set, Replace)):
        assert (document.text[-1] in "\r\n") == (edited.text[-1] in "\r\n")


def check(document: Document, edited: Edited, operation: Operation) -> None:
    assert not [problem for problem in edited.document.problems if problem.fatal]
    assert edited.document.text == edited.text
    check_values(document, edited, operation)
    check_comments(document, edited, operation)
    check_edits(document, edited, operation)
    check_lines(document, edited, operation)
    if isinstance(operation, Insert):
        check_order(document, edited, operation)
    if not (isinstance(operation, Delete) and isinstance(operation.path[-1], int)):
        assert apply(edited.document, [operation]).edits == ()
    assert encoded(document, edited.text).decode("utf-8-sig") == edited.text


@pytest.mark.parametrize("format", ["yaml", "toml", "json"])
def test_random_edits_of_random_documents(format: str) -> None:
    writer = {"yaml": YamlWriter, "toml": TomlWriter, "json": JsonWriter}[format]
    count: Counter[str] = Counter()

    @PROFILE
    @given(st.data())
    def run(data: st.DataObject) -> None:
        text = data.draw(documents(writer))
        document = parse(text, f"a.{format}")
        assume(not [problem for problem in document.problems if problem.fatal])
        count["documents"] += 1
        for _ in range(data.draw(st.integers(1, 3))):
            operation = data.draw(operations(document))
            count["edits"] += 1
            try:
                edited = apply(document, [operation])
            except Refused as refused:
                count["refused"] += 1
                count[f"refused: {_QUOTED.sub('…', refused.reason)}"] += 1
                continue
            count["nothing to do" if not edited.edits else "done"] += 1
            if edited.edits:
                check(document, edited, operation)

    run()
    for reason, number in sorted(count.items(), key=lambda item: -item[1]):
        print(f"{format}: {number:7} {reason}")
    assert count["done"] > count["edits"] / 2
