"""What only torchtitan's TOML can get wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint_rules import torchtitan_float8, torchtitan_parallel
from fsdplint_rules.torchtitan_job import Clash
from fsdplint_rules.torchtitan_parallel import EP, ETP, PP, TP

if TYPE_CHECKING:
    from fsdplint_rules.torchtitan_job import Job

_ASYNC = "parallelism.enable_async_tensor_parallel"
_DEEPEP = "parallelism.expert_parallel_comm_backend"
_EARLY = "optimizer.early_step_in_backward"


class AsyncTensorParallelNeedsCompile(Clash):
    """## What it does
    Finds asynchronous tensor parallelism without a compiled model.

    ## Why it matters
    The overlap is the compiler's work: every rank stops when the model is parallelised. With a tensor parallel degree of 1 nothing happens.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 8
    enable_async_tensor_parallel = true
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 8
    enable_async_tensor_parallel = true

    [compile]
    enable = true
    ```

    ## Versions and evidence
    TT009-async-tp-needs-compile: read in torchtitan 0.1.0 (`training.compile`) and 0.2.0 to 0.2.2 (distributed/tensor_parallel.py).
    """

    code, name = "TTN001", "async-tensor-parallel-needs-compile"
    facts = ("TT009-async-tp-needs-compile",)
    outcome = "crashes"
    fault = "asynchronous tensor parallelism without a compiled model"
    says = "torchtitan stops with RuntimeError when it parallelises the model"
    use = 'compile the model: `enable = true` in `[compile]`, with "model" among its `components` (0.1.0: `training.compile = true`)'

    def guilty(self, job: Job) -> tuple[str, ...]:
        wrong = job.on(_ASYNC) and job.degree("tensor_parallel") > 1 and not job.compiles_model
        return (_ASYNC, TP, job.compile_switch, "compile.components") if wrong else ()


class MemoryBudgetNeedsCompile(Clash):
    """## What it does
    Finds activation checkpointing by memory budget without a compiled model.

    ## Why it matters
    The compiler's partitioner keeps the budget: every rank stops when the model is parallelised.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [activation_checkpoint]
    mode = "memory_budget"
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [activation_checkpoint]
    mode = "memory_budget"

    [compile]
    enable = true
    ```

    ## Versions and evidence
    TT008-memory-budget-needs-compile: apply_ac of torchtitan 0.2.2 was run. 0.1.0 does not know the mode.
    """

    code, name = "TTN002", "memory-budget-needs-compile"
    facts = ("TT008-memory-budget-needs-compile",)
    when = "torchtitan>=0.2.0,<0.3.0"
    outcome = "crashes"
    fault = "a memory budget without a compiled model"
    says = "torchtitan stops with AssertionError when it parallelises the model"
    use = 'compile the model: `enable = true` in `[compile]`, with "model" among its `components`'

    def guilty(self, job: Job) -> tuple[str, ...]:
        wrong = job.value("activation_checkpoint.mode") == "memory_budget" and not job.compiles_model
        return ("activation_checkpoint.mode", job.compile_switch, "compile.components") if wrong else ()


class EarlyStepLimits(Clash):
    """## What it does
    Finds optimizer steps inside the backward pass together with expert or pipeline parallelism or fault tolerance.

    ## Why it matters
    The optimizer is not built.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [optimizer]
    name = "AdamW"
    early_step_in_backward = true

    [parallelism]
    pipeline_parallel_degree = 2
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8192

    [optimizer]
    name = "AdamW"

    [parallelism]
    pipeline_parallel_degree = 2
    ```

    ## Versions and evidence
    TT020-optim-in-bwd: read in components/optimizer.py of torchtitan 0.1.0 to 0.2.2.
    """

    code, name = "TTN003", "early-step-limits"
    facts = ("TT020-optim-in-bwd",)
    fault = "optimizer steps in the backward pass with expert or pipeline parallelism or fault tolerance"
    says = "torchtitan stops when it builds the optimizer"
    use = "drop `early_step_in_backward`"

    def guilty(self, job: Job) -> tuple[str, ...]:
        others = [key for key, name in ((EP, "expert_parallel"), (PP, "pipeline_parallel")) if job.degree(name) > 1]
        others += ["fault_tolerance.enable"] if job.on("fault_tolerance.enable") else []
        return (_EARLY, *others) if others and job.on(_EARLY) else ()


class DeepEpNeedsExperts(Clash):
    """## What it does
    Finds the DeepEP exchange without expert parallelism, or with tensor parallelism inside experts.

    ## Why it matters
    Every rank stops when the model is parallelised.

    ## Example
    ```toml
    [model]
    name = "deepseek_v3"
    flavor = "16B"

    [training]
    seq_len = 4096

    [parallelism]
    data_parallel_shard_degree = -1
    expert_parallel_comm_backend = "deepep"
    ```

    ## Use instead
    ```toml
    [model]
    name = "deepseek_v3"
    flavor = "16B"

    [training]
    seq_len = 4096

    [parallelism]
    data_parallel_shard_degree = -1
    expert_parallel_degree = 8
    expert_parallel_comm_backend = "deepep"
    ```

    ## Versions and evidence
    Read in models/llama4 and models/deepseek_v3 of torchtitan 0.2.1 and 0.2.2 (infra/parallelize.py).
    """

    code, name = "TTN004", "deepep-needs-experts"
    when = "torchtitan>=0.2.1,<0.3.0"
    outcome = "crashes"
    fault = "DeepEP without expert parallelism, or with tensor parallelism inside experts"
    says = "torchtitan stops when it parallelises the model"
    use = 'write an `expert_parallel_degree` above 1 and `expert_tensor_parallel_degree = 1`, or the "standard" exchange'

    def guilty(self, job: Job) -> tuple[str, ...]:
        if job.value(_DEEPEP) != "deepep" or job.value("model.name") not in ("llama4", "deepseek_v3"):
            return ()
        wrong = job.degree("expert_parallel") == 1 or job.degree("expert_tensor_parallel") > 1
        return (_DEEPEP, EP, ETP) if wrong else ()


RULES = (
    AsyncTensorParallelNeedsCompile(),
    MemoryBudgetNeedsCompile(),
    EarlyStepLimits(),
    DeepEpNeedsExperts(),
    *torchtitan_parallel.RULES,
    *torchtitan_float8.RULES,
)
