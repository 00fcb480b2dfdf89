#!/usr/bin/env bash
# How long a smoke test takes beside two hand-written torchrun scripts that start the same ranks (steps, checkpoint), run in turn.
# usage: benchmarks/smoke_ratio.sh [RUNS]     PYTHON=... names an interpreter with torch, accelerate and fsdplint's dependencies
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
runs=${1:-5}
limit=${LIMIT:-1.5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$PWD:$PWD/rules OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=
cat >"$work/fsdp.yaml" <<'YAML'
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_offload_params: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
YAML

by_hand() {
  for part in steps checkpoint; do
    "$python" -m torch.distributed.run --standalone --local-addr 127.0.0.1 --nproc-per-node 2 benchmarks/smoke_by_hand.py $part >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  done
}

smoke() {
  "$python" -c 'from fsdplint.smoke.command import smoke_command; smoke_command()' "$work/fsdp.yaml" --on cpu >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

seconds() { # seconds FUNCTION
  local start end
  start=$(date +%s.%N)
  "$1"
  end=$(date +%s.%N)
  echo "$end - $start" | bc
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

by_hand # warms the disk
smoke
for ((run = 1; run <= runs; run++)); do
  seconds by_hand >>"$work/hand"
  seconds smoke >>"$work/smoke"
  printf 'run %d: by hand %6.2f s, smoke %6.2f s\n' "$run" "$(tail -1 "$work/hand")" "$(tail -1 "$work/smoke")"
done
hand=$(median "$work/hand")
test=$(median "$work/smoke")
awk -v a="$hand" -v b="$test" -v limit="$limit" 'BEGIN {
  printf "median: by hand %.2f s, smoke %.2f s, ratio %.2f (limit %s)\n", a, b, b / a, limit
  exit b / a > limit
}'
