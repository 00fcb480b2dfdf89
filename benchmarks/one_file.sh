#!/usr/bin/env bash
# What a check of one clean file costs, as processor time (user + system) beside the floor (bare.py) and a peer.
#
#   benchmarks/one_file.sh [FILE]      needs hyperfine; takes fsdplint, python and check-jsonschema from PATH
#
# Ratios are what counts: the times themselves are those of the machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Compiled modules must be kept, as every installed program has them.
unset PYTHONDONTWRITEBYTECODE

file=${1:-$work/accelerate.yaml}
if [ $# -eq 0 ]; then
    cat >"$file" <<'YAML'
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
machine_rank: 0
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
YAML
fi
fsdplint schema accelerate >"$work/schema.json"
printf 'services:\n  web:\n    image: nginx\n' >"$work/other.yaml"

names=(nothing bare fsdplint fsdplint-other check-jsonschema)
hyperfine --shell=none --warmup 5 --min-runs "${RUNS:-40}" --style none --export-json "$work/result.json" --ignore-failure \
    "python -c pass" \
    "python $here/bare.py $file" \
    "fsdplint check $file" \
    "fsdplint check $work/other.yaml" \
    "check-jsonschema --schemafile $work/schema.json $file" >/dev/null

python - "$work/result.json" "${names[@]}" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))["results"]
rows = {name: (1000 * (one["user"] + one["system"]), 1000 * one["median"]) for name, one in zip(sys.argv[2:], results)}
floor = rows["bare"][0]
print(f"{'':18}{'CPU ms':>8}{'/ bare':>8}{'wall ms':>9}")
for name, (cpu, wall) in rows.items():
    print(f"{name:18}{cpu:8.1f}{cpu / floor:8.2f}{wall:9.1f}")
PYTHON
