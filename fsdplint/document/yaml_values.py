"""Which value a YAML scalar has: PyYAML's YAML 1.1 resolver and safe constructors, and OmegaConf's variant of them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from yaml.constructor import SafeConstructor
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "tag:yaml.org,2002:"
SCALAR_TAGS = frozenset(PREFIX + name for name in ("str", "int", "float", "bool", "null", "binary", "timestamp"))
PAIR_TAGS = frozenset(PREFIX + name for name in ("omap", "pairs"))
SEQUENCE_TAGS = PAIR_TAGS | {PREFIX + "seq"}
MAPPING_TAGS = frozenset(PREFIX + name for name in ("map", "set"))
MERGE_TAG = PREFIX + "merge"
VALUE_TAG = PREFIX + "value"
_PATH_TAGS = PREFIX + "python/object/apply:pathlib."

# OmegaConf 2.3 and 2.4: get_yaml_loader adds this float form behind PyYAML's resolvers and drops timestamps.
_OMEGACONF_FLOAT = r"""^(?:[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)
    |\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?
    |[-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$"""

Table = dict[str, list[tuple[str, "re.Pattern[str]"]]]


class Marker:
    """A plain scalar that is no value: a merge key (`<<`) or YAML 1.1's default value key (`=`)."""

    __slots__ = ("tag", "text")

    def __init__(self, text: str, tag: str) -> None:
        self.text = text
        self.tag = tag


MERGE = Marker("<<", MERGE_TAG)
VALUE = Marker("=", VALUE_TAG)
_MARKERS = {MERGE_TAG: MERGE, VALUE_TAG: VALUE}


class Flavour:
    """How one loader reads YAML scalars, and which tags it knows."""

    def __init__(self, name: str, table: Table) -> None:
        self.name = name
        self.omegaconf = name == "omegaconf"
        self._table = table
        self._wildcards = table.get(None, [])  # type: ignore[call-overload]
        self.starts = frozenset(table)
        constructor = SafeConstructor()
        self._construct: dict[str, Callable[[ScalarNode], object]] = {
            tag: getattr(constructor, "construct_yaml_" + tag.removeprefix(PREFIX)) for tag in SCALAR_TAGS
        }
        self.resolve = lru_cache(maxsize=4096)(self._resolve)

    def _resolve(self, text: str) -> object:
        """The value of a plain scalar; a Marker for `<<` and `=`. Raises ValueError for an impossible date and the like."""
        for tag, pattern in self._table.get(text[:1], ()):
            if pattern.match(text):
                return _MARKERS.get(tag) or self.construct(tag, text)
        return text

    def construct(self, tag: str, text: str) -> object:
        """The value that a known scalar tag gives a text. Raises ValueError where the loader would crash."""
        try:
            return self._construct[tag](ScalarNode(tag, text))
        except (ValueError, LookupError, OverflowError, AttributeError) as error:
            shown = text if len(text) <= 40 else f"{text[:37]}..."
            raise ValueError(f"{shown!r} is no valid {tag.removeprefix(PREFIX)}") from error
        except Exception as error:
            raise ValueError(str(error)) from error

    def known(self, tag: str) -> bool:
        """Whether the loader can construct the tag at all."""
        if tag in SCALAR_TAGS or tag in SEQUENCE_TAGS or tag in MAPPING_TAGS:
            return True
        return self.omegaconf and tag.startswith(_PATH_TAGS)


def _omegaconf_table() -> Table:
    table: dict[Any, list[tuple[str, re.Pattern[str]]]] = {
        start: [(tag, pattern) for tag, pattern in found if tag != PREFIX + "timestamp"]
        for start, found in Resolver.yaml_implicit_resolvers.items()
    }
    number = re.compile(_OMEGACONF_FLOAT, re.X)
    for start in "-+0123456789.":
        table[start] = [*table.get(start, []), (PREFIX + "float", number)]
    return table


@lru_cache(maxsize=2)
def flavour(loader: str) -> Flavour:
    """The flavour of a loader: "pyyaml" or "omegaconf"."""
    return Flavour(loader, _omegaconf_table() if loader == "omegaconf" else Resolver.yaml_implicit_resolvers)
