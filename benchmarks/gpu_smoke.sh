#!/usr/bin/env bash
# Smoke tests on this machine's GPUs: the three presets with FSDP1 and FSDP2, bf16, offload, checkpoints, compile; one table at the end.
# usage: benchmarks/gpu_smoke.sh [FOLDER]      FOLDER keeps the reports (default: a temporary one, which is removed)
#   PYTHON   an interpreter with torch, accelerate, transformers and fsdplint's dependencies (default: python3)
#   ON       cuda (default; ROCm is cuda), xpu, or cpu to try the script itself
#   BUDGET   seconds for everything (default: 460); what does not fit is listed as not run
# Exit code: 0 all passed, 1 something failed or was not proved, 3 the budget ran out.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
on=${ON:-cuda}
budget=${BUDGET:-460}
work=${1:-}
if [[ -z $work ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
export PYTHONPATH=$PWD:$PWD/rules${PYTHONPATH:+:$PYTHONPATH}

config() { # config NAME FSDP-VERSION SHARDING OFFLOAD STATE-DICT COMPILE
  local sharding
  if [[ $2 == 2 ]]; then
    sharding="fsdp_reshard_after_forward: $([[ $3 == FULL_SHARD ]] && echo true || echo false)"
  else
    sharding="fsdp_sharding_strategy: $3"
  fi
  cat >"$work/$1.yaml" <<YAML
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
$([[ $6 == yes ]] && printf 'dynamo_config:\n  dynamo_backend: INDUCTOR\n')
fsdp_config:
  fsdp_version: $2
  $sharding
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_offload_params: $4
  fsdp_state_dict_type: $5
YAML
}

#       name                 version sharding    offload state dict          compile
cases=(
  "full_shard-fsdp2          2 FULL_SHARD    false SHARDED_STATE_DICT no"
  "full_shard-fsdp1          1 FULL_SHARD    false FULL_STATE_DICT    no"
  "shard_grad-fsdp2          2 SHARD_GRAD_OP false FULL_STATE_DICT    no"
  "shard_grad-fsdp1          1 SHARD_GRAD_OP false SHARDED_STATE_DICT no"
  "full_offload-fsdp2        2 FULL_SHARD    true  SHARDED_STATE_DICT no"
  "full_offload-fsdp1        1 FULL_SHARD    true  SHARDED_STATE_DICT no"
  "full_shard-fsdp2-compile  2 FULL_SHARD    false SHARDED_STATE_DICT yes"
  "full_shard-fsdp1-compile  1 FULL_SHARD    false SHARDED_STATE_DICT yes"
)

start=$SECONDS
for case in "${cases[@]}"; do
  read -r name version sharding offload state_dict compile <<<"$case"
  left=$((budget - (SECONDS - start)))
  if ((left < 20)); then
    echo "$name: no time left" >&2
    continue
  fi
  config "$name" "$version" "$sharding" "$offload" "$state_dict" "$compile"
  echo "$name ..." >&2
  "$python" -c 'from fsdplint.smoke.command import smoke_command; smoke_command()' "$work/$name.yaml" --on "$on" \
    --timeout "$((left < 150 ? left : 150))" --format json --output "$work/$name.json" || true
done

names=()
for case in "${cases[@]}"; do names+=("${case%% *}"); done
"$python" - "$work" "${names[@]}" <<'PY'
import json
import sys
from pathlib import Path

folder, names = Path(sys.argv[1]), sys.argv[2:]
rows, worst = [], 0
for name in names:
    path = folder / f"{name}.json"
    if not path.exists():
        rows.append((name, "not run", *[""] * 8))
        worst = max(worst, 3)
        continue
    report = json.loads(path.read_text())
    states = {stage["stage"]: stage for stage in report["stages"]}
    ranks = states["steps"]["facts"].get("ranks", [])
    step = f"{ranks[0]['step_seconds'] * 1000:.0f} ms" if ranks else ""
    tokens = f"{ranks[0]['tokens_per_second']:.0f}" if ranks else ""
    memory = f"{max(rank['peak_memory'] for rank in ranks) / 2**20:.0f} MiB" if ranks else ""
    marks = [states[stage]["state"] for stage in ("load", "wrap", "steps", "checkpoint", "compile")]
    rows.append((name, report["result"], *marks, step, tokens, memory))
    worst = max(worst, report["result"] != "passed")
    for stage in report["stages"]:
        if stage["state"] in ("failed", "not proved"):
            print(f"{name}: {stage['stage']}: {'; '.join(stage['reasons'])}", file=sys.stderr)
some = next((json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))), None)
if some:
    print(f"{some['processes']} ranks on {some['on']}; " + ", ".join(f"{n} {v}" for n, v in some["versions"].items()))
head = ("config", "result", "load", "wrap", "steps", "checkpoint", "compile", "step", "tokens/s", "memory")
print("| " + " | ".join(head) + " |")
print("|" + "---|" * len(head))
for row in rows:
    print("| " + " | ".join(row) + " |")
sys.exit(worst)
PY
