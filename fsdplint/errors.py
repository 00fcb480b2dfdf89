"""The errors that end a run, each with its exit code.

FsdplintError (2)
├── UsageError     wrong options, unknown names
├── SettingsError  bad settings file
├── InputError     a path that cannot be read (the run goes on, the exit code is kept)
└── RuleCrash      a rule raised: a bug, never swallowed
"""

from __future__ import annotations


class FsdplintError(Exception):
    """Ends the run with ``exit_code`` and one line on stderr."""

    exit_code = 2


class UsageError(FsdplintError):
    """The command line asks for something that does not exist."""


class SettingsError(FsdplintError):
    """A settings file cannot be used."""


class InputError(FsdplintError):
    """An input cannot be read."""


class RuleCrash(FsdplintError):
    """A rule raised an exception; names the rule and the file."""
