"""The presets and their checks, as a trainer calls them."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from fsdplint.presets import PRESET_NAMES, apply, preset, training_args, validate, validate_compile

FSDP1_CONFIG = {
    "backward_prefetch": "backward_pre",
    "forward_prefetch": True,
    "use_orig_params": True,
    "limit_all_gathers": True,
    "sync_module_states": True,
}
UNKNOWN = "Options: full_shard, shard_grad, full_offload"

DEEPSPEED = "Cannot use FSDP and DeepSpeed together: drop the FSDP preset or the DeepSpeed config."
CPU = "FSDP requires CUDA GPUs (ROCm counts as CUDA), but the device is cpu."
UNSLOTH = "FSDP is not compatible with the unsloth backend: use the transformers backend."
COMPILE_DEEPSPEED = "use_fsdp2_compile is incompatible with --deepspeed: it compiles what FSDP shards. Drop one of the two."
COMPILE_ALONE = "use_fsdp2_compile requires FSDP to be enabled: choose a preset (full_shard, shard_grad, full_offload)."
COMPILE_CPU = "use_fsdp2_compile requires CUDA GPUs (ROCm counts as CUDA), but the device is cpu."
COMPILE_UNSLOTH = "use_fsdp2_compile is only supported with backend=transformers (got 'unsloth'): unsloth compiles its models itself."

GOOD = {"torch": "2.13.0+cpu", "accelerate": "1.15.0", "transformers": "5.24.0"}
OLD = {"torch": "2.1.2", "accelerate": "0.26.1"}
OLD_TEXT = "requires torch >= 2.2.0 (found 2.1.2) and accelerate >= 0.27.0 (found 0.26.1). Upgrade: pip install -U torch accelerate"


def check(
    fsdp_preset: str | None = "full_shard",
    deepspeed_config: str | None = None,
    backend: str = "transformers",
    device: str = "cuda",
    versions: dict[str, str] = GOOD,
) -> list[str]:
    return validate(fsdp_preset, deepspeed_config, backend, device, versions=versions)


def check_compile(
    use_compile: bool | str = True,
    fsdp_preset: str | None = "full_shard",
    backend: str = "transformers",
    device: str = "cuda",
    deepspeed_config: str | None = None,
    versions: dict[str, str] = GOOD,
) -> list[str]:
    return validate_compile(use_compile, fsdp_preset, backend, device, deepspeed_config, versions=versions)


class TestPreset:
    def test_names(self) -> None:
        assert PRESET_NAMES == ("full_shard", "shard_grad", "full_offload")

    @pytest.mark.parametrize(
        ("name", "fsdp"),
        [
            ("full_shard", "full_shard auto_wrap"),
            ("shard_grad", "shard_grad_op auto_wrap"),
            ("full_offload", "full_shard auto_wrap offload"),
        ],
    )
    def test_body(self, name: str, fsdp: str) -> None:
        assert preset(name) == {"fsdp": fsdp, "fsdp_config": FSDP1_CONFIG}
        assert training_args(name) == preset(name)

    @pytest.mark.parametrize("function", [preset, training_args])
    def test_changing_one_result_leaks_nowhere(self, function: Any) -> None:
        first = function("full_shard")
        first["fsdp"] = "changed"
        first["fsdp_config"].clear()
        for name in PRESET_NAMES:
            assert function(name)["fsdp_config"] == FSDP1_CONFIG
        assert function("full_shard")["fsdp"] == "full_shard auto_wrap"

    @pytest.mark.parametrize("function", [preset, training_args])
    @pytest.mark.parametrize("name", ["nonexistent", "", "hybrid_shard", "no_shard", "zero2_offload", "zero++"])
    def test_unknown(self, function: Any, name: str) -> None:
        with pytest.raises(ValueError) as error:
            function(name)
        assert str(error.value) == f"Unknown FSDP config: {name}. {UNKNOWN}"

    @pytest.mark.parametrize("name", [None, True, ["full_shard"], {}])
    def test_no_text_is_unknown_too(self, name: Any) -> None:
        with pytest.raises(ValueError) as error:
            preset(name)
        assert str(error.value).startswith(f"Unknown FSDP config: {name}. {UNKNOWN}")

    @pytest.mark.parametrize(
        ("name", "likely"),
        [
            ("offload", "full_offload"),
            ("cpu_offload", "full_offload"),
            ("full_shard_offload", "full_offload"),
            ("full_shard auto_wrap offload", "full_offload"),
            ("zero3_offload", "full_offload"),
            ("shard_grad_op", "shard_grad"),
            ("shard_grad_op auto_wrap", "shard_grad"),
            ("SHARD_GRAD_OP", "shard_grad"),
            ("zero2", "shard_grad"),
            ("full_shard auto_wrap", "full_shard"),
            ("full-shard", "full_shard"),
            ("FULL_SHARD", "full_shard"),
            ("ful_shrad", "full_shard"),
            ("zero3", "full_shard"),
        ],
    )
    def test_did_you_mean(self, name: str, likely: str) -> None:
        with pytest.raises(ValueError) as error:
            preset(name)
        assert str(error.value) == f"Unknown FSDP config: {name}. {UNKNOWN}. Did you mean {likely}?"


class TestApply:
    def test_changes_and_returns_the_same_dict(self) -> None:
        kwargs: dict[str, Any] = {"output_dir": "out"}
        assert apply(kwargs, training_args("shard_grad")) is kwargs
        assert kwargs == {"output_dir": "out", "fsdp": "shard_grad_op auto_wrap", "fsdp_config": FSDP1_CONFIG}

    @pytest.mark.parametrize("nothing", [None, {}])
    @pytest.mark.parametrize("compile", [False, True])
    def test_without_fsdp_nothing_changes(self, nothing: dict[str, object] | None, compile: bool) -> None:
        kwargs = {"fsdp": "full_shard", "bf16": True}
        assert apply(kwargs, nothing, compile) is kwargs
        assert kwargs == {"fsdp": "full_shard", "bf16": True}

    def test_replaces_whole_values(self) -> None:
        kwargs = {"fsdp": "full_shard offload", "fsdp_config": {"version": 2, "forward_prefetch": False}}
        assert apply(kwargs, {"fsdp_config": {"version": 1}}) == {
            "fsdp": "full_shard offload",
            "fsdp_config": {"version": 1},
        }

    def test_leaves_other_keys_alone(self) -> None:
        kwargs = {"deepspeed": "ds.json", "gradient_checkpointing": True}
        applied = apply(kwargs, training_args("full_shard"), True)
        assert applied["deepspeed"] == "ds.json"
        assert applied["gradient_checkpointing"] is True

    @pytest.mark.parametrize("word", [True, "true", "yes", "On"])
    def test_compile_on(self, word: bool | str) -> None:
        assert apply({}, training_args("full_shard"), word)["torch_compile"] is True

    @pytest.mark.parametrize("word", [False, "false", "no", "OFF", ""])
    def test_compile_off_sets_nothing(self, word: bool | str) -> None:
        assert "torch_compile" not in apply({}, training_args("full_shard"), compile=word)

    def test_compile_off_keeps_what_was_set(self) -> None:
        assert apply({"torch_compile": True}, training_args("full_shard"), False)["torch_compile"] is True

    @pytest.mark.parametrize("word", ["maybe", "inductor"])
    def test_compile_that_is_no_boolean(self, word: str) -> None:
        kwargs: dict[str, Any] = {}
        with pytest.raises(ValueError, match=f"^compile must be true or false, got '{word}'$"):
            apply(kwargs, training_args("full_shard"), word)
        assert kwargs == {}

    def test_unexpected_keys_are_sorted_and_change_nothing(self) -> None:
        kwargs: dict[str, Any] = {"lr": 1}
        with pytest.raises(ValueError) as error:
            apply(kwargs, {"fsdp": "full_shard", "zeta": 1, "deepspeed": None, "alpha": 2, 3: 3}, True)  # type: ignore[dict-item]
        assert str(error.value) == "Unexpected FSDP config keys: [3, 'alpha', 'deepspeed', 'zeta']"
        assert kwargs == {"lr": 1}

    @pytest.mark.parametrize(("wrong", "kind"), [("full_shard", "str"), (["fsdp"], "list"), ({"fsdp"}, "set"), (True, "bool")])
    def test_no_mapping(self, wrong: Any, kind: str) -> None:
        kwargs: dict[str, Any] = {}
        with pytest.raises(TypeError, match=f"^fsdp_config must map fsdp and fsdp_config to values, got {kind}$"):
            apply(kwargs, wrong)
        assert kwargs == {}


class TestValidate:
    @pytest.mark.parametrize("name", PRESET_NAMES)
    @pytest.mark.parametrize("device", ["cuda", "rocm"])
    def test_good(self, name: str, device: str) -> None:
        assert check(name, device=device) == []

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_silent_without_preset(self, nothing: str | None) -> None:
        assert check(nothing, "ds.json", "unsloth", "cpu", OLD) == []

    def test_deepspeed(self) -> None:
        assert check(deepspeed_config="zero3") == [DEEPSPEED]
        assert check(deepspeed_config="") == []

    def test_device(self) -> None:
        assert check(device="cpu") == [CPU]

    @pytest.mark.parametrize("device", ["mps", "mlx", "xpu", "npu", "hpu"])
    def test_only_cuda_passes_as_in_soup(self, device: str) -> None:
        assert check(device=device) == [CPU.replace("cpu", device)]
        assert check_compile(device=device) == [COMPILE_CPU.replace("cpu", device)]

    def test_backend(self) -> None:
        assert check(backend="unsloth") == [UNSLOTH]
        assert check(backend="mlx") == []

    def test_unknown_preset(self) -> None:
        assert check("invalid_preset") == [f"Unknown FSDP preset: invalid_preset. {UNKNOWN}"]
        assert check("offload") == [f"Unknown FSDP preset: offload. {UNKNOWN}. Did you mean full_offload?"]

    def test_all_are_collected_in_order(self) -> None:
        assert check("zero9", "ds.json", "unsloth", "cpu", OLD) == [
            DEEPSPEED,
            CPU,
            UNSLOTH,
            f"FSDP {OLD_TEXT}",
            f"Unknown FSDP preset: zero9. {UNKNOWN}",
        ]


class TestValidateCompile:
    @pytest.mark.parametrize("name", PRESET_NAMES)
    @pytest.mark.parametrize("device", ["cuda", "rocm"])
    def test_good(self, name: str, device: str) -> None:
        assert check_compile(fsdp_preset=name, device=device) == []

    @pytest.mark.parametrize("off", [False, "false", ""])
    def test_silent_when_off(self, off: bool | str) -> None:
        assert check_compile(off, None, "unsloth", "cpu", "ds.json", OLD) == []

    def test_no_boolean(self) -> None:
        with pytest.raises(ValueError) as error:
            check_compile("perhaps")
        assert str(error.value) == "compile must be true or false, got 'perhaps'"

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_needs_fsdp_also_with_deepspeed(self, nothing: str | None) -> None:
        assert check_compile("true", nothing) == [COMPILE_ALONE]
        assert check_compile(True, nothing, deepspeed_config="ds.json") == [COMPILE_DEEPSPEED, COMPILE_ALONE]

    def test_device(self) -> None:
        assert check_compile(device="cpu") == [COMPILE_CPU]

    def test_each_backend_has_its_own_reason(self) -> None:
        prefix = "use_fsdp2_compile is only supported with backend=transformers"
        assert check_compile(backend="unsloth") == [COMPILE_UNSLOTH]
        assert check_compile(backend="mlx") == [f"{prefix} (got 'mlx'): mlx does not train with torch."]
        assert check_compile(backend="other") == [f"{prefix} (got 'other')."]

    def test_version_only_with_a_preset(self) -> None:
        assert check_compile(versions=OLD) == [f"use_fsdp2_compile {OLD_TEXT}"]
        assert check_compile(fsdp_preset=None, versions=OLD) == [COMPILE_ALONE]

    def test_an_unknown_preset_is_left_to_validate(self) -> None:
        assert check_compile(fsdp_preset="zero9") == []

    def test_all_are_collected_in_order(self) -> None:
        assert check_compile(True, None, "unsloth", "cpu", "ds.json", OLD) == [
            COMPILE_DEEPSPEED,
            COMPILE_ALONE,
            COMPILE_CPU,
            COMPILE_UNSLOTH,
        ]
        assert check_compile(True, "full_shard", "unsloth", "cpu", "ds.json", OLD) == [
            COMPILE_DEEPSPEED,
            COMPILE_CPU,
            COMPILE_UNSLOTH,
            f"use_fsdp2_compile {OLD_TEXT}",
        ]


class TestVersions:
    @pytest.mark.parametrize(
        "torch",
        [
            "2.2.0",
            "2.2",
            "2.2.0rc1",
            "2.2.0.dev20240101",
            "2.2.0a0+git81ea7a4",
            "2.10.0",
            "2.2.0.post1",
            "2.13.0+cpu",
            "3",
        ],
    )
    def test_torch_new_enough(self, torch: str) -> None:
        assert check(versions={"torch": torch, "accelerate": "0.27.0"}) == []

    @pytest.mark.parametrize("torch", ["2.1.2", "2.1.2+cu118", "1.13.1", "2"])
    def test_torch_floor(self, torch: str) -> None:
        assert check(versions={"torch": torch, "accelerate": "0.27.0"}) == [
            f"FSDP requires torch >= 2.2.0 (found {torch}). Upgrade: pip install -U torch"
        ]

    @pytest.mark.parametrize("accelerate", ["0.1.0", "0.26.1", "0.9"])
    def test_accelerate_floor(self, accelerate: str) -> None:
        assert check(versions={"torch": "2.5.1", "accelerate": accelerate}) == [
            f"FSDP requires accelerate >= 0.27.0 (found {accelerate}). Upgrade: pip install -U accelerate"
        ]

    @pytest.mark.parametrize("unknown", ["nightly", "", "main", "2.x", None, 2.1])
    def test_unreadable_is_no_finding(self, unknown: Any) -> None:
        assert check(versions={"torch": unknown, "accelerate": unknown, "transformers": unknown}) == []

    def test_absent_is_no_finding(self) -> None:
        assert check(versions={}) == []
        assert check_compile(versions={}) == []

    def test_fsdp2_raises_the_floors(self) -> None:
        old = {"torch": "2.5.1", "accelerate": "1.6.0"}
        assert check(versions={**old, "transformers": "5.9.0"}) == []
        assert check(versions={**old, "transformers": "5.10.0"}) == [
            "FSDP requires torch >= 2.6.0 (found 2.5.1) and accelerate >= 1.7.0 (found 1.6.0), "
            "because transformers 5.10.0 builds FSDP2. Upgrade: pip install -U torch accelerate"
        ]
        assert check(versions={"torch": "2.6.0", "accelerate": "1.7.0", "transformers": "5.10.0"}) == []

    def test_given_versions_are_not_mixed_with_installed_ones(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, torch="1.13.1", accelerate="0.1.0", transformers="5.24.0")
        assert check(versions={"torch": "2.5.1"}) == []

    def test_installed_versions_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, torch="2.4.0", accelerate="0.21.0")
        text = "requires accelerate >= 0.27.0 (found 0.21.0). Upgrade: pip install -U accelerate"
        assert validate("full_shard", None, "transformers", "cuda") == [f"FSDP {text}"]
        assert validate_compile(True, "full_shard", "transformers", "cuda") == [f"use_fsdp2_compile {text}"]

    def test_nothing_installed_is_no_finding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch)
        assert validate("full_shard", None, "transformers", "cuda") == []


def install(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Make importlib.metadata know these packages and no others."""

    def version(package: str) -> str:
        if package not in versions:
            raise metadata.PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(metadata, "version", version)


def test_the_import_is_light() -> None:
    code = "import sys; old = {*sys.modules}; import fsdplint.presets; print(*({*sys.modules} - old), sep='\\n')"
    root = Path(__file__).parents[1]
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    names = loaded.stdout.split()
    assert "fsdplint.presets" in names
    assert not {"packaging", "difflib", "importlib.metadata", "jsonschema", "torch"} & set(names)
