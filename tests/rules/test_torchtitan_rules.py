"""torchtitan's faults: bad jobs with the place that is told, good ones that stay silent."""

from __future__ import annotations

import pytest
from linting import lint, marked, told
from titan_jobs import check, job

SELECTIVE = ("activation_checkpoint", 'selective_ac_option = "op"')


def hints(text: str, release: str = "0.2.2", gpus: int | None = None) -> list[tuple[str, str, str | None]]:
    return told(lint(text, dialect="torchtitan", path="job.toml", target=(f"torchtitan=={release}",), gpus=gpus))


def parallel(*lines: str) -> tuple[str, str]:
    return ("parallelism", "\n".join(lines))


def converters(*names: str) -> tuple[str, str]:
    return ("model", "converters = [" + ", ".join(f'"{name}"' for name in names) + "]")


class TestMesh:
    """FSD106, FSD107: degrees and the number of ranks."""

    @pytest.mark.parametrize(
        ("lines", "key"),
        [
            (["data_parallel_shard_degree = 4", "tensor_parallel_degree = 4"], "data_parallel_shard_degree"),
            (["data_parallel_shard_degree = 1"], "data_parallel_shard_degree"),
            (["data_parallel_shard_degree = 2", "pipeline_parallel_degree = 2"], "data_parallel_shard_degree"),
            (["tensor_parallel_degree = 16"], "tensor_parallel_degree"),
            (["data_parallel_replicate_degree = 3"], "data_parallel_replicate_degree"),
            (["data_parallel_shard_degree = -1", "pipeline_parallel_degree = 3"], "pipeline_parallel_degree"),
        ],
    )
    @pytest.mark.parametrize("release", ["0.1.0", "0.2.2"])
    def test_a_product_that_is_not_the_world_size(self, release: str, lines: list[str], key: str) -> None:
        found = [d for d in check(job(parallel(*lines)), release, gpus=8) if d.code == "FSD107"]
        assert told(found) == [("error", "FSD107", f"parallelism.{key}")]
        assert "FSD107" not in [d.code for d in check(job(parallel(*lines)), release)]

    @pytest.mark.parametrize(
        "lines",
        [
            ["data_parallel_shard_degree = 8"],
            ["data_parallel_replicate_degree = 2", "tensor_parallel_degree = 2", "pipeline_parallel_degree = 2"],
            ["data_parallel_shard_degree = 2", "context_parallel_degree = 2", "tensor_parallel_degree = 2"],
            ["data_parallel_shard_degree = 1", "data_parallel_replicate_degree = 8"],
            ['tensor_parallel_degree = "${TP}"'],
            ["expert_parallel_degree = 2"],
        ],
    )
    def test_a_product_that_is(self, lines: list[str]) -> None:
        assert check(job(parallel(*lines)), gpus=8) == []

    def test_a_degree_out_of_range_is_told_alone(self) -> None:
        assert told(check(job(parallel("tensor_parallel_degree = 0")), gpus=8)) == [
            ("error", "FSD004", "parallelism.tensor_parallel_degree")
        ]

    @pytest.mark.parametrize("other", ["tensor", "pipeline"])
    def test_replicas_alone_go_with_nothing(self, other: str) -> None:
        text = job(parallel("data_parallel_shard_degree = 1", "data_parallel_replicate_degree = 2", f"{other}_parallel_degree = 2"))
        (found,) = check(text)
        assert told([found]) == [("error", "FSD107", f"parallelism.{other}_parallel_degree")]
        assert "RuntimeError" in found.message

    def test_replicas_of_shards_go_with_all(self) -> None:
        assert check(job(parallel("data_parallel_replicate_degree = 2", "tensor_parallel_degree = 2"))) == []
        lines = ["data_parallel_shard_degree = 1", "data_parallel_replicate_degree = 2", "context_parallel_degree = 2"]
        assert check(job(parallel(*lines, "tensor_parallel_degree = 2"))) == []

    def test_one_rank_shards_nothing(self) -> None:
        text = job(parallel("data_parallel_shard_degree = -1"))
        assert hints(text, gpus=1) == [("info", "FSD106", "parallelism.data_parallel_shard_degree")]
        assert hints(text, gpus=2) == []
        assert hints(job(parallel("data_parallel_shard_degree = 1")), gpus=1) == []


class TestFsdpOptionsWithoutFsdp:
    """FSD102."""

    OFF = parallel("data_parallel_shard_degree = 1")

    @pytest.mark.parametrize("release", ["0.1.0", "0.2.2"])
    def test_offload(self, release: str) -> None:
        text = job(self.OFF, ("training", "enable_cpu_offload = true"))
        (found,) = check(text, release)
        assert told([found]) == [("error", "FSD102", "training.enable_cpu_offload")]
        assert (marked(text, found), found.related[0].key) == ("true", "parallelism.data_parallel_shard_degree")

    @pytest.mark.parametrize("word", ["always", "never"])
    def test_resharding(self, word: str) -> None:
        text = job(self.OFF, parallel(f'fsdp_reshard_after_forward = "{word}"'))
        assert told(check(text)) == [("warning", "FSD102", "parallelism.fsdp_reshard_after_forward")]

    @pytest.mark.parametrize(
        "sections",
        [
            [OFF, parallel('fsdp_reshard_after_forward = "default"')],
            [OFF, parallel("context_parallel_degree = 2", 'fsdp_reshard_after_forward = "never"')],
            [OFF, parallel("expert_parallel_degree = 2", "tensor_parallel_degree = 2"), ("training", "enable_cpu_offload = true")],
            [OFF, ("training", "enable_cpu_offload = false")],
            [parallel('fsdp_reshard_after_forward = "never"'), ("training", "enable_cpu_offload = true")],
        ],
    )
    def test_silent(self, sections: list[tuple[str, str]]) -> None:
        assert check(job(*sections)) == []


class TestExperts:
    """TTN101, TTN102, TTN004."""

    @pytest.mark.parametrize(("inside", "wrong"), [(1, False), (4, False), (2, True), (8, True)])
    def test_tensor_degree_inside_experts(self, inside: int, wrong: bool) -> None:
        text = job(parallel("tensor_parallel_degree = 4", "expert_parallel_degree = 4", f"expert_tensor_parallel_degree = {inside}"))
        expected = [("error", "TTN101", "parallelism.expert_tensor_parallel_degree")] if wrong else []
        assert told(check(text, "0.2.0")) == told(check(text)) == expected

    def test_without_experts_it_does_not_matter(self) -> None:
        assert check(job(parallel("tensor_parallel_degree = 4", "expert_tensor_parallel_degree = 2"))) == []

    @pytest.mark.parametrize(
        ("lines", "wrong_in"),
        [
            (["data_parallel_shard_degree = 8", "expert_parallel_degree = 3"], {"0.2.0", "0.2.1", "0.2.2"}),
            (["data_parallel_shard_degree = 8", "expert_parallel_degree = 4"], set()),
            (["data_parallel_shard_degree = 4", "tensor_parallel_degree = 2", "expert_parallel_degree = 8"], set()),
            (["data_parallel_shard_degree = 4", "tensor_parallel_degree = 2", "expert_parallel_degree = 16"], {"0.2.0", "0.2.1", "0.2.2"}),
            (["data_parallel_shard_degree = 2", "context_parallel_degree = 4", "expert_parallel_degree = 2"], {"0.2.0"}),
            (["context_parallel_degree = 4", "expert_parallel_degree = 2"], {"0.2.0"}),
            (["expert_parallel_degree = 3"], set()),
        ],
    )
    def test_experts_borrow_ranks(self, lines: list[str], wrong_in: set[str]) -> None:
        text = job(parallel(*lines))
        assert {release for release in ("0.2.0", "0.2.1", "0.2.2") if check(text, release)} == wrong_in
        assert {(d.code, d.key) for d in check(text, "0.2.0")} <= {("TTN102", "parallelism.expert_parallel_degree")}

    def test_the_number_of_ranks_settles_a_shard_degree_of_minus_one(self) -> None:
        assert told(check(job(parallel("expert_parallel_degree = 3")), gpus=8)) == [
            ("error", "TTN102", "parallelism.expert_parallel_degree")
        ]

    @pytest.mark.parametrize(
        ("lines", "wrong"),
        [
            ([], True),
            (["expert_parallel_degree = 2"], False),
            (["expert_parallel_degree = 2", "tensor_parallel_degree = 2", "expert_tensor_parallel_degree = 2"], True),
        ],
    )
    def test_deepep(self, lines: list[str], wrong: bool) -> None:
        text = job(parallel('expert_parallel_comm_backend = "deepep"', *lines)).replace('"llama3"', '"deepseek_v3"')
        assert told(check(text)) == ([("error", "TTN004", "parallelism.expert_parallel_comm_backend")] if wrong else [])


class TestSizes:
    """TTN103, TTN104, TTN105."""

    @pytest.mark.parametrize(
        ("length", "lines", "wrong"),
        [
            (2047, [], True),
            (2048, [], False),
            (2050, ["tensor_parallel_degree = 2"], True),
            (2052, ["tensor_parallel_degree = 2"], False),
            (2052, ["tensor_parallel_degree = 2", "context_parallel_degree = 2"], True),
            (2056, ["tensor_parallel_degree = 2", "context_parallel_degree = 2"], False),
        ],
    )
    def test_sequence_length(self, length: int, lines: list[str], wrong: bool) -> None:
        text = job(("training", f"seq_len = {length}"), parallel(*lines))
        assert told(check(text)) == told(check(text, "0.2.0")) == ([("error", "TTN103", "training.seq_len")] if wrong else [])
        assert check(text, "0.1.0") == []

    def test_the_default_length_is_divided_too(self) -> None:
        assert told(check(job(parallel("tensor_parallel_degree = 3")))) == [("error", "TTN103", "parallelism.tensor_parallel_degree")]

    def test_flux_has_no_sequence(self) -> None:
        assert check(job(("training", "seq_len = 2047")).replace('"llama3"', '"flux"')) == []

    @pytest.mark.parametrize(("batch", "size", "degree", "wrong"), [(6, 4, 2, True), (8, 4, 2, False), (6, 4, 1, False), (8, 1, 4, False)])
    @pytest.mark.parametrize("release", ["0.1.0", "0.2.2"])
    def test_microbatches(self, release: str, batch: int, size: int, degree: int, wrong: bool) -> None:
        lines = [f"pipeline_parallel_degree = {degree}", f"pipeline_parallel_microbatch_size = {size}"]
        found = told(check(job(("training", f"local_batch_size = {batch}"), parallel(*lines)), release))
        assert found == ([("error", "TTN104", "parallelism.pipeline_parallel_microbatch_size")] if wrong else [])

    @pytest.mark.parametrize(
        ("whole", "lines", "gpus", "wrong"),
        [
            (100, [], None, True),
            (64, [], None, False),
            (24, ["data_parallel_shard_degree = 2"], None, True),
            (32, ["data_parallel_shard_degree = 2", "data_parallel_replicate_degree = 2"], None, False),
            (24, [], 2, True),
            (24, [], None, False),
            (-1, [], 8, False),
        ],
    )
    def test_global_batch(self, whole: int, lines: list[str], gpus: int | None, wrong: bool) -> None:
        text = job(("training", f"global_batch_size = {whole}\nlocal_batch_size = 8"), parallel(*lines))
        assert told(check(text, gpus=gpus)) == ([("error", "TTN105", "training.global_batch_size")] if wrong else [])


class TestCompile:
    """TTN001, TTN002."""

    TP = parallel("tensor_parallel_degree = 2", "enable_async_tensor_parallel = true")

    def test_asynchronous_tensor_parallelism(self) -> None:
        text = job(self.TP)
        (found,) = check(text)
        assert told([found]) == [("error", "TTN001", "parallelism.enable_async_tensor_parallel")]
        assert marked(text, found) == "true"
        assert told(check(text, "0.1.0")) == [("error", "TTN001", "parallelism.enable_async_tensor_parallel")]

    @pytest.mark.parametrize(
        ("section", "lines", "wrong"),
        [
            ("compile", "enable = true", False),
            ("compile", 'enable = true\ncomponents = ["model"]', False),
            ("compile", 'enable = true\ncomponents = ["loss"]', True),
            ("compile", "enable = false", True),
            ("compile", 'enable = "${COMPILE}"', False),
        ],
    )
    def test_what_compiles_the_model(self, section: str, lines: str, wrong: bool) -> None:
        assert ("TTN001" in [d.code for d in check(job(self.TP, (section, lines)))]) is wrong

    def test_compile_in_0_1_0(self) -> None:
        assert check(job(self.TP, ("training", "compile = true")), "0.1.0") == []

    def test_without_tensor_parallelism_nothing_happens(self) -> None:
        assert check(job(parallel("enable_async_tensor_parallel = true"))) == []

    def test_memory_budget(self) -> None:
        text = job().replace('"full"', '"memory_budget"')
        for release in ("0.2.0", "0.2.2"):
            assert told(check(text, release)) == [("error", "TTN002", "activation_checkpoint.mode")]
        assert check(job(("compile", "enable = true")).replace('"full"', '"memory_budget"')) == []


class TestEarlyStep:
    """TTN003."""

    EARLY = ("optimizer", "early_step_in_backward = true")

    @pytest.mark.parametrize("other", [parallel("pipeline_parallel_degree = 2"), ("fault_tolerance", "enable = true")])
    def test_wrong_everywhere(self, other: tuple[str, str]) -> None:
        text = job(self.EARLY, other)
        expected = [("error", "TTN003", "optimizer.early_step_in_backward")]
        assert told(check(text, "0.1.0")) == told(check(text)) == expected

    def test_experts(self) -> None:
        assert told(check(job(self.EARLY, parallel("expert_parallel_degree = 2")))) == [
            ("error", "TTN003", "optimizer.early_step_in_backward")
        ]

    def test_silent(self) -> None:
        assert check(job(self.EARLY, parallel("tensor_parallel_degree = 2"))) == []
        assert check(job(("optimizer", "early_step_in_backward = false"), parallel("pipeline_parallel_degree = 2"))) == []


class TestConverters:
    """TTN201 to TTN206."""

    @pytest.mark.parametrize(
        ("name", "release", "meant"),
        [
            ("float8", "0.2.0", "quantize.linear.float8"),
            ("mx", "0.2.2", "quantize.linear.mx"),
            ("quantize.linear.fp8", "0.2.2", "quantize.linear.float8"),
            ("quantize.dense.float8", "0.2.2", "quantize.linear.float8"),
            ("quantize.linear.float8", "0.1.0", "float8"),
        ],
    )
    def test_unregistered_names(self, name: str, release: str, meant: str) -> None:
        text = job(converters(name))
        (found,) = check(text, release)
        assert told([found]) == [("error", "TTN201", "model.converters[0]")]
        assert (marked(text, found), found.help) == (f'"{name}"', f"write `{meant}`")

    @pytest.mark.parametrize(
        ("name", "release"), [("float8", "0.1.0"), ("mx", "0.1.0"), ("quantize.grouped_mm.mx", "0.2.2"), ("my_lora", "0.2.2")]
    )
    def test_registered_names_and_own_ones(self, name: str, release: str) -> None:
        assert check(job(converters(name)), release) == []

    def test_two_ways_of_quantizing(self) -> None:
        assert told(check(job(converters("quantize.linear.float8", "quantize.grouped_mm.mx")))) == [("error", "TTN202", "model.converters")]
        assert check(job(converters("quantize.linear.mx", "quantize.grouped_mm.mx"))) == []

    @pytest.mark.parametrize(
        ("name", "release"), [("float8", "0.1.0"), ("quantize.linear.float8", "0.2.0"), ("quantize.linear.float8", "0.2.2")]
    )
    def test_recipe_with_all_gather(self, name: str, release: str) -> None:
        both = (name, 'recipe_name = "rowwise"\nenable_fsdp_float8_all_gather = true')
        assert told(check(job(converters(name), both), release)) == [("error", "TTN203", f"{name}.enable_fsdp_float8_all_gather")]
        assert check(job(both), release) == []
        assert check(job(converters(name), (name, 'recipe_name = "rowwise"')), release) == []

    def test_mx_compiled_with_tensor_parallelism(self) -> None:
        sections = [converters("quantize.linear.mx"), parallel("tensor_parallel_degree = 2"), ("compile", "enable = true")]
        assert told(check(job(*sections))) == [("error", "TTN204", "parallelism.tensor_parallel_degree")]
        for number in range(3):
            assert check(job(*sections[:number], *sections[number + 1 :])) == []

    @pytest.mark.parametrize("kind", ["pipeline", "context"])
    def test_float8_experts(self, kind: str) -> None:
        text = job(converters("quantize.grouped_mm.float8"), parallel(f"{kind}_parallel_degree = 2"))
        assert told(check(text)) == [("error", "TTN205", f"parallelism.{kind}_parallel_degree")]

    def test_an_idle_setting_is_a_hint(self) -> None:
        gather = ("quantize.linear.float8", "enable_fsdp_float8_all_gather = true")
        assert hints(job(gather)) == [("info", "TTN206", "quantize.linear.float8.enable_fsdp_float8_all_gather")]
        assert hints(job(gather, converters("quantize.linear.float8"))) == []
        assert hints(job(("float8", "enable_fsdp_float8_all_gather = true")), "0.1.0") == [
            ("info", "TTN206", "float8.enable_fsdp_float8_all_gather")
        ]


def test_no_rule_speaks_about_a_release_without_toml() -> None:
    text = job(parallel("tensor_parallel_degree = 3", "enable_async_tensor_parallel = true"), converters("mx"), SELECTIVE)
    assert told(check(text, "0.3.0", gpus=8)) == [("error", "FSD408", None)]
