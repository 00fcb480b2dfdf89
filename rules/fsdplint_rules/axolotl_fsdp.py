"""How axolotl switches FSDP on, and how its block is spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.plan import Sharding, is_placeholder
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.axolotl_clash import Clash, Keys
from fsdplint_rules.repairs import all_renamed

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {*(sharding.name.lower() for sharding in Sharding), "offload", "auto_wrap"}
"""The words that transformers takes in the `fsdp` list."""

ENVIRONMENT = ("offload_params", "state_dict_type", "auto_wrap_policy", "reshard_after_forward")
"""Options that axolotl before 0.12 hands on as environment variables, and that it reads with their prefix only."""


class ListWithoutConfig(Clash):
    """## What it does
    Finds an `fsdp` list without an `fsdp_config` block.

    ## Why it matters
    The check of the config passes; then the set-up of the environment reads the block that is not there, and stops. An empty block
    (`{}`) is enough.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp: [full_shard, auto_wrap]
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      auto_wrap_policy: TRANSFORMER_BASED_WRAP
    ```

    ## Versions and evidence
    axo-fsdp-list-without-config (run with axolotl 0.19.0, where an empty block was run, too; the same code was read in 0.9.2 to 0.12.0).
    """

    code, name = "AXO101", "fsdp-list-without-config"
    facts = ("axo-fsdp-list-without-config",)
    when = "axolotl>=0.9.0"
    fault = "`fsdp` without `fsdp_config`"
    says = "axolotl stops with an AttributeError when it sets up the environment"
    use = "write `fsdp_version: 2` and an `fsdp_config` block instead of the list"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        listed = isinstance(keys.value("fsdp"), list) and keys.on("fsdp")
        return ("fsdp", "fsdp_config") if listed and keys.value("fsdp_config") is None else ()


class UnknownFsdpWord(Rule):
    """## What it does
    Finds words in the `fsdp` list that transformers does not know.

    ## Why it matters
    axolotl takes any word; TrainingArguments stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp: [full_shard, autowrap]
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp: [full_shard, auto_wrap]
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-fsdp-bad-option (run with axolotl 0.19.0 and transformers 5.16.1, also in upper case, which is fine, and with two words in one
    item).
    """

    code, name = "AXO102", "unknown-fsdp-word"
    dialects = ("axolotl",)
    scope = "file"
    facts = ("axo-fsdp-bad-option",)

    def check(self, context: Context) -> Iterator[Finding]:
        listed = context.value("fsdp")
        if not isinstance(listed, list) or context.plan.fsdp.value is not True or not context.versions.has("transformers>=5.10.0"):
            return
        for index, word in enumerate(listed):
            if isinstance(word, str) and word.lower() not in WORDS and not is_placeholder(word):
                joined = set(word.lower().replace(",", " ").split()) <= WORDS
                wanted = "write one word per item" if joined else "write one of " + ", ".join(sorted(WORDS))
                yield self.finding(
                    context.at(("fsdp", index)), f"unknown word `{word}` in `fsdp`: TrainingArguments stops", outcome="refused", help=wanted
                )


class Fsdp1Deprecated(Rule):
    """## What it does
    Finds an `fsdp_config` block without `fsdp_version: 2`. With an `fsdp` list, deprecated-key says the same about the list.

    ## Why it matters
    axolotl runs FSDP1 where nothing asks for FSDP2, and announces its end.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_config:
      offload_params: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      offload_params: false
    ```

    ## Versions and evidence
    axo-fsdp1-deprecated (run with axolotl 0.12.0 to 0.19.0), axo-fsdp-version-pin. `fsdp_config.fsdp_version: 2` is FSDP2 as well,
    though axolotl's log says otherwise.
    """

    code, name, severity = "AXO103", "fsdp1-deprecated", Severity.WARNING
    dialects = ("axolotl",)
    scope = "file"
    facts = ("axo-fsdp1-deprecated", "axo-fsdp-version-pin")

    def check(self, context: Context) -> Iterator[Finding]:
        keys = Keys(context)
        if not keys.runs_fsdp1 or keys.on("fsdp") or not context.versions.has("axolotl>=0.12.0"):
            return
        version = context.plan.fsdp_version
        at = version.place or context.at(("fsdp_config",), "key")
        fault = "FSDP1" if version.place else "FSDP1, since `fsdp_version` is not written"
        yield self.finding(at, f"{fault}: axolotl announces its end", help="write `fsdp_version: 2` at the top level")


class FsdpKeyPrefix(Rule):
    """## What it does
    Finds keys of `fsdp_config` with their `fsdp_` prefix since axolotl 0.12, and without it before. (`fsdp_version` has no other spelling.)

    ## Why it matters
    New releases strip the prefix and announce the end of that. Old ones read offloading, wrapping and the state dict type with the
    prefix only.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      fsdp_offload_params: true
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      offload_params: true
    ```

    ## Versions and evidence
    axo-fsdp-prefix (run with axolotl 0.12.0 to 0.19.0; 0.9.2 to 0.11.0 read).

    ## Fix
    All keys of the block are renamed at once: safe.
    """

    code, name, severity = "AXO104", "fsdp-key-prefix", Severity.WARNING
    dialects = ("axolotl",)
    scope = "file"
    facts = ("axo-fsdp-prefix",)

    def check(self, context: Context) -> Iterator[Finding]:
        block = context.value("fsdp_config")
        if not isinstance(block, dict) or context.plan.fsdp.value is not True:
            return
        if context.versions.has("axolotl>=0.12.0"):
            found = [key for key in block if isinstance(key, str) and key.startswith("fsdp_") and key != "fsdp_version"]
            says, use = "axolotl strips the prefix and announces the end of that", "write `{}`"
        else:
            found = [key for key in block if key in ENVIRONMENT and block[key] is not None]
            says, use = "before axolotl 0.12 only the prefixed key is read", "write `fsdp_{}`"
        if found:
            related = [(context.at(("fsdp_config", key), "key"), "so is this one") for key in found[1:]]
            fault = f"`{found[0]}`" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
            helped = use.format(found[0].removeprefix("fsdp_"))
            names = [(("fsdp_config", key), use.format(key.removeprefix("fsdp_")).split("`")[1]) for key in found]
            does = f"write {len(names)} keys " + ("with" if use.startswith("write `fsdp") else "without") + " the prefix"
            fix = all_renamed(context.document, names, is_safe=True, says=does if len(names) > 1 else None)
            yield self.finding(context.at(("fsdp_config", found[0]), "key"), f"{fault}: {says}", help=helped, related=related, fix=fix)


class PinMemoryWithoutOffload(Clash):
    """## What it does
    Finds `cpu_offload_pin_memory: false` without `offload_params: true`. (Under FSDP1 it is refused at all, see fsdp2-key-in-fsdp1.)

    ## Why it matters
    axolotl stops.

    ## Example
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      cpu_offload_pin_memory: false
    ```

    ## Use instead
    ```yaml
    base_model: org/model
    datasets: [{path: org/data, type: alpaca}]
    micro_batch_size: 1
    fsdp_version: 2
    fsdp_config:
      offload_params: true
      cpu_offload_pin_memory: false
    ```

    ## Versions and evidence
    axo-pin-memory-no-offload (run with axolotl 0.13.0 and 0.19.0).
    """

    code, name = "AXO105", "pin-memory-without-offload"
    facts = ("axo-pin-memory-no-offload",)
    when = "axolotl>=0.13.0"
    fault = "`cpu_offload_pin_memory: false` without `offload_params: true`"
    use = "write `offload_params: true`, or delete the key"

    def guilty(self, keys: Keys) -> tuple[str, ...]:
        unpinned = keys.value("fsdp_config.cpu_offload_pin_memory") is False and keys.plan.fsdp_version.value == 2
        wanting = unpinned and keys.off("fsdp_config.offload_params")
        return ("fsdp_config.cpu_offload_pin_memory", "fsdp_config.offload_params") if wanting else ()


RULES = (ListWithoutConfig(), UnknownFsdpWord(), Fsdp1Deprecated(), FsdpKeyPrefix(), PinMemoryWithoutOffload())
