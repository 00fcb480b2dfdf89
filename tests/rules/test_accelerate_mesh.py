"""Parallel sizes in files of accelerate launch."""

from __future__ import annotations

import pytest
from linting import lint, marked

TEXT = """distributed_type: FSDP
num_processes: {processes}
fsdp_config:
  fsdp_version: {version}
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
parallelism_config:
{sizes}"""


def found(text: str, *target: str) -> list[tuple[str, str, str]]:
    """(severity, code, marked characters) of every finding."""
    diagnostics = lint(text, dialect="accelerate", target=target or ["accelerate==1.15.0", "torch==2.13.0"])
    return [(d.severity.word, d.code, marked(text, d)) for d in diagnostics]


PREFIX = "parallelism_config_"


def mesh(processes: int = 2, version: int = 2, **sizes: object) -> str:
    """A file with these parallel sizes, by their full names."""
    block = "".join(f"  {key}: {value}\n" for key, value in sizes.items())
    return TEXT.format(processes=processes, version=version, sizes=block)


def sizes(**short: object) -> dict[str, object]:
    return {f"{PREFIX}{name}": value for name, value in short.items()}


def test_parallel_sizes_that_fit() -> None:
    assert found(mesh(8, **sizes(dp_replicate_size=2, dp_shard_size=4))) == []
    assert found(mesh(4, **sizes(dp_shard_size=2, tp_size=2))) == []
    assert found(mesh(2, **sizes(cp_size=2))) == []


MESHES = [
    (mesh(2, **sizes(dp_shard_size=4)), "FSD107", "4"),
    (mesh(8, **sizes(dp_shard_size=2)), "FSD107", "2"),
    (mesh(4, **sizes(cp_size=2, sp_size=2)), "FSD107", "2"),
    (mesh(4, **sizes(dp_replicate_size=2, tp_size=2)), "FSD107", "2"),
    (mesh(2, **sizes(tp_size=2)), "FSD107", "2"),
    (mesh(2, **sizes(dp_replicate_size=2)), "FSD107", "2"),
    (mesh(2, **sizes(cp_size="'2'")), "FSD005", "'2'"),
    (mesh(2, **sizes(dp_shard_size=0)), "FSD004", "0"),
    (mesh(2, **sizes(dp_shard_size="null")), "FSD004", "null"),
    (mesh(2, **sizes(cp_size=2, cp_comm_strategy="ring")), "FSD004", "ring"),
    (mesh(2, version=1, **sizes(dp_shard_size=2)), "ACC003", "parallelism_config"),
]


@pytest.mark.parametrize(("text", "code", "mark"), MESHES, ids=[f"{n}: {row[1]}" for n, row in enumerate(MESHES)])
def test_parallel_sizes_that_do_not(text: str, code: str, mark: str) -> None:
    assert found(text) == [("error", code, mark)]


def test_context_and_sequence_parallelism_before_1_13() -> None:
    text = mesh(4, **sizes(cp_size=2, sp_size=2))
    assert found(text, "accelerate==1.12.0", "torch==2.13.0") == []


def test_parallel_sizes_without_prefix() -> None:
    assert found(mesh(2, dp_shard_size=2)) == [("warning", "ACC002", "dp_shard_size")]
    assert found(mesh(8, dp_shard_size=4)) == [("error", "ACC002", "dp_shard_size")]
    assert found(mesh(4, dp_shard_size=2, tp_size=2)) == [("error", "ACC002", "dp_shard_size"), ("error", "ACC002", "tp_size")]
    assert found(mesh(2, tp_size=1)) == [("warning", "ACC002", "tp_size")]
    assert found(mesh(2, dp_shard=2)) == [("warning", "FSD003", "dp_shard")]
