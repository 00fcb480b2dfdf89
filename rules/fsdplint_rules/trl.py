"""Faults that only this framework has."""

from __future__ import annotations

from fsdplint.rule import Rule

RULES: tuple[Rule, ...] = ()
