"""From written keys to facts: the direction document → plan of an option table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import is_int_text, word_bool
from fsdplint.dialects.table import default, is_known, is_read
from fsdplint.document import plain
from fsdplint.plan import Fact, Plan, Precision, Sharding, StateDict, Wrap, is_placeholder
from fsdplint.versions import full

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.dialects.table import Option, Table
    from fsdplint.document import Document
    from fsdplint.target import Versions

_STRATEGY_NUMBERS = {1: "FULL_SHARD", 2: "SHARD_GRAD_OP", 3: "NO_SHARD", 4: "HYBRID_SHARD", 5: "HYBRID_SHARD_ZERO2"}
_STATE_DICT_NUMBERS = {1: "FULL_STATE_DICT", 2: "LOCAL_STATE_DICT", 3: "SHARDED_STATE_DICT"}
_UNREADABLE = object()


def read_options(plan: Plan, table: Table, document: Document, versions: Versions) -> None:
    """Put a fact into the plan for every decision that the table's keys carry: what is written and known, else the table's default.

    Where several keys carry one decision, the first of the table wins and the others are its rivals. null counts as not written; a
    placeholder gives an unknown fact; a value that upstream cannot read gives None (the value rules speak of it).
    """
    order = {option.path: rank for rank, option in enumerate(table.options.values())}
    found: dict[str, list[tuple[int, Fact[Any]]]] = {}
    for item in table.written(document.root):
        option = item.option
        if option is None or "x-decision" not in option.schema or not is_read(item, versions):
            continue
        value = plain(item.entry.value)
        if value is not None:
            fact = written_fact(option, value, Place(document, item.path))
            found.setdefault(option.schema["x-decision"], []).append((order[option.path], fact))
    for decision, options in table.decisions.items():
        facts = [fact for _, fact in sorted(found.get(decision, ()), key=lambda ranked: ranked[0])]
        plan.set(decision, facts[0].beating(*facts[1:]) if facts else default_fact(table, options, versions))


def last_of(fact: Fact[Any]) -> Fact[Any]:
    """Of two spellings of one key (``fsdp_version`` and ``version``) the later one, where upstream sets them in the file's order."""
    if fact.place is None or not fact.rivals:
        return fact
    facts = sorted((fact, *fact.rivals), key=_offset)
    last = facts.pop()
    return Fact(last.value, last.place, unknown=last.unknown).beating(*(Fact(f.value, f.place) for f in facts))


def _offset(fact: Fact[Any]) -> int:
    span = fact.place.document.key_span(fact.place.path) if fact.place else None
    return span.start if span else -1


def written_fact(option: Option, value: object, place: Place) -> Fact[Any]:
    """The fact that a written value states."""
    if is_placeholder(value):
        return Fact(None, place, unknown=True)
    return Fact(converted(option, value), place)


def default_fact(table: Table, options: list[Option], versions: Versions) -> Fact[Any]:
    """The fact of a decision that nobody wrote: the default of the first of its keys that the releases at hand know and give one."""
    number = versions.release(table.package)
    source = f"default of {table.package} {full(number)}" if number else f"default of {table.package}"
    for option in options:
        if is_known(option, versions):
            value = default(option.schema, versions)
            if value is not None:
                return Fact(converted(option, value), None, source=source)
    return Fact()


def converted(option: Option, value: object) -> Any:
    """A written value in the terms of its decision; None where it cannot be read."""
    decision = option.schema["x-decision"]
    convert = _CONVERSIONS.get(decision, _text)
    found = convert(value, option)
    return None if found is _UNREADABLE else found


def _bool(value: object, option: Option) -> object:
    if isinstance(value, bool):
        return value
    if option.schema.get("format") == "bool-word" or option.schema.get("x-lax"):
        return word_bool(value)
    return bool(value) if option.schema.get("x-truthy") else None


def _int(value: object, _option: Option) -> object:
    return int(str(value)) if is_int_text(value) else None


def _text(value: object, _option: Option) -> object:
    return value if isinstance(value, str) else _UNREADABLE


def _names(value: object, _option: Option) -> object:
    if isinstance(value, str):
        return tuple(value.split(","))
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    return _UNREADABLE


def _sharding(value: object, _option: Option) -> object:
    name = _STRATEGY_NUMBERS.get(int(str(value))) if is_int_text(value) else str(value).upper().lstrip("_")
    return Sharding(name) if name in Sharding.__members__ else None


def _wrap(value: object, _option: Option) -> object:
    return next((w for w in Wrap if w.value == str(value).upper()), None)


def _state_dict(value: object, _option: Option) -> object:
    value = _STATE_DICT_NUMBERS.get(int(str(value))) if is_int_text(value) else value
    return next((s for s in StateDict if s.value == str(value).upper()), None)


def _precision(value: object, _option: Option) -> object:
    if value is False:
        return Precision.NONE
    return next((p for p in Precision if p.value == str(value).lower()), None)


def _raw(value: object, _option: Option) -> object:
    return value


_CONVERSIONS: dict[str, Callable[[object, Option], object]] = {
    **dict.fromkeys(
        [
            "fsdp",
            "deepspeed",
            "fsdp_options",
            "offload",
            "activation_checkpointing",
            "ram_efficient",
            "sync_module_states",
            "orig_params",
            "forward_prefetch",
            "limit_all_gathers",
            "compile",
            "fsdp2_compile",
            "gradient_checkpointing",
            "save_only_model",
        ],
        _bool,
    ),
    **dict.fromkeys(["fsdp_version", "min_num_params", "processes", "machines", "dp_replicate", "dp_shard", "tp", "cp", "sp", "pp"], _int),
    "sharding": _sharding,
    "wrap_policy": _wrap,
    "wrap_classes": _names,
    "state_dict": _state_dict,
    "precision": _precision,
    "deepspeed_config": _raw,
}
