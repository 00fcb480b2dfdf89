"""Values in another spelling, and what they are mended to."""

from __future__ import annotations

import pytest
from linting import lint

from fsdplint_rules.meanings import Meaning, meant

ACCELERATE = "compute_environment: LOCAL_MACHINE\nnum_processes: 2\n"
AXOLOTL = "base_model: a/b\ndatasets: [{path: a/b, type: alpaca}]\nmicro_batch_size: 1\nfsdp_version: 2\n"


@pytest.mark.parametrize(
    ("schema", "value", "raw", "expected"),
    [
        ({"enum": ["NO", "FSDP", "MULTI_GPU"]}, "fsdp", "", Meaning("FSDP", True)),
        ({"enum": ["NO", "FSDP", "MULTI_GPU"]}, "multi-gpu", "", Meaning("MULTI_GPU", True)),
        ({"enum": ["FULL_STATE_DICT", "SHARDED_STATE_DICT", None]}, "SHARDED", "", Meaning("SHARDED_STATE_DICT", False)),
        ({"enum": ["BACKWARD_PRE", "BACKWARD_POST"]}, "backward", "", None),
        ({"enum": ["BACKWARD_PRE", "BACKWARD_POST"]}, "BACKWARD_PRI", "", Meaning("BACKWARD_PRE", False)),
        ({"type": "string", "pattern": "^full_shard( auto_wrap)?$"}, "FULL_SHARD,AUTO_WRAP", "", Meaning("full_shard auto_wrap", True)),
        ({"type": "string", "pattern": "^(?!.*\\.yaml$)"}, "ds.yaml", "", None),
        ({"enum": [1, 2]}, 2.0, "2.0", Meaning(2, True)),
        ({"enum": [1, 2]}, 2.5, "2.5", None),
        ({"type": "string"}, 0, "00", Meaning("00", True)),
        ({"type": ["string", "integer"], "minimum": 1}, 0, "0", None),
        ({"anyOf": [{"type": "string"}]}, 0, "0", None),
        ({"type": "string"}, True, "true", None),
        ({"type": "string"}, ["a"], "", None),
    ],
)
def test_meanings(schema: dict[str, object], value: object, raw: str, expected: Meaning | None) -> None:
    assert meant(schema, value, raw) == expected


@pytest.mark.parametrize(
    ("text", "dialect", "code", "applicability", "mended"),
    [
        (ACCELERATE + "distributed_type: Fsdp  # all\n", "accelerate", "FSD004", "safe", "distributed_type: FSDP  # all\n"),
        (ACCELERATE + "distributed_type: MULTI_GPU\ngpu_ids: 0\n", "accelerate", "FSD004", "safe", "gpu_ids: '0'\n"),
        (ACCELERATE + "distributed_type: MULTI_GPU\ngpu_ids: [0, 1]\n", "accelerate", "FSD004", "safe", "gpu_ids: '0,1'\n"),
        (ACCELERATE + "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2.0\n", "accelerate", "FSD004", "safe", "fsdp_version: 2\n"),
        (
            AXOLOTL + "fsdp_config:\n  transformer_layer_cls_to_wrap: [A, B]\n",
            "axolotl",
            "FSD004",
            "safe",
            "transformer_layer_cls_to_wrap: 'A,B'\n",
        ),
        (AXOLOTL + "fsdp_config:\n  state_dict_type: FULL\n", "axolotl", "FSD004", "unsafe", "state_dict_type: FULL_STATE_DICT\n"),
        (
            "output_dir: o\nper_device_train_batch_size: 1\nfsdp: FULL_SHARD AUTO_WRAP\n",
            "hf-trainer",
            "FSD004",
            "safe",
            "fsdp: full_shard auto_wrap\n",
        ),
    ],
)
def test_another_spelling_is_mended(text: str, dialect: str, code: str, applicability: str, mended: str) -> None:
    (found,) = [d for d in lint(text, dialect=dialect) if d.code == code]
    assert found.fix is not None
    assert found.fix.applicability == applicability
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    assert text.endswith(mended)


def test_a_list_with_comments_is_left_to_its_author() -> None:
    text = AXOLOTL + "fsdp_config:\n  transformer_layer_cls_to_wrap:\n    - A  # one\n    - B\n"
    (found,) = [d for d in lint(text, dialect="axolotl") if d.code == "FSD004"]
    assert found.fix is None
    assert found.help is not None
    assert "a comment would be lost" in found.help
