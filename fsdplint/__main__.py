"""The console script, and ``python -m fsdplint``."""

from __future__ import annotations

import gc

# A run makes many objects and no garbage to speak of: the collector would only cost time, some of it while modules load.
gc.set_threshold(100_000)

from fsdplint.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
