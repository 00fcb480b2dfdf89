from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.console import CLEAN, run

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = ("--isolated", "--target", "accelerate==1.15.0", "--target", "transformers==5.24.0", "--target", "torch==2.13.0")
ARGUMENTS = "output_dir: out\nper_device_train_batch_size: 4\nnum_train_epochs: 3\nbf16: true\ndeepspeed: ds.json\n"


def test_files_are_written_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(CLEAN.replace("reshard_after_forward: true", "reshard_after_forward: false"))
    first = run("fix", *OPTIONS, "--preset", "full_shard", str(file))
    assert (first.code, f"rewritten: {file.as_posix()}" in first.err) == (0, True)
    assert file.read_text() == CLEAN
    before = file.read_bytes()
    assert run("fix", *OPTIONS, "--preset", "full_shard", str(file)).code == 0
    assert file.read_bytes() == before


def test_check_and_diff_write_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(CLEAN)
    assert run("fix", *OPTIONS, "--preset", "shard_grad", "--check", str(file)).code == 1
    shown = run("fix", *OPTIONS, "--preset", "shard_grad", "--diff", str(file))
    assert shown.code == 1
    assert "-  fsdp_reshard_after_forward: true\n+  fsdp_reshard_after_forward: false\n" in shown.out
    assert "would rewrite 1 file" in shown.err
    assert file.read_text() == CLEAN


def test_a_refusal_is_one_line_and_fails(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(CLEAN + "use_cpu: true\n")
    result = run("fix", *OPTIONS, "--preset", "full_shard", str(file))
    assert result.code == 1
    assert f"fsdplint: {file.as_posix()}: not rewritten: the file trains on the CPU" in result.err
    assert file.read_text() == CLEAN + "use_cpu: true\n"


def test_what_only_the_json_says_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(ARGUMENTS)
    zero = {"zero_optimization": {"stage": 3}, "gradient_clipping": 1.0, "train_micro_batch_size_per_gpu": "auto"}
    (tmp_path / "ds.json").write_text(json.dumps(zero))
    result = run("fix", *OPTIONS, "--preset", "full_shard", str(tmp_path / "t.yaml"))
    assert "ds.json any more, which also says gradient_clipping: write that where it belongs now" in result.err
    assert "deepspeed" not in (tmp_path / "t.yaml").read_text()


def test_a_json_says_which_preset_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(ARGUMENTS)
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 2, "cpu_offload": True}}))
    told = run("fix", *OPTIONS, "--preset", "full_shard", "--check", str(tmp_path / "t.yaml")).err
    assert "DeepSpeed ran ZeRO-2 with offload, which is --preset full_offload" in told
    assert "which is --preset" not in run("fix", *OPTIONS, "--preset", "full_offload", "--check", str(tmp_path / "t.yaml")).err


def test_of_a_launch_the_file_that_decides_is_rewritten(tmp_path: Path) -> None:
    launcher, training = tmp_path / "a.yaml", tmp_path / "t.yaml"
    launcher.write_text(CLEAN)
    training.write_text(ARGUMENTS.replace("deepspeed: ds.json\n", ""))
    result = run("fix", *OPTIONS, "--preset", "shard_grad", "--together", str(launcher), str(training))
    assert result.code == 0
    assert "fsdp_reshard_after_forward: false" in launcher.read_text()
    assert "fsdp" not in training.read_text()


def test_standard_input_comes_out_rewritten() -> None:
    result = run("fix", *OPTIONS, "--fsdp-version", "2", "-", stdin=CLEAN.replace("fsdp_version: 2", "fsdp_version: 1"))
    assert "  fsdp_version: 2\n" in result.out
    assert result.code == 0


def test_options_in_a_file_of_their_own_are_rewritten_there(tmp_path: Path) -> None:
    training, options = tmp_path / "t.yaml", tmp_path / "fsdp.json"
    training.write_text(ARGUMENTS.replace("deepspeed: ds.json", "fsdp: full_shard auto_wrap  # all\nfsdp_config: fsdp.json"))
    options.write_text('{\n  "backward_prefetch": "backward_pre",\n  "transformer_layer_cls_to_wrap": "LlamaDecoderLayer"\n}\n')
    alone = run("fix", *OPTIONS, "--preset", "shard_grad", str(training))
    assert (alone.code, "fsdp.json decides how to shard, and it is not among the given files" in alone.err) == (1, True)
    both = run("fix", *OPTIONS, "--preset", "shard_grad", str(tmp_path))
    assert (both.code, "not rewritten" in both.err) == (0, False)
    assert "fsdp: true  # all\nfsdp_config: fsdp.json\n" in training.read_text()
    assert json.loads(options.read_text()) == {
        "transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
        "version": 2,
        "reshard_after_forward": False,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "cpu_offload": False,
        "state_dict_type": "FULL_STATE_DICT",
    }
    assert run("fix", *OPTIONS, "--preset", "shard_grad", "--check", str(tmp_path)).code == 0


@pytest.mark.parametrize(
    ("line", "given", "reason"),
    [
        (
            "accelerate launch --config_file a.yaml train.py --deepspeed ds.json",
            "a.yaml",
            "DeepSpeed would still be on: ds.json, which the launch line names, decides that",
        ),
        (
            "accelerate launch --config_file a.yaml --fsdp_offload_params true train.py",
            "a.yaml",
            "offload would be True instead of False: `--fsdp_offload_params` on the launch line decides that",
        ),
        (
            "accelerate launch --use_fsdp --num_processes 2 train.py t.yaml",
            "t.yaml",
            "`--use_fsdp` on the launch line switches FSDP on: say the rest there, or take it off",
        ),
    ],
)
def test_what_the_launch_line_decides_is_to_be_changed_there(
    line: str, given: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(CLEAN)
    (tmp_path / "t.yaml").write_text(ARGUMENTS.replace("deepspeed: ds.json\n", ""))
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}}')
    result = run("fix", *OPTIONS, "--preset", "shard_grad", "--launch", line, given)
    assert (result.code, f"{given}: not rewritten: {reason}\n" in result.err) == (1, True)


def test_a_json_that_nothing_names_any_more_does_not_count(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.yaml", "t.yaml", "ds.json")]
    for path, text in zip(paths, (CLEAN, ARGUMENTS, '{"zero_optimization": {"stage": 3}}'), strict=True):
        path.write_text(text)
    result = run("fix", *OPTIONS, "--preset", "shard_grad", "--together", *map(str, paths))
    assert (result.code, "not rewritten" in result.err) == (0, False)
    assert "fsdp_reshard_after_forward: false" in paths[0].read_text()
    assert "deepspeed" not in paths[1].read_text()


def test_a_named_file_that_nobody_knows_is_said(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("colour: red\n")
    result = run("fix", *OPTIONS, "--preset", "full_shard", str(file))
    assert (result.code, "not rewritten: no training config that is known (--dialect names one)" in result.err) == (1, True)
    assert run("fix", *OPTIONS, "--preset", "full_shard", str(tmp_path)).code == 0
