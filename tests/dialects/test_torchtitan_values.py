"""torchtitan's TOML: values. No release checks a type, so that most faults show late."""

from __future__ import annotations

import pytest
from linting import lint, marked, told
from titan_jobs import check, job

RELEASES = ["0.1.0", "0.2.0", "0.2.1", "0.2.2"]


class TestTypes:
    """FSD004: no release checks a type; what becomes of a wrong one."""

    @pytest.mark.parametrize(
        ("section", "line", "severity"),
        [
            ("training", 'enable_cpu_offload = "false"', "error"),
            ("compile", 'enable = "no"', "error"),
            ("parallelism", 'tensor_parallel_degree = "2"', "error"),
            ("parallelism", "tensor_parallel_degree = 2.0", "error"),
            ("parallelism", "data_parallel_shard_degree = 8.0", "error"),
            ("training", "seq_len = 2048.0", "error"),
            ("training", 'steps = "100"', "error"),
            ("training", 'max_norm = "1.0"', "error"),
            ("optimizer", 'lr = "3e-4"', "error"),
            ("lr_scheduler", 'decay_ratio = "0.1"', "error"),
            ("metrics", 'log_freq = "10"', "error"),
            ("comm", 'init_timeout_seconds = "300"', "error"),
            ("model", 'converters = "quantize.linear.float8"', "error"),
            ("debug", 'seed = "42"', "error"),
        ],
    )
    def test_a_wrong_type(self, section: str, line: str, severity: str) -> None:
        text, (key, _, value) = job((section, line)), line.partition(" = ")
        (found,) = check(text)
        assert told([found]) == [(severity, "FSD004", f"{section}.{key}")]
        assert marked(text, found) == value

    @pytest.mark.parametrize(
        ("section", "line"),
        [
            ("training", "enable_cpu_offload = true"),
            ("training", "steps = 1e4"),
            ("optimizer", "lr = 1"),
            ("training", "max_norm = 1"),
            ("compile", 'enable = true\ncomponents = "model"'),
            ("training", "enable_cpu_offload = 1"),
            ("parallelism", 'tensor_parallel_degree = "${TP}"'),
            ("job", "description = 5"),
        ],
    )
    def test_what_runs_all_the_same(self, section: str, line: str) -> None:
        assert check(job((section, line))) == []

    def test_a_quoted_true_is_a_hint(self) -> None:
        found = lint(job(("training", 'enable_cpu_offload = "true"')), dialect="torchtitan", path="job.toml", target=("torchtitan==0.2.2",))
        assert told(found) == [("info", "FSD004", "training.enable_cpu_offload")]

    def test_quotes_are_taken_off(self) -> None:
        assert check(job(("parallelism", 'tensor_parallel_degree = "2"')))[0].help == "write `2`"
        assert check(job(("training", 'enable_cpu_offload = "false"')))[0].help == "write `false` without quotes"

    @pytest.mark.parametrize("text", ["compile = true\n" + job(), 'checkpoint = "x"\n' + job()])
    def test_a_section_that_is_no_section(self, text: str) -> None:
        (found,) = check(text)
        assert (found.severity.word, found.code, found.key) == ("error", "FSD004", text.split(" ")[0])


class TestValues:
    """FSD004: words outside the allowed ones, numbers out of range."""

    @pytest.mark.parametrize(
        ("section", "line"),
        [
            ("parallelism", "fsdp_reshard_after_forward = true"),
            ("parallelism", 'fsdp_reshard_after_forward = "yes"'),
            ("training", 'mixed_precision_param = "bf16"'),
            ("training", 'mixed_precision_param = "float16"'),
            ("training", 'mixed_precision_reduce = "bf16"'),
            ("optimizer", 'name = "adamw"'),
            ("optimizer", 'implementation = "for_loop"'),
            ("lr_scheduler", 'decay_type = "cos"'),
            ("parallelism", "data_parallel_shard_degree = 0"),
            ("parallelism", "data_parallel_shard_degree = -2"),
            ("parallelism", "data_parallel_replicate_degree = -1"),
            ("parallelism", "tensor_parallel_degree = 0"),
            ("parallelism", "context_parallel_degree = 0"),
            ("parallelism", "pipeline_parallel_degree = -1"),
            ("training", "global_batch_size = 0"),
            ("training", "gc_freq = 0"),
        ],
    )
    @pytest.mark.parametrize("release", RELEASES)
    def test_refused_everywhere(self, release: str, section: str, line: str) -> None:
        text, (key, _, value) = job((section, line)), line.partition(" = ")
        (found,) = check(text, release)
        assert told([found]) == [("error", "FSD004", f"{section}.{key}")]
        assert marked(text, found) == value

    @pytest.mark.parametrize(
        ("section", "line", "release"),
        [
            ("training", 'dtype = "bf16"', "0.2.0"),
            ("training", 'dtype = "float16"', "0.2.2"),
            ("validation", "steps = 0", "0.2.0"),
            ("validation", "steps = -2", "0.2.1"),
            ("validation", 'steps = "10"', "0.2.2"),
            ("parallelism", "expert_parallel_degree = 0", "0.2.0"),
            ("parallelism", "expert_tensor_parallel_degree = 0", "0.2.2"),
            ("parallelism", 'context_parallel_load_balancer = ""', "0.2.2"),
        ],
    )
    def test_refused_by_releases_that_know_the_key(self, section: str, line: str, release: str) -> None:
        assert told(check(job((section, line)), release)) == [("error", "FSD004", f"{section}.{line.split(' ')[0]}")]

    def test_memory_budget_is_no_mode_of_0_1_0(self) -> None:
        text = job().replace('"full"', '"memory_budget"')
        assert told(check(text, "0.1.0")) == [("error", "FSD004", "activation_checkpoint.mode")]

    @pytest.mark.parametrize(("option", "fits"), [('"op"', True), ('"2"', True), ("2", False), ('"ops"', False), ("true", False)])
    @pytest.mark.parametrize("mode", ["selective", "full"])
    def test_selective_option(self, mode: str, option: str, fits: bool) -> None:
        text = job(("activation_checkpoint", f"selective_ac_option = {option}")).replace('"full"', f'"{mode}"')
        wrong = [("error", "FSD004", "activation_checkpoint.selective_ac_option")]
        assert told(check(text)) == told(check(text, "0.1.0")) == (wrong if mode == "selective" and not fits else [])

    @pytest.mark.parametrize(
        "line", ['export_dtype = "bf16"', 'async_mode = "on"', "keep_latest_k = 1", 'interval = "5"', 'exclude_from_loading = "lr"']
    )
    def test_checkpoint_values_count_once_checkpoints_are_on(self, line: str) -> None:
        wrong = [("error", "FSD004", f"checkpoint.{line.split(' ')[0]}")]
        assert told(check(job(("checkpoint", f"enable = true\n{line}")))) == wrong
        assert told(check(job(("checkpoint", f"enable_checkpoint = true\n{line}")), "0.1.0")) == wrong
        assert check(job(("checkpoint", line))) == check(job(("checkpoint", f"enable = false\n{line}"))) == []

    @pytest.mark.parametrize("line", ['async_mode = "Async"', "keep_latest_k = 0", "keep_latest_k = 2", "keep_latest_k = -1"])
    def test_good_checkpoint_values(self, line: str) -> None:
        assert check(job(("checkpoint", f"enable = true\n{line}"))) == []

    @pytest.mark.parametrize("line", ['mixed_precision_reduce = "bfloat16"', 'dtype = "bfloat16"', "global_batch_size = -1"])
    def test_good_training_values(self, line: str) -> None:
        assert check(job(("training", line))) == []

    def test_what_only_runs_with_context_parallelism(self) -> None:
        lines = 'context_parallel_rotate_method = "ring"\ncontext_parallel_load_balancer = "zigzag"'
        keys = ["parallelism.context_parallel_rotate_method", "parallelism.context_parallel_load_balancer"]
        assert check(job(("parallelism", lines))) == []
        assert told(check(job(("parallelism", f"{lines}\ncontext_parallel_degree = 2")))) == [("error", "FSD004", key) for key in keys]

    def test_an_unread_word_is_a_warning(self) -> None:
        assert told(check(job(("comm", 'mode = "fake"')))) == [("warning", "FSD004", "comm.mode")]
        assert told(check(job(("compile", 'enable = true\ncomponents = ["models"]')))) == [("warning", "FSD004", "compile.components")]
        assert check(job(("compile", 'enable = false\ncomponents = ["models"]'))) == []

    def test_a_module_may_bring_optimizers(self) -> None:
        lion = ("optimizer", 'name = "Lion"')
        assert told(check(job(lion))) == [("error", "FSD004", "optimizer.name")]
        assert check(job(lion, ("experimental", 'custom_import = "my.models"'))) == []

    @pytest.mark.parametrize(("name", "release"), [("quantize.linear.float8", "0.2.2"), ("float8", "0.1.0")])
    def test_float8_values_count_with_the_converter(self, name: str, release: str) -> None:
        section = (name, 'recipe_name = "rowise"\nfilter_fqns = "output"')
        wrong = [("error", "FSD004", f"{name}.{key}") for key in ("recipe_name", "filter_fqns")]
        assert check(job(section), release) == []
        assert told(check(job(section, ("model", f'converters = ["{name}"]')), release)) == wrong
