"""Which releases of the frameworks are known, and which versions a framework's release brings along.

The newest releases are here; older ones and their stacks lie in ``releases.json``, which is read when somebody asks
for them. "Known" means: that release was run or read, or lies beside a boundary at which behaviour changes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fsdplint.versions import canonical, clauses, exact, release, satisfies, trimmed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsdplint.versions import Release

NEWEST: dict[str, str] = {
    "torch": "2.13.0",
    "accelerate": "1.15.0",
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
    "bitsandbytes": "0.50.2",
    "deepspeed": "0.19.8",
    "axolotl": "0.19.0",
    "llamafactory": "0.9.6.dev0",
    "ms-swift": "4.6.0",
    "soup-cli": "0.77.0",
    "unsloth": "2026.10.9",
    "lightning": "2.6.6",
    "pytorch-lightning": "2.6.6",
    "torchtitan": "0.2.2",
    "torchtune": "0.6.1",
    "mosaicml": "0.32.1",
    "llm-foundry": "0.22.0",
    "litgpt": "0.5.13",
    "verl": "0.9.1",
    "nemo-automodel": "0.7.0",
    "nemo-toolkit": "1.23.0",
}
"""The release assumed of each package when nobody states one.

torchtitan 0.3.0 and nemo-toolkit 2.0.0 are known, too, but no longer read config files: a config file itself speaks for
the generation before.
"""

NEWEST_STACKS: dict[str, dict[str, str]] = {
    "axolotl": {
        "torch": "2.12.1",
        "transformers": "5.16.1",
        "accelerate": "1.13.0",
        "trl": "1.9.0",
        "peft": "0.20.0",
        "bitsandbytes": "0.50.2",
        "deepspeed": "0.18.9",
    },
    "llamafactory": {"transformers": "5.8.0", "accelerate": "1.11.0", "trl": "0.24.0", "peft": "0.20.0"},
    "ms-swift": {"transformers": "5.19.0", "trl": "0.29.1", "peft": "0.20.0"},
    "soup-cli": {"trl": "0.29.1"},
    "mosaicml": {"torch": "2.7.0"},
    "llm-foundry": {"mosaicml": "0.32.1", "torch": "2.7.0", "transformers": "4.51.3", "accelerate": "1.8.1"},
    "verl": {"transformers": "5.10.4"},
    "nemo-automodel": {"transformers": "5.18.0"},
}
"""What the newest releases ask for in their own metadata: the version they pin, else the newest one below their bound.

Packages that they leave open are missing. Of the torch releases that axolotl 0.19.0 admits (2.11.0 to 2.13.0) it is the
one that axolotl was run with.
"""


NEWEST_NEEDS: dict[str, dict[str, str]] = {"trl": {"transformers": "4.56.2", "accelerate": "1.10.1"}}
"""The oldest releases beside which the newest of a package can be installed, by its own metadata."""


@cache
def _table() -> dict[str, Any]:
    import json
    from pathlib import Path

    table: dict[str, Any] = json.loads(Path(__file__).with_name("releases.json").read_text(encoding="utf-8"))
    return table


@cache
def newest(package: str) -> Release | None:
    """The newest known release of a package that has a config to lint; None for a package that no table knows."""
    text = NEWEST.get(package)
    return release(text) if text else None


@cache
def known(package: str) -> tuple[Release, ...]:
    """All known releases of a package, oldest first; none for a package that no table knows."""
    return tuple(sorted({number for text in _table()["releases"].get(package, ()) if (number := release(text))}))


def stack(package: str, at: Release) -> Mapping[str, str]:
    """The versions that release ``at`` of a framework brings along, by package.

    Between two listed releases the lower one speaks; a release below all listed ones brings nothing.
    """
    top = newest(package)
    if top is None or package not in NEWEST_STACKS:
        return {}
    return NEWEST_STACKS[package] if at >= top else _older_stack(package, at)


@cache
def _older_stack(package: str, at: Release) -> Mapping[str, str]:
    found: Mapping[str, str] = {}
    for text, pins in _table()["stacks"].get(package, {}).items():
        number = release(text)
        if number is not None and number <= at:
            found = pins
    return found


def newest_beside(package: str, others: Mapping[str, Release]) -> Release | None:
    """The newest known release of a package that can be installed beside some releases of others, by its own metadata."""
    top = newest(package)
    if _is_at_home(NEWEST_NEEDS.get(package, {}), others):
        return top
    needs = [(release(text) or (), floors) for text, floors in _table()["needs"].get(package, {}).items()]
    for number in reversed(known(package)):
        floors: Mapping[str, str] = next((found for since, found in reversed(needs) if since <= number), {})
        if _is_at_home(floors, others):
            return number
    return top


def _is_at_home(floors: Mapping[str, str], others: Mapping[str, Release]) -> bool:
    return all(name not in others or others[name] >= (release(floor) or ()) for name, floor in floors.items())


@cache
def within(package: str, specifier: str) -> tuple[Release, ...]:
    """The releases to consider for a specifier that somebody stated, newest first.

    ``==`` names its release, known or not. Else the known releases inside; where none is, the bounds that the
    specifier itself includes (``torch>=9`` is 9.0); where it includes none, the newest known release below an open
    lower bound (``torch>9``), since what holds there most likely goes on. Empty where nothing of all that is to be had.
    """
    single = exact(specifier)
    if single is not None:
        return (single,)
    inside = [number for number in known(package) if satisfies(number, specifier)]
    if not inside:
        bounds = {trimmed(bound) for operator, bound, _ in clauses(specifier) if operator in (">=", "<=", "~=", "==")}
        inside = sorted(bound for bound in bounds if satisfies(bound, specifier))
    return tuple(reversed(inside or _below(package, specifier)))


@cache
def newest_within(package: str, specifier: str) -> Release | None:
    """The newest known release that a specifier admits, by the rules of ``within``."""
    top = newest(package)
    if top is not None and satisfies(top, specifier):
        return top
    inside = within(package, specifier)
    return inside[0] if inside else None


def _below(package: str, specifier: str) -> list[Release]:
    for operator, bound, _ in clauses(specifier):
        just_above = (*bound, *(0,) * (3 - len(bound)), 1)
        if operator == ">" and satisfies(just_above, specifier):
            return [number for number in known(package) if number <= bound][-1:]
    return []


def nearest_name(name: str) -> str | None:
    """The known package that a name was probably meant to be; None for a known name and where none comes near."""
    if canonical(name) in NEWEST:
        return None
    from difflib import get_close_matches

    return next(iter(get_close_matches(canonical(name), NEWEST, n=1, cutoff=0.75)), None)


ASK_SECONDS = 20
"""How long an interpreter may take to tell its versions."""

_ASK = """
import sys
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]
import importlib.metadata, json
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def installed(python: str) -> dict[str, str]:
    """The versions of the known packages that the interpreter ``python`` (a path) has installed.

    Runs it once. Raises ValueError, with one line that says why, where it does not answer.
    """
    import json
    import subprocess

    command = [python, "-c", _ASK, *NEWEST]
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
        found: dict[str, str] = json.loads(answer.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError(f"no answer within {ASK_SECONDS} seconds") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines() or [f"exit status {error.returncode}"]
        raise ValueError(said[-1]) from None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    except ValueError:
        raise ValueError("not a Python interpreter") from None
    return found
