"""What a launch line overrides in a training file: ``tune run R --config a.yaml optimizer.lr=1e-4``, ``train.py a.yaml --bf16 true``.

Read: torchtune 0.6.1 config/_utils.py, llamafactory 0.9.5 hparams/parser.py (OmegaConf.from_cli), ms-swift 4.6.0 cli/main.py (flags come
after the file's) and trl 1.16.0 scripts/utils.py (flags beat the file). Of the other frameworks (Hydra, jsonargparse, tyro, llm-foundry,
axolotl, scripts of one's own) the code has not been read: there a value that the line may override is taken for overridden.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects import spelled, word_bool
from fsdplint.document import Mapping, Scalar, Sequence, Span, parse
from fsdplint.plan import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.commands import Word
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
UNKNOWN = "${unknown}"
"""The value of a key of which nobody knows what it gets."""


class Override(NamedTuple):
    """One key that a line overrides: its parts, the node that it gets (None: it is taken away), and where both are written."""

    written: str
    parts: tuple[str, ...]
    value: Node | None
    key_span: Span
    value_span: Span


def overrides(words: tuple[Word, ...], dialect: Dialect) -> Iterator[Override]:
    """What the words of a program override, by the ways in which programs of a dialect are told."""
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
    return Scalar(place, texts[0] if "string" in kinds else UNKNOWN, texts[0], "double")


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
        return Scalar(Span(0, 0), UNKNOWN, text, "double")
    document = parse(text, "", format="yaml", loader="omegaconf")
    if document.problems:
        return Scalar(Span(0, 0), UNKNOWN, text, "double")
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
