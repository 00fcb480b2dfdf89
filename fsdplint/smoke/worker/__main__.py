"""``python -m fsdplint.smoke.worker plan.json [stage ...]``."""

from __future__ import annotations

import sys

from fsdplint.smoke.worker.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
