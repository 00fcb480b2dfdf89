"""The generated pages are what the rules say now."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_rule_pages_are_current() -> None:
    generator = runpy.run_path(str(ROOT / "tools" / "rule_pages.py"))
    wanted = generator["pages"]()
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "rules").glob("*.md")}
    assert written == wanted, "run `python tools/rule_pages.py`"
