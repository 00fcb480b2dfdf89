"""torchtitan's TOML: recognition, what its keys decide, and the claims of its option table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from linting import lint, marked, told
from titan_jobs import check, job, plan

from fsdplint import versions
from fsdplint.dialects import dialect, is_known, recognise
from fsdplint.document import parse
from fsdplint.plan import Precision, Sharding, StateDict, Wrap
from fsdplint.target import Versions

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = ["0.1.0", "0.2.0", "0.2.1", "0.2.2"]
REFUSES = RELEASES[1:]


def at(release: str) -> Versions:
    number = versions.release(release)
    assert number is not None
    return Versions({"torchtitan": number})


class TestRecognition:
    @pytest.mark.parametrize(
        "text",
        [
            job(),
            '[model]\nname = "llama"\n[training]\nbatch_size = 8\ndata_parallel_degree = -1\n[profiling]\nsave_traces_folder = "t"\n',
            '[model]\nflavor = "8B"\n[training]\nsteps = 1\n[optimizer]\nlr = 1.0\n',
            '[job]\ndump_folder = "o"\n[model]\nname = "m"\n[float8]\nenable_fsdp_float8_all_gather = true\n',
            '[model]\nname = "llama3"\n[parallelism]\ntensor_parallel_degree = 1\n[training]\nsteps = \n',
        ],
    )
    def test_is_torchtitan(self, text: str) -> None:
        assert (found := recognise(parse(text, "x.toml"))) is not None and found.name == "torchtitan"

    @pytest.mark.parametrize(
        "text",
        [
            '[project]\nname = "x"\nversion = "1"\n',
            '[model]\nname = "m"\n[training]\nsteps = 1\n[optimizer]\nlr = 1.0\n[metrics]\nlog_freq = 1\n',
            '[job]\ndump_folder = "o"\n[training]\nlocal_batch_size = 8\n[activation_checkpoint]\nmode = "full"\n',
            'model = "llama3"\n[training]\nlocal_batch_size = 8\n[parallelism]\ntensor_parallel_degree = 2\n',
            '[model]\nname = "m"\nflavor = "8B"\n[training]\nsteps = 1\n',
            "",
        ],
    )
    def test_is_not_torchtitan(self, text: str) -> None:
        document = parse(text, "x.toml")
        assert not document.roots or dialect("torchtitan").recognise(document) == 0

    def test_only_toml_counts(self) -> None:
        assert recognise(parse("model: {name: llama3, flavor: 8B}\ntraining: {steps: 1}\nparallelism: {}\n", "x.yaml")) is None


class TestPlan:
    def test_the_defaults_shard_over_all_ranks(self) -> None:
        found = plan(job())
        assert (found.fsdp.value, found.fsdp.place, found.fsdp.source) == (True, None, "default of torchtitan 0.2.2")
        assert (found.fsdp_version.value, found.sharding.value, found.dp_shard.value) == (2, Sharding.FULL_SHARD, -1)
        assert (found.wrap_policy.value, found.state_dict.value) == (Wrap.TRANSFORMER, StateDict.SHARDED)
        assert (found.precision.value, found.offload.value, found.compile.value) == (Precision.BF16, False, False)

    @pytest.mark.parametrize(
        ("degrees", "on"),
        [
            ("data_parallel_shard_degree = 4", True),
            ("data_parallel_shard_degree = 1", False),
            ("data_parallel_shard_degree = 1\ncontext_parallel_degree = 2", True),
            ("data_parallel_shard_degree = 1\nexpert_parallel_degree = 2", None),
            ("data_parallel_shard_degree = 0", None),
            ('data_parallel_shard_degree = "${SHARDS}"', None),
        ],
    )
    def test_what_switches_fsdp_on(self, degrees: str, on: bool | None) -> None:
        assert plan(job(("parallelism", degrees))).fsdp.value is on

    def test_the_place_of_the_switch(self) -> None:
        found = plan(job(("parallelism", "data_parallel_shard_degree = 1\ncontext_parallel_degree = 2")))
        assert found.fsdp.place is not None and found.fsdp.place.path == ("parallelism", "context_parallel_degree")

    @pytest.mark.parametrize(
        ("lines", "sharding"),
        [
            ('fsdp_reshard_after_forward = "always"', Sharding.FULL_SHARD),
            ('fsdp_reshard_after_forward = "never"', Sharding.SHARD_GRAD_OP),
            ('fsdp_reshard_after_forward = "default"', Sharding.FULL_SHARD),
            ('fsdp_reshard_after_forward = "default"\npipeline_parallel_degree = 2', Sharding.SHARD_GRAD_OP),
            ("pipeline_parallel_degree = 2", Sharding.SHARD_GRAD_OP),
            ('fsdp_reshard_after_forward = "always"\npipeline_parallel_degree = 2', Sharding.FULL_SHARD),
            ("data_parallel_replicate_degree = 2", Sharding.HYBRID_SHARD),
            ('data_parallel_replicate_degree = 2\nfsdp_reshard_after_forward = "never"', Sharding.HYBRID_SHARD_ZERO2),
            ('fsdp_reshard_after_forward = "yes"', None),
            ("data_parallel_shard_degree = 1", None),
        ],
    )
    def test_sharding(self, lines: str, sharding: Sharding | None) -> None:
        assert plan(job(("parallelism", lines))).sharding.value is sharding

    @pytest.mark.parametrize(("word", "precision"), [("float32", Precision.NONE), ("float16", Precision.FP16), ("bf16", None)])
    def test_precision(self, word: str, precision: Precision | None) -> None:
        assert plan(job(("training", f'mixed_precision_param = "{word}"'))).precision.value is precision

    @pytest.mark.parametrize(("mode", "on"), [("full", True), ("none", False)])
    def test_activation_checkpointing(self, mode: str, on: bool) -> None:
        assert plan(job().replace('"full"', f'"{mode}"')).activation_checkpointing.value is on

    def test_compile_stands_elsewhere_in_each_generation(self) -> None:
        old, new = job(("training", "compile = true")), job(("compile", "enable = true"))
        assert (plan(old, "0.1.0").compile.value, plan(new, "0.1.0").compile.value) == (True, False)
        assert (plan(old, "0.2.0").compile.value, plan(new, "0.2.0").compile.value) == (False, True)

    def test_a_release_without_toml_decides_nothing(self) -> None:
        assert all(fact.is_silent for _, fact in plan(job(("parallelism", "tensor_parallel_degree = 2")), "0.3.0"))


class TestLifetimes:
    """FSD401, FSD403, FSD404: a key that the release does not know; 0.1.0 drops it, later releases stop."""

    @pytest.mark.parametrize(
        ("section", "line", "code", "help"),
        [
            ("checkpoint", "enable_checkpoint = true", "FSD404", "write `enable`"),
            ("training", "compile = false", "FSD404", "write `compile.enable`"),
            ("lr_scheduler", "lr_min = 0.1", "FSD404", "write `min_lr_factor`"),
            ("float8", 'filter_fqns = ["output"]', "FSD404", "write `quantize.linear.float8.filter_fqns`"),
            ("job", "use_for_integration_test = true", "FSD403", "remove the key"),
            ("parallelism", "pipeline_parallel_split_points = []", "FSD403", "`parallelism.module_fqns_per_model_part`"),
        ],
    )
    def test_keys_of_0_1_0(self, section: str, line: str, code: str, help: str) -> None:
        text, key = job((section, line)), line.split(" ")[0]
        assert check(text, "0.1.0") == []
        for release in REFUSES:
            (found,) = check(text, release)
            assert told([found]) == [("error", code, f"{section}.{key}")]
            assert (marked(text, found), help in str(found.help)) == (key, True)

    @pytest.mark.parametrize("line", ["seed = 42", "deterministic = true"])
    def test_keys_that_left_after_0_2_0(self, line: str) -> None:
        text, key = job(("training", line)), line.split(" ")[0]
        assert check(text, "0.1.0") == check(text, "0.2.0") == []
        assert told(check(text, "0.2.1")) == told(check(text)) == [("error", "FSD404", f"training.{key}")]

    @pytest.mark.parametrize(
        ("section", "line", "since"),
        [
            ("compile", "enable = true", "0.2.0"),
            ("checkpoint", "enable = true", "0.2.0"),
            ("model", 'hf_assets_path = "assets"', "0.2.0"),
            ("debug", "seed = 42", "0.2.1"),
            ("training.dataloader", "num_workers = 2", "0.2.1"),
            ("lr_scheduler", "total_steps = 20", "0.2.2"),
        ],
    )
    def test_keys_that_came_later(self, section: str, line: str, since: str) -> None:
        text, key = job((section, line)), f"{section}.{line.split(' ')[0]}"
        assert told(check(text, "0.1.0")) == [("warning", "FSD401", key)]
        for release in REFUSES:
            assert told(check(text, release)) == ([] if at(release).has(f"torchtitan>={since}") else [("error", "FSD401", key)])

    def test_an_older_release_has_a_name_for_it(self) -> None:
        assert check(job(("debug", "seed = 42")), "0.2.0")[0].help == "before 0.2.1 it is `training.seed`"

    @pytest.mark.parametrize(("release", "told_as"), [("0.1.0", ("warning", "FSD401")), ("0.2.0", ("error", "FSD404"))])
    def test_keys_that_only_snapshots_knew(self, release: str, told_as: tuple[str, str]) -> None:
        assert told(check(job(("validation", "enabled = true")), release)) == [(*told_as, "validation.enabled")]

    @pytest.mark.parametrize(("release", "severity"), [("0.1.0", "warning"), ("0.2.0", "error"), ("0.2.2", "error")])
    def test_keys_of_older_repositories(self, release: str, severity: str) -> None:
        text = job(("training", "tensor_parallel_degree = 1"), ("experimental", "pipeline_parallel_degree = 1"))
        keys = ["training.tensor_parallel_degree", "experimental.pipeline_parallel_degree"]
        assert told(check(text, release)) == [(severity, "FSD404", key) for key in keys]

    def test_sections_speak_through_their_keys(self) -> None:
        assert told(check(job(("quantize.dense.float8", "emulate = true")))) == [("error", "FSD404", "quantize.dense.float8.emulate")]

    @pytest.mark.parametrize(("section", "release"), [("float8", "0.2.0"), ("debug", "0.2.0"), ("mx", "0.2.2")])
    def test_empty_sections_speak_for_themselves(self, section: str, release: str) -> None:
        text = job((section, ""))
        (found,) = check(text, release)
        assert (found.severity.word, found.key, marked(text, found)) == ("error", section, section)

    def test_fault_tolerance_comes_back_with_its_module(self) -> None:
        text = job(("fault_tolerance", "sync_steps = 5"))
        (found,) = check(text)
        assert told([found]) == [("error", "FSD403", "fault_tolerance.sync_steps")]
        assert "torchtitan.components.ft.config" in str(found.help)
        assert check(job(("fault_tolerance", "sync_steps = 5"), ("job", 'custom_config_module = "torchtitan.components.ft.config"'))) == []

    @pytest.mark.parametrize("path", ["./assets/tokenizer", "./tokenizer.model"])
    def test_tokenizer_path_is_going(self, path: str) -> None:
        text = job(("model", f'tokenizer_path = "{path}"'))
        assert check(text, "0.1.0") == []
        (found,) = check(text)
        assert told([found]) == [("warning", "FSD404", "model.tokenizer_path")]
        assert "`hf_assets_path`" in found.message

    def test_assets_are_a_folder(self) -> None:
        text = job(("model", 'hf_assets_path = "./assets/tokenizer.model"'))
        assert told(check(text)) == [("warning", "FSD004", "model.hf_assets_path")]
        assert check(job(("model", 'hf_assets_path = "./assets/hf/Llama-3.1-8B"'))) == []

    def test_custom_args_module_is_read_too_late(self) -> None:
        text = job(("experimental", 'custom_args_module = "my.config"'))
        assert check(text, "0.1.0") == []
        assert told(check(text)) == [("warning", "FSD404", "experimental.custom_args_module")]
        assert check(job(("experimental", 'custom_args_module = ""'))) == []


class TestUnknownKeys:
    """FSD003 and FSD006."""

    @pytest.mark.parametrize(("release", "severity"), [("0.1.0", "warning"), ("0.2.0", "error"), ("0.2.1", "error"), ("0.2.2", "error")])
    def test_an_unknown_key(self, release: str, severity: str) -> None:
        text = job(("parallelism", "tensor_parallel_degre = 2"))
        (found,) = check(text, release)
        assert told([found]) == [(severity, "FSD003", "parallelism.tensor_parallel_degre")]
        assert (marked(text, found), found.help) == ("tensor_parallel_degre", "did you mean `tensor_parallel_degree`?")

    def test_a_key_in_the_wrong_section(self) -> None:
        (found,) = check(job(("parallelism", "enable_cpu_offload = true")))
        assert told([found]) == [("error", "FSD006", "parallelism.enable_cpu_offload")]
        assert found.help == "write it as `training.enable_cpu_offload`"

    @pytest.mark.parametrize(("section", "severity"), [("optimiser", "error"), ("my_data", "warning")])
    def test_a_section_may_come_with_a_module_of_the_command_line(self, section: str, severity: str) -> None:
        assert told(check(job((section, "x = 1")))) == [(severity, "FSD003", section)]

    def test_a_key_above_all_sections(self) -> None:
        assert told(check("verbose = true\n" + job())) == [("error", "FSD003", "verbose")]

    def test_a_module_brings_keys_and_sections(self) -> None:
        named = ("job", 'custom_config_module = "my.config"')
        assert check(job(named, ("training", "img_size = 256"), ("my_data", "x = 1"))) == []
        assert told(check(job(named, ("training", "local_batch_siz = 8")))) == [("warning", "FSD003", "training.local_batch_siz")]
        assert told(check(job(named, ("training", "seed = 1")))) == [("warning", "FSD404", "training.seed")]

    def test_the_module_has_another_key_in_0_1_0(self) -> None:
        assert check(job(("experimental", 'custom_args_module = "my.config"'), ("my_data", "x = 1")), "0.1.0") == []
        keys = [key for _, _, key in told(check(job(("job", 'custom_config_module = "my.config"'), ("my_data", "x = 1")), "0.1.0"))]
        assert keys == ["job.custom_config_module", "my_data"]


class TestGenerations:
    """FSD408."""

    OLD = job(
        ("job", "print_args = true"),
        ("training", "batch_size = 8\ncompile = false\nsome_old_switch = 1"),
        ("checkpoint", "enable_checkpoint = false"),
        ("model", 'tokenizer_path = "t"\nconverters = "float8"'),
    )

    def test_an_old_file_is_told_once(self) -> None:
        (found,) = check(self.OLD, None)
        assert told([found]) == [("warning", "FSD408", "job.print_args")]
        assert found.message.startswith("written for torchtitan<0.1.0 (`print_args`, ")
        assert "`batch_size` is now `local_batch_size`" in str(found.help)
        keys = {related.key for related in found.related}
        assert keys == {
            "training.batch_size",
            "training.compile",
            "training.some_old_switch",
            "checkpoint.enable_checkpoint",
            "model.tokenizer_path",
        }

    def test_a_declared_release_makes_it_an_error(self) -> None:
        assert told(check(self.OLD)) == [("error", "FSD408", "job.print_args"), ("error", "FSD004", "model.converters")]

    def test_0_1_0_drops_what_is_older_still(self) -> None:
        old = job(("training", "batch_size = 8\nwarmup_steps = 2"), ("model", 'norm_type = "rmsnorm"'), ("metrics", "rank_0_only = true"))
        assert told(check(old, "0.1.0")) == [("warning", "FSD408", "model.norm_type")]

    def test_a_few_old_keys_speak_for_themselves_once_a_release_is_declared(self) -> None:
        text = job(("training", "seed = 1"))
        assert told(check(text, None)) == [("warning", "FSD408", "training.seed")]
        assert told(check(text)) == [("error", "FSD404", "training.seed")]

    def test_a_misspelt_key_of_an_old_file_is_told_apart(self) -> None:
        text = job(("training", "seed = 1\nlocal_batch_siz = 8"))
        assert told(check(text, None)) == [("warning", "FSD408", "training.seed"), ("error", "FSD003", "training.local_batch_siz")]

    @pytest.mark.parametrize(
        "text", [job(), OLD, job(("training", 'seq_len = "x"\nnope = 1'), ("parallelism", "tensor_parallel_degree = 0"))]
    )
    def test_0_3_0_reads_no_toml(self, text: str) -> None:
        (found,) = check(text, "0.3.0", gpus=3)
        assert told([found]) == [("error", "FSD408", None)]
        assert "torchtitan<=0.2.2" in str(found.help)

    def test_an_interval_that_ends_beyond_toml(self) -> None:
        found = lint(job(), dialect="torchtitan", path="job.toml", target=("torchtitan>=0.2.1",))
        assert told(found) == [("warning", "FSD408", None)]
        assert found[0].message.endswith("(only with torchtitan 0.3.0)")

    def test_the_newest_release_that_reads_toml_is_assumed(self) -> None:
        assert check(job(("compile", "enable = true"), ("debug", "seed = 1")), None) == []


class TestLoader:
    """FSD001 and FSD002 in TOML."""

    def test_the_same_key_twice(self) -> None:
        text = job(("training", "steps = 10\nsteps = 20"))
        (found,) = check(text)
        assert told([found]) == [("error", "FSD002", "training.steps")]
        assert (found.range.start.offset, marked(text, found)) == (text.rindex("steps"), "steps")
        assert [related.range.start.offset for related in found.related] == [text.index("steps")]

    def test_the_same_section_twice(self) -> None:
        (found,) = check(job() + "[training]\nseq_len = 2048\n")
        assert told([found]) == [("error", "FSD002", "training")]

    def test_new_syntax(self) -> None:
        (found,) = check(job(("training", "dataloader = {num_workers = 1,}")))
        assert (found.severity.word, found.code) == ("error", "FSD001")
        assert "tomllib of Python 3.11" in found.message

    def test_broken_syntax(self) -> None:
        assert [(d.severity.word, d.code) for d in check(job(("metrics", "log_freq = ")))] == [("error", "FSD001")]


class TestFacts:
    """Against the rows of the shared facts and files."""

    def test_the_table_knows_the_keys_of_each_release(self, shared: Path) -> None:
        keys = json.loads((shared / "facts/torchtitan/keys_by_release.json").read_text())
        options = dialect("torchtitan").table.options.values()
        for release in RELEASES:
            leaves = {".".join(o.path) for o in options if "properties" not in o.schema and is_known(o, at(release))}
            assert leaves == set(keys[release])

    def test_every_key_is_in_the_table(self, shared: Path) -> None:
        rows = [json.loads(line) for line in (shared / "facts/torchtitan/keys.jsonl").read_text().splitlines()]
        options = {".".join(path) for path in dialect("torchtitan").table.options}
        assert [row["key"] for row in rows if " " not in row["key"] and row["key"] not in options] == []

    def test_every_corpus_file_is_recognised(self, shared: Path) -> None:
        files = sorted((shared / "corpus/files/torchtitan").iterdir())
        found = {path.name: recognise(parse(path.read_bytes(), path.name)) for path in files}
        assert [name for name, of in found.items() if of is None or of.name != "torchtitan"] == []

    def test_successors_are_known_where_they_succeed(self) -> None:
        table = dialect("torchtitan").table
        for option in table.options.values():
            renamed = option.schema.get("x-renamed")
            if renamed:
                to = tuple(renamed["to"].split("."))
                successor = table.options[to if len(to) > 1 else (*option.path[:-1], *to)]
                assert [r for r in RELEASES if at(r).has(renamed["when"]) and not is_known(successor, at(r))] == [], option.path
