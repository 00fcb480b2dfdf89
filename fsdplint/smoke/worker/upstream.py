"""accelerate's FSDP plugin and transformers' TrainingArguments, made from the files by their own code."""

from __future__ import annotations

import os
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsdplint.smoke.worker.launcher_args import script_flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsdplint.smoke.plan import SmokePlan

TRAINERS = ("hf-trainer", "trl")
_TRL_CONFIGS = {
    "sft": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "orpo": "ORPOConfig",
    "grpo": "GRPOConfig",
    "reward": "RewardConfig",
}
_TRAINER_FLAGS = ("--fsdp", "--fsdp_config", "--bf16", "--fp16", "--output_dir", "--torch_compile")


def training_arguments(plan: SmokePlan) -> Any:
    """The TrainingArguments (for TRL, the config of its trainer) of the launch; None where it has none. Raises what transformers raises."""
    file = plan.file_of(*TRAINERS)
    flags = script_flags(plan)
    if file is None and not any(flag.split("=")[0] in _TRAINER_FLAGS for flag in flags):
        return None
    from transformers import HfArgumentParser

    parser = HfArgumentParser(_arguments_class(plan))
    data = _read(file.path) if file else {}
    data.update(_stated(parser, flags))
    data.setdefault("output_dir", "out")
    with _as_if_on_a_gpu():
        (arguments,) = parser.parse_dict(data, allow_extra_keys=True)
    return arguments


@contextmanager
def _as_if_on_a_gpu() -> Iterator[None]:
    """Let TrainingArguments believe in bf16 and TF32: that they need a GPU says nothing about the files."""
    import torch
    from transformers import training_args

    names = ("is_torch_bf16_gpu_available", "is_torch_tf32_available")
    real = {name: getattr(training_args, name) for name in names if hasattr(training_args, name)}
    try:
        if not torch.cuda.is_available():
            for name in real:
                setattr(training_args, name, lambda: True)
        yield
    finally:
        for name, function in real.items():
            setattr(training_args, name, function)


def _arguments_class(plan: SmokePlan) -> Any:
    if plan.file_of("trl") is not None:
        import trl

        return getattr(trl, _TRL_CONFIGS.get(str(plan.value("task") or "sft"), "SFTConfig"))
    from transformers import TrainingArguments

    return TrainingArguments


def _read(path: str) -> dict[str, Any]:
    """The file's keys, read as HfArgumentParser reads them; what sets environment variables is left out."""
    text = Path(path).read_text(encoding="utf-8")
    if path.endswith(".json"):
        import json

        data = json.loads(text)
    else:
        import yaml

        data = yaml.safe_load(text)
    return {key: value for key, value in data.items() if key != "env"}


def _stated(parser: Any, flags: list[str]) -> dict[str, Any]:
    """The values of flags that are really there, without any default."""
    absent = object()
    names = [action.dest for action in parser._actions]
    parsed, _ = parser.parse_known_args(flags, Namespace(**dict.fromkeys(names, absent)))
    return {name: value for name, value in vars(parsed).items() if value is not absent and name in names and name != "help"}


def plugin_arguments(arguments: Any) -> dict[str, Any] | None:
    """The keyword arguments of accelerate's plugin; empty where it reads the environment, None where FSDP is off.

    transformers states them in ``fsdp_plugin_args`` from 5.4.0 on; before that TrainingArguments sets environment variables.
    """
    stated: dict[str, Any] | None = getattr(arguments, "fsdp_plugin_args", None)
    if stated is not None:
        return stated
    return {} if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() in ("1", "true") else None


def plugin(stated: dict[str, Any]) -> Any:
    """accelerate's plugin. Raises what accelerate raises for options that it refuses."""
    from accelerate.utils import FullyShardedDataParallelPlugin

    return FullyShardedDataParallelPlugin(**stated)


def precision(arguments: Any) -> str:
    """The mixed precision in force: the trainer's, else the launcher's."""
    for name in ("fp16", "bf16"):
        if arguments is not None and getattr(arguments, name, False):
            return name
    return os.environ.get("ACCELERATE_MIXED_PRECISION", "no")


def compiles(arguments: Any) -> bool:
    """Whether the trainer or the launcher turns torch.compile on."""
    if arguments is not None and getattr(arguments, "torch_compile", False):
        return True
    return os.environ.get("ACCELERATE_DYNAMO_BACKEND", "no").lower() != "no"


def dynamo_backend(arguments: Any) -> str | None:
    """The back end with which the trainer or the launcher compiles; None where neither does."""
    if arguments is not None and getattr(arguments, "torch_compile", False):
        return str(arguments.torch_compile_backend)
    found = os.environ.get("ACCELERATE_DYNAMO_BACKEND", "no").lower()
    return None if found == "no" else found


def decisions(made: Any) -> dict[str, Any]:
    """What a plugin decides, by the names of a plan."""
    policy = getattr(made.auto_wrap_policy, "func", made.auto_wrap_policy)
    names = {"transformer_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "size_based_auto_wrap_policy": "SIZE_BASED_WRAP"}
    return {
        "fsdp_version": made.fsdp_version,
        "sharding": sharding(made),
        "offload": _offload(made.cpu_offload),
        "wrap_policy": names.get(getattr(policy, "__name__", ""), "NO_WRAP"),
        "wrap_classes": list(made.transformer_cls_names_to_wrap) if made.transformer_cls_names_to_wrap else None,
        "min_num_params": made.min_num_params,
        "state_dict": getattr(made.state_dict_type, "name", made.state_dict_type),
        "activation_checkpointing": bool(made.activation_checkpointing),
        "ram_efficient": bool(made.cpu_ram_efficient_loading),
        "sync_module_states": bool(made.sync_module_states),
        "orig_params": bool(made.use_orig_params),
        "backward_prefetch": getattr(made.backward_prefetch, "name", None),
        "forward_prefetch": bool(made.forward_prefetch),
        "limit_all_gathers": bool(made.limit_all_gathers),
    }


def sharding(made: Any) -> str:
    """A plugin's sharding by FSDP1's names."""
    if made.fsdp_version == 2:
        return "FULL_SHARD" if made.reshard_after_forward else "SHARD_GRAD_OP"
    found = made.sharding_strategy if made.sharding_strategy is not None else made.reshard_after_forward
    return str(getattr(found, "name", found)).lstrip("_")


def _offload(policy: Any) -> bool:
    return bool(getattr(policy, "offload_params", type(policy).__name__ == "CPUOffloadPolicy"))
