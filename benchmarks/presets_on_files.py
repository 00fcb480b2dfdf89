"""Presets on a folder of real configs: what each comes to, counted without fsdplint's own edit layer.

    python benchmarks/presets_on_files.py FOLDER OUT [--target PACKAGE==VERSION ...]

Every recognised file below FOLDER is copied to OUT/<preset>/ and rewritten there; rows.jsonl has a line for each, and a table is printed.
What changed is judged by PyYAML's marks (TOML: by lines): a line outside the keys that differ, or a comment that is gone with none of them,
is counted. The copies are there for the real libraries to read.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import tomli
import yaml

from fsdplint.check import inputs_of
from fsdplint.grouping import groups
from fsdplint.linter import plans_of
from fsdplint.request import Request
from fsdplint.rewriting import PRESETS, Aim, rewrite
from fsdplint.session import Session

SUFFIXES = (".yaml", ".yml", ".json", ".toml")
SHOWN = ("fsdp", "fsdp_version", "sharding", "offload", "wrap_policy", "state_dict")


class Mark(NamedTuple):
    """What stands at a key path (a scalar's tag and text, or the kind of a collection), and its lines."""

    what: object
    first: int
    last: int


class Difference(NamedTuple):
    """``outside``: changed lines that belong to no changed key. ``lost``: comments that are gone, ``stray`` those of no changed key."""

    outside: list[str]
    comments: int
    lost: list[str]
    stray: list[str]


def marks(text: str) -> dict[tuple[object, ...], Mark]:
    """Every key path of a YAML or JSON text."""
    found: dict[tuple[object, ...], Mark] = {}

    def walk(node: yaml.Node, path: tuple[object, ...], start: int, seen: frozenset[int]) -> None:
        end = node.end_mark.index
        while end > start and text[end - 1] in " \t\r\n":
            end -= 1
        lines = text.count("\n", 0, start), text.count("\n", 0, end)
        is_tree = isinstance(node, yaml.CollectionNode) and node.value and id(node) not in seen
        found[path] = Mark(type(node).__name__ if is_tree else (node.tag, str(node.value)), *lines)
        if is_tree and isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                walk(value, (*path, str(key.value)), key.start_mark.index, seen | {id(node)})
        elif is_tree:
            for index, item in enumerate(node.value):
                walk(item, (*path, index), item.start_mark.index, seen | {id(node)})

    for number, root in enumerate(yaml.compose_all(text, Loader=yaml.SafeLoader)):
        if root is not None:
            walk(root, (number,), root.start_mark.index, frozenset())
    return found


def toml_marks(text: str) -> dict[tuple[object, ...], Mark]:
    """Every key path of a TOML text whose keys stand on lines of their own."""
    found: dict[tuple[object, ...], Mark] = {}
    values, table = tomli.loads(text), []
    for number, line in enumerate(text.splitlines()):
        word = line.strip()
        if word.startswith("["):
            table = word.partition("#")[0].strip().strip("[]").split(".")
        elif "=" in word and not word.startswith("#"):
            path = (*table, *(part.strip().strip('"') for part in word.partition("=")[0].split(".")))
            value: Any = values
            for part in path:
                value = value.get(part) if isinstance(value, dict) else None
            found[path] = Mark(repr(value), number, number)
        if word.startswith("["):
            found[tuple(table)] = Mark("table", number, number)
    return found


def comments(text: str, suffix: str) -> list[tuple[int, str]]:
    """Line and text of each comment: what begins with # between PyYAML's tokens."""
    if suffix == ".toml":
        return [(n, line[line.index("#") :].strip()) for n, line in enumerate(text.splitlines()) if "#" in line and '"#' not in line]
    found, last = [], 0
    ends = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text, Loader=yaml.SafeLoader)]
    for start, end in [*ends, (len(text), len(text))]:
        at = last
        for line in text[last:start].splitlines(keepends=True):
            if "#" in line:
                found.append((text.count("\n", 0, at), line[line.index("#") :].strip()))
            at += len(line)
        last = max(last, end)
    return found


def difference(old: str, new: str, suffix: str) -> Difference:
    """What a rewriting changed."""
    read = toml_marks if suffix == ".toml" else marks
    before, after = read(old), read(new)
    changed = {
        path for path in before.keys() | after.keys() if path not in before or path not in after or before[path].what != after[path].what
    }
    mine = [{n for path in changed if path in found for n in range(found[path].first, found[path].last + 1)} for found in (before, after)]
    lines = old.splitlines(), new.splitlines()
    outside: Counter[str] = Counter()
    for kind, *bounds in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        for side in (0, 1) if kind != "equal" else ():
            for number in range(*bounds[2 * side : 2 * side + 2]):
                if number not in mine[side] and lines[side][number].strip():
                    outside[lines[side][number].strip().rstrip(",")] += 1 - 2 * side
    here = comments(old, suffix)
    left = Counter(text for _, text in comments(new, suffix))
    lost = [(number, text) for number, text in here if left.subtract([text]) or left[text] < 0]
    attached = mine[0] | {number for number, _ in here if _runs_on(number, lines[0], mine[0])}
    stray = [text for number, text in lost if number not in attached]
    told = {line.strip() for line in (lines[0][number] for number, _ in lost)}
    return Difference([line for line, count in outside.items() if count and line not in told], len(here), [t for _, t in lost], stray)


def _runs_on(number: int, lines: list[str], changed: set[int]) -> bool:
    """Whether a comment of its own line goes on from the one behind a changed key."""
    while lines[number].lstrip().startswith("#"):
        number -= 1
    return number in changed and "#" in lines[number]


def stated(path: Path, targets: tuple[str, ...]) -> dict[str, object]:
    """The plan of a file."""
    session = Session(Request(paths=(str(path),), isolated=True, targets=targets))
    (group,) = groups(session.request, inputs_of(session), session.settings_of)
    job, _ = session.job(group)
    assert job is not None
    plan = plans_of(job.launch, job.target, job.target.points()[0])[0]
    return {name: getattr(plan.fact(name).value, "value", plan.fact(name).value) for name in SHOWN}


def rewritten(path: Path, preset: str, targets: tuple[str, ...]) -> dict[str, Any] | None:
    """What a preset makes of one file, which is written; None for a file that nobody recognises."""
    request, old = Request(paths=(str(path),), isolated=True, targets=targets), path.read_bytes()
    done = rewrite(request, Aim(preset))
    (file,) = done.fixed.outcome.report.files
    if file.dialect is None:
        return None
    if done.refusals:
        return {"dialect": file.dialect, "status": "refused", "reason": done.refusals[0][1]}
    new = path.read_bytes()
    again = rewrite(request, Aim(preset))
    found = again.fixed.outcome.report.diagnostics
    sharding, offload = PRESETS[preset]
    plan = stated(path, targets)
    judged = difference(old.decode("utf-8-sig"), new.decode("utf-8-sig"), path.suffix)
    return {
        "dialect": file.dialect,
        "status": "same" if new == old else "rewritten",
        "stable": path.read_bytes() == new and not again.refusals,
        "errors": [f"{d.code} {d.key}" for d in found if d.severity.word == "error"],
        "plan": plan,
        "as asked": (plan["fsdp"], plan["sharding"], plan["offload"]) == (True, sharding.value, offload),
        **judged._asdict(),
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--target", action="append", default=[])
    options = parser.parse_args()
    files = sorted(path for path in options.folder.rglob("*") if path.suffix in SUFFIXES)
    rows: list[dict[str, Any]] = []
    for preset in PRESETS:
        for file in files:
            copy = options.out / preset / file.relative_to(options.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
            row = rewritten(copy, preset, tuple(options.target))
            if row is None or row["status"] == "refused":
                copy.unlink()
            if row is not None:
                rows.append({"file": str(file.relative_to(options.folder)), "preset": preset, **row})
    (options.out / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report(rows)


def report(rows: list[dict[str, Any]]) -> None:
    """A line for each dialect and preset, and one for all."""
    print("dialect preset files refused accepted stable no-errors as-asked clean-outside comments kept stray")
    for dialect, preset in [*sorted({(row["dialect"], row["preset"]) for row in rows}), ("all", "all")]:
        mine = [row for row in rows if dialect == "all" or (row["dialect"], row["preset"]) == (dialect, preset)]
        done = [row for row in mine if row["status"] != "refused"]
        numbers = [len(mine), len(mine) - len(done), len(done), *(sum(test(row) for row in done) for test in _TESTS)]
        print(dialect, preset, *numbers)


_TESTS = (
    lambda row: row["stable"],
    lambda row: not row["errors"],
    lambda row: row["as asked"],
    lambda row: not row["outside"],
    lambda row: row["comments"],
    lambda row: row["comments"] - len(row["lost"]),
    lambda row: len(row["stray"]),
)


if __name__ == "__main__":
    main()
