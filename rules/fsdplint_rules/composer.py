"""Faults of a Composer or llm-foundry config that only those have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.document import Mapping
from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.clashes import clashes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.document import Path

_SHOWN = 3
_TOLD = ("deepspeed_config", "parallelism_config", "fsdp_auto_wrap")
_STRICT = "llm-foundry>=0.11.0"
_MOVED: dict[str, tuple[Path, ...]] = {
    "fsdp_config": (("fsdp_config",), ("parallelism_config", "fsdp"), ("parallelism_config", "fsdp2")),
    "tp_config": (("tp_config",), ("parallelism_config", "tp")),
}


class ComposerRule(Rule):
    """A rule about Composer's YAML; it speaks once per file."""

    dialects = ("composer",)
    scope = "file"


def base_of(context: Context) -> Path:
    """Where the run stands: at the top, or below `parameters` of an mcli run file."""
    return ("parameters",) if isinstance(context.document.node(("parameters",)), Mapping) else ()


def located(context: Context, dotted: str) -> Path:
    """Where a file has a key of the option table, in any of its forms; where it would stand for a key that is not there."""
    head, *rest = dotted.split(".")
    base = base_of(context)
    owners = [(*where, *block) for where in (base, (*base, "trainer")) for block in _MOVED.get(head, ((head,),))]
    owner = next((path for path in owners if context.document.has(path)), owners[0])
    return (*owner, *rest)


class UnusedParameters(ComposerRule):
    """## What it does
    Finds top-level keys of a train or eval YAML that llm-foundry does not know. While nobody says which llm-foundry is meant, it
    says so once, as a warning: before 0.11 such keys were allowed, and a script of one's own may read them.

    ## Why it matters
    llm-foundry refuses the file (Unused parameters ... found in cfg).

    ## Example
    With `--target llm-foundry==0.22.0`:
    ```yaml
    global_seed: 17
    max_duration: 10ba
    global_train_batch_size: 8
    seed: ${global_seed}
    model: {name: mpt_causal_lm}
    tokenizer: {name: gpt2}
    train_loader: {name: text}
    ```

    ## Use instead
    ```yaml
    variables:
      global_seed: 17
    max_duration: 10ba
    global_train_batch_size: 8
    seed: ${variables.global_seed}
    model: {name: mpt_causal_lm}
    tokenizer: {name: gpt2}
    train_loader: {name: text}
    ```

    ## Versions and evidence
    CO023 (read in llmfoundry/utils/config_utils.py of 0.11.0 and 0.22.0; 0.10.0 and older do not check).
    """

    code, name = "CMP001", "composer-unused-parameters"
    facts = ("CO023-unused-top-level",)

    def check(self, context: Context) -> Iterator[Finding]:
        base = base_of(context)
        run = context.document.node(base)
        unused = _unused(context, run) if isinstance(run, Mapping) and context.versions.has(_STRICT) else []
        help = "move them under `variables:`" if len(unused) > 1 else "move it under `variables:`"
        if _is_declared(context, "llm-foundry"):
            for key in unused:
                says = f"`{key}` is no parameter of llm-foundry: it raises ValueError (Unused parameters)"
                yield self.finding(context.at((*base, key), "key"), says, outcome="refused", help="move it under `variables:`")
        elif unused and not _is_declared(context, "mosaicml"):
            names = ", ".join(f"`{key}`" for key in unused[:_SHOWN]) + (" and more" if len(unused) > _SHOWN else "")
            related = [(context.at((*base, key), "key"), "so is this") for key in unused[1:]]
            says = f"llm-foundry 0.11 and newer refuse parameters that they do not know: {names}"
            yield self.finding(context.at((*base, unused[0]), "key"), says, outcome="ignored", help=help, related=related)


def _unused(context: Context, run: Mapping) -> list[str]:
    """The keys of a run that its script does not read, but for those that the option table speaks of itself."""
    kind = _script(run)
    if kind is None:
        return []
    known = {key for key, schema in context.table.schema["properties"].items() if kind in schema.get("x-read-by", ())}
    return [key for key, _ in run.items() if key not in known and key not in _TOLD]


def _script(run: Mapping) -> str | None:
    """Which of llm-foundry's scripts reads a mapping: train or eval; None for neither."""
    if "models" in run:
        return "eval" if "max_seq_len" in run or "icl_tasks" in run else None
    names = ("model", "train_loader", "tokenizer", "max_duration")
    return "train" if all(name in run for name in names) else None


def _is_declared(context: Context, package: str) -> bool:
    pin = context.target.pins.get(package)
    return pin is not None and pin.declared


class OptionsClash(ComposerRule):
    """## What it does
    Finds options of Composer and llm-foundry that are refused or changed together: monolithic loading without `sync_module_states`,
    `init_device: mixed` without FSDP, tensor parallelism without FSDP, hybrid sharding without replicas and the like.

    ## Why it matters
    Most stop every rank while the Trainer is built, after the nodes were allocated; the others are corrected with a warning in the log.

    ## Example
    ```yaml
    max_duration: 10ba
    global_train_batch_size: 8
    model: {name: mpt_causal_lm, init_device: meta}
    fsdp_config:
      activation_checkpointing: true
      activation_cpu_offload: true
      use_orig_params: false
    ```

    ## Use instead
    ```yaml
    max_duration: 10ba
    global_train_batch_size: 8
    model: {name: mpt_causal_lm, init_device: meta}
    fsdp_config:
      activation_checkpointing: true
      activation_cpu_offload: true
    ```

    ## Versions and evidence
    CO008, CO009, CO010, CO016, CO017 (read in composer/core/state.py and distributed/dist_strategy.py of mosaicml 0.15.1 to
    0.32.1); CO013, CO014, CO015, CO020, CO021, CO022 (read in llm-foundry 0.7.0 to 0.22.0); CO025 (read in mosaicml 0.32.1).
    """

    code, name = "CMP002", "composer-options-clash"
    facts = (
        *("CO008-monolith-sync", "CO009-act-offload-orig-params", "CO010-tp-needs-fsdp", "CO013-mixed-needs-fsdp", "CO014-meta-needs-fsdp"),
        *("CO015-mixed-sync", "CO016-sharded-metrics", "CO017-1d-hybrid", "CO020-8bit", "CO021-te-reentrant", "CO022-moe-orig"),
        "CO025-auto-microbatch-fsdp2",
    )

    def check(self, context: Context) -> Iterator[Finding]:
        for clash in clashes(context, context.plan, lambda dotted: located(context, dotted)):
            related = [(context.at(path, "entry"), "the other option") for path in clash.others]
            part = "value" if context.document.has(clash.at) else "key"
            yield self.claimed(clash.claim, context.at(clash.at, part), clash.fault, related=related)


RULES = (UnusedParameters(), OptionsClash())
