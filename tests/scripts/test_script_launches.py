"""Shell scripts as inputs of a check: their launches, the files that belong to them, and where findings point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console import CLEAN, FOREIGN, TWICE, check, run, write

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = "model_name_or_path: m\noutput_dir: out\nper_device_train_batch_size: 4\nnum_train_epochs: 1\nfp16: true\n"
JOB = """\
#!/bin/bash
#SBATCH --nodes=4
PROCESSES=${PROCESSES:-32}
srun accelerate launch \\
    --config_file acc.yaml \\
    --num_machines 4 --num_processes "$PROCESSES" --machine_rank $SLURM_NODEID \\
    {more}train.py sft.yaml
"""
CLASH = "accelerate launch --use_fsdp --multi_gpu train.py\n"
"""A launch that accelerate refuses: ACC201, at the second flag."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(more: str = "") -> str:
    return JOB.replace("{more}", more)


def places(*arguments: str) -> list[tuple[str, str, int, int]]:
    """(code, path, line, column) of every finding but hints."""
    found = check(*arguments).json["diagnostics"]
    starts = [(d["code"], d["path"], d["range"]["start"]) for d in found if d["severity"] != "info"]
    return [(code, path, start["line"], start["column"]) for code, path, start in starts]


def test_a_slurm_job_of_four_nodes(folder: Path) -> None:
    write(folder, job_sbatch=job(), acc_yaml=CLEAN, sft_yaml=TRAIN.replace("fp16", "bf16"))
    ran = check("job.sbatch", "acc.yaml", "sft.yaml")
    assert (ran.code, places("job.sbatch", "acc.yaml", "sft.yaml")) == (0, [])
    assert ran.statuses == {"job.sbatch": "checked", "acc.yaml": "checked", "sft.yaml": "checked"}


def test_a_fault_of_the_line_stands_in_the_script(folder: Path) -> None:
    write(folder, job_sbatch=job("--fsdp_versoin 1 "), acc_yaml=CLEAN, sft_yaml=TRAIN.replace("fp16", "bf16"))
    assert places("job.sbatch") == [("FSD003", "job.sbatch", 7, 5)]
    (found,) = [d for d in check("job.sbatch").json["diagnostics"] if d["code"] == "FSD003"]
    text = job("--fsdp_versoin 1 ")
    assert text[found["range"]["start"]["offset"] : found["range"]["end"]["offset"]] == "--fsdp_versoin"
    assert (found["key"], found["dialect"], found["fix"]) == ("--fsdp_versoin", "accelerate", None)


def test_files_of_one_line_are_one_launch(folder: Path) -> None:
    write(folder, job_sbatch=job(), acc_yaml=CLEAN, sft_yaml=TRAIN)
    assert places("acc.yaml", "sft.yaml") == []
    assert places(".") == [("FSD108", "acc.yaml", 3, 18)]


def test_related_places_and_messages_name_the_script(folder: Path) -> None:
    write(folder, job_sbatch=job(), acc_yaml=CLEAN, sft_yaml=TRAIN)
    found = [d for d in check("job.sbatch").json["diagnostics"] if "processes" in d["message"]]
    assert [d["message"] for d in found] == ["processes is 8 here and 32 in job.sbatch, which wins"]
    place = found[0]["related"][0]
    assert (place["path"], place["range"]["start"]["line"], place["range"]["start"]["column"]) == ("job.sbatch", 6, 38)
    assert job()[place["range"]["start"]["offset"] : place["range"]["end"]["offset"]] == '"$PROCESSES"'


def test_faults_of_files_that_were_not_given_are_not_reported(folder: Path) -> None:
    write(folder, run_sh="accelerate launch --config_file acc.yaml train.py\n", acc_yaml=TWICE)
    assert places("run.sh") == []
    assert places("run.sh", "acc.yaml") == [("FSD002", "acc.yaml", 4, 1)]
    assert places(".") == [("FSD002", "acc.yaml", 4, 1)]


@pytest.mark.parametrize("name", ["run.sh", "run.bash", "run.sbatch", "run.slurm", "deep/er/RUN.SH"])
def test_scripts_are_found_below_folders(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("set -e\n" + CLASH)
    assert places(".") == [("ACC201", name, 2, 30)]


def test_standard_input(folder: Path) -> None:
    ran = check("-", "--stdin-filename", "run.sh", stdin=CLASH)
    assert ran.found == [("run.sh", 1, "ACC201")]
    assert list(folder.glob("*.sh")) == []


def test_several_lines(folder: Path) -> None:
    write(folder, run_sh=f"{CLASH}if false; then\n  {CLASH}fi\n")
    assert places("run.sh") == [("ACC201", "run.sh", 1, 30), ("ACC201", "run.sh", 3, 32)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "echo hello\n",
        "accelerate config\n",
        "accelerate launch 'train.py --use_fsdp --multi_gpu\n",
        "accelerate launch $FLAGS --use_fsdp --multi_gpu train.py\n",
        'accelerate launch --use_fsdp --multi_gpu "$@" train.py\n',
        "accelerate launch --config_file $CONFIG --use_fsdp --multi_gpu train.py\n",
        "accelerate launch --config_file nowhere.yaml --use_fsdp --multi_gpu train.py\n",
    ],
)
def test_what_is_not_known_for_sure_is_skipped_in_silence(folder: Path, text: str) -> None:
    write(folder, run_sh=text)
    ran = check("run.sh")
    assert (ran.code, ran.err, ran.found, ran.statuses) == (0, "", [], {"run.sh": "skipped"})


def test_unknown_words_of_the_program_do_not_hide_the_launcher(folder: Path) -> None:
    write(folder, run_sh='accelerate launch --use_fsdp --multi_gpu --num_processes $N train.py "$@"\n')
    assert places("run.sh") == [("ACC201", "run.sh", 1, 30)]


def test_a_script_that_is_not_there() -> None:
    ran = check("nowhere.sh")
    assert (ran.code, ran.err) == (2, "fsdplint: nowhere.sh: No such file or directory\n")


def test_skipped_scripts_are_named_with_v(folder: Path) -> None:
    write(folder, run_sh="echo\n", other_yaml=FOREIGN)
    assert run("check", "-v", "run.sh").err.startswith("skipped run.sh: no launch that is known\n")


# Where the files are


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("acc.yaml", "accelerate launch --config_file acc.yaml train.py"),
        ("acc.yaml", "accelerate launch --config_file ../acc.yaml train.py"),
        ("jobs/acc.yaml", "accelerate launch --config_file acc.yaml train.py"),
        ("jobs/acc.yaml", "accelerate launch --config_file jobs/acc.yaml train.py"),
        ("configs/acc.yaml", "cd configs && accelerate launch --config_file acc.yaml train.py"),
        ("jobs/acc.yaml", 'accelerate launch --config_file "$(dirname "$0")/acc.yaml" train.py'),
    ],
)
def test_files_are_seen_from_the_script_and_from_the_root(folder: Path, config: str, line: str) -> None:
    (folder / "jobs").mkdir()
    (folder / "configs").mkdir()
    (folder / config).write_text(CLEAN)
    (folder / "jobs" / "run.sh").write_text(line.replace(" train.py", " --use_fsdp --multi_gpu train.py"))
    assert {(code, path) for code, path, _, _ in places(".")} == {("ACC201", "jobs/run.sh"), ("FSD102", config)}


def test_a_file_that_may_be_one_of_two_is_none(folder: Path) -> None:
    line = "accelerate launch --config_file acc.yaml --use_fsdp --multi_gpu train.py"
    write(folder, acc_yaml=CLEAN, jobs__acc_yaml=CLEAN, jobs__run_sh=line)
    assert places(".") == []


def test_nothing_above_the_repository_is_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, acc_yaml=CLEAN, inner__run_sh="accelerate launch --config_file acc.yaml --use_fsdp --multi_gpu train.py")
    (folder / "inner" / ".git").mkdir()
    monkeypatch.chdir(folder / "inner")
    assert places("run.sh") == []


# Beside other ways to name a launch


def test_a_launch_line_is_for_the_other_files(folder: Path) -> None:
    write(folder, run_sh=CLASH, acc_yaml=CLEAN)
    line = "accelerate launch --config_file acc.yaml --use_fsdp --multi_gpu train.py"
    assert {(code, path) for code, path, _, _ in places("run.sh", "acc.yaml", "--launch", line)} == {
        ("ACC201", "<launch>"),
        ("ACC201", "run.sh"),
        ("FSD102", "acc.yaml"),
    }


def test_together_is_about_the_other_files(folder: Path) -> None:
    write(folder, run_sh=CLASH, acc_yaml=CLEAN, sft_yaml=TRAIN)
    assert places("--together", "run.sh", "acc.yaml", "sft.yaml") == [("FSD108", "acc.yaml", 3, 18), ("ACC201", "run.sh", 1, 30)]


def test_settings_silence_a_script(folder: Path) -> None:
    write(folder, run_sh=CLASH, fsdplint_toml='[per-file-ignores]\n"run.sh" = ["ACC201"]\n')
    assert places(".") == []


@pytest.mark.parametrize(
    "text",
    [
        "# fsdplint: ignore[ACC201] patched\naccelerate launch --use_fsdp \\\n  --multi_gpu train.py\n",
        "accelerate launch --use_fsdp --multi_gpu train.py # fsdplint: ignore[ACC201]\n",
        "accelerate launch --use_fsdp \\\n  --multi_gpu train.py # fsdplint: ignore[launch-kinds-clash]\n",
        f"# fsdplint: ignore-file[ACC201]\n{CLASH}{CLASH}",
    ],
)
def test_comments_silence_a_command(folder: Path, text: str) -> None:
    write(folder, run_sh=text)
    ran = check("run.sh")
    assert (ran.found, ran.json["summary"]["suppressed"] > 0) == ([], True)


def test_a_comment_speaks_of_its_own_command_only(folder: Path) -> None:
    write(folder, run_sh=f"# fsdplint: ignore[ACC201]\n{CLASH}{CLASH}")
    assert places("run.sh") == [("ACC201", "run.sh", 3, 30)]


def test_a_comment_that_silences_nothing(folder: Path) -> None:
    write(folder, run_sh=f"# fsdplint: ignore[FSD102]\n{CLASH}")
    assert places("run.sh") == [("FSD008", "run.sh", 1, 20), ("ACC201", "run.sh", 2, 30)]


def test_fixes_leave_scripts_as_they_are(folder: Path) -> None:
    write(folder, run_sh="accelerate launch --config_file acc.yaml --fsdp_versoin 2 train.py\n", acc_yaml=CLEAN)
    before = (folder / "run.sh").read_bytes()
    ran = run("fix", "--unsafe-fixes", ".")
    assert (ran.code, (folder / "run.sh").read_bytes()) == (1, before)
    assert "run.sh:1:42: error[FSD003]" in ran.out


def test_explain_shows_the_launch(folder: Path) -> None:
    write(folder, run_sh="accelerate launch --config_file acc.yaml --num_processes 4 train.py\n", acc_yaml=CLEAN)
    assert "4" in next(line for line in run("explain", "run.sh").lines if line.startswith("processes"))


GOOD = """\
#!/usr/bin/env bash
MODEL=org/model
NPROC=${NPROC:-8}
torchrun --nproc_per_node $NPROC --nnodes ${NNODES:-1} --node_rank ${NODE_RANK:-0} --master_addr ${MASTER_ADDR:-localhost} \\
  src/train.py --model_name_or_path $MODEL --output_dir out --bf16 True --fsdp "full_shard auto_wrap" \\
  --fsdp_transformer_layer_cls_to_wrap Qwen2DecoderLayer --per_device_train_batch_size 4
deepspeed --num_gpus=8 train.py --deepspeed ds_z3.json --bf16
CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model $MODEL --train_type lora --dataset a --torch_dtype bfloat16
FORCE_TORCHRUN=1 llamafactory-cli train sft.yaml
accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 train.py --lr 1e-4 "$@"
trl sft --model_name_or_path $MODEL --dataset_name x --output_dir out --accelerate_config fsdp2 --num_processes 8
axolotl train sft.yaml --launcher torchrun -- --nproc_per_node=2
composer train.py configs/a.yaml
tune run --nproc_per_node 4 full_finetune_distributed --config llama3/8B_full optimizer.lr=1e-5
litgpt finetune_lora org/model --devices 4
"""


def test_good_lines_of_many_launchers(folder: Path) -> None:
    write(folder, run_sh=GOOD, sft_yaml=TRAIN.replace("fp16", "bf16"))
    assert places("run.sh") == []


STRINGS = """\
#!/bin/bash
NUM_NODES=$SLURM_NNODES
WORLD_SIZE=$(($NUM_NODES*8))
NODELIST=($(scontrol show hostnames $SLURM_JOB_NODELIST))
export CMD=" \\
    scripts/sft.py --config sft.yaml
    "
export LAUNCHER="ACCELERATE_LOG_LEVEL=info accelerate launch \\
    --config_file acc.yaml  \\
    --num_machines $NUM_NODES \\
    --num_processes $WORLD_SIZE \\
    --main_process_ip ${NODELIST[0]} \\
    --machine_rank \\$SLURM_PROCID \\
    "
srun --wait=60 bash -c "$LAUNCHER $CMD" 2>&1
"""


def test_a_launcher_in_strings(folder: Path) -> None:
    write(folder, job_slurm=STRINGS, acc_yaml=CLEAN, sft_yaml=TRAIN)
    assert places("job.slurm", "acc.yaml", "sft.yaml") == [("FSD108", "acc.yaml", 3, 18)]
    write(folder, sft_yaml=TRAIN.replace("fp16", "bf16"))
    assert places("job.slurm", "acc.yaml", "sft.yaml") == []
