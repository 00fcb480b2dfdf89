"""The floor: what any command line pays that is made with click and parses one YAML file with libyaml."""

from __future__ import annotations

from pathlib import Path

import click
import yaml


@click.command()
@click.argument("path")
def main(path: str) -> None:
    """Parse a file and do nothing with it."""
    for _ in yaml.parse(Path(path).read_bytes(), Loader=yaml.CSafeLoader):
        pass


main()
