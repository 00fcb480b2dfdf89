"""The smoke test: a short real FSDP run that proves what a launch's files say, or shows that they do not hold.

``SmokePlan`` is what a run is told, ``Report`` what it found; ``fsdplint.smoke.run.smoke`` runs one, and
``fsdplint.smoke.worker`` (the only part that imports torch) is what every rank executes.
"""

from __future__ import annotations

from fsdplint.smoke.outcome import Report, State, Verdict
from fsdplint.smoke.plan import STAGES, ConfigPath, Setting, SmokePlan, Unexercised

__all__ = ["STAGES", "ConfigPath", "Report", "Setting", "SmokePlan", "State", "Unexercised", "Verdict"]
