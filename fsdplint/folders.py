"""Folders in which what belongs to a file is looked for, and files as they are shown."""

# Paths are text here: normalised by name alone.

from __future__ import annotations

import os


def folders_above(start: str, here: str | None = None) -> list[str]:
    """A folder and those above it, nearest first: up to the root of its repository, else up to the current folder, else it alone.

    ``here``: what counts as the current folder.
    """
    line = [start]
    while (above := os.path.dirname(line[-1])) != line[-1]:
        line.append(above)
    root = next((folder for folder in line if os.path.exists(os.path.join(folder, ".git"))), here or os.getcwd())
    return line[: line.index(root) + 1] if root in line else [start]


def shown(path: str) -> str:
    """A file below the current folder as seen from there, else its whole path."""
    location, here = os.path.abspath(path), os.path.join(os.getcwd(), "")
    return location.removeprefix(here).replace(os.path.sep, "/")
