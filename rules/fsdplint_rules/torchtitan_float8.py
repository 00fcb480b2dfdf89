"""float8 and MX conversions in torchtitan: the names of converters, and what they do not go with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint.rule import Context, Finding, Rule
from fsdplint_rules.generations import spoken_for
from fsdplint_rules.torchtitan_job import Clash, Job
from fsdplint_rules.torchtitan_parallel import CP, PP, TP

if TYPE_CHECKING:
    from collections.abc import Iterator

CONVERTERS = "model.converters"
_OLD = {"float8": "quantize.linear.float8", "mx": "quantize.linear.mx"}
_NEW = ("quantize.linear.float8", "quantize.grouped_mm.float8", "quantize.linear.mx", "quantize.grouped_mm.mx")


def float8_section(job: Job) -> str:
    """The section of float8 linear layers, which is also the converter's name, where the converter is listed; empty where it is not."""
    name = "float8" if job.has("torchtitan<0.2.0") else "quantize.linear.float8"
    return name if name in job.converters else ""


class UnknownConverter(Rule):
    """## What it does
    Finds converter names that the target's torchtitan does not register: `float8` and `mx` since 0.2.0, `quantize...` before, and
    misspelt ones. Names that are like none of these may be registered by a module of the user, and are not reported.

    ## Why it matters
    The name is looked up when the model is built: every rank stops with KeyError. Comments in upstream's own files still show `float8`.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1
    ```

    ## Versions and evidence
    TT029-converter-name: the registrations of torchtitan 0.1.0 to 0.2.2 and the plain look-up (protocols/model_converter.py) were read.
    """

    code, name = "TTN201", "unknown-converter"
    dialects = ("torchtitan",)
    scope = "file"
    facts = ("TT029-converter-name",)

    def check(self, context: Context) -> Iterator[Finding]:
        listed = Job(context).value(CONVERTERS)
        if not context.versions.has("torchtitan<0.3.0") or not isinstance(listed, list) or ("model", "converters") in spoken_for(context):
            return
        is_old = context.versions.has("torchtitan<0.2.0")
        for index, name in enumerate(listed):
            meant = _meant(name, is_old) if isinstance(name, str) else None
            if meant:
                at, fault = context.at(("model", "converters", index)), f"`{name}` is no converter: torchtitan stops with KeyError"
                yield self.finding(at, fault, outcome="refused", help=f"write `{meant}`")


def _meant(name: str, is_old: bool) -> str | None:
    """The registered name that an unregistered one stands for; None for a registered one, and for one that is like none."""
    registered = tuple(_OLD) if is_old else _NEW
    if name in registered:
        return None
    other = {new: old for old, new in _OLD.items()} if is_old else _OLD
    if name in other:
        return other[name]
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, registered, n=1, cutoff=0.8)), None)


class MixedQuantization(Clash):
    """## What it does
    Finds float8 and MX converters side by side.

    ## Why it matters
    torchtitan quantizes all layers of a model in one way: every rank stops when the model is built.

    ## Example
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"
    converters = ["quantize.linear.float8", "quantize.grouped_mm.mx"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"
    converters = ["quantize.linear.float8", "quantize.grouped_mm.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1
    ```

    ## Versions and evidence
    Read in torchtitan 0.2.0, 0.2.1 and 0.2.2 (components/quantization/__init__.py).
    """

    code, name = "TTN202", "mixed-quantization"
    when = "torchtitan>=0.2.0,<0.3.0"
    fault = "float8 and MX converters together"
    says = "torchtitan stops with AssertionError when it builds the model"
    use = "list converters that end alike"

    def guilty(self, job: Job) -> tuple[str, ...]:
        kinds = {name.rpartition(".")[2] for name in job.converters if name in _NEW}
        return (CONVERTERS,) if len(kinds) > 1 else ()


class Float8RecipeWithAllGather(Clash):
    """## What it does
    Finds a float8 recipe beside `enable_fsdp_float8_all_gather`, with the float8 converter on.

    ## Why it matters
    The all-gather in float8 belongs to tensorwise scaling without a recipe: every rank stops when the model is built.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1

    [quantize.linear.float8]
    recipe_name = "rowwise"
    enable_fsdp_float8_all_gather = true
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1

    [quantize.linear.float8]
    recipe_name = "rowwise"
    ```

    ## Versions and evidence
    TT010-float8-recipe-vs-allgather: read in torchtitan 0.1.0 to 0.2.2 (components/quantization/float8.py).
    """

    code, name = "TTN203", "float8-recipe-with-all-gather"
    facts = ("TT010-float8-recipe-vs-allgather",)
    fault = "a float8 recipe with the float8 all-gather of FSDP"
    says = "torchtitan stops with AssertionError when it builds the model"
    use = "drop one of the two"

    def guilty(self, job: Job) -> tuple[str, ...]:
        section = float8_section(job)
        recipe, gather = f"{section}.recipe_name", f"{section}.enable_fsdp_float8_all_gather"
        return (gather, recipe) if section and job.value(recipe) is not None and job.on(gather) else ()


class MxWithCompiledTensorParallel(Clash):
    """## What it does
    Finds the MX converter with a compiled model under tensor parallelism.

    ## Why it matters
    torchtitan has no such combination yet: every rank stops when the model is built.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.mx"]

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 2

    [compile]
    enable = true
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.mx"]

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 1

    [compile]
    enable = true
    ```

    ## Versions and evidence
    TT011-mxfp8-compile-tp: read in torchtitan 0.2.0, 0.2.1 and 0.2.2 (components/quantization/mx.py).
    """

    code, name = "TTN204", "mx-with-compiled-tensor-parallel"
    facts = ("TT011-mxfp8-compile-tp",)
    when = "torchtitan>=0.2.0,<0.3.0"
    fault = "MX with tensor parallelism and a compiled model"
    says = "torchtitan stops with AssertionError when it builds the model"
    use = "write `tensor_parallel_degree = 1`, or do not compile the model"

    def guilty(self, job: Job) -> tuple[str, ...]:
        wrong = "quantize.linear.mx" in job.converters and job.degree("tensor_parallel") > 1 and job.compiles_model
        return (TP, "compile.enable", CONVERTERS) if wrong and not job.is_open("compile.enable") else ()


class Float8ExpertsLimits(Clash):
    """## What it does
    Finds float8 experts (`quantize.grouped_mm.float8`) with pipeline or context parallelism.

    ## Why it matters
    The prototype supports neither: every rank stops when the model is built.

    ## Example
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"
    converters = ["quantize.grouped_mm.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    pipeline_parallel_degree = 2
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"
    converters = ["quantize.grouped_mm.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    pipeline_parallel_degree = 1
    ```

    ## Versions and evidence
    TT012-float8-moe-limits: read in torchtitan 0.2.0, 0.2.1 and 0.2.2 (components/quantization/float8.py).
    """

    code, name = "TTN205", "float8-experts-limits"
    facts = ("TT012-float8-moe-limits",)
    when = "torchtitan>=0.2.0,<0.3.0"
    fault = "float8 experts with pipeline or context parallelism"
    says = "torchtitan stops with AssertionError when it builds the model"
    use = "write a degree of 1, or drop the converter"

    def guilty(self, job: Job) -> tuple[str, ...]:
        above = tuple(key for key, name in ((PP, "pipeline_parallel"), (CP, "context_parallel")) if job.degree(name) > 1)
        return (*above, CONVERTERS) if above and "quantize.grouped_mm.float8" in job.converters else ()


class IdleFloat8Setting(Clash):
    """## What it does
    Finds float8 settings of FSDP that are on while the converter that reads them is not listed in the file.

    ## Why it matters
    The run stays in bf16. A command line may still list the converter (`--model.converters`), so this is a hint.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1

    [quantize.linear.float8]
    enable_fsdp_float8_all_gather = true
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"
    converters = ["quantize.linear.float8"]

    [training]
    seq_len = 8192

    [parallelism]
    data_parallel_shard_degree = -1

    [quantize.linear.float8]
    enable_fsdp_float8_all_gather = true
    ```

    ## Versions and evidence
    Read in torchtitan 0.1.0 to 0.2.2: only the converters read these sections.
    """

    code, name = "TTN206", "idle-float8-setting"
    outcome = "advice"
    fault = "float8 all-gather without the float8 converter"
    says = "nothing reads it unless the command line lists the converter"
    use = "list the converter in `model.converters`"

    def guilty(self, job: Job) -> tuple[str, ...]:
        name = "float8" if job.has("torchtitan<0.2.0") else "quantize.linear.float8"
        gather = f"{name}.enable_fsdp_float8_all_gather"
        known = any("float8" in converter for converter in job.converters) or not isinstance(job.value(CONVERTERS), list)
        return (gather,) if not known and job.on(gather) else ()


RULES = (
    UnknownConverter(),
    MixedQuantization(),
    Float8RecipeWithAllGather(),
    MxWithCompiledTensorParallel(),
    Float8ExpertsLimits(),
    IdleFloat8Setting(),
)
