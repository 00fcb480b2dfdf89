"""What every rank of a smoke test runs; the only part of fsdplint that imports torch, accelerate and transformers.

``python -m fsdplint.smoke.worker plan.json`` starts under any launcher that sets torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK,
MASTER_ADDR, MASTER_PORT). The launcher decides how many ranks there are and where.
"""

from __future__ import annotations
