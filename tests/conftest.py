"""Fixtures that tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linting import SHARED

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shared() -> Path:
    """The folder of facts and cases; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    return SHARED
