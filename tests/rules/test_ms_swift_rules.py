"""ms-swift's faults: bad files with the place that is told, good ones that stay silent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from linting import lint, marked, told

import fsdplint

if TYPE_CHECKING:
    from pathlib import Path

BASE = "model: Qwen/Qwen2.5-0.5B\ntuner_type: full\ndataset:\n  - org/data#500\noutput_dir: ./out\n"
T58 = ("ms-swift==4.6.0", "transformers==5.8.0")
ACCELERATE = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "FSDP",
    "fsdp_config": {"fsdp_version": 2, "fsdp_state_dict_type": "FULL_STATE_DICT", "fsdp_offload_params": True},
}
DEEPSPEED = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}
FLASH = "attn_impl: flash_attn\n"


def with_json(lines: str, other: object, target: tuple[str, ...] = T58) -> list[tuple[str, str, str | None]]:
    return told(lint(BASE + lines, json.dumps(other), dialects=("ms-swift", "ms-swift"), target=target))


class TestEngines:
    def test_fsdp_with_deepspeed(self) -> None:
        found = lint(BASE + "fsdp: fsdp2\ndeepspeed: zero2\n", target=T58)
        assert told(found) == [("error", "FSD101", "deepspeed")]
        assert "FSDP2 is not compatible with DeepSpeed" in found[0].message

    @pytest.mark.parametrize(("unsloth", "severity"), [("2026.1.1", "error"), ("2026.10.9", "warning")])
    def test_unsloth(self, unsloth: str, severity: str) -> None:
        text = BASE + "tuner_backend: unsloth\nfsdp: fsdp2\n"
        assert told(lint(text, target=(*T58, f"unsloth=={unsloth}"))) == [(severity, "FSD301", "tuner_backend")]

    def test_unsloth_alone(self) -> None:
        assert lint(BASE + "tuner_backend: unsloth\n", target=(*T58, "unsloth==2026.1.1")) == []


class TestSaving:
    SHARDED = "{fsdp_config: {fsdp_version: 2, state_dict_type: SHARDED_STATE_DICT}}"

    @pytest.mark.parametrize(
        ("fsdp", "target", "code"),
        [
            ("fsdp2", "5.19.0", "FSD802"),
            ("fsdp2", "5.8.0", "FSD802"),
            (SHARDED, "5.19.0", "FSD802"),
            ("{fsdp_config: {fsdp_version: 2}}", "5.19.0", "SWF008"),
            ("{fsdp_config: {fsdp_version: 2}}", "5.8.0", "FSD802"),
            ("{fsdp_config: {fsdp_version: 2, fsdp_state_dict_type: FULL_STATE_DICT}}", "5.19.0", "SWF008"),
        ],
    )
    def test_sharded_weights(self, fsdp: str, target: str, code: str) -> None:
        text = BASE + f"fsdp: {fsdp}\nsave_only_model: true\n"
        found = [d for d in lint(text, target=["ms-swift==4.6.0", f"transformers=={target}"]) if d.severity.word == "error"]
        assert told(found) == [("error", code, "save_only_model")]

    def test_whole_weights(self) -> None:
        lines = "fsdp: {fsdp_config: {fsdp_version: 2, state_dict_type: FULL_STATE_DICT}}\nsave_only_model: true\n"
        assert lint(BASE + lines, target=["ms-swift==4.6.0"]) == []


class TestVersionSpelling:
    """SWF001."""

    def test_mapping(self) -> None:
        text = BASE + "fsdp: {fsdp: full_shard auto_wrap, fsdp_config: {version: 1}}\n"
        found = lint(text, target=T58)
        assert told(found) == [("error", "SWF001", "fsdp.fsdp_config.version")]
        assert marked(text, found[0]) == "version: 1"

    def test_text(self) -> None:
        assert told(lint(BASE + 'fsdp: \'{"fsdp_config": {"version": 1}}\'\n', target=T58)) == [("error", "SWF001", "fsdp")]

    def test_file(self) -> None:
        found = lint(BASE + "fsdp: v.json\n", json.dumps({"fsdp_config": {"version": 1}}), dialects=("ms-swift", "ms-swift"), target=T58)
        assert told(found) == [("error", "SWF001", "fsdp")]
        assert [(related.path, related.key) for related in found[0].related] == [("file1.yaml", "fsdp_config.version")]

    @pytest.mark.parametrize("options", ["fsdp_version: 1", "fsdp_version: 2", "version: 2", "fsdp_version: 2, version: 1"])
    def test_versions_that_agree(self, options: str) -> None:
        found = lint(BASE + f"fsdp: {{fsdp_config: {{{options}}}}}\n", target=["ms-swift==4.6.0", "transformers==5.8.0"])
        assert [d for d in found if d.code == "SWF001"] == []

    def test_no_version(self) -> None:
        text = BASE + "fsdp: {fsdp_config: {cpu_ram_efficient_loading: true}}\n"
        assert told(lint(text, target=T58)) == [("warning", "SWF001", "fsdp")]
        assert lint(text, target=["ms-swift==4.6.0", "transformers==5.12.1"]) == []


class TestForeignFiles:
    """SWF002."""

    def test_accelerate(self) -> None:
        assert with_json("fsdp: acc.json\n", ACCELERATE)[0] == ("warning", "SWF002", "fsdp")
        assert {severity for severity, _, _ in with_json("fsdp: acc.json\n", ACCELERATE)} == {"warning"}

    def test_accelerate_with_save_only_model(self) -> None:
        assert ("error", "FSD802", "save_only_model") in with_json("fsdp: acc.json\nsave_only_model: true\n", ACCELERATE)

    def test_deepspeed(self) -> None:
        assert with_json("fsdp: ds.json\n", DEEPSPEED) == [("error", "SWF002", "fsdp")]

    def test_options_at_the_wrong_level(self) -> None:
        assert ("warning", "SWF002", "fsdp") in with_json("fsdp: x.json\n", {"fsdp_version": 2})

    def test_its_own(self) -> None:
        assert with_json("fsdp: x.json\n", {"fsdp": "full_shard auto_wrap", "fsdp_config": {"fsdp_version": 2}}) == []

    def test_what_names_a_file_knows_best_how_it_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.yaml").write_text(BASE + "fsdp: acc.json\n")
        (tmp_path / "acc.json").write_text(json.dumps(ACCELERATE))
        monkeypatch.chdir(tmp_path)
        for paths in (["a.yaml"], ["a.yaml", "acc.json"], ["acc.json", "a.yaml"]):
            found = fsdplint.check_paths(paths, together=len(paths) > 1, isolated=True, target=T58)
            assert ("warning", "SWF002", "fsdp") in told(list(found)), paths
            assert all(d.dialect == "ms-swift" for d in found)


class TestGpus:
    """SWF003."""

    SWIFT = "swift sft file0.yaml"

    @pytest.mark.parametrize(
        ("line", "gpus", "refused"),
        [
            (f"CUDA_VISIBLE_DEVICES=0,1 {SWIFT}", None, True),
            (f"NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 {SWIFT}", None, False),
            (f"NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1,2,3 {SWIFT}", None, True),
            (SWIFT, 4, True),
            (SWIFT, 1, False),
            (SWIFT, None, False),
            ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 swift/cli/sft.py file0.yaml", None, False),
            (None, 4, False),
        ],
    )
    @pytest.mark.parametrize("engine", ["fsdp: fsdp2", "deepspeed: zero2"])
    def test_lines(self, engine: str, line: str | None, gpus: int | None, refused: bool) -> None:
        found = [d for d in lint(f"{BASE}{engine}\n", target=T58, line=line, gpus=gpus) if d.code == "SWF003"]
        assert told(found) == ([("error", "SWF003", engine.partition(":")[0])] if refused else [])

    def test_environment_in_the_file(self) -> None:
        text = BASE + "ENV: {CUDA_VISIBLE_DEVICES: '0,1,2,3', NPROC_PER_NODE: 2}\nfsdp: fsdp2\n"
        assert told(lint(text, target=T58)) == [("error", "SWF003", "fsdp")]
        assert lint(text.replace("NODE: 2", "NODE: 4"), target=T58) == []
        assert lint(text + "use_ray: true\n", target=T58) == []

    def test_without_an_engine(self) -> None:
        assert lint(BASE, target=T58, line=self.SWIFT, gpus=4) == []


class TestPaddingFree:
    """SWF004."""

    @pytest.mark.parametrize("key", ["packing", "padding_free"])
    @pytest.mark.parametrize("line", ["", "attn_impl: sdpa\n", "attn_impl: eager\n"])
    def test_refused(self, key: str, line: str) -> None:
        assert told(lint(f"{BASE}{key}: true\n{line}", target=T58)) == [("error", "SWF004", key)]

    @pytest.mark.parametrize("lines", [f"packing: true\n{FLASH}", "padding_free: true\nattn_impl: flash_attention_2\n", "packing: false\n"])
    def test_fine(self, lines: str) -> None:
        assert lint(BASE + lines, target=T58) == []

    def test_megatron_has_its_own_attention(self) -> None:
        assert lint(BASE + "packing: true\nmicro_batch_size: 1\nattention_backend: flash\n", target=T58) == []

    def test_caching_a_dataset_needs_no_attention(self) -> None:
        assert lint(BASE + "packing: true\nto_cached_dataset: true\n", target=T58) == []


class TestRollout:
    """SWF005."""

    @pytest.mark.parametrize("kind", ["grpo", "gkd"])
    def test_fsdp1(self, kind: str) -> None:
        text = BASE + f"rlhf_type: {kind}\nfsdp: {{fsdp_config: {{fsdp_version: 1}}}}\n"
        found = [d for d in lint(text, target=T58) if d.severity.word == "error"]
        assert told(found) == [("error", "SWF005", "fsdp.fsdp_config.fsdp_version")]

    def test_others(self) -> None:
        assert [d for d in lint(BASE + "rlhf_type: dpo\nfsdp: {fsdp_config: {fsdp_version: 1}}\n", target=T58) if d.code == "SWF005"] == []
        assert lint(BASE + "rlhf_type: grpo\nfsdp: fsdp2\n", target=T58) == []


class TestMegatronFsdp:
    """SWF006."""

    HEAD = BASE + "micro_batch_size: 1\nuse_megatron_fsdp: true\n"

    def test_optimizer(self) -> None:
        text = self.HEAD + "optimizer: muon\nENV: {CUDA_DEVICE_MAX_CONNECTIONS: 32}\n"
        assert told(lint(text)) == [("error", "SWF006", "optimizer")]
        assert lint(text.replace("muon", "sgd")) == []

    def test_connections(self) -> None:
        assert told(lint(self.HEAD + "ENV: {CUDA_DEVICE_MAX_CONNECTIONS: 1}\n")) == [("error", "SWF006", "ENV.CUDA_DEVICE_MAX_CONNECTIONS")]
        assert told(lint(self.HEAD)) == [("warning", "SWF006", "use_megatron_fsdp")]
        assert lint(self.HEAD, line="CUDA_DEVICE_MAX_CONNECTIONS=8 megatron sft file0.yaml") == []


class TestIdleOptions:
    """SWF007."""

    def test_beside_fsdp(self) -> None:
        assert told(lint(BASE + "fsdp: fsdp2\nfsdp_config: {reshard_after_forward: false}\n", target=T58)) == [
            ("warning", "SWF007", "fsdp_config")
        ]

    @pytest.mark.parametrize("lines", ["fsdp: fsdp2\nfsdp_config: {}\n", "fsdp: fsdp2\n"])
    def test_fine(self, lines: str) -> None:
        assert lint(BASE + lines, target=T58) == []


def test_a_path_that_is_not_there_is_a_hint_until_the_folder_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text(BASE + "fsdp: nope.json\n")
    monkeypatch.chdir(tmp_path)
    elsewhere = fsdplint.check_paths(["sub/a.yaml"], launch="swift sft a.yaml", isolated=True, target=T58)
    here = fsdplint.check_paths(["sub/a.yaml"], launch="swift sft sub/a.yaml", isolated=True, target=T58)
    assert told(list(elsewhere)) == [("info", "FSD007", "fsdp")]
    assert told(list(here)) == [("error", "FSD007", "fsdp")]
