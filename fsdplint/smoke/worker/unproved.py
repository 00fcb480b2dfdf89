"""What ends a stage without a fault of the config."""

from __future__ import annotations


class Unproved(Exception):
    """What is planned cannot be tried here: nothing is wrong with the config, and nothing is proved."""
