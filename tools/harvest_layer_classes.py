"""Writes fsdplint/dialects/layer_classes.json: which layer classes the model families of transformers have.

    python tools/harvest_layer_classes.py

Run it with an interpreter that has transformers installed; the modules are parsed, not imported, and nothing is fetched.
A family is a folder of ``transformers/models``. ``layers`` are the classes that FSDP wraps by default (``_no_split_modules``
of the family's models), ``others`` its further classes that are called Layer or Block.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = Path(__file__).parents[1] / "fsdplint" / "dialects" / "layer_classes.json"

_LAYER = re.compile(r"(?:Layer|Block)$")
_ANYBODYS = re.compile(r"(?:Transformer|Encoder|Decoder|Residual|Attention|Self|Cross|Conv|Conv1d|Up|Down|Mid|Basic|Res)*(?:Layer|Block)")
"""Names that say nothing about a family."""


def models() -> Path:
    """The folder of the installed transformers that holds its families. Raises ModuleNotFoundError where there is none."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("no transformers here")
    return Path(spec.origin).parent / "models"


def harvest(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Every family that has layer classes, by the name of its folder."""
    found: dict[str, dict[str, list[str]]] = {}
    for family in sorted(path for path in folder.iterdir() if path.is_dir()):
        layers: dict[str, None] = {}
        others: dict[str, None] = {}
        for module in sorted(family.glob("modeling_*.py")):
            tree = ast.parse(module.read_text(encoding="utf-8"))
            layers.update(dict.fromkeys(_unsplit(tree)))
            others.update(dict.fromkeys(name for name in _names(tree) if _LAYER.search(name)))
        entry = {"layers": sorted(layers), "others": sorted(set(others) - set(layers))}
        entry = {word: [name for name in names if not _ANYBODYS.fullmatch(name)] for word, names in entry.items()}
        if any(entry.values()):
            found[family.name] = {word: names for word, names in entry.items() if names}
    return found


def _unsplit(tree: ast.Module) -> Iterator[str]:
    """The names of every ``_no_split_modules`` that is written out."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == "_no_split_modules" for target in targets):
            value = node.value  # type: ignore[attr-defined]
            for item in value.elts if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else []:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value


def _names(tree: ast.Module) -> Iterator[str]:
    """The classes that a module defines, and those that it takes from other families."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and node.level == 2 and "modeling_" in (node.module or ""):
            yield from (alias.name for alias in node.names)


def main() -> None:
    """Write the file anew."""
    families = harvest(models())
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in families.items()]
    text = "{\n" + f' "transformers": {json.dumps(version("transformers"))},\n "families": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    TARGET.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
