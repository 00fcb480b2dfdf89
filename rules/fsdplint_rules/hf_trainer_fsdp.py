"""Faults of ``fsdp`` and ``fsdp_config`` in TrainingArguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import is_known, is_read
from fsdplint.document import plain
from fsdplint.plan import is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.hf_trainer import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMING_LAUNCHER = (("accelerate_config",), ("--accelerate_config",), ("--accelerate-config",))
"""Where TRL is told the accelerate file that it launches with, in a file and on the command line."""


class KeySpeltTwice(Rule):
    """## What it does
    Finds an option of `fsdp_config` that is written with and without the prefix `fsdp_`, with different values.

    ## Why it matters
    The spelling with the prefix wins, wherever it stands.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      fsdp_version: 2
      version: 1
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      version: 2
    ```

    ## Versions and evidence
    TRF-FSDP-15 (run with transformers 5.24.0; training_args.py renames the keys in written order of the prefixed ones).
    """

    code, name, severity = "HFT007", "key-spelt-twice", Severity.WARNING
    dialects = PLAIN
    scope = "file"
    facts = ("TRF-FSDP-15",)

    def check(self, context: Context) -> Iterator[Finding]:
        longer = {item.option.path: item for item in context.written if item.option and str(item.path[-1]) == f"fsdp_{item.option.name}"}
        for item in context.written:
            twin = longer.get(item.option.path) if item.option else None
            if twin is None or twin is item or twin.path[:-1] != item.path[:-1] or plain(item.entry.value) == plain(twin.entry.value):
                continue
            text = f"`{item.path[-1]}` and `{twin.path[-1]}` are one key: the one with the prefix wins"
            yield self.finding(
                context.at(item.path, "entry"), text, related=[(context.at(twin.path), "this one wins")], help="remove one of them"
            )


class RamEfficientNeedsLauncher(Rule):
    """## What it does
    Finds `cpu_ram_efficient_loading` that is switched on in TrainingArguments alone.

    ## Why it matters
    From transformers 5.0 on `from_pretrained` looks at the environment that `accelerate launch` sets with an FSDP config: without it
    every process loads the whole model.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      cpu_ram_efficient_loading: true
    ```

    ## Use instead
    An accelerate file with `fsdp_cpu_ram_efficient_loading: true`, started by `accelerate launch`.

    ## Versions and evidence
    TRF-FSDP-44 (read in transformers/distributed/fsdp.py of 5.24.0; the environment of a run was looked at).
    """

    code, name, severity = "HFT008", "ram-efficient-needs-launcher", Severity.WARNING
    dialects = PLAIN
    facts = ("TRF-FSDP-44",)

    def check(self, context: Context) -> Iterator[Finding]:
        loading = context.plan.ram_efficient
        if (
            context.own.fsdp.value is not True
            or loading.value is not True
            or loading.place is None
            or not context.versions.has("transformers>=5.0")
        ):
            return
        if any(file.dialect.name == "accelerate" for file in context.launch.members) or loading.place.path in NAMING_LAUNCHER:
            return
        text = "cpu_ram_efficient_loading saves no memory here: from_pretrained only heeds it under `accelerate launch` with an FSDP config"
        yield self.finding(loading.place, text, help="switch FSDP on in the accelerate file")


class UnreadWord(Rule):
    """## What it does
    Finds words in a list `fsdp` that no release knows, where the release drops them.

    ## Why it matters
    Before 5.10 only a string is checked; an unknown word of a list does nothing.

    ## Example
    With `--target transformers==5.9.0`:
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: [full_shard, autowrap]
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: [full_shard, auto_wrap]
    ```

    ## Versions and evidence
    training_args.py of transformers 4.57.6 and 5.9.0 (run: the list is taken as it is).
    """

    code, name, severity = "HFT009", "unread-word", Severity.WARNING
    dialects = PLAIN
    scope = "file"
    known = frozenset({"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"})
    exact = frozenset({"offload", "auto_wrap"})

    def check(self, context: Context) -> Iterator[Finding]:
        words = context.value("fsdp")
        if not isinstance(words, list) or not context.versions.has("transformers<5.10"):
            return
        for index, word in enumerate(words):
            if isinstance(word, str) and not is_placeholder(word) and word.lower() not in self.known and word not in self.exact:
                yield self.finding(
                    context.at(("fsdp", index)),
                    f"`{word}` is no word of `fsdp`: it is dropped",
                    help="write it in lower case, as in the documentation",
                )


class XlaOptionWithoutXla(Rule):
    """## What it does
    Finds the options of torch_xla's FSDP without `xla: true`.

    ## Why it matters
    They are not read.

    ## Example
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      xla_fsdp_grad_ckpt: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: true
    fsdp_config:
      activation_checkpointing: true
    ```

    ## Versions and evidence
    training_args.py of transformers 4.36 to 5.24 warns (run with 5.24.0).
    """

    code, name, severity = "HFT010", "xla-option-without-xla", Severity.WARNING
    dialects = PLAIN
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        base = () if context.dialect.is_companion else ("fsdp_config",)
        if context.plan.fsdp.value is True and context.value(*base, "xla_fsdp_grad_ckpt") is True and not context.value(*base, "xla"):
            yield self.finding(
                context.at((*base, "xla_fsdp_grad_ckpt"), "entry"),
                "`xla_fsdp_grad_ckpt` is only read with `xla: true`",
                help="remove the key",
            )


class PrefixNotRead(Rule):
    """## What it does
    Finds options of an `fsdp_config` mapping that are written with the prefix `fsdp_` for a release that does not take it off.

    ## Why it matters
    transformers before 4.52 takes the prefix off only in the JSON file that `fsdp_config` names; in a mapping the key is dropped.

    ## Example
    With `--target transformers==4.50.3`:
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: full_shard auto_wrap
    fsdp_config:
      fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 8
    fsdp: full_shard auto_wrap
    fsdp_config:
      transformer_layer_cls_to_wrap: LlamaDecoderLayer
    ```

    ## Versions and evidence
    training_args.py of transformers 4.40.2, 4.50.3, 4.51.0 and 4.52.4 (read; 4.50.3 and 4.57.6 run).
    """

    code, name, severity = "HFT011", "prefix-not-read", Severity.WARNING
    dialects = PLAIN
    scope = "file"

    def check(self, context: Context) -> Iterator[Finding]:
        if context.plan.fsdp.value is not True or not context.versions.has("transformers>=4.39"):
            return
        for item in context.written:
            if item.option is not None and is_known(item.option, context.versions) and not is_read(item, context.versions):
                text = f"`{item.path[-1]}` is dropped: before 4.52 the prefix is only taken off in a JSON file"
                yield self.finding(context.at(item.path, "key"), text, help=f"write `{item.option.name}`")


RULES = (KeySpeltTwice(), RamEfficientNeedsLauncher(), UnreadWord(), XlaOptionWithoutXla(), PrefixNotRead())
