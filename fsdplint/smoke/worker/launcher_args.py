"""accelerate's launcher, as far as it goes before it starts processes: arguments, config file, and the environment of the ranks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fsdplint.smoke.worker.launchline import read_line

if TYPE_CHECKING:
    from fsdplint.smoke.plan import SmokePlan

OWN = ("--config_file", "--num_processes", "--num_machines", "--machine_rank", "--main_process_ip", "--main_process_port", "--rdzv_backend")
"""Flags of the launcher that a smoke run sets itself, because it starts other ranks on one machine."""


def launch_flags(plan: SmokePlan) -> list[str]:
    """The launcher's flags of the launch line, without the script and without the config file."""
    line = read_line(plan.command).launcher
    if line is None:
        return []
    from accelerate.commands.launch import launch_command_parser

    known = launch_command_parser().parse_args(list(line))
    rest = len(known.training_script_args) + 1
    return _without_config(list(line[: len(line) - rest]))


def _without_config(flags: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for flag in flags:
        if skip:
            skip = False
        elif flag in ("--config_file", "--config-file", "-m", "--module"):
            skip = flag.startswith("--config")
        elif not flag.startswith(("--config_file=", "--config-file=")):
            kept.append(flag)
    return kept


def script_flags(plan: SmokePlan) -> list[str]:
    """The arguments that the launch line hands to the training script."""
    line = read_line(plan.command)
    if line.launcher is None:
        return list(line.script)
    from accelerate.commands.launch import launch_command_parser

    return list(launch_command_parser().parse_args(list(line.launcher)).training_script_args)


def launch_arguments(plan: SmokePlan) -> Any:
    """The launcher's arguments after its own validation; None where accelerate's launcher takes no part in the launch.

    The config file that a user may have in the cache folder is left out: it is not among the files.
    Raises what accelerate raises for a config that it refuses.
    """
    file = plan.file_of("accelerate")
    if file is None and read_line(plan.command).launcher is None:
        return None
    from accelerate.commands import launch

    launch.default_config_file = os.devnull
    config = ["--config_file", file.path] if file else []
    arguments = launch.launch_command_parser().parse_args([*launch_flags(plan), *config, "script.py"])
    if arguments.num_processes is None and not file:
        arguments.num_processes = 2
    validated, _, _ = launch._validate_launch_command(arguments)
    return validated


def environment(arguments: Any) -> dict[str, str]:
    """The environment that the launcher would give every rank. Raises what accelerate raises."""
    from accelerate.utils.launch import prepare_multi_gpu_env, prepare_simple_launcher_cmd_env

    arguments.main_process_port = 0
    arguments.num_machines, arguments.machine_rank = 1, 0
    if arguments.use_fsdp or arguments.multi_gpu:
        env: dict[str, str] = prepare_multi_gpu_env(arguments)
        return env
    simple: dict[str, str] = prepare_simple_launcher_cmd_env(arguments)[1]
    return simple


def kind(arguments: Any) -> str:
    """The distributed type that the launcher makes of its arguments."""
    names = {"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED", "use_megatron_lm": "MEGATRON_LM", "multi_gpu": "MULTI_GPU", "tpu": "XLA"}
    if arguments.cpu:
        return "NO (--cpu)"
    return next((name for flag, name in names.items() if getattr(arguments, flag, False)), "NO")


def change_environment(env: dict[str, str]) -> None:
    """Make the ranks' environment this process' own, but for what would connect it to a process group."""
    group = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
    os.environ.update({name: value for name, value in env.items() if name not in group})
