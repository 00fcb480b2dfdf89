"""Faults of the FSDP settings in ms-swift's files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fsdplint.diagnostics import Place, Severity
from fsdplint.dialects import word_bool
from fsdplint.document import plain
from fsdplint.plan import StateDict, is_placeholder
from fsdplint.rule import Context, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = ("ms-swift",)


class Block(NamedTuple):
    """The JSON of ``fsdp`` as plain values, and the place of each of its keys as far as the file has one."""

    values: dict[str, Any]
    document: Any
    base: tuple[str | int, ...] | None

    def place(self, path: tuple[str, ...], context: Context) -> Place:
        """Where a key of the JSON stands; of JSON written as text, the text."""
        return context.at(("fsdp",)) if self.base is None else Place(self.document, (*self.base, *path), "entry")


class SwiftRule(Rule):
    """A rule about the arguments of ``swift sft`` and its sisters, not about the JSON that they name."""

    dialects = DIALECTS

    def block(self, context: Context) -> Block | None:
        """The JSON of ``fsdp``: a mapping, text, or the file that it names; None for a preset and for a file that is not known."""
        if context.dialect.is_companion or not context.versions.has("ms-swift>=3.12.0"):
            return None
        value = context.value("fsdp")
        if isinstance(value, dict):
            return Block(value, context.document, ("fsdp",))
        if isinstance(value, str) and value.lstrip().startswith("{") and not is_placeholder(value):
            return _read(value)
        named = next((file for file in context.launch.files if file.dialect.is_companion and file.dialect.name == "ms-swift"), None)
        if not isinstance(value, str) or named is None or named.document.root is None:
            return None
        values = plain(named.document.root)
        return Block(values, named.document, ()) if isinstance(values, dict) else None

    def setting(self, context: Context, name: str) -> str | None:
        """An environment variable that the file's ENV or the launch line sets; None where neither does."""
        command = context.launch.command
        found = re.search(rf"(?:^|\s){name}=[\"']?([^\s\"']*)", command.document.text) if command is not None else None
        value = context.value("ENV", name)
        return found[1] if found else None if value is None else str(value)

    def is_on(self, context: Context, key: str) -> bool:
        """Whether argparse reads a switch as true."""
        return word_bool(context.value(key)) is True


def _read(text: str) -> Block | None:
    import json

    try:
        values = json.loads(text)
    except ValueError:
        return None
    return Block(values, None, None) if isinstance(values, dict) else None


class FsdpVersionSpelling(SwiftRule):
    """## What it does
    Finds the FSDP version in the JSON of `fsdp` under the name `version`, and JSON that names none for transformers 5.0 to 5.9.

    ## Why it matters
    ms-swift only looks at `fsdp_version` and exports FSDP_VERSION=2 without it. TrainingArguments build the version that they find, which
    before 5.10 is FSDP1 where none is written: the two disagree.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    fsdp:
      fsdp: full_shard auto_wrap
      fsdp_config:
        version: 1
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    fsdp:
      fsdp: full_shard auto_wrap
      fsdp_config:
        fsdp_version: 1
    ```

    ## Versions and evidence
    sw-S3 (run with ms-swift 4.6.0 and transformers 5.6.0, 5.8.0).
    """

    code, name = "SWF001", "fsdp-version-spelling"
    facts = ("sw-S3",)

    def check(self, context: Context) -> Iterator[Finding]:
        block = self.block(context)
        options = block.values.get("fsdp_config", {}) if block else None
        if block is None or not isinstance(options, dict) or "fsdp_version" in options or _foreign(block.values):
            return
        at, help = context.at(("fsdp",)), "write `fsdp_version`"
        if str(options.get("version", 2)) != "2":
            there = block.place(("fsdp_config", "version"), context)
            text = f"`version: {options['version']}` in FSDP's JSON: ms-swift reads `fsdp_version` alone and exports FSDP_VERSION=2"
            place = there if there.document is context.document else at
            yield self.finding(place, text, outcome="misleads", help=help, related=[] if place is there else [(there, "the version")])
        elif "version" not in options and context.versions.has("transformers>=5.0,<5.10"):
            text = "FSDP's JSON names no version: ms-swift exports FSDP_VERSION=2, TrainingArguments build FSDP1"
            yield self.finding(at, text, outcome="ignored", help="write `fsdp_version: 2` in its `fsdp_config`")


def _foreign(values: dict[str, Any]) -> str | None:
    """Whose file a JSON is, where it is not ms-swift's: by the keys at its top level."""
    if {"compute_environment", "distributed_type"} & values.keys():
        return "accelerate"
    return "DeepSpeed" if {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"} & values.keys() else None


class ForeignFsdpFile(SwiftRule):
    """## What it does
    Finds `fsdp` with the config of accelerate or of DeepSpeed.

    ## Why it matters
    ms-swift takes `fsdp` and `fsdp_config` out of the JSON, with defaults for what is missing, and drops all else without a word:
    accelerate's offloading does not happen, DeepSpeed's JSON becomes FSDP2 over everything.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    fsdp:
      zero_optimization: {stage: 2}
      train_micro_batch_size_per_gpu: auto
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    deepspeed: zero2
    ```

    ## Versions and evidence
    sw-S1, sw-S2 (run with ms-swift 4.6.0).
    """

    code, name = "SWF002", "foreign-fsdp-file"
    facts = ("sw-S1", "sw-S2")

    def check(self, context: Context) -> Iterator[Finding]:
        block = self.block(context)
        if block is None:
            return
        owner = _foreign(block.values)
        shown = [(Place(block.document, ()), "this file")] if block.base == () else []
        if owner == "DeepSpeed":
            text = "`fsdp` with the config of DeepSpeed: FSDP2 runs with its defaults, nothing of this is read"
            yield self.finding(context.at(("fsdp",)), text, outcome="misleads", help="name it as `deepspeed`", related=shown)
        elif owner == "accelerate":
            text = "`fsdp` with the config of accelerate: only its `fsdp_config` is read, and that as TrainingArguments' own"
            help = (
                "write `{fsdp: full_shard auto_wrap, fsdp_config: {...}}` with the keys of TrainingArguments, or start by accelerate launch"
            )
            yield self.finding(context.at(("fsdp",)), text, outcome="ignored", help=help, related=shown)
        elif not {"fsdp", "fsdp_config"} & block.values.keys():
            text = "FSDP's JSON has neither `fsdp` nor `fsdp_config`: FSDP2 runs with its defaults"
            yield self.finding(context.at(("fsdp",)), text, outcome="ignored", help="put the options under `fsdp_config`", related=shown)


class IdleFsdpConfig(SwiftRule):
    """## What it does
    Finds `fsdp_config` at the top level beside `fsdp`.

    ## Why it matters
    ms-swift overwrites it with the `fsdp_config` of the JSON that `fsdp` stands for.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    fsdp: fsdp2
    fsdp_config:
      reshard_after_forward: false
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    fsdp:
      fsdp: full_shard auto_wrap
      fsdp_config:
        fsdp_version: 2
        reshard_after_forward: false
    ```

    ## Versions and evidence
    swift/arguments/sft_args.py of 3.12.0 to 4.6.0 (run with 4.6.0).
    """

    code, name, severity = "SWF007", "fsdp-config-overwritten", Severity.WARNING
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        if context.dialect.is_companion or not context.value("fsdp_config") or not context.value("fsdp"):
            return
        if context.versions.has("ms-swift>=3.12.0") and ("fsdp_config",) in context.table.options:
            text = "`fsdp_config` beside `fsdp` is overwritten by what `fsdp` stands for"
            related = [(context.at(("fsdp",)), "this one counts")]
            yield self.finding(
                context.at(("fsdp_config",), "key"), text, help="move the options into a mapping under `fsdp`", related=related
            )


class SaveOnlyModelCheck(SwiftRule):
    """## What it does
    Finds `save_only_model` with FSDP's JSON that does not say `state_dict_type: FULL_STATE_DICT` in this very spelling.

    ## Why it matters
    ms-swift's own check takes SHARDED_STATE_DICT where it finds no `state_dict_type`, whatever transformers does, and raises ValueError.

    ## Example
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    save_only_model: true
    fsdp:
      fsdp_config:
        fsdp_version: 2
        fsdp_state_dict_type: FULL_STATE_DICT
    ```

    ## Use instead
    ```yaml
    model: Qwen/Qwen2.5-0.5B
    tuner_type: full
    dataset: [AI-ModelScope/alpaca-gpt4-data-en#500]
    save_only_model: true
    fsdp:
      fsdp_config:
        fsdp_version: 2
        state_dict_type: FULL_STATE_DICT
    ```

    ## Versions and evidence
    sw-save-only, sw-S1 (run with ms-swift 4.6.0).
    """

    code, name = "SWF008", "save-only-model-check"
    facts = ("sw-save-only", "sw-S1")

    def check(self, context: Context) -> Iterator[Finding]:
        block, saving = self.block(context), context.plan.save_only_model
        if block is None or saving.value is not True or saving.place is None or context.plan.state_dict.value is StateDict.SHARDED:
            return
        options = block.values.get("fsdp_config", {})
        stated = options.get("state_dict_type", "SHARDED_STATE_DICT") if isinstance(options, dict) else ""
        if "SHARDED" in str(stated).upper():
            related = [(context.at(("fsdp",)), "no `state_dict_type` here")]
            text = "`save_only_model` with FSDP's JSON that says no `state_dict_type`: ms-swift raises ValueError"
            yield self.finding(saving.place, text, help="write `state_dict_type: FULL_STATE_DICT` in its `fsdp_config`", related=related)


RULES: tuple[Rule, ...] = (FsdpVersionSpelling(), ForeignFsdpFile(), IdleFsdpConfig(), SaveOnlyModelCheck())
