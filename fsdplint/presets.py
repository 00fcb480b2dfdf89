"""The presets full_shard, shard_grad and full_offload, for trainers that build their arguments in Python.

The names, the bodies and the checks are those of soup-cli 0.77.0 (``soup_cli/utils/fsdp.py``), except where a
docstring below says how and why an answer differs. Nothing here imports torch.

The bodies are FSDP1's words for ``transformers.TrainingArguments``; what they become depends on transformers:

* 4.41 to 5.3: FSDP1, every key in force. (Before 4.41 the booleans raise TypeError.)
* 5.4 to 5.9: FSDP1, but shard_grad trains as FULL_SHARD.
* 5.10 and later: FSDP2. Sharding and offload hold, the keys of ``fsdp_config`` are dropped without a message.

Source: ``training_args.py`` run in 4.40.2, 4.50.3, 4.57.6, 5.0.0, 5.4.0, 5.9.0, 5.10.4 and 5.24.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from fsdplint.versions import satisfies, trimmed

__all__ = [
    "PRESET_NAMES",
    "FsdpConfig",
    "TrainingArgs",
    "apply",
    "preset",
    "training_args",
    "validate",
    "validate_compile",
]


class FsdpConfig(TypedDict):
    """The ``fsdp_config`` of a preset: FSDP1 reads all five keys, FSDP2 none."""

    backward_prefetch: str
    forward_prefetch: bool
    use_orig_params: bool
    limit_all_gathers: bool
    sync_module_states: bool


class TrainingArgs(TypedDict):
    """A preset as keyword arguments of ``transformers.TrainingArguments``."""

    fsdp: str
    fsdp_config: FsdpConfig


class _Meaning(NamedTuple):
    """What a preset decides, and the words for it in transformers and DeepSpeed."""

    strategy: str
    cpu_offload: bool
    also_called: tuple[str, ...]


_PRESETS = {
    "full_shard": _Meaning("full_shard", False, ("zero3",)),
    "shard_grad": _Meaning("shard_grad_op", False, ("shard_grad_op", "zero2")),
    "full_offload": _Meaning("full_shard", True, ("offload", "cpu_offload", "full_shard_offload", "zero3_offload")),
}

PRESET_NAMES: tuple[str, ...] = tuple(_PRESETS)
"""full_shard shards parameters, gradients and optimizer state; shard_grad keeps the parameters whole from forward
to backward; full_offload is full_shard with the shards in CPU memory."""

_OPTIONS = ", ".join(PRESET_NAMES)
_CUDA = ("cuda", "rocm")
_WHY_NOT_COMPILED = {"unsloth": ": unsloth compiles its models itself", "mlx": ": mlx does not train with torch"}

# As soup-cli 0.77.0 states them; accelerate alone would do with torch 2.1.0 (accelerate 0.25.0 to 1.15.0).
_FLOORS = {"torch": "2.2.0", "accelerate": "0.27.0"}
# From 5.10 on, transformers asks for FSDP2 with FULL_STATE_DICT (training_args.py, 5.10.4). accelerate refuses that
# pair before 1.7.0 (utils/dataclasses.py, 1.6.0) and then wants torch 2.6.0 (utils/constants.py, 1.7.0 to 1.15.0).
_FSDP2_FLOORS = {"torch": "2.6.0", "accelerate": "1.7.0"}


def preset(name: str) -> TrainingArgs:
    """The body of a preset, a fresh copy that may be changed freely.

    Raises ValueError for a name that is not in ``PRESET_NAMES``; the text ends with the likely name, if there is one.
    Source: soup-cli 0.77.0, whose presets hold ``fsdp`` and ``fsdp_config`` and nothing else.
    """
    if name not in PRESET_NAMES:
        raise ValueError(_unknown("config", name))
    meaning = _PRESETS[name]
    return {
        "fsdp": f"{meaning.strategy} auto_wrap" + (" offload" if meaning.cpu_offload else ""),
        "fsdp_config": {
            "backward_prefetch": "backward_pre",
            "forward_prefetch": True,
            "use_orig_params": True,
            "limit_all_gathers": True,
            "sync_module_states": True,
        },
    }


def training_args(name: str) -> TrainingArgs:
    """Only ``fsdp`` and ``fsdp_config`` of a preset, for ``TrainingArguments(**...)``; fresh, raises as `preset`."""
    body = preset(name)
    return {"fsdp": body["fsdp"], "fsdp_config": body["fsdp_config"]}


def apply(kwargs: dict[str, Any], fsdp_config: Mapping[str, object] | None, compile: bool | str = False) -> dict[str, Any]:
    """Put what `training_args` returned into a trainer's keyword arguments; changes and returns ``kwargs`` itself.

    Without ``fsdp_config`` (None or empty) nothing changes, whatever ``compile`` says. Otherwise its ``fsdp`` and
    ``fsdp_config`` replace those of ``kwargs`` whole, and ``torch_compile`` becomes True if ``compile`` is on; it
    never becomes False. Every other key stays, also ``deepspeed``: reporting that pair is for `validate`.

    Raises, before anything changes, ValueError for any other key in ``fsdp_config`` and for a ``compile`` text that
    is no boolean, and TypeError for an ``fsdp_config`` that is no mapping.
    Differs from soup-cli 0.77.0: unexpected keys are sorted; a non-mapping is no AttributeError; a text that YAML
    would read as a boolean means that boolean ("false" is off; there every non-empty text is on).
    """
    if not fsdp_config:
        return kwargs
    if not isinstance(fsdp_config, Mapping):
        raise TypeError(f"fsdp_config must map fsdp and fsdp_config to values, got {type(fsdp_config).__name__}")
    unexpected = sorted(fsdp_config.keys() - TrainingArgs.__required_keys__, key=str)
    if unexpected:
        raise ValueError(f"Unexpected FSDP config keys: {unexpected}")
    compiled = _is_on(compile)
    kwargs.update(fsdp_config)
    if compiled:
        kwargs["torch_compile"] = True
    return kwargs


def validate(
    fsdp_preset: str | None,
    deepspeed_config: str | None,
    backend: str,
    device: str,
    *,
    versions: Mapping[str, str] | None = None,
) -> list[str]:
    """All that keeps soup from running a preset, one text each; empty if nothing does, or if no preset is given.

    The order is DeepSpeed, device, backend, versions, unknown preset. ``fsdp_preset`` is a name, or None or "" for no
    FSDP; of ``deepspeed_config``, a name or path, only the presence counts; ``backend`` is transformers, unsloth or
    mlx; ``device`` is a kind of device. As in soup only cuda passes, and rocm, which torch calls cuda, though
    accelerate shards on others too. ``versions`` maps torch, accelerate and transformers to version texts; None
    stands for what the running interpreter has installed.

    Differs from soup-cli 0.77.0 in the versions. They come from package metadata, without importing torch. A package
    that is absent or has no readable version gives no finding. accelerate's floor is compared, not only stated. The
    text names only the packages at fault, with the version found. transformers 5.10 and later build FSDP2 from a
    preset, which raises the floors. Versions compare by release: 2.2.0rc1, 2.2.0.dev1 and 2.2.0+cu118 are all 2.2.0.
    """
    if not fsdp_preset:
        return []
    found = []
    if deepspeed_config:
        found.append("Cannot use FSDP and DeepSpeed together: drop the FSDP preset or the DeepSpeed config.")
    if device not in _CUDA:
        found.append(_needs_cuda("FSDP", device))
    if backend == "unsloth":
        found.append("FSDP is not compatible with the unsloth backend: use the transformers backend.")
    found += _too_old("FSDP", versions)
    if fsdp_preset not in PRESET_NAMES:
        found.append(_unknown("preset", fsdp_preset))
    return found


def validate_compile(
    use_compile: bool | str,
    fsdp_preset: str | None,
    backend: str,
    device: str,
    deepspeed_config: str | None = None,
    *,
    versions: Mapping[str, str] | None = None,
) -> list[str]:
    """All that keeps soup from its ``use_fsdp2_compile``, one text each; empty if nothing does, or if it is off.

    The order is DeepSpeed, missing preset, device, backend, versions (only with a preset). This is about soup's flag
    alone: ``torch_compile`` without FSDP is fine. Parameters are those of `validate`; ``use_compile`` is read like
    the ``compile`` of `apply`, and a text that is no boolean raises ValueError.

    Differs from soup-cli 0.77.0 as `validate` does; also, the reason fits the backend (there mlx gets unsloth's), and
    DeepSpeed with torch.compile is not said to crash, which is unproven.
    """
    if not _is_on(use_compile):
        return []
    subject = "use_fsdp2_compile"
    found = []
    if deepspeed_config:
        found.append(f"{subject} is incompatible with --deepspeed: it compiles what FSDP shards. Drop one of the two.")
    if not fsdp_preset:
        found.append(f"{subject} requires FSDP to be enabled: choose a preset ({_OPTIONS}).")
    if device not in _CUDA:
        found.append(_needs_cuda(subject, device))
    if backend != "transformers":
        reason = _WHY_NOT_COMPILED.get(backend, "")
        found.append(f"{subject} is only supported with backend=transformers (got {backend!r}){reason}.")
    if fsdp_preset:
        found += _too_old(subject, versions)
    return found


def _is_on(flag: bool | str) -> bool:
    if not isinstance(flag, str):
        return bool(flag)
    word = flag.strip().lower()
    if word in ("true", "yes", "on"):
        return True
    if word in ("false", "no", "off", ""):
        return False
    raise ValueError(f"compile must be true or false, got {flag!r}")


def _needs_cuda(subject: str, device: str) -> str:
    return f"{subject} requires CUDA GPUs (ROCm counts as CUDA), but the device is {device}."


def _unknown(noun: str, name: object) -> str:
    text = f"Unknown FSDP {noun}: {name}. Options: {_OPTIONS}"
    likely = _likely(str(name))
    return f"{text}. Did you mean {likely}?" if likely else text


def _likely(name: str) -> str | None:
    # The value of transformers' `fsdp` leads to its preset too: "shard_grad_op auto_wrap".
    word = "_".join(name.lower().replace("-", "_").replace("auto_wrap", " ").split())
    for known, meaning in _PRESETS.items():
        if word in (known, *meaning.also_called):
            return known
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, PRESET_NAMES, n=1, cutoff=0.75)), None)


def _too_old(subject: str, versions: Mapping[str, str] | None) -> list[str]:
    """One text that names every package below its floor, or nothing."""
    transformers = _version("transformers", versions)
    fsdp2 = _meets(transformers, ">=5.10") is True
    low = {}
    for package, floor in (_FSDP2_FLOORS if fsdp2 else _FLOORS).items():
        version = _version(package, versions)
        if _meets(version, f">={floor}") is False:
            low[package] = f"{package} >= {floor} (found {version})"
    if not low:
        return []
    reason = f", because transformers {transformers} builds FSDP2" if fsdp2 else ""
    return [f"{subject} requires {' and '.join(low.values())}{reason}. Upgrade: pip install -U {' '.join(low)}"]


def _version(package: str, versions: Mapping[str, str] | None) -> str | None:
    if versions is not None:
        return versions.get(package)
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _meets(version: str | None, specifier: str) -> bool | None:
    """Whether the release of a version text lies in a specifier; None where the version is unknown or unreadable."""
    if not isinstance(version, str):
        return None
    from packaging.version import InvalidVersion, Version

    try:
        return satisfies(trimmed(Version(version).release), specifier)
    except InvalidVersion:
        return None
