"""NeMo 1.x: the plan that is read, and the claims of the option table (read in nemo-toolkit 1.23.0)."""

from __future__ import annotations

import pytest
from lightning_files import faults
from linting import read

from fsdplint.plan import Precision, Sharding


class TestNemo:
    HEAD = "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nexp_manager: {}\nmodel:\n  tensor_model_parallel_size: 2\n"

    def text(self, *lines: str) -> str:
        return self.HEAD + "  fsdp: true\n" + "".join(f"  {line}\n" for line in lines)

    def test_plan(self) -> None:
        plan = read(self.text("fsdp_sharding_strategy: grad"))
        assert (plan.fsdp.value, plan.sharding.value, plan.processes.value) == (True, Sharding.SHARD_GRAD_OP, 16)
        assert plan.precision.value is Precision.BF16

    @pytest.mark.parametrize(
        ("line", "finding"),
        [
            ("fsdp_sharding_strategy: hybrid", ("error", "FSD004", "model.fsdp_sharding_strategy")),
            ("optim: {name: distributed_fused_adam}", ("error", "FSD705", "model.optim.name")),
            ("fsdp_sharded_checkpoint: true", ("error", "LIT007", "model.fsdp_sharded_checkpoint")),
            ("pipeline_model_parallel_size: 2", ("error", "LIT007", "model.pipeline_model_parallel_size")),
            ("fp8: true", ("error", "LIT007", "model.fp8")),
            ("megatron_amp_O2: true", ("warning", "LIT007", "model.megatron_amp_O2")),
            ("ub_tp_comm_overlap: true", ("warning", "LIT007", "model.ub_tp_comm_overlap")),
            ("fsdp_cpu_offload: true", ("error", "FSD605", "model.fsdp_cpu_offload")),
        ],
    )
    def test_faults(self, line: str, finding: tuple[str, str, str]) -> None:
        assert faults(self.text(line), "nemo-toolkit==1.23.0") == [finding]
        assert faults(self.text(line).replace("fsdp: true", "fsdp: false"), "nemo-toolkit==1.23.0") == []

    def test_good(self) -> None:
        assert faults(self.text("fsdp_sharding_strategy: full", "fsdp_cpu_offload: false", "fp8: false")) == []
