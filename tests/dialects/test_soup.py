"""soup.yaml: recognition, what its keys decide, and the claims of its option tables."""

from __future__ import annotations

import pytest
from linting import lint, marked, read, told

from fsdplint.dialects import dialect, recognise
from fsdplint.document import parse
from fsdplint.plan import Sharding, Wrap

BASE = "base: some/model\ntask: sft\ndata:\n  train: data.jsonl\ntraining:\n  quantization: none\n"


def with_training(line: str) -> str:
    return BASE + f"  {line}\n"


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            BASE,
            "base: m\nbackend: mlx\ndata: {train: a.jsonl}\n",
            "base: m\ndata: {train: [a, b]}\n",
            "model: m\ntask: dpo\nbackend: transformers\nlora_r: 8\ndata: {path: a.jsonl, format: alpaca}\n",
        ],
    )
    def test_is_soup(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.yaml"))) is not None and found.name == "soup"

    @pytest.mark.parametrize(
        "text",
        [
            "base: m\ntraining: {}\n",
            "base: m\ndata: a.jsonl\n",
            "data: {train: a.jsonl}\ntask: sft\n",
            "base_model: m\ndatasets: []\n",
            "model: m\ntask: dpo\ndata: {path: a.jsonl}\n",
            "- base\n",
            "",
        ],
    )
    def test_is_not_soup(self, text: str) -> None:
        document = parse(text, "soup.yaml")
        assert not document.roots or dialect("soup").recognise(document) == 0

    def test_the_sections_tell_it_surely(self) -> None:
        soup = dialect("soup")
        assert soup.recognise(parse(BASE, "x.yaml")) > soup.recognise(parse("base: m\ndata: {train: a}\n", "x.yaml"))


class TestPlan:
    def test_keys(self) -> None:
        plan = read(with_training("use_fsdp2_compile: true"))
        assert (plan.model.value, plan.task.value, plan.fsdp2_compile.value) == ("some/model", "sft", True)
        assert plan.fsdp2_compile.place is not None and plan.fsdp2_compile.place.path == ("training", "use_fsdp2_compile")

    def test_nothing_in_the_file_is_fsdp(self) -> None:
        plan = read(BASE)
        assert plan.fsdp.is_silent and plan.deepspeed.is_silent

    @pytest.mark.parametrize(
        ("line", "family"),
        [
            ("quantization: hqq:4bit", "hqq"),
            ("quantization: none", None),
            ("quantization: 8bit", "8bit"),
            ("load_in_8bit: true", "8bit"),
            ("epochs: 1", "4bit"),
        ],
    )
    def test_quantization_by_family(self, line: str, family: str | None) -> None:
        assert read(f"base: m\ntask: sft\ndata: {{train: a}}\ntraining:\n  {line}\n").quantization.value == family

    @pytest.mark.parametrize(("line", "adapter"), [("lora: {r: 0}", None), ("lora: {r: 8}", "lora"), ("epochs: 1", "lora")])
    def test_adapter(self, line: str, adapter: str | None) -> None:
        assert read(with_training(line)).adapter.value == adapter

    def test_four_bits_make_a_qlora(self) -> None:
        assert read("base: m\ntask: sft\ndata: {train: a}\n").adapter.value == "qlora"

    @pytest.mark.parametrize("word", ["true", "yes", "'on'", "1"])
    def test_booleans_as_pydantic_reads_them(self, word: str) -> None:
        assert read(with_training(f"use_fsdp2_compile: {word}")).fsdp2_compile.value is True
        assert not lint(with_training(f"epochs: {word.replace('yes', 'true')}")) or word == "'on'"


class TestCommandLine:
    @pytest.mark.parametrize(
        ("preset", "sharding", "offload"),
        [
            ("full_shard", Sharding.FULL_SHARD, False),
            ("shard_grad", Sharding.SHARD_GRAD_OP, False),
            ("full_offload", Sharding.FULL_SHARD, True),
        ],
    )
    def test_presets(self, preset: str, sharding: Sharding, offload: bool) -> None:
        plan = read(BASE, line=f"soup train --config file0.yaml --fsdp {preset} --gpus 4")
        assert (plan.fsdp.value, plan.sharding.value, plan.offload.value) == (True, sharding, offload)
        assert (plan.wrap_policy.value, plan.processes.value) == (Wrap.TRANSFORMER, 4)
        assert plan.fsdp.place is not None and plan.fsdp.place.path == ("--fsdp",)

    def test_absence_is_proof(self) -> None:
        plan = read(BASE, line="soup train --config file0.yaml")
        assert (plan.fsdp.value, plan.deepspeed.value) == (False, False)

    def test_absence_proves_nothing_for_other_commands(self) -> None:
        assert read(BASE, line="make train CONFIG=file0.yaml").fsdp.is_silent

    @pytest.mark.parametrize(("transformers", "version"), [("4.57.6", 1), ("5.9.0", 1), ("5.10.4", 2), ("5.24.0", 2)])
    def test_transformers_decides_which_fsdp_is_built(self, transformers: str, version: int) -> None:
        plan = read(BASE, line="soup train --fsdp full_shard", target=(f"transformers=={transformers}",))
        assert plan.fsdp_version.value == version

    @pytest.mark.parametrize(("transformers", "lost"), [("4.57.6", False), ("5.4.0", True), ("5.9.0", True), ("5.24.0", False)])
    def test_shard_grad_is_lost_in_some_releases(self, transformers: str, lost: bool) -> None:
        line = "soup train --config file0.yaml --fsdp shard_grad"
        found = lint(BASE, line=line, target=(f"transformers=={transformers}",))
        assert (("error", "FSD105", "--fsdp") in told(found)) is lost

    def test_deepspeed(self) -> None:
        plan = read(BASE, line="soup train --deepspeed zero3")
        assert (plan.deepspeed.value, plan.deepspeed_config.value, plan.fsdp.value) == (True, "zero3", False)

    def test_machines(self) -> None:
        plan = read(BASE, line="soup train --gpus 4 --nodes 2 --master-addr 10.0.0.1")
        assert (plan.processes.value, plan.machines.value) == (8, 2)

    def test_auto_is_unknown(self) -> None:
        plan = read(BASE, line="soup train --gpus auto")
        assert plan.processes.unknown and plan.processes.value is None

    @pytest.mark.parametrize(
        ("flags", "key", "word"),
        [
            ("--fsdp offload", "--fsdp", "did you mean `full_offload`?"),
            ("--fsdp shard_grad_op", "--fsdp", "did you mean `shard_grad`?"),
            ("--fsdp FULL_SHARD", "--fsdp", "full_shard"),
            ("--deepspeed zero1", "--deepspeed", "zero2"),
            ("--deepspeed ds.yaml", "--deepspeed", "JSON"),
            ("--gpus x", "--gpus", "auto"),
        ],
    )
    def test_refused_values(self, flags: str, key: str, word: str) -> None:
        line = f"soup train --config file0.yaml {flags}"
        found = lint(BASE, line=line)
        assert told(found) == [("error", "FSD004", key)]
        assert marked(line, found[0]) == flags.split()[1]
        assert word in str(found[0].help)

    @pytest.mark.parametrize(
        "flags",
        [
            "--fsdp full_shard",
            "--fsdp=full_offload --gpus 2",
            "--deepspeed zero++",
            "--deepspeed cfg/ds.json",
            "--gpus auto",
            "-c file0.yaml --dry-run -y",
        ],
    )
    def test_accepted_values(self, flags: str) -> None:
        assert lint(BASE, line=f"soup train {flags}") == []

    def test_an_empty_preset_is_no_fsdp(self) -> None:
        found = lint(BASE, line='soup train --config file0.yaml --fsdp ""')
        assert told(found) == [("warning", "FSD004", "--fsdp")]

    @pytest.mark.parametrize(("soup", "code"), [("0.14.3", "FSD401"), ("0.15.0", None)])
    def test_flags_begin_with_a_release(self, soup: str, code: str | None) -> None:
        found = lint(BASE, line="soup train --fsdp full_shard", target=(f"soup-cli=={soup}", "transformers==5.24.0"))
        assert [d.code for d in found if d.path == "<launch>"] == ([code] if code else [])

    def test_unknown_flags(self) -> None:
        found = lint(BASE, line="soup train --config file0.yaml --fspd full_shard")
        assert told(found) == [("error", "FSD003", "--fspd")]
        assert found[0].help == "did you mean `--fsdp`?"


class TestKeys:
    @pytest.mark.parametrize("key", ["fsdp: full_shard", "fsdp_config: {}", "deepspeed: zero3"])
    @pytest.mark.parametrize(("soup", "severity"), [("0.77.0", "error"), ("0.75.0", "error"), ("0.74.0", "warning"), ("0.53.0", "warning")])
    def test_engines_have_no_keys(self, key: str, soup: str, severity: str) -> None:
        name = key.partition(":")[0]
        for text, place in ((f"{key}\n{BASE}", name), (with_training(key), f"training.{name}")):
            found = lint(text, target=(f"soup-cli=={soup}",))
            assert told(found) == [(severity, "FSD006", place)]
            assert marked(text, found[0]) == name
            assert "soup train --" in str(found[0].help)

    @pytest.mark.parametrize(("soup", "severity"), [("0.77.0", "error"), ("0.74.0", "warning"), ("0.73.0", "warning")])
    def test_unknown_keys(self, soup: str, severity: str) -> None:
        found = lint(with_training("gradient_checkpoint: true"), target=(f"soup-cli=={soup}",))
        assert told(found) == [(severity, "FSD003", "training.gradient_checkpoint")]
        assert found[0].help == "did you mean `gradient_checkpointing`?"

    def test_misplaced_keys(self) -> None:
        found = lint("max_grad_norm: 1.0\n" + BASE)
        assert told(found) == [("error", "FSD006", "max_grad_norm")]
        assert found[0].help == "write it as `training.max_grad_norm`"

    def test_lora_may_stand_at_the_root(self) -> None:
        assert lint(BASE + "lora: {r: 8}\n") == []
        assert told(lint(BASE + "lora: {r: 8}\n", target=("soup-cli==0.40.0",))) == [("warning", "FSD401", "lora")]

    @pytest.mark.parametrize(("soup", "code"), [("0.26.0", "FSD401"), ("0.27.0", "SOU007")])
    def test_keys_begin_with_a_release(self, soup: str, code: str) -> None:
        found = lint(
            with_training("use_fsdp2_compile: true"),
            line="soup train --fsdp full_shard",
            target=(f"soup-cli=={soup}", "transformers==5.24.0"),
        )
        assert code in {d.code for d in found if d.path != "<launch>"}


class TestValues:
    @pytest.mark.parametrize(
        "line",
        [
            "epochs: '3'",
            "epochs: 3.0",
            "lr: 2e-5",
            "lr: '1e-4'",
            "batch_size: auto",
            "batch_size: 4",
            "gradient_checkpointing: selective",
            "quantization_aware: fp8",
            "optimizer: ADAMW_TORCH",
        ],
    )
    def test_what_pydantic_reads(self, line: str) -> None:
        assert lint(with_training(line)) == []

    @pytest.mark.parametrize(
        "line",
        [
            "epochs: 3.5",
            "epochs: 1e3",
            "epochs: 0",
            "epochs:",
            "lr: abc",
            "lr: 0",
            "batch_size: big",
            "use_fsdp2_compile: maybe",
            "use_fsdp2_compile: 2",
            "parallelism: tensor",
            "pipeline_stages: 17",
            "warmup_ratio: 0.6",
            "gradient_checkpointing: some",
            "quantization_aware: true",
            "optimizer: adam_mini",
            "lora: null",
            "bnb_4bit_quant_storage: int8",
        ],
    )
    def test_what_it_refuses(self, line: str) -> None:
        found = [d for d in lint(with_training(line)) if d.severity.word == "error" and d.code in ("FSD004", "FSD005")]
        assert [d.key for d in found] == [f"training.{line.partition(':')[0]}"]

    @pytest.mark.parametrize(("soup", "refused"), [("0.37.0", True), ("0.38.0", False)])
    def test_words_begin_with_a_release(self, soup: str, refused: bool) -> None:
        found = lint("base: m\ntask: sft\ndata: {train: a}\ntraining:\n  quantization: gptq\n", target=(f"soup-cli=={soup}",))
        assert (("error", "FSD004", "training.quantization") in told(found)) is refused

    def test_backend(self) -> None:
        text = "backend: deepspeed\n" + BASE
        found = lint(text)
        assert told(found) == [("error", "FSD004", "backend")]
        assert marked(text, found[0]) == "deepspeed"

    def test_placeholders_are_not_judged(self) -> None:
        assert lint("backend: ${BACKEND}\n" + BASE) == []


def test_every_key_and_flag_of_the_facts_is_in_a_table(shared) -> None:
    """keys.jsonl names the keys that were gathered; each is an option of one of the two tables."""
    import json

    from fsdplint.dialects.launchers import SoupTrain

    tables = {".".join(path) for path in dialect("soup").table.options} | set(SoupTrain().table.schema["properties"])
    rows = [json.loads(line) for line in (shared / "facts/soup/keys.jsonl").read_text(encoding="utf-8").splitlines()]
    keys = {part for row in rows for part in row["key"].replace("training.packing/multipack", "training.packing").split("/")}
    assert keys - tables == set()
