"""What the keys of transformers' ``TrainingArguments`` mean together, by release.

The differences between the releases are data: ``x-fsdp`` in hf_trainer.schema.json, newest first; the first entry whose ``when``
holds counts. ``words``: which of several strategies in ``fsdp`` counts (``first``, ``last``); ``wrap``: the policy without the word
auto_wrap; ``version-1``: what FSDP1 runs (``words``: the strategy of ``fsdp``; ``full``: always FULL_SHARD); ``reshard``: FSDP2 without
``reshard_after_forward``; ``state-dict``: accelerate's own default by FSDP version; ``checkpointing``: ``raw`` where any text counts.
Read and run in transformers 4.40.2, 4.50.3, 4.57.6, 5.0.0, 5.4.0, 5.9.0, 5.10.4 and 5.24.0 (training_args.py, trainer.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsdplint.diagnostics import Place
from fsdplint.dialects.formats import word_bool
from fsdplint.dialects.table import is_known
from fsdplint.document import Scalar, Sequence
from fsdplint.plan import FSDP_OPTIONS, NOWHERE, Fact, Precision, Sharding, StateDict, Wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.dialects.table import Table
    from fsdplint.document import Document, Path
    from fsdplint.plan import Plan
    from fsdplint.target import Versions

_PAIR = {"full_shard", "shard_grad_op"}
_RESHARD = {True: Sharding.FULL_SHARD, False: Sharding.SHARD_GRAD_OP}


def settle_arguments(plan: Plan, document: Document, versions: Versions) -> None:
    """Precision, compilation, device and DeepSpeed from the keys that state them together."""
    _precision(plan, document)
    for key in ("torch_compile_mode", "torch_compile_backend"):
        if document.value((key,)) is not None and not plan.compile.value and not plan.compile.unknown:
            plan.compile = Fact(True, Place(document, (key,)))
    for key, when in (("use_cpu", ""), ("no_cuda", "transformers<5.0")):
        if document.value((key,)) is True and versions.has(when):
            plan.device = Fact("cpu", Place(document, (key,)))
    if plan.deepspeed.value:
        plan.deepspeed_config = Fact(document.value(("deepspeed",)), plan.deepspeed.place)


def _precision(plan: Plan, document: Document) -> None:
    asked = [
        Fact(kind, Place(document, (kind.value,)))
        for kind in (Precision.BF16, Precision.FP16)
        if _is_on(plan, document.value((kind.value,)))
    ]
    if asked:
        plan.precision = asked[0].beating(*asked[1:])
    elif any(document.has((kind.value,)) for kind in (Precision.BF16, Precision.FP16)):
        key = next(kind.value for kind in (Precision.BF16, Precision.FP16) if document.has((kind.value,)))
        plan.precision = Fact(Precision.NONE, Place(document, (key,)), unknown=plan.precision.unknown)


def _is_on(plan: Plan, value: object) -> bool:
    return bool(value) and not (
        isinstance(value, str) and (plan.precision.unknown or value.lower() in ("false", "no", "off", "n", "f", "0"))
    )


def settle_fsdp(
    plan: Plan,
    table: Table,
    document: Document,
    versions: Versions,
    base: Path = ("fsdp_config",),
    switch: Document | None = None,
) -> None:
    """What ``fsdp`` and ``fsdp_config`` build in the releases at hand.

    ``base`` is where the options of ``fsdp_config`` stand in the document; ``switch`` is the document with ``fsdp``, where that is
    another one.
    """
    if plan.fsdp.unknown:
        return
    _settle_spellings(plan)
    if not plan.fsdp.value or document.value((*base, "xla")) is True:
        _switched_off(plan, document, versions, base)
    elif isinstance(document.value(base), str):
        _say_nothing(plan)
    else:
        _Reading(plan, table, document, versions, base, switch).settle()


def _settle_spellings(plan: Plan) -> None:
    """Of ``fsdp_version`` and ``version`` in one block the longer one wins, and the other is no rival that another rule should speak of."""
    for decision in FSDP_OPTIONS:
        fact = plan.fact(decision)
        if fact.place and fact.rivals:
            block = fact.place.path[:-1]
            twins = [
                other for other in (fact, *fact.rivals) if other.place and other.place.path[:-1] == block and _bare(other) == _bare(fact)
            ]
            others = [other for other in fact.rivals if other not in twins]
            winner = next((twin for twin in twins if str(twin.place and twin.place.path[-1]).startswith("fsdp_")), fact)
            alone: Fact[Any] = Fact(winner.value, winner.place, unknown=winner.unknown)
            plan.set(decision, alone.beating(*others))


def _bare(fact: Fact[Any]) -> str:
    return str(fact.place.path[-1]).removeprefix("fsdp_") if fact.place else ""


def _switched_off(plan: Plan, document: Document, versions: Versions, base: Path) -> None:
    """Without FSDP the options decide nothing, but for two that the Trainer of 5.9 and older hands to an accelerate file's FSDP."""
    kept = ("activation_checkpointing", "limit_all_gathers") if versions.has("transformers<5.10") else ()
    for decision in FSDP_OPTIONS:
        if not (decision in kept and plan.fact(decision).is_written):
            plan.set(decision, NOWHERE)
    if document.value((*base, "xla")) is True and plan.fsdp.value:
        plan.fsdp = Fact(None, plan.fsdp.place, unknown=True)
    elif plan.fsdp.value is None and plan.fsdp_options.value:
        plan.fsdp = Fact(False, source="`fsdp` is not written")


def _say_nothing(plan: Plan) -> None:
    """The options stand in another file."""
    for decision in FSDP_OPTIONS:
        plan.set(decision, Fact(None, source="the file that `fsdp_config` names", unknown=True))


class _Reading:
    """The options of one document under the releases at hand, with FSDP on."""

    def __init__(self, plan: Plan, table: Table, document: Document, versions: Versions, base: Path, switch: Document | None) -> None:
        self.plan = plan
        self.document = document
        self.switch = switch or document
        self.versions = versions
        self.era = next(era for era in table.schema["x-fsdp"] if versions.has(era["when"]))
        self.release = f"transformers {versions.text('transformers')}"
        self.base = base
        self.is_fragment = not base and switch is None
        self.words = list(_words(self.switch))
        self.known = {option.path[-1] for option in table.options.values() if option.path[:-1] == base and is_known(option, versions)}

    def settle(self) -> None:
        self._version()
        self._sharding()
        self._offload()
        self._wrapping()
        self._state_dict()
        self._checkpointing()

    def _checkpointing(self) -> None:
        """The Trainer of older releases sets the raw value, so that any text counts."""
        fact = self.plan.activation_checkpointing
        if fact.place and not fact.unknown and self.era.get("checkpointing") == "raw":
            self.plan.activation_checkpointing = Fact(bool(self.document.value(fact.place.path)), fact.place)

    def _version(self) -> None:
        version = self.plan.fsdp_version
        raw = self.document.value(version.place.path) if version.place else None
        if isinstance(raw, float):
            version = self.plan.fsdp_version = Fact(int(raw), version.place)
        if version.is_written:
            if version.value not in (None, 1, 2):
                self.plan.fsdp_version = version.overruled(1, "any other number takes the FSDP1 branch")
        elif version.value is None:
            self.plan.fsdp_version = Fact(1, source=f"{self.release} builds FSDP1")

    def _emptied(self, name: str) -> Place | None:
        """Where an option that the release reads is written as null, which counts as a value there."""
        for key in (f"fsdp_{name}", name) if name in self.known else ():
            if self.document.has((*self.base, key)):
                return Place(self.document, (*self.base, key)) if self.document.value((*self.base, key)) is None else None
        return None

    def _word(self, name: str) -> Place | None:
        return next((place for word, place in self.words if word == name), None)

    def _strategies(self) -> list[Fact[Sharding]]:
        """The strategies among the words, the one that counts first."""
        found: dict[str, Fact[Sharding]] = {}
        for word, place in self.words:
            if word.upper() in Sharding.__members__:
                found.setdefault(word, Fact(Sharding[word.upper()], place))
        if not found and self.switch.value(("fsdp",)) is True:
            return [Fact(Sharding.FULL_SHARD, Place(self.switch, ("fsdp",)))]
        if self.era["words"] == "first":
            return list(found.values())
        last_first = list(reversed(found.values()))
        if not found.keys() >= _PAIR:
            return last_first
        # The pair that is refused together comes first, whatever else is written.
        return sorted(last_first, key=lambda stated: stated.value not in _RESHARD.values())

    def _sharding(self) -> None:
        """The word of ``fsdp`` and the key of ``fsdp_config``: which is asked for, and which runs."""
        strategies = self._strategies()
        word = strategies[0].beating(*strategies[1:]) if strategies else None
        key = self._key()
        if key is not None and key.unknown:
            self.plan.sharding = key
        elif self.plan.fsdp_version.value == 1:
            self.plan.sharding = self._first(word, key)
        elif self.plan.fsdp_version.value == 2:
            self.plan.sharding = self._second(word, key)
        else:
            self.plan.sharding = key or word or NOWHERE

    def _key(self) -> Fact[Sharding] | None:
        """``reshard_after_forward`` in the terms of the FSDP version."""
        fact: Fact[Any] = self.plan.sharding
        if fact.place is None or fact.unknown:
            return fact if fact.unknown else None
        if self.plan.fsdp_version.value == 2:
            reshards = word_bool(self.document.value(fact.place.path))
            return Fact(None if reshards is None else _RESHARD[reshards], fact.place)
        return Fact(fact.value, fact.place)

    def _first(self, word: Fact[Sharding] | None, key: Fact[Sharding] | None) -> Fact[Sharding]:
        """FSDP1: the key never counts beside accelerate's own strategy; from 5.4 on the words do not either."""
        asked = key if key and key.value and (self.era["version-1"] == "full" or word is None) else word
        runs = word.value if word and self.era["version-1"] == "words" else Sharding.FULL_SHARD
        if asked is None:
            return Fact(runs, source=f"{self.release} shards fully")
        if asked.value is runs:
            return asked.beating(*(other for other in (word,) if other and other is not asked and other.value is not runs))
        return asked.overruled(
            runs, f"{self.release} hands FSDP1 only `reshard_after_forward`, and accelerate prefers its own strategy, FULL_SHARD"
        )

    def _second(self, word: Fact[Sharding] | None, key: Fact[Sharding] | None) -> Fact[Sharding]:
        """FSDP2: the key decides; without it the word, from 5.4 on. 5.10 refuses words that FSDP2 cannot do, beside a key, too."""
        first = self.era["words"] == "first"
        unable = [stated for stated in (word, *(word.rivals if word else ())) if stated and stated.value not in _RESHARD.values()]
        if first and unable:
            return Fact(None, unable[0].place, written=unable[0].value)
        if key is not None:
            is_rival = word is not None and key.value is not None and self.switch.value(("fsdp",)) is not True
            return key.beating(word) if is_rival and word else key
        if "reshard" in self.era:
            runs = _RESHARD[self.era["reshard"]]
            because = f"FSDP2 of {self.release} reshards only where `reshard_after_forward: true` is written"
            return (
                word.overruled(runs, because)
                if word and word.value is not runs
                else word or Fact(runs, source=f"default of {self.release}")
            )
        if word is None:
            return Fact(Sharding.FULL_SHARD, source=f"default of {self.release}")
        if word.value in _RESHARD.values():
            return word
        return word.overruled(Sharding.FULL_SHARD, f"FSDP2 of {self.release} only knows to reshard or not")

    def _offload(self) -> None:
        place = self._word("offload")
        stated: Fact[bool] = Fact(True, place) if place else Fact(False, source="no word `offload` in `fsdp`")
        key = self.plan.offload
        empty = self._emptied("cpu_offload")
        if empty:
            self.plan.offload = Fact(False, empty).beating(stated)
        elif key.is_written:
            self.plan.offload = key.beating(stated)
        elif place or key.value is None:
            self.plan.offload = stated

    def _wrapping(self) -> None:
        if "auto_wrap_policy" in self.known:
            return
        plan, place = self.plan, self._word("auto_wrap")
        size = bool(plan.min_num_params.value) and not plan.wrap_classes.value
        if place is None and not self.is_fragment:
            both = plan.min_num_params.value and plan.wrap_classes.value
            plan.wrap_policy = Fact(Wrap.TRANSFORMER if both else Wrap(self.era["wrap"]), source="no word `auto_wrap` in `fsdp`")
        else:
            plan.wrap_policy = Fact(Wrap.SIZE if size else Wrap.TRANSFORMER, place, source="" if place else "`auto_wrap` in `fsdp`")

    def _state_dict(self) -> None:
        """Where transformers hands none over, accelerate has its own default."""
        kind = self.era["state-dict"].get(str(self.plan.fsdp_version.value))
        if kind and ("state_dict_type" not in self.known or self._emptied("state_dict_type")):
            self.plan.state_dict = Fact(StateDict(kind), source=f"accelerate's default for FSDP{self.plan.fsdp_version.value}")


def _words(document: Document) -> Iterator[tuple[str, Place]]:
    """The words of ``fsdp``, each with its very place."""
    node = document.node(("fsdp",))
    if isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            if isinstance(item, Scalar) and isinstance(item.value, str):
                yield item.value, Place(document, ("fsdp", index))
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        start = node.span.start
        for word in node.value.split():
            found = document.text.find(word, start, node.span.end)
            part = (found, found + len(word)) if found >= 0 else "value"
            start = max(start, found + len(word)) if found >= 0 else start
            yield word, Place(document, ("fsdp",), part)
