"""The launcher command lines of shell scripts: which there are, and where their words stand."""

from __future__ import annotations

import pytest

from fsdplint.scripts.lines import lines
from fsdplint.scripts.words import Unreadable


def texts(script: str) -> list[str]:
    return [line.text for line in lines(script)]


def test_a_slurm_job() -> None:
    script = """\
#!/bin/bash
#SBATCH --nodes=4
# accelerate launch commented.py
set -euo pipefail
module load cuda; source ~/venv/bin/activate
export NODES=4 GPUS=8
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
echo "it's accelerate launch time"

srun --nodes "$NODES" accelerate launch \\
    --config_file acc.yaml \\
    --num_machines $NODES --num_processes 32 \\
    --machine_rank $SLURM_NODEID --main_process_ip "$HEAD" \\
    train.py sft.yaml 2>&1 | tee log.txt
"""
    assert texts(script) == [
        "srun --nodes 4 accelerate launch --config_file acc.yaml --num_machines 4 --num_processes 32"
        " --machine_rank '${SLURM_NODEID}' --main_process_ip '${_}' train.py sft.yaml"
    ]


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("torchrun --nproc_per_node=8 train.py a.yaml", "torchrun --nproc_per_node=8 train.py a.yaml"),
        ("CUDA_VISIBLE_DEVICES=0,1 nohup deepspeed train.py > log 2>&1 &", "CUDA_VISIBLE_DEVICES=0,1 nohup deepspeed train.py"),
        ("env A=b python -m torch.distributed.run train.py", "env A=b python -m torch.distributed.run train.py"),
        ("python3.11 -m accelerate.commands.launch train.py", "python3.11 -m accelerate.commands.launch train.py"),
        ("/opt/venv/bin/accelerate launch train.py", "/opt/venv/bin/accelerate launch train.py"),
        ("python -u -m torch.distributed.launch train.py", "python -u -m torch.distributed.launch train.py"),
        ("python /opt/bin/torchrun train.py", "python /opt/bin/torchrun train.py"),
        ("docker run --gpus all image torchrun train.py", "docker run --gpus all image torchrun train.py"),
        ("uv run trl sft --config a.yaml", "uv run trl sft --config a.yaml"),
        ("cd run && axolotl train a.yaml || exit 1", "axolotl train a.yaml"),
        ("if true; then\n  tune run --nproc_per_node 2 full --config a.yaml\nfi", "tune run --nproc_per_node 2 full --config a.yaml"),
        ("run() {\n  llamafactory-cli train a.yaml\n}\nrun", "llamafactory-cli train a.yaml"),
        ("( soup train --config a.yaml )", "soup train --config a.yaml"),
        ("swift sft --model m", "swift sft --model m"),
        ("srun fsdplint run -- torchrun train.py", "srun fsdplint run -- torchrun train.py"),
        ("torchrun train.py \\\r\n  a.yaml\r\n", "torchrun train.py a.yaml"),
        ("torchrun train.py 'a b.yaml' \"c d\" e\\ f", "torchrun train.py 'a b.yaml' 'c d' 'e f'"),
        ("torchrun train.py configs/{a,b}.yaml *.json", "torchrun train.py 'configs/${_}a,b}.yaml' '${_}.json'"),
        ("cat <<EOF\ntorchrun no.py\nit's\nEOF\ntorchrun yes.py", "torchrun yes.py"),
        ("cat <<-'EOF' | sort\n\ttorchrun no.py\n\tEOF\ntorchrun yes.py", "torchrun yes.py"),
        ("exec > >(tee log)\ntorchrun train.py", "torchrun train.py"),
        ("IFS=$'\\n\\t'\ntorchrun train.py", "torchrun train.py"),
        ("case $1 in\n a) torchrun a.py ;;\nesac", "torchrun a.py"),
        ('srun bash -c "cd x && accelerate launch --machine_rank \\$R train.py"', "accelerate launch --machine_rank '${R}' train.py"),
        ('eval "torchrun $X train.py"', "torchrun '${X}' train.py"),
    ],
)
def test_a_launcher(script: str, line: str) -> None:
    assert texts(script) == [line]


@pytest.mark.parametrize(
    "script",
    [
        "# torchrun train.py",
        "echo torchrun train.py",
        "pip install accelerate launch",
        "accelerate config",
        "pkill -f torchrun",
        "python train.py a.yaml",
        "$LAUNCHER accelerate launch train.py",
        "trl --help",
        "swift infer --model m",
        "cat <<EOF\ntorchrun train.py\nEOF",
        "which deepspeed",
        "uv pip install deepspeed",
        "conda install -c conda-forge deepspeed",
        "python -m tool --packages deepspeed",
        "python tool.py deepspeed",
    ],
)
def test_no_launcher(script: str) -> None:
    assert texts(script) == []


OPEN = ["torchrun 'train.py", 'torchrun "train.py', "torchrun $(a", "torchrun ${a", "cat <<EOF\ntorchrun a.py\n", "A=(a"]


@pytest.mark.parametrize("script", OPEN)
def test_what_stays_open_is_not_understood(script: str) -> None:
    with pytest.raises(Unreadable):
        texts(script)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("N=8\ntorchrun $N", "8"),
        ("export N=8 M=9\ntorchrun $N ${M}", "8 9"),
        ("N='8'\ntorchrun n$N.yaml", "n8.yaml"),
        ('N=8; M=$N.yaml\ntorchrun "$M"', "8.yaml"),
        ("A='--a b'\ntorchrun $A \"$A\"", "--a b '--a b'"),
        ('A=(--a "b c" d)\ntorchrun "${A[@]}"', "--a 'b c' d"),
        ("torchrun ${N:-8} ${M-9} ${F:-'a.yaml'}", "8 9 a.yaml"),
        ("N=${N:-8}\ntorchrun $N", "8"),
        ("N=8\ntorchrun ${N:-9}", "8"),
        ('N=\ntorchrun ${N:-9} "$N" $N', "9 ''"),
        ("source venv/bin/activate\nN=8\ntorchrun $N", "8"),
        ('D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\ntorchrun $D/a.yaml', "./a.yaml"),
    ],
)
def test_variables_that_are_known(script: str, words: str) -> None:
    assert texts(script) == [f"torchrun {words}"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("torchrun $N", "'${N}'"),
        ('torchrun $1 "$@" $?', "'${_}' '${_}' '${_}'"),
        ("torchrun $N\nN=8", "'${N}'"),
        ("N=8\nN=9\ntorchrun $N", "'${N}'"),
        ("N=8\nN+=9\ntorchrun $N ${N:-7}", "'${N}' '${N}'"),
        ("if a; then N=8; fi\ntorchrun $N", "'${N}'"),
        ("[[ -z $N ]] && N=8\ntorchrun $N", "'${N}'"),
        ("for N in 1 2; do torchrun $N; done", "'${N}'"),
        ("read N\ntorchrun ${N:-8}", "'${N}'"),
        ("f() { N=8; }\ntorchrun $N", "'${N}'"),
        ("N=$(nproc --all)\ntorchrun $N", "'${_}'"),
        ("N=$((2 * 4))\ntorchrun x$N.yaml", "'x${_}.yaml'"),
        ("N=8\nsource settings.sh\ntorchrun $N", "'${N}'"),
        ("torchrun ${N//a/b} ${#N} `nproc` $(nproc)", "'${_}' '${_}' '${_}' '${_}'"),
        ("torchrun ${N:-$M}", "'${_}'"),
        ("N=8 torchrun $N", None),
    ],
)
def test_variables_that_are_not(script: str, words: str | None) -> None:
    assert texts(script) == ([f"torchrun {words}"] if words else ["N=8 torchrun '${N}'"])


def placed(script: str, written: str) -> str:
    """The characters of the script that stand for something in its only launch line."""
    (line,) = lines(script)
    start = line.text.index(written)
    return script[slice(*line.place(start, start + len(written), script))]


def test_places() -> None:
    script = "# é\nN=8\nsrun accelerate launch \\\n  --a=b --num_processes \"$N\" $OPTS 'c d' train.py\n"
    assert placed(script, "--a") == "--a"
    assert placed(script, "b --num_processes") == "b --num_processes"
    assert placed(script, "b") == "b"
    assert placed(script, "8") == '"$N"'
    assert placed(script, "'${OPTS}'") == "$OPTS"
    assert placed(script, "'c d'") == "'c d'"
    assert placed(script, "train.py") == "train.py"


def test_the_place_of_a_string_that_is_run_is_the_whole_string() -> None:
    script = "bash -c 'torchrun train.py'"
    assert placed(script, "train.py") == "'torchrun train.py'"


def test_folders_that_a_script_goes_into() -> None:
    assert [line.folders for line in lines("cd a/b\ntorchrun x.py\ncd $Y\ntorchrun z.py")] == [("a/b",), ("a/b",)]
