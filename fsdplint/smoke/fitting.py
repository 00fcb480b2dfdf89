"""What a device can run of a plan: the rest is lowered to the next best and named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsdplint.smoke.plan import SmokePlan

MIN_BLOCK = 1000
"""The size in parameters at which size-based wrapping cuts the small test model."""

_NO_ACCELERATOR = "torch's FSDP{} reaches for an accelerator there"


def fitted(plan: SmokePlan) -> SmokePlan:
    """The plan as its device and model can run it, with everything that is left out named in ``unexercised``.

    ``device`` and ``world_size`` must be settled. Source of what a CPU cannot do: torch 2.13.0 with gloo, each case run.
    """
    fits = (*_FITS, *(_CPU_FITS if plan.device == "cpu" else ()), *_MODEL_FITS)
    for fit in fits:
        plan = fit(plan)
    return plan


def _defaults(plan: SmokePlan) -> SmokePlan:
    """What runs where nothing decides it: accelerate 1.15.0's defaults, and FSDP2 where no version is known."""
    version = plan.value("fsdp_version", 2)
    state_dict = "FULL_STATE_DICT" if version == 1 else "SHARDED_STATE_DICT"
    return plan.running(
        fsdp_version=version,
        sharding=plan.value("sharding", "FULL_SHARD"),
        state_dict=plan.value("state_dict", state_dict),
    )


def _placeholders(plan: SmokePlan) -> SmokePlan:
    for name, setting in plan.settings.items():
        if setting.asked and setting.value is None and setting.written is None and setting.because:
            plan = plan.without(f"{name} ({setting.where})", setting.because)
    return plan


def _world(plan: SmokePlan) -> SmokePlan:
    planned, machines = plan.value("processes"), plan.value("machines", 1)
    if isinstance(planned, int) and planned > plan.world_size:
        plan = plan.without(f"a world of {planned} ranks", f"{plan.world_size} ran")
    if isinstance(machines, int) and machines > 1:
        plan = plan.without(f"{machines} machines", "one machine ran; see fsdplint.smoke.worker for more")
    return plan


def _mesh(plan: SmokePlan) -> SmokePlan:
    for name, title in (("tp", "tensor"), ("cp", "context"), ("sp", "sequence")):
        size = plan.value(name, 1)
        if isinstance(size, int) and size > 1:
            plan = plan.without(f"{title} parallelism over {size} ranks", "the test model is only sharded by FSDP").running(**{name: 1})
    copies = plan.value("dp_replicate", 1)
    if not isinstance(copies, int) or copies <= 1:
        return plan
    if plan.device != "cpu" and plan.world_size % copies == 0 and plan.world_size > copies:
        return plan.running(dp_shard=plan.world_size // copies)
    return plan.without(f"{copies} replicas (HSDP)", f"{plan.world_size} ranks ran, sharded over all").running(
        dp_replicate=1, dp_shard=plan.world_size
    )


def _model(plan: SmokePlan) -> SmokePlan:
    if plan.model == "builtin":
        names = plan.value("wrap_classes") or []
        for name in names:
            plan = plan.without(f"layer class {name}", "a block of the built-in model stands in; --model twin tries the class")
    for name in ("adapter", "quantization"):
        kind = plan.value(name)
        if kind and kind != "none":
            plan = plan.without(f"{name} {kind}", "the test model is trained whole, in full precision")
    if plan.value("gradient_checkpointing") is True:
        plan = plan.without("the trainer's gradient checkpointing", "the test has no trainer")
    if plan.value("ram_efficient") is True and plan.route == "torch":
        plan = plan.without("loading weights on rank 0 only", "the test model has no weights to load")
    return plan


def _size_based(plan: SmokePlan) -> SmokePlan:
    limit = plan.value("min_num_params", 0)
    if plan.value("wrap_policy") == "SIZE_BASED_WRAP" and isinstance(limit, int) and limit > MIN_BLOCK and plan.route == "torch":
        plan = plan.without(f"wrapping from {limit} parameters on", f"the test model is small: {MIN_BLOCK} were used").running(
            min_num_params=MIN_BLOCK
        )
    return plan


def _fp8(plan: SmokePlan) -> SmokePlan:
    if plan.value("precision") == "fp8":
        return plan.without("fp8 arithmetic", "bf16 ran").running(precision="bf16")
    return plan


def _cpu_route(plan: SmokePlan) -> SmokePlan:
    if plan.route == "accelerate":
        plan = plan.but(route="torch").without(
            "accelerate's prepare", "accelerate never selects FSDP on a CPU: torch's own FSDP ran with the settings that were resolved"
        )
    return plan.without("NCCL", "a CPU run communicates through gloo")


def _cpu_offload(plan: SmokePlan) -> SmokePlan:
    if plan.value("offload") is not True:
        return plan
    if plan.value("fsdp_version") == 1:
        return plan.without("CPU offload", _NO_ACCELERATOR.format("1")).running(offload=False)
    return plan.without("pinned memory and transfers of the CPU offload", _NO_ACCELERATOR.format("2"))


def _cpu_sync(plan: SmokePlan) -> SmokePlan:
    if plan.value("fsdp_version") == 1 and (plan.value("sync_module_states") is True or plan.value("ram_efficient") is True):
        plan = plan.without("sync_module_states", _NO_ACCELERATOR.format("1"))
    return plan.running(sync_module_states=False) if plan.value("fsdp_version") == 1 else plan


def _cpu_hybrid(plan: SmokePlan) -> SmokePlan:
    sharding = str(plan.value("sharding", ""))
    if sharding.startswith("HYBRID"):
        inner = "SHARD_GRAD_OP" if sharding.endswith("ZERO2") else "FULL_SHARD"
        plan = plan.without(sharding, f"on a CPU every rank would be a group of its own: {inner} ran").running(sharding=inner)
    return plan


def _cpu_state_dict(plan: SmokePlan) -> SmokePlan:
    if plan.value("fsdp_version") == 1 and plan.value("state_dict") == "FULL_STATE_DICT":
        plan = plan.without("FSDP1's full state dict", "it can crash the interpreter on a CPU: a sharded one was saved").running(
            state_dict="SHARDED_STATE_DICT"
        )
    return plan


def _local_state_dict(plan: SmokePlan) -> SmokePlan:
    if plan.value("state_dict") == "LOCAL_STATE_DICT" and plan.route == "torch":
        plan = plan.without("LOCAL_STATE_DICT", "a sharded state dict was saved").running(state_dict="SHARDED_STATE_DICT")
    return plan


def _cpu_compile(plan: SmokePlan) -> SmokePlan:
    return plan.without("the inductor back end of torch.compile", "aot_eager ran") if plan.compiles else plan


_FITS: tuple[Callable[[SmokePlan], SmokePlan], ...] = (_placeholders, _defaults, _world, _mesh, _fp8)
_CPU_FITS: tuple[Callable[[SmokePlan], SmokePlan], ...] = (
    _cpu_route,
    _cpu_offload,
    _cpu_sync,
    _cpu_hybrid,
    _cpu_state_dict,
    _cpu_compile,
)
_MODEL_FITS: tuple[Callable[[SmokePlan], SmokePlan], ...] = (_model, _size_based, _local_state_dict)
