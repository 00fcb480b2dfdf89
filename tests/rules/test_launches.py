"""Faults of launches whose files are each right."""

from __future__ import annotations

import pytest
from linting import lint, marked, told

BOTH = ("hf-trainer", "accelerate")
TRAIN = "output_dir: out\nper_device_train_batch_size: 8\nnum_train_epochs: 1\n"
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 2
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
"""
LINE = "accelerate launch --config_file file1.yaml train.py file0.yaml"
NEW = ("transformers==5.24.0", "accelerate==1.15.0")
OLD = ("transformers==4.57.6", "accelerate==1.11.0")


def codes(training: str, options: str = "", target: tuple[str, ...] = NEW) -> list[tuple[str, str, str | None]]:
    block = "".join(f"  {line}\n" for line in options.splitlines())
    return told(lint(TRAIN + training, ACCELERATE + block, dialects=BOTH, target=target, line=LINE))


class TestFsdpTwice:
    """HFT201."""

    @pytest.mark.parametrize(
        "options",
        [
            "fsdp_offload_params: true",
            "fsdp_activation_checkpointing: true",
            "fsdp_reshard_after_forward: false",
            "fsdp_state_dict_type: SHARDED_STATE_DICT",
            "fsdp_cpu_ram_efficient_loading: true",
        ],
    )
    def test_neither_file_runs(self, options: str) -> None:
        assert ("error", "HFT201", "fsdp") in codes("fsdp: true\n", options)

    def test_both_say_the_same(self) -> None:
        assert codes("fsdp: true\n", "fsdp_state_dict_type: FULL_STATE_DICT\nfsdp_offload_params: false") == []

    def test_in_one_file_only(self) -> None:
        assert codes("", "fsdp_offload_params: true\nfsdp_reshard_after_forward: false") == []
        assert codes("fsdp: false\n", "fsdp_offload_params: true") == []

    def test_version_of_the_training_file_wins(self) -> None:
        found = codes('fsdp: "full_shard auto_wrap"\nfsdp_config:\n  version: 1\n')
        assert ("error", "HFT201", "fsdp") in found
        assert ("error", "FSD103", "fsdp_config.fsdp_version") in found

    def test_place_and_message(self) -> None:
        text = TRAIN + "fsdp: true\n"
        found = [
            d for d in lint(text, ACCELERATE + "  fsdp_offload_params: true\n", dialects=BOTH, target=NEW, line=LINE) if d.code == "HFT201"
        ]
        assert [marked(text, d) for d in found] == ["true"]
        assert found[0].message == "FSDP is set up here and for the launcher: offload of the launcher's stays on"
        assert [related.key for related in found[0].related] == ["fsdp_config.fsdp_offload_params"]

    def test_under_transformers_4_the_accelerate_file_keeps_more(self) -> None:
        text = 'fsdp: "full_shard auto_wrap"\n'
        assert ("error", "HFT201", "fsdp") in codes(text, "fsdp_reshard_after_forward: false")
        assert ("error", "HFT201", "fsdp") not in codes(text, "fsdp_reshard_after_forward: false", OLD)


class TestDeepspeedTakesOver:
    """HFT202."""

    def test_fsdp_is_off(self) -> None:
        found = lint(TRAIN + "deepspeed: ds.json\n", ACCELERATE, dialects=BOTH, target=NEW, line=LINE)
        mine = [d for d in found if d.code == "HFT202"]
        assert told(mine) == [("error", "HFT202", "deepspeed")]
        assert [related.key for related in mine[0].related] == ["distributed_type"]
        assert "FSD101" not in {d.code for d in found}

    def test_deepspeed_in_both(self) -> None:
        zero = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 2\nnum_machines: 1\n"
        assert not [d for d in lint(TRAIN + "deepspeed: ds.json\n", zero, dialects=BOTH, target=NEW) if d.code in ("HFT202", "FSD101")]


class TestIdleFsdpConfig:
    """HFT203."""

    def test_is_not_read(self) -> None:
        assert ("warning", "HFT203", "fsdp_config") in codes("fsdp_config:\n  state_dict_type: FULL_STATE_DICT\n")

    def test_is_read_with_fsdp(self) -> None:
        assert "HFT203" not in {code for _, code, _ in codes("fsdp: true\nfsdp_config:\n  state_dict_type: FULL_STATE_DICT\n")}

    def test_says_nothing_alone(self) -> None:
        found = lint(TRAIN + "fsdp_config:\n  state_dict_type: FULL_STATE_DICT\n", dialect="hf-trainer", target=NEW)
        assert "HFT203" not in {d.code for d in found}


class TestWhatTheTrainerRefuses:
    """FSD701 and FSD802 over two files."""

    def test_checkpointing_twice(self) -> None:
        assert ("error", "FSD701", "gradient_checkpointing") in codes(
            "gradient_checkpointing: true\n", "fsdp_activation_checkpointing: true"
        )

    def test_checkpointing_by_trl_s_default(self) -> None:
        text = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\n"
        found = lint(text, ACCELERATE + "  fsdp_activation_checkpointing: true\n", dialects=("trl", "accelerate"))
        assert ("error", "FSD701", "fsdp_config.fsdp_activation_checkpointing") in told(found)

    @pytest.mark.parametrize("options", ["", "fsdp_state_dict_type: SHARDED_STATE_DICT"])
    def test_saving_only_the_model(self, options: str) -> None:
        assert ("error", "FSD802", "save_only_model") in codes("save_only_model: true\n", options)

    def test_saving_only_the_model_from_a_full_state_dict(self) -> None:
        assert codes("save_only_model: true\n", "fsdp_state_dict_type: FULL_STATE_DICT") == []
