"""Presets and migrations written into configs: from what is wished for to texts that are proved to state it."""

from __future__ import annotations

from .aim import PRESETS, Aim
from .requests import Rewritten, rewrite

__all__ = ["PRESETS", "Aim", "Rewritten", "rewrite"]
