"""Shell scripts as inputs: the launches that their command lines describe."""

from __future__ import annotations

from .launches import Script, ScriptLaunch, launches

__all__ = ["Script", "ScriptLaunch", "launches"]
