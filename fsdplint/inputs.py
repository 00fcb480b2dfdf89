"""From a file to a document of a known dialect, or to the reason why there is none."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from fsdplint.diagnostics import FileStatus
from fsdplint.dialects import dialect, recognise
from fsdplint.discovery import SCRIPTS
from fsdplint.document import parse
from fsdplint.launch import ConfigFile

if TYPE_CHECKING:
    from fsdplint.dialects import Dialect
    from fsdplint.discovery import Input
    from fsdplint.document import Document

LIMIT = 2_000_000
"""Bytes of a file that is read; a larger one gets one diagnostic."""

HEAD = 65_536
"""Bytes by which a large file is recognised before it is read whole; no config that people write is larger, but data files are."""


MARKERS = (
    *(b"fsdp", b"FSDP", b"deepspeed", b"zero_", b"distributed", b"parallel", b"shard", b"precision", b"gradient", b"optim", b"lora"),
    *(b"train", b"model", b"transformer", b"batch_size", b"learning_rate", b"checkpoint", b"output_dir", b"bf16", b"fp16"),
    *(
        b"prefetch",
        b"orig_params",
        b"module_states",
        b"all_gathers",
        b"wrap",
        b"offload",
        b"min_num_params",
        b"efficient_loading",
        b"state_dict",
    ),
    *(b"lightning", b"_component_", b"class_path", b"_target_"),
)
"""Pieces of words of which every training config has at least one: a file without any is not worth parsing, and most files have none."""


class Loaded(NamedTuple):
    """What became of an input; ``file`` is None unless it was recognised or its dialect is forced."""

    input: Input
    status: FileStatus
    file: ConfigFile | None = None


def load(item: Input, forced: str | None = None, form: Dialect | None = None) -> Loaded:
    """Read, parse and recognise one input; ``forced`` names the dialect where recognition is not to decide, ``form`` is it.

    Below a folder a forced dialect only settles what its own recognition finds possible: not every YAML file there is meant.
    """
    if item.error is not None:
        return _failed(item, item.error)
    try:
        data = item.data if item.data is not None else _read(item.location, forced is not None and not item.walked)
    except OSError as error:
        return _failed(item, error.strerror or str(error))
    if item.path.lower().endswith(SCRIPTS):
        return _skipped(item, "no launch that is known")
    if forced is None and form is None and not _is_promising(data):
        return _skipped(item)
    document = parse(data, item.path, max_bytes=LIMIT)
    found = form or _dialect(document, data, forced, item.walked)
    if found is None:
        return _skipped(item)
    if document.format not in found.formats:
        return _skipped(item, f"{found.name} is written in {' or '.join(found.formats)}")
    file = ConfigFile(document.with_loader(found.loader), found)
    return Loaded(item, FileStatus(item.path, found.name, "checked"), file)


def _failed(item: Input, reason: str) -> Loaded:
    return Loaded(item, FileStatus(item.path, None, "failed", reason))


def _skipped(item: Input, reason: str = "no training config that is known") -> Loaded:
    return Loaded(item, FileStatus(item.path, None, "skipped", reason))


def _is_promising(data: bytes) -> bool:
    """Whether there may be a training config in a file; nobody can tell where it is not UTF-8 at all."""
    return any(marker in data for marker in MARKERS) or data.startswith((b"\xff", b"\xfe"))


def _read(location: str, wanted: bool) -> bytes:
    """The content of a file; nothing of a large one whose head is not recognised, unless its dialect is forced."""
    with open(location, "rb") as file:
        mode = os.fstat(file.fileno())
        if not stat.S_ISREG(mode.st_mode):
            return file.read(LIMIT + 1)
        if mode.st_size <= HEAD or wanted:
            return file.read()
        head = file.read(HEAD)
        return head + file.read() if _recognised_head(location, head) else b""


def _recognised_head(path: str, head: bytes) -> Dialect | None:
    text = head.decode("utf-8", "ignore")
    return recognise(parse(text.rpartition("\n")[0] or text, path))


def _dialect(document: Document, data: bytes, forced: str | None, walked: bool) -> Dialect | None:
    if forced is not None:
        named = dialect(forced)
        if not walked:
            return named
        return named if document.roots and document.format in named.formats and named.recognise(document) > 0 else None
    if len(data) > LIMIT:
        return _recognised_head(document.path, data[:HEAD])
    found = recognise(document)
    return found if found is not None or not any(problem.fatal for problem in document.problems) else _recognised_keys(document)


def _recognised_keys(document: Document) -> Dialect | None:
    """What a text that cannot be read is by the names at the starts of its lines."""
    import re

    pattern = {"yaml": r"^([A-Za-z_]\w*):(?=[ \t\r\n]|$)", "toml": r"^(\[[\w.]+\])[ \t]*(?:#.*)?\r?$"}.get(document.format)
    names = dict.fromkeys(re.findall(pattern, document.text, re.MULTILINE)) if pattern else {}
    return (
        recognise(parse("".join(f"{name}{':' if document.format == 'yaml' else ''}\n" for name in names), document.path)) if names else None
    )
