"""Degrees of parallelism in torchtitan, and what they ask of batches and sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsdplint_rules.torchtitan_job import Clash

if TYPE_CHECKING:
    from fsdplint_rules.torchtitan_job import Job

EP, ETP = "parallelism.expert_parallel_degree", "parallelism.expert_tensor_parallel_degree"
TP, CP, PP = (f"parallelism.{name}_parallel_degree" for name in ("tensor", "context", "pipeline"))
SHARD, REPLICATE = "parallelism.data_parallel_shard_degree", "parallelism.data_parallel_replicate_degree"


def shard_size(job: Job) -> int:
    """Over how many ranks FSDP shards, context parallelism aside; 0 where that hangs on a number of ranks that nobody has stated."""
    shard, ranks = job.degree("data_parallel_shard"), job.context.plan.processes.value
    if shard != -1:
        return shard
    others = 1
    for name in ("data_parallel_replicate", "context_parallel", "tensor_parallel", "pipeline_parallel"):
        others *= job.degree(name)
    return ranks // others if ranks and others > 0 and ranks % others == 0 else 0


class ExpertTensorDegree(Clash):
    """## What it does
    Finds an expert tensor parallel degree that is neither 1 nor the tensor parallel degree.

    ## Why it matters
    Every rank stops when the device mesh is built.

    ## Example
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 8
    expert_parallel_degree = 8
    expert_tensor_parallel_degree = 4

    [checkpoint]
    interval = 500
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama4"
    flavor = "17bx16e"

    [training]
    seq_len = 8192

    [parallelism]
    tensor_parallel_degree = 8
    expert_parallel_degree = 8
    expert_tensor_parallel_degree = 1

    [checkpoint]
    interval = 500
    ```

    ## Versions and evidence
    TT014-etp: ParallelDims of torchtitan 0.2.0, 0.2.1 and 0.2.2 was run.
    """

    code, name = "TTN101", "expert-tensor-degree"
    facts = ("TT014-etp",)
    when = "torchtitan>=0.2.0,<0.3.0"
    fault = "experts with a tensor parallel degree of their own"
    says = "torchtitan stops with AssertionError: the degree is 1 or that of tensor parallelism"
    use = "write 1, or the value of `tensor_parallel_degree`"

    def guilty(self, job: Job) -> tuple[str, ...]:
        inside, tensor = job.degree("expert_tensor_parallel"), job.degree("tensor_parallel")
        wrong = job.degree("expert_parallel") > 1 and inside > 0 and tensor > 0 and inside not in (1, tensor)
        return (ETP, TP, EP) if wrong else ()


class ExpertDegree(Clash):
    """## What it does
    Finds an expert parallel degree that does not fit into the ranks that it borrows: those of the shard, context parallel and tensor
    parallel groups.

    ## Why it matters
    Every rank stops when the device mesh is built.

    ## Example
    ```toml
    [model]
    name = "deepseek_v3"
    flavor = "16B"

    [training]
    seq_len = 4096

    [parallelism]
    data_parallel_shard_degree = 8
    expert_parallel_degree = 3

    [checkpoint]
    interval = 500
    ```

    ## Use instead
    ```toml
    [model]
    name = "deepseek_v3"
    flavor = "16B"

    [training]
    seq_len = 4096

    [parallelism]
    data_parallel_shard_degree = 8
    expert_parallel_degree = 4

    [checkpoint]
    interval = 500
    ```

    ## Versions and evidence
    The meshes of torchtitan 0.2.0, 0.2.1 and 0.2.2 were built with such degrees in a fake group of 8 ranks. 0.2.0 asks for more: the degree
    must be a multiple of the context parallel degree (with an expert tensor degree of 1: times the tensor parallel degree).
    """

    code, name = "TTN102", "expert-degree"
    when = "torchtitan>=0.2.0,<0.3.0"
    outcome = "crashes"
    fault = "an expert parallel degree that does not fit"
    says = "torchtitan stops when it builds the mesh"
    use = "write a divisor of the shard degree times the context and the tensor parallel degree (0.2.0: and a multiple of the latter two)"

    def guilty(self, job: Job) -> tuple[str, ...]:
        expert, inside = job.degree("expert_parallel"), job.degree("expert_tensor_parallel")
        context, tensor, shard = job.degree("context_parallel"), job.degree("tensor_parallel"), shard_size(job)
        if expert < 2 or inside not in (1, tensor) or min(context, tensor) < 1:
            return ()
        borrowed = context * tensor // inside
        if shard > 0 and (shard * borrowed) % expert:
            return (EP, SHARD, CP, TP, ETP)
        return (EP, CP, TP, ETP) if job.has("torchtitan<0.2.1") and expert % borrowed else ()


class SequenceLength(Clash):
    """## What it does
    Finds a sequence length that is no multiple of twice the tensor parallel degree times the context parallel degree.

    ## Why it matters
    Every rank stops when the model is parallelised. The factor 2 counts without context parallelism, too.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    seq_len = 8190

    [parallelism]
    tensor_parallel_degree = 8

    [checkpoint]
    interval = 500
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

    [checkpoint]
    interval = 500
    ```

    ## Versions and evidence
    TT016-seq-len-divisible: the divisor was run in torchtitan 0.2.2, and reads the same in 0.2.0 and 0.2.1 (parallelize.py of all
    models but flux). 0.1.0 does not check.
    """

    code, name = "TTN103", "sequence-length"
    facts = ("TT016-seq-len-divisible",)
    when = "torchtitan>=0.2.0,<0.3.0"
    fault = "a sequence length that cannot be divided"
    says = "torchtitan stops with AssertionError: it must be a multiple of 2 * tensor_parallel_degree * context_parallel_degree"
    use = "write a multiple of 2 * tensor_parallel_degree * context_parallel_degree"

    def guilty(self, job: Job) -> tuple[str, ...]:
        length, divisor = job.number("training.seq_len"), 2 * job.degree("tensor_parallel") * job.degree("context_parallel")
        if job.value("model.name") == "flux" or length < 1 or divisor < 1 or length % divisor == 0:
            return ()
        return tuple(key for key in ("training.seq_len", TP, CP) if job.is_written(key))


class PipelineMicrobatch(Clash):
    """## What it does
    Finds a local batch size that is no multiple of the pipeline's microbatch size.

    ## Why it matters
    The schedule is not built.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    local_batch_size = 6

    [parallelism]
    pipeline_parallel_degree = 2
    pipeline_parallel_microbatch_size = 4

    [checkpoint]
    interval = 500
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    local_batch_size = 8

    [parallelism]
    pipeline_parallel_degree = 2
    pipeline_parallel_microbatch_size = 4

    [checkpoint]
    interval = 500
    ```

    ## Versions and evidence
    TT017-microbatch: read in torchtitan 0.1.0 (distributed/pipeline.py), 0.2.0 and 0.2.2 (distributed/pipeline_parallel.py).
    """

    code, name = "TTN104", "pipeline-microbatch"
    facts = ("TT017-microbatch",)
    fault = "a local batch that does not consist of whole microbatches"
    says = "torchtitan stops with ValueError when it builds the pipeline schedule"
    use = "make `local_batch_size` a multiple of `pipeline_parallel_microbatch_size`"

    def guilty(self, job: Job) -> tuple[str, ...]:
        batch, size = job.number("training.local_batch_size"), job.number("parallelism.pipeline_parallel_microbatch_size")
        if job.degree("pipeline_parallel") < 2 or size < 1 or batch < 1 or batch % size == 0:
            return ()
        keys = ("parallelism.pipeline_parallel_microbatch_size", "training.local_batch_size", PP)
        return tuple(key for key in keys if job.is_written(key))


class GlobalBatch(Clash):
    """## What it does
    Finds a global batch size that is no multiple of the local one times the ranks that hold different data.

    ## Why it matters
    Gradient accumulation takes whole steps: every rank stops.

    ## Example
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    local_batch_size = 8
    global_batch_size = 100

    [parallelism]
    data_parallel_shard_degree = -1

    [checkpoint]
    interval = 500
    ```

    ## Use instead
    ```toml
    [model]
    name = "llama3"
    flavor = "8B"

    [training]
    local_batch_size = 8
    global_batch_size = 128

    [parallelism]
    data_parallel_shard_degree = -1

    [checkpoint]
    interval = 500
    ```

    ## Versions and evidence
    TT018-global-batch: read in train.py of torchtitan 0.1.0 to 0.2.2. Where the shard degree is -1 and the number of ranks unknown,
    only the local batch size counts.
    """

    code, name = "TTN105", "global-batch"
    facts = ("TT018-global-batch",)
    fault = "a global batch that does not consist of whole local ones"
    says = "torchtitan stops with AssertionError: it must be a multiple of local_batch_size times the data parallel degrees"
    use = "make `global_batch_size` a multiple of `local_batch_size` times the data parallel degrees, or leave it out"

    def guilty(self, job: Job) -> tuple[str, ...]:
        whole, local = job.number("training.global_batch_size"), job.number("training.local_batch_size")
        replicas, shards = job.degree("data_parallel_replicate"), shard_size(job)
        if whole < 1 or local < 1 or replicas < 1:
            return ()
        step = local * replicas * max(shards, 1)
        return ("training.global_batch_size", "training.local_batch_size", REPLICATE, SHARD) if whole % step else ()


RULES = (ExpertTensorDegree(), ExpertDegree(), SequenceLength(), PipelineMicrobatch(), GlobalBatch())
