"""The floor: what any command line pays that is made with click and parses one YAML file with libyaml."""

from __future__ import annotations

import click
import yaml


@click.command()
@click.argument("path")
def main(path: str) -> None:
    """Parse a file and do nothing with it."""
    with open(path, "rb") as file:
        for _ in yaml.parse(file, Loader=yaml.CSafeLoader):
            pass


main()
