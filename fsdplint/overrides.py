"""What a launch line overrides in a training file: ``tune run R --config a.yaml optimizer.lr=1e-4``, ``train.py a.yaml --bf16 true``.

How frameworks merge their command line was read in torchtune 0.6 config/_parse.py, llm-foundry (OmegaConf.from_cli), LLaMA-Factory 0.9.4
hparams/parser.py (OmegaConf.from_cli), Hydra 1.3, jsonargparse 4, tyro 0.9, transformers 5 hf_argparser.py and trl 1.16 TrlParser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects import spelled, word_bool
from fsdplint.document import Document, Entry, Mapping, Path, Scalar, Sequence, Span, parse
from fsdplint.document.reading import Reading
from fsdplint.plan import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.commands import Command, Word
    from fsdplint.dialects import Dialect
    from fsdplint.document import Node

WORDS = frozenset({"torchtune", "composer", "verl", "llama-factory", "lightning", "nemo-automodel", "hf-trainer"})
"""The dialects whose programs may take ``key.path=value``, ``+key=value`` and ``~key``."""

FLAGS = frozenset({"hf-trainer", "trl", "ms-swift", "axolotl", "lightning", "litgpt", "torchtitan", "nemo-automodel"})
"""The dialects whose programs may take ``--key.path value`` and ``--key.path=value``."""

HYDRA = frozenset({"verl", "lightning"})
"""The dialects whose words may choose groups of config files, and sweep over values."""

OPEN = "torchtune"
"""The dialect whose programs take any key."""

_WORD = re.compile(r"(?s)(\+{0,2}|~)([A-Za-z_][\w.@/-]*)(?:=(.*))?")
_FLAG = re.compile(r"(?s)--?([A-Za-z_][\w.-]*)(?:=(.*))?")
_NO = re.compile(r"(?:^|(?<=\.))no[-_]")
_FILES = frozenset({"config", "config_file", "job.config_file", "config_path", "config_name", "config_dir", "accelerate_config"})
_OPEN = "${unknown}"


class Override(NamedTuple):
    """One key that a line overrides: its parts, the node that it gets (None: it is taken away), and where both are written."""

    written: str
    parts: tuple[str, ...]
    value: Node | None
    key_span: Span
    value_span: Span


class Overlaid(Document):
    """A file as its program sees it: with what the launch line overrides, whose places are in that line."""

    __slots__ = ("_file", "_line", "_moved")

    def __init__(self, file: Document, line: Document, root: Mapping, moved: dict[Path, Override]) -> None:
        source = file._source
        reading = Reading((root, *file.roots[1:]), file.problems, (), file._opaque, file._reached)
        super().__init__(file.path, file.format, file.loader, source, reading, file._depth)
        self.problems, self.duplicates = file.problems, file.duplicates
        self._file, self._line, self._moved = file, line, moved

    @property
    def original(self) -> Document:
        """The file without the launch line."""
        return self._file

    def with_loader(self, loader: str) -> Document:  # noqa: ARG002
        """Itself: a file is read by its program's loader before anything is overridden."""
        return self

    def elsewhere(self, path: Path) -> tuple[Document, Path, Span, Span] | None:
        """The place in the launch line of a key that it overrides, and of all below that key."""
        for length in range(len(path), 0, -1):
            found = self._moved.get(path[:length])
            if found is not None:
                return self._line, (found.written,), found.key_span, found.value_span
        return None


def overlaid(document: Document, dialect: Dialect, command: Command) -> Document:
    """A training file's document with what a launch line overrides; itself where that is nothing."""
    root = document.root
    if not isinstance(root, Mapping) or dialect.name not in WORDS | FLAGS:
        return document
    moved: dict[Path, Override] = {}
    for override in _overrides(command.script, dialect):
        root = _with(root, override, dialect, moved)
    return Overlaid(document, command.document, root, moved) if moved else document


def _overrides(words: tuple[Word, ...], dialect: Dialect) -> Iterator[Override]:
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.text == "--":
            return
        word_style, flag_style = _WORD.fullmatch(word.text), _FLAG.fullmatch(word.text)
        if word_style and dialect.name in WORDS and (word_style[3] is not None or word_style[1] == "~"):
            yield _of_word(word, word_style, dialect)
        elif flag_style and dialect.name in FLAGS:
            values = [] if flag_style[2] is not None else _values(words, place)
            place += len(values)
            found = _of_flag(word, flag_style, values, dialect)
            if found is not None:
                yield found


def _values(words: tuple[Word, ...], place: int) -> list[Word]:
    """The words up to the next flag."""
    end = next((n for n in range(place, len(words)) if re.match(r"--?[A-Za-z]|--$", words[n].text)), len(words))
    return list(words[place:end])


def _of_word(word: Word, match: re.Match[str], dialect: Dialect) -> Override:
    """``key=value``; a group of config files (``model/optimizer=adamw``, ``model@x=y``) is open, and so is a sweep over values."""
    key, text = match[2], match[3] or ""
    if dialect.name == "torchtune" and text == "None":
        text = "null"
    parts = tuple(part for part in re.split(r"[./]", key.partition("@")[0]) if part)
    sweeps = dialect.name in HYDRA and ("," in text or text.startswith(("{", "["))) and not text.startswith(("'", '"', "["))
    value = _node("" if sweeps else text, is_open="/" in key or "@" in key or sweeps)
    start = word.span.start
    exact = word.span.end - start == len(word.text)
    keys = Span(start + match.start(2), start + match.end(2)) if exact else word.span
    place = Span(start + match.start(3), word.span.end) if exact and match[3] is not None else keys
    return Override(word.text.partition("=")[0], parts, None if match[1] == "~" else value, keys, place)


def _of_flag(word: Word, match: re.Match[str], values: list[Word], dialect: Dialect) -> Override | None:
    """``--key value``, ``--key=value``, ``--key`` and ``--no-key``; None for a flag that names the file itself."""
    written = word.text.partition("=")[0]
    name = match[1]
    if name.replace("-", "_") in _FILES:
        return None
    key = Span(word.span.start, word.span.start + len(written))
    schema = _schema(dialect, tuple(name.split(".")))
    if schema is None and _NO.search(name) and match[2] is None:
        return Override(written, tuple(_NO.sub("", name).split(".")), Scalar(key, False, "false"), key, key)
    kinds = _kinds(schema or {})
    if match[2] is not None:
        texts, place = [match[2]], Span(key.end + 1, word.span.end)
    else:
        if kinds <= {"boolean", "null"} and kinds and values and word_bool(values[0].text) is None:
            values = []
        if "array" not in kinds:
            values = values[:1]
        texts = [value.text for value in values]
        place = Span(values[0].span.start, values[-1].span.end) if values else key
    return Override(written, tuple(name.split(".")), _typed(texts, kinds, key), key, place)


def _typed(texts: list[str], kinds: set[str], place: Span) -> Node:
    """What a parser that knows the type of each option makes of words; open where that is not certain."""
    if not texts:
        return Scalar(place, True, "true")
    if "array" in kinds and (len(texts) > 1 or not kinds & {"string", "object"}):
        parsed = _node(texts[0])
        if len(texts) == 1 and isinstance(parsed, Sequence):
            return parsed
        items = Sequence(place)
        items.items = [_node(text) for text in texts]
        return items
    found = _node(texts[0])
    if not kinds or _is_kind(found, kinds):
        return found
    boolean = word_bool(texts[0])
    if "boolean" in kinds and boolean is not None:
        return Scalar(place, boolean, texts[0])
    return Scalar(place, texts[0] if "string" in kinds else _OPEN, texts[0], "double")


def _is_kind(node: Node, kinds: set[str]) -> bool:
    """Whether a node is of one of some types, or open."""
    if not isinstance(node, Scalar):
        return ("object" if isinstance(node, Mapping) else "array") in kinds
    value = node.value
    names = {bool: {"boolean"}, int: {"integer", "number"}, float: {"number"}, str: {"string"}, type(None): {"null"}}
    return is_placeholder(value) or bool(names.get(type(value), set()) & kinds)


def _node(text: str, *, is_open: bool = False) -> Node:
    """A value as OmegaConf and jsonargparse read it; open where a shell fills it in, or where it cannot be read."""
    if is_open or "$" in text or "`" in text:
        return Scalar(Span(0, 0), _OPEN, text, "double")
    document = parse(text, "", format="yaml", loader="omegaconf")
    if document.problems:
        return Scalar(Span(0, 0), _OPEN, text, "double")
    return document.root or Scalar(Span(0, 0), None, "")


def _schema(dialect: Dialect, parts: tuple[str, ...]) -> dict[str, Any] | None:
    """What the option table says of a key; None where it lacks it."""
    owner = dialect.table.schema
    for part in parts:
        name = spelled(owner, part) or spelled(owner, part.replace("-", "_"))
        if name is None:
            return None
        owner = owner["properties"][name]
    return owner


def _kinds(schema: dict[str, Any]) -> set[str]:
    """The types that an option may have in any release."""
    kinds: set[str] = set()
    for part in (schema, *schema.get("anyOf", ()), *schema.get("x-values", ())):
        given = part.get("type", [])
        kinds.update([given] if isinstance(given, str) else given)
        kinds.update(kind for inner in part.get("anyOf", ()) for kind in _kinds(inner))
    return kinds


def _with(root: Mapping, override: Override, dialect: Dialect, moved: dict[Path, Override]) -> Mapping:
    """A tree with one more override; the same one where the file and the option table both lack the key."""
    path, made = _located(root, override.parts, dialect)
    if not path:
        return root
    node = _at(root, path)
    value = override.value
    if isinstance(node, Mapping) and not isinstance(value, Mapping) and value is not None:
        if node.entry("_component_") is not None:
            path = (*path, "_component_")
        elif dialect.name in HYDRA and override.parts[-1] not in ("strategy", "logger", "callbacks"):
            value = Scalar(Span(0, 0), _OPEN, "", "double")
    changed = _changed(root, path, value, override)
    if isinstance(changed, Mapping):
        moved[path] = override
        moved.update({path[:length]: override for length in range(made, len(path)) if length})
        for below in [one for one in moved if len(one) > len(path) and one[: len(path)] == path]:
            del moved[below]
        return changed
    return root


def _at(root: Node, path: Path) -> Node | None:
    node: Node | None = root
    for part in path:
        if isinstance(node, Mapping) and isinstance(part, str):
            node = node.get(part)
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            return None
    return node


def _located(root: Mapping, parts: tuple[str, ...], dialect: Dialect) -> tuple[Path, int]:
    """The path that a key has or would have in the file, and how many of its parts are written there; () for an unknown key."""
    owner: dict[str, Any] = dialect.table.schema
    node: Node | None = root
    path: list[str | int] = []
    written = 0
    for part in parts:
        if isinstance(node, Sequence) and part.isdigit():
            path.append(int(part))
            node, owner = (node.items[int(part)] if int(part) < len(node.items) else None), owner.get("items", {})
            written = len(path)
            continue
        if isinstance(node, Mapping) and node.entry("class_path") is not None and part not in ("class_path", "init_args"):
            path.append("init_args")
            node, owner = node.get("init_args"), owner.get("properties", {}).get("init_args", {})
        twin = part.replace("-", "_")
        name = spelled(owner, part) or spelled(owner, twin)
        keys = node.keys() if isinstance(node, Mapping) else []
        own = next((key for key in keys if key in (part, twin) or (name is not None and spelled(owner, key) == name)), None)
        if own is None and name is None and dialect.name != OPEN and "init_args" not in path:
            return (), 0
        path.append(own or name or part)
        node = node.get(own) if own is not None and isinstance(node, Mapping) else None
        written = len(path) if own is not None else written
        owner = owner.get("properties", {}).get(name, {})
    return tuple(path), written + 1


def _changed(node: Node, path: Path, value: Node | None, override: Override) -> Node | None:
    """A copy of a tree with another value at a path; None where a list or a value stands in the way."""
    if not path:
        return value
    part = path[0]
    if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items) and value is not None:
        inner = _changed(node.items[part], path[1:], value, override)
        if inner is None:
            return None
        items = Sequence(node.span, flow=node.flow, tag=node.tag, anchor=node.anchor)
        items.items = [*node.items[:part], inner, *node.items[part + 1 :]]
        items.aliases = dict(node.aliases)
        return items
    if isinstance(node, Scalar) and node.value is None:
        node = Mapping(node.span)
    if not isinstance(node, Mapping) or not isinstance(part, str):
        return None
    return _entered(node, part, path, value, override)


def _entered(node: Mapping, part: str, path: Path, value: Node | None, override: Override) -> Mapping | None:
    old = node.entry(part)
    removes = value is None and len(path) == 1
    below = value if len(path) == 1 else _changed(old.value if old else Mapping(override.key_span), path[1:], value, override)
    if below is None and not removes:
        return None
    copy = Mapping(node.span, flow=node.flow, tag=node.tag, anchor=node.anchor)
    copy.merges, copy.header = node.merges, node.header
    for entry in node.entries:
        if entry is not old:
            copy.add(entry) if entry.name != part else None
        elif below is not None:
            copy.add(Entry(entry.key, entry.name, entry.key_span, below, entry.inherited, entry.at))
    if old is None and below is not None:
        copy.add(Entry(part, part, override.key_span, below))
    return copy
