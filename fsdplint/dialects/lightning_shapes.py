"""The forms of Lightning's files: who reads them, where the Trainer's keys stand, and which strategy's arguments they hold."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.dialects.table import Table
from fsdplint.document import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.table import Schema
    from fsdplint.document import Document, Node

NAMESPACES = ("lightning.", "pytorch_lightning.", "lightning_fabric.", "lightning_pytorch.")
"""The packages that Lightning's classes are imported from."""

COMMANDS = ("fit", "validate", "test", "predict", "tune")
"""The subcommands of a LightningCLI, under which a file may hold the keys."""

CLI_KEYS = frozenset({"trainer", "model", "data", "seed_everything", "ckpt_path", "optimizer", "lr_scheduler", *COMMANDS})
"""The top level of a LightningCLI file without arguments of its own."""

_BUILDING: Schema = {key: {} for key in ("_target_", "_partial_", "_args_", "_convert_", "_recursive_", "defaults")}
_WHOLE = frozenset(
    [
        *("type", "enum", "anyOf", "pattern", "format", "items", "minimum", "maximum", "minItems", "maxItems"),
        *("x-case", "x-values", "x-refusal", "x-required"),
    ]
)
_COMPONENTS = ("strategy", "callbacks", "logger", "plugins", "profiler")


class Shape(NamedTuple):
    """How a file is read.

    ``host``: ``trainer``, ``fabric``, or ``strategy`` for a file of a strategy alone. ``at``: where its keys stand.
    ``reader``: ``cli`` (LightningCLI, by jsonargparse), ``stock`` (Lightning's own class is built from the mapping), ``own`` (the project
    decides what it does with the keys). ``strategy``: the name of the strategy's class, empty where it is given by name or not at all;
    ``is_stock``: it is Lightning's own class.
    """

    host: str = "trainer"
    at: tuple[str, ...] = ("trainer",)
    reader: str = "cli"
    strategy: str = ""
    is_stock: bool = True

    @property
    def strategy_at(self) -> tuple[str, ...]:
        """Where the strategy stands."""
        return self.at if self.host == "strategy" else (*self.at, "strategy")

    @property
    def arguments_at(self) -> tuple[str, ...]:
        """Where the strategy's arguments stand."""
        return (*self.strategy_at, "init_args") if self.reader == "cli" else self.strategy_at


def shape_of(document: Document) -> Shape | None:
    """The form of a document; None where nothing in it is Lightning's."""
    root = document.root
    if not isinstance(root, Mapping):
        return None
    target = text_of(root.get("_target_"))
    if target is not None:
        return _target_shape(root, target)
    found = _host(root)
    if found is None:
        return None
    host, at, mapping = found
    reader = _reader(root, mapping, host)
    return _with_strategy(Shape(host, at, reader), mapping)


def _target_shape(root: Mapping, target: str) -> Shape | None:
    """The form of a file that builds one object (Hydra's ``_target_``)."""
    name, own = target.rpartition(".")[2], not target.startswith(NAMESPACES)
    if name in ("Trainer", "Fabric") and not own:
        return _with_strategy(Shape(name.lower(), (), "stock"), root)
    if name.endswith("Strategy") and not own:
        return Shape("strategy", (), "stock", name)
    if name.endswith(("FSDPStrategy", "DDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy")):
        return Shape("strategy", (), "own", name, is_stock=False)
    return None


def _host(root: Mapping) -> tuple[str, tuple[str, ...], Mapping] | None:
    for at in (("trainer",), *((command, "trainer") for command in COMMANDS), ("fabric",)):
        node: Node | None = root
        for key in at:
            node = node.get(key) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping):
            return ("fabric" if at == ("fabric",) else "trainer"), at, node
    if "defaults" in root or _is_lightning(root.get("strategy")):
        return "trainer", (), root
    return None


def _reader(root: Mapping, mapping: Mapping, host: str) -> str:
    target = text_of(mapping.get("_target_"))
    if target is not None:
        return "stock" if target.startswith(NAMESPACES) and target.endswith((".Trainer", ".Fabric")) else "own"
    if host == "fabric" or mapping is root or "defaults" in root or _has(mapping.get("strategy"), "_target_"):
        return "own"
    return "cli" if has_class_path(root, mapping) or "seed_everything" in root or CLI_KEYS.issuperset(root.keys()) else "own"


def has_class_path(root: Mapping, mapping: Mapping) -> bool:
    """Whether a component is written as jsonargparse wants it."""
    nodes = [*(mapping.get(key) for key in _COMPONENTS), *(root.get(key) for key in ("model", "data", "optimizer"))]
    return any(_has(node, "class_path") for node in nodes)


def _has(node: Node | None, key: str) -> bool:
    return any(isinstance(item, Mapping) and key in item for item in (node.items if isinstance(node, Sequence) else [node]))


def _is_lightning(node: Node | None) -> bool:
    target = text_of(node.get("_target_")) if isinstance(node, Mapping) else None
    return target is not None and target.startswith(NAMESPACES)


def _with_strategy(shape: Shape, mapping: Mapping) -> Shape:
    node = mapping.get("strategy")
    if not isinstance(node, Mapping):
        return shape
    path = text_of(node.get("class_path" if shape.reader == "cli" else "_target_"))
    if path is None:
        return shape
    stock = "." not in path or path.startswith(NAMESPACES)
    return shape._replace(strategy=path.rpartition(".")[2], is_stock=stock)


def text_of(node: Node | None) -> str | None:
    """The text of a scalar."""
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


@cache
def whole() -> Table:
    """The table as it is written."""
    return Table.load("lightning")


@cache
def table_of(shape: Shape) -> Table:
    """The option table of a form, put together from the definitions of the whole one."""
    base = whole()
    words = {word: value for word, value in base.schema.items() if word not in ("properties", "$defs", "x-unknown", "x-open")}
    words["x-generations"] = list(_generations(base.schema, shape))
    words["x-clashes"] = list(_clashes(base, shape))
    strategy = _strategy(base, shape)
    if shape.host == "strategy":
        return Table({**words, **strategy})
    host = base.part(shape.host) if shape.reader == "cli" else _as_python(base.part(shape.host), is_stock=shape.reader == "stock")
    host = {**host, "properties": {**host["properties"], "strategy": strategy}}
    if not shape.at:
        return Table({**words, **host})
    if shape.reader == "cli":
        words = {**base.schema, **words}
    for key in reversed(shape.at):
        host = {"type": "object", "properties": {key: host}}
    top = shape.at[0]
    others = base.schema["properties"] if shape.reader == "cli" else {}
    return Table({**words, "properties": {**others, top: host["properties"][top]}})


def _generations(schema: Schema, shape: Shape) -> Iterator[Schema]:
    """The generations with keys as they stand in this form; a key that has left the Trainer may be the project's own."""
    for generation in schema["x-generations"]:
        keys = [".".join((*shape.at, key)) for key in generation.get("keys", ())]
        if keys or shape.reader != "own":
            yield {**generation, "keys": keys} if keys else generation


def _clashes(base: Table, shape: Shape) -> Iterator[Schema]:
    """The clashes of the host's keys and of the strategy's arguments, with the keys as they stand in this form."""
    parts = [(shape.host, shape.at), (shape.strategy, shape.arguments_at if shape.is_stock else ())]
    for name, at in parts:
        for clash in base.schema["$defs"].get(name, {}).get("x-clashes", ()):
            keys = {".".join((*at, key)): wanted for key, wanted in clash["keys"].items()}
            yield {**clash, "at": ".".join((*at, clash["at"])), "keys": keys}


def _strategy(base: Table, shape: Shape) -> Schema:
    host: Schema = base.part("fabric" if shape.host == "fabric" else "trainer")["properties"]["strategy"]
    name = shape.strategy or "FSDPStrategy"
    known = shape.is_stock and name in base.schema["$defs"]
    if shape.reader == "cli":
        arguments = {"init_args": base.part(name)} if known else {}
        more = {"dict_kwargs": base.part("torch-fsdp")} if name == "FSDPStrategy" and known else {}
        return {**host, "properties": {**host["properties"], **arguments, **more}}
    words = {word: value for word, value in host.items() if word not in ("x-unknown", "properties")}
    return {**words, **(_flat(base, name) if known else {})}


def _flat(base: Table, name: str) -> Schema:
    """A strategy whose arguments stand beside ``_target_``, those that Lightning hands on to torch included."""
    definition = _as_python(base.part(name), is_stock=False)
    handed = _as_python(base.part("torch-fsdp"), is_stock=False) if name == "FSDPStrategy" else {"properties": {}}
    own = {key: schema for key, schema in definition["properties"].items() if name != "FSDPStrategy" or "x-elsewhere" not in schema}
    unknown = {"x-unknown": base.part("torch-fsdp" if handed["properties"] else name).get("x-unknown", [])}
    return {"properties": {**_BUILDING, **handed["properties"], **own}, **unknown}


def _as_python(schema: Schema, *, is_stock: bool) -> Schema:
    """An object as Python's constructors read it: no value is converted, and few are checked (``x-python``)."""
    read = schema.get("x-python")
    if read is True:
        return schema
    left = {"x-absent", "x-unknown"} if not is_stock else set()
    kept: dict[str, Any] = {word: value for word, value in schema.items() if word not in _WHOLE and word not in left}
    if isinstance(read, dict):
        kept.pop("properties", None)
        return {**kept, **read}
    if "properties" in kept:
        kept["properties"] = {name: _as_python(value, is_stock=is_stock) for name, value in kept["properties"].items()}
        kept["properties"].update(_BUILDING)
    if "x-unknown" in kept:
        kept["x-unknown"] = [{**claim, "says": "Python raises TypeError (unexpected keyword argument)"} for claim in kept["x-unknown"]]
    return kept
