"""How the model is cut into FSDP units, and how its parameters get into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.diagnostics import Severity
from fsdplint.dialects import foreign_layers
from fsdplint.plan import Wrap
from fsdplint.rule import Context, Finding, Rule, noted
from fsdplint_rules.repairs import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.diagnostics import Place


class NoWrapPolicy(Rule):
    """## What it does
    Finds FSDP over a model that becomes one single FSDP unit, and layer classes that are named and not used.

    ## Why it matters
    One unit gathers the whole model for every forward: the memory that sharding saves is taken back. It runs as written, so it is advice,
    unless a layer class is written in vain, or activation checkpointing asks the policy what to checkpoint.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
      fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
    ```

    ## Versions and evidence
    acc-layer-cls-without-policy, acc-type-fsdp-without-config, TRF-FSDP-04 (run). accelerate's fsdp2_apply_ac calls the policy that NO_WRAP
    leaves out: TypeError (run with 1.10.1 and 1.15.0, utils/fsdp_utils.py).
    """

    code, name, severity = "FSD601", "no-wrap-policy", Severity.INFO

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        policy, classes = plan.wrap_policy, plan.wrap_classes
        if (
            plan.fsdp.value is not True
            or policy.unknown
            or policy.value is Wrap.TRANSFORMER
            or (policy.value is None and policy.is_written)
        ):
            return
        claim = context.consequence(self, plan.activation_checkpointing)
        if claim and plan.activation_checkpointing.place:
            related = noted(policy, "no policy runs")
            yield self.claimed(
                claim, plan.activation_checkpointing.place, "activation checkpointing without a wrap policy", related=related
            )
        elif classes.is_written and classes.place and classes.value:
            says = (
                "the size policy does not use it"
                if policy.value is Wrap.SIZE
                else "no wrap policy uses it, the whole model is one FSDP unit"
            )
            related = noted(policy, "this policy runs")
            yield self.finding(
                classes.place,
                f"layer class without a transformer wrap policy: {says}",
                outcome="ignored",
                related=related,
            )
        elif policy.value is not Wrap.SIZE:
            yield self.finding(context.home("wrap_policy"), "no wrap policy: the whole model is one FSDP unit, gathered at once")


class BadWrapClass(Rule):
    """## What it does
    Finds layer class names that no model has: a YAML list where upstream wants one string, and blanks after commas.
    Where a file of the launch names a well-known model, it finds the layer classes of another family, and misspelt ones.

    ## Why it matters
    Every rank stops with "Could not find the transformer layer class" once the model is loaded.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
      fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer, LlamaMLP
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
      fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer,LlamaMLP
    ```

    ## Versions and evidence
    acc-layer-cls-list, acc-layer-cls-space, acc-layer-cls-wrong (run with accelerate 1.15.0, real launches), TRF-FSDP-38 (run).
    The classes of each family were read from the modeling files of transformers 5.24.0; a class that no family has is not judged.

    ## Fix
    The names are written with commas and no blanks: safe.
    """

    code, name = "FSD602", "bad-wrap-class"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        classes = plan.wrap_classes
        if plan.fsdp.value is not True or plan.wrap_policy.value is not Wrap.TRANSFORMER or classes.place is None or classes.unknown:
            return
        fault = _class_fault(context, classes.place)
        claim = context.consequence(self, classes) if fault else None
        names = ",".join(name.strip() for name in classes.value or () if name.strip())
        if fault and claim and claim.help is None and names:
            fix = rewritten(classes.place.document, classes.place.path, names, is_safe=True)
            yield self.claimed(claim, classes.place, f"layer classes with {fault}", help=f"write `{names}`", fix=fix)
        elif claim:
            yield self.claimed(claim, classes.place, f"layer classes with {fault}")
        elif not fault:
            yield from self._of_other_models(context, classes.place)

    def _of_other_models(self, context: Context, at: Place) -> Iterator[Finding]:
        """Classes that the named model lacks; a warning, since the script may load another model under that name."""
        model, classes = context.plan.model, context.plan.wrap_classes
        found = foreign_layers(model.value, classes.value) if model.value and classes.value else []
        claim = context.consequence(self, classes) if found else None
        if claim is None:
            return
        for layer in found:
            fault = f"`{layer.name}` is no layer class of {layer.family} models"
            help = " or ".join(f"`{name}`" for name in ([layer.meant] if layer.meant else layer.layers))
            mild = claim._replace(outcome="ignored", help=f"write {help}")
            yield self.claimed(mild, at, fault, related=noted(model, "the model"))


def _class_fault(context: Context, place: Place) -> str | None:
    """What is wrong with the spelling of layer classes: a list where the framework takes none, blanks around a name."""
    value = place.document.value(place.path)
    if isinstance(value, list) and not _takes_lists(context, place):
        return "a list"
    names = [name for text in (value if isinstance(value, list) else [value]) if isinstance(text, str) for name in text.split(",")]
    return "blanks" if any(name != name.strip() or not name for name in names) else None


def _takes_lists(context: Context, place: Place) -> bool:
    file = next((file for file in context.launch.members if file.document is place.document), context.file)
    options = (item.option for item in file.dialect.table.written(place.document.root) if item.path == place.path)
    return any("array" in option.schema.get("type", ()) for option in options if option)


class WrapOptionsClash(Rule):
    """## What it does
    Finds a size and a layer class together where upstream refuses or drops one, a size without the size policy, and a size policy without
    a size.

    ## Why it matters
    The wrapping that runs is not the one that was tuned.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
      fsdp_min_num_params: 100000000
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_auto_wrap_policy: SIZE_BASED_WRAP
      fsdp_min_num_params: 100000000
    ```

    ## Versions and evidence
    acc-min-num-without-size-policy, acc-min-num-params-zero, acc-size-wrap-default, TRF-FSDP-05, TRF-FSDP-06, TRF-FSDP-07, axo-size-wrap
    (run).
    """

    code, name, severity = "FSD603", "wrap-options-clash", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        size, policy = plan.min_num_params, plan.wrap_policy
        if plan.fsdp.value is not True or policy.unknown or size.unknown:
            return
        if policy.value is Wrap.SIZE:
            if size.value is None and size.is_written:
                return
            if not size.value:
                claim = context.consequence(self, policy)
                if claim:
                    fault = "a size policy with size 0" if size.is_written else "a size policy without a size"
                    yield self.claimed(claim, context.home("min_num_params"), fault, related=noted(policy, "the policy"))
        elif size.is_written and size.value and size.place:
            claim = context.consequence(self, size)
            if claim:
                fault = "a size beside layer classes" if plan.wrap_classes.value else "a size without the size policy"
                yield self.claimed(claim, size.place, fault, related=noted(policy, "this policy runs"))


class RamEfficientNeedsSync(Rule):
    """## What it does
    Finds RAM-efficient loading in force (it is the default in accelerate's launcher) with `sync_module_states: false`.

    ## Why it matters
    Only rank 0 loads the weights; without the broadcast the other ranks train on random ones, so upstream refuses.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_sync_module_states: false
    ```

    ## Use instead
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: FSDP
    num_processes: 2
    fsdp_config:
      fsdp_cpu_ram_efficient_loading: false
      fsdp_sync_module_states: false
    ```

    ## Versions and evidence
    acc-cpu-ram-needs-sync, acc-sync-false-alone, acc-sync-false-fsdp2, TRF-FSDP-17 (run).

    ## Fix
    The companion key is written: unsafe, since memory and loading change.
    """

    code, name = "FSD604", "ram-efficient-needs-sync"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        sync, ram = plan.sync_module_states, plan.ram_efficient
        if plan.fsdp.value is not True or sync.value is not False or sync.place is None or ram.value is not True:
            return
        claim = context.consequence(self, sync)
        if claim:
            fault = "sync_module_states is false while RAM-efficient loading is on" + ("" if ram.is_written else f" ({ram.source})")
            yield self.claimed(claim, sync.place, fault, related=noted(ram, "RAM-efficient loading"))


class OffloadUnsupported(Rule):
    """## What it does
    Finds CPU offload where it raises or has no effect.

    ## Why it matters
    Offloading moves parameters between an accelerator and the host; without an accelerator torch raises at the first wrap.

    ## Example
    With `--device cpu`:
    ```yaml
    output_dir: out
    fsdp: true
    fsdp_config:
      version: 2
      cpu_offload: true
    ```

    ## Use instead
    ```yaml
    output_dir: out
    per_device_train_batch_size: 1
    use_cpu: true
    ```

    ## Versions and evidence
    TRF-FSDP-43 (run with transformers 5.10.4 and 5.24.0).
    """

    code, name = "FSD605", "offload-unsupported"

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if plan.fsdp.value is not True or plan.offload.value is not True or plan.offload.place is None:
            return
        claim = context.consequence(self, plan.offload)
        if claim:
            yield self.claimed(claim, plan.offload.place, "CPU offload")


class OrigParamsRequired(Rule):
    """## What it does
    Finds frozen parameters or adapters under FSDP1 with `use_orig_params: false`.

    ## Why it matters
    One flat parameter cannot be half frozen. PEFT's own wrap policy keeps trainable leaves apart, so this is a warning.

    ## Example
    With `--dialect trl`:
    ```yaml
    model_name_or_path: meta-llama/Llama-3.1-8B
    use_peft: true
    fsdp: full_shard auto_wrap
    fsdp_config:
      version: 1
      use_orig_params: false
    ```

    ## Use instead
    ```yaml
    model_name_or_path: meta-llama/Llama-3.1-8B
    use_peft: true
    fsdp: full_shard auto_wrap
    fsdp_config:
      version: 1
      use_orig_params: true
    ```

    ## Versions and evidence
    acc-frozen-noorig (run with torch 2.13), TRF-PEFT-02.
    """

    code, name, severity = "FSD606", "orig-params-required", Severity.WARNING

    def check(self, context: Context) -> Iterator[Finding]:
        plan = context.plan
        if (
            plan.fsdp.value is not True
            or plan.fsdp_version.value != 1
            or plan.orig_params.value is not False
            or plan.orig_params.place is None
            or not plan.adapter.value
        ):
            return
        claim = context.consequence(self, plan.orig_params)
        if claim:
            yield self.claimed(
                claim,
                plan.orig_params.place,
                "an adapter with FSDP1 and flat parameters",
                related=noted(plan.adapter, "the adapter"),
            )


RULES = (
    NoWrapPolicy(),
    BadWrapClass(),
    WrapOptionsClash(),
    RamEfficientNeedsSync(),
    OffloadUnsupported(),
    OrigParamsRequired(),
)
