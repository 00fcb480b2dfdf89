"""What the fixes of rules write: text before, text after, and whether a fix is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from linting import SHARED
from test_rule_pages import BAD, Example, path_of

from fsdplint.fixing import fix
from fsdplint.request import Request

if TYPE_CHECKING:
    from fsdplint.diagnostics import Diagnostic

ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n"
AXOLOTL = "base_model: org/model\ndatasets: [{path: org/data, type: alpaca}]\nmicro_batch_size: 1\n"
TITAN = '[job]\ndump_folder = "out"\n\n[model]\nname = "llama3"\nflavor = "debugmodel"\n\n'


def mended(text: str, *, unsafe: bool, path: str = "config.yaml", **options: Any) -> tuple[str, list[str], list[str]]:
    """The text after fixes, the codes of what was fixed, and of what is left."""
    options = {"targets" if name == "target" else name: value for name, value in options.items()}
    result = fix(Request(paths=("-",), stdin=text.encode(), stdin_filename=path, isolated=True, **options), unsafe=unsafe)
    report = result.outcome.report
    new = result.changes[0].new.decode() if result.changes else text
    return new, [d.code for d in report.fixed or ()], [d.code for d in report.diagnostics]


def accelerate(block: str, version: int = 1, top: str = "") -> str:
    lines = [f"fsdp_version: {version}", *(line for line in block.splitlines() if line)]
    return top + ACCELERATE + "".join(f"  {line}\n" for line in lines)


def titan(text: str) -> str:
    return TITAN + text


HF = "output_dir: out\nper_device_train_batch_size: 1\nfsdp: true\n"

SAFE = [
    pytest.param(
        "FSD005",
        HF + "learning_rate: 1e-5 # c\nnum_train_epochs: '3'\n",
        HF + "learning_rate: 1.0e-05 # c\nnum_train_epochs: 3\n",
        {},
        id="numbers that YAML reads as text",
    ),
    pytest.param(
        "FSD404",
        accelerate("fsdp_backward_prefetch_policy: BACKWARD_PRE # c"),
        accelerate("fsdp_backward_prefetch: BACKWARD_PRE # c"),
        {},
        id="renamed key",
    ),
    pytest.param(
        "FSD404",
        titan("[checkpoint]\nenable_checkpoint = true # c\n"),
        titan("[checkpoint]\nenable = true # c\n"),
        {"path": "a.toml", "target": ("torchtitan==0.2.1",)},
        id="renamed key in TOML",
    ),
    pytest.param(
        "FSD404",
        titan("[training]\nsteps = 10\ncompile = true\n"),
        titan("[training]\nsteps = 10\n\n[compile]\nenable = true\n"),
        {"path": "a.toml", "target": ("torchtitan==0.2.1",)},
        id="renamed key that moves to another table",
    ),
    pytest.param(
        "AXO104",
        AXOLOTL + "fsdp_version: 2\nfsdp_config:\n  fsdp_offload_params: true # a\n  fsdp_state_dict_type: FULL_STATE_DICT\n",
        AXOLOTL + "fsdp_version: 2\nfsdp_config:\n  offload_params: true # a\n  state_dict_type: FULL_STATE_DICT\n",
        {},
        id="prefixes that axolotl strips",
    ),
    pytest.param(
        "AXO104",
        AXOLOTL + "fsdp: [full_shard]\nfsdp_config:\n  offload_params: true\n",
        AXOLOTL + "fsdp: [full_shard]\nfsdp_config:\n  fsdp_offload_params: true\n",
        {"target": ("axolotl==0.9.2",)},
        id="prefixes that older axolotl needs",
    ),
    pytest.param(
        "FSD005",
        accelerate("", top="mixed_precision: no # c\n"),
        accelerate("", top="mixed_precision: 'no' # c\n"),
        {},
        id="a word that YAML reads as a boolean",
    ),
    pytest.param(
        "FSD602",
        accelerate("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nfsdp_transformer_layer_cls_to_wrap: [A, B] # c"),
        accelerate("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nfsdp_transformer_layer_cls_to_wrap: 'A,B' # c"),
        {},
        id="a list of layer classes",
    ),
    pytest.param(
        "FSD602",
        accelerate("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nfsdp_transformer_layer_cls_to_wrap: 'A, B'"),
        accelerate("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nfsdp_transformer_layer_cls_to_wrap: 'A,B'"),
        {},
        id="blanks between layer classes",
    ),
    pytest.param(
        "FSD406",
        accelerate("fsdp_sharding_strategy: FULL_SHARD\nfsdp_reshard_after_forward: true # c", 2),
        accelerate("fsdp_reshard_after_forward: true # c", 2),
        {},
        id="a strategy that runs anyway",
    ),
    pytest.param(
        "FSD406",
        accelerate("fsdp_use_orig_params: true\nfsdp_offload_params: false", 2),
        accelerate("fsdp_offload_params: false", 2),
        {},
        id="what FSDP2 always does",
    ),
    pytest.param(
        "FSD006",
        accelerate("fsdp_limit_all_gathers: true\nfsdp_offload_params: false", 2),
        accelerate("fsdp_offload_params: false", 2),
        {},
        id="what accelerate always does",
    ),
    pytest.param(
        "FSD004",
        accelerate("fsdp_reshard_after_forward: SHARD_GRAD_OP", 2),
        accelerate("fsdp_reshard_after_forward: false", 2),
        {},
        id="a strategy in place of a boolean",
    ),
    pytest.param(
        "FSD603",
        accelerate("fsdp_auto_wrap_policy: SIZE_BASED_WRAP"),
        accelerate("fsdp_auto_wrap_policy: SIZE_BASED_WRAP\nfsdp_min_num_params: 100000000"),
        {"target": ("accelerate==1.10.0",)},
        id="a companion key with upstream's own default",
    ),
]

UNSAFE = [
    pytest.param(
        "FSD003", accelerate("fsdp_offload_param: true # c"), accelerate("fsdp_offload_params: true # c"), {}, id="a misspelt key"
    ),
    pytest.param(
        "FSD006",
        "fsdp_version: 2\n" + ACCELERATE + "  fsdp_offload_params: false\n",
        ACCELERATE + "  fsdp_offload_params: false\n  fsdp_version: 2\n",
        {},
        id="a key at the wrong level",
    ),
    pytest.param("FSD006", accelerate("fsdp_cpu_offload: true"), accelerate("fsdp_offload_params: true"), {}, id="another framework's key"),
    pytest.param(
        "FSD004",
        accelerate("fsdp_state_dict_type: SHARDED_STATE_DIC"),
        accelerate("fsdp_state_dict_type: SHARDED_STATE_DICT"),
        {},
        id="a misspelt value",
    ),
    pytest.param(
        "FSD105",
        accelerate("fsdp_reshard_after_forward: SHARD_GRAD_OP # c"),
        accelerate("fsdp_sharding_strategy: SHARD_GRAD_OP # c"),
        {},
        id="a strategy at the key of the other FSDP version",
    ),
    pytest.param(
        "FSD105",
        accelerate("fsdp_sharding_strategy: SHARD_GRAD_OP # c", 2),
        accelerate("fsdp_reshard_after_forward: false # c", 2),
        {},
        id="FSDP1's strategy under FSDP2",
    ),
    pytest.param(
        "FSD604",
        accelerate("fsdp_sync_module_states: false # c\nfsdp_offload_params: false"),
        accelerate("fsdp_sync_module_states: false # c\nfsdp_cpu_ram_efficient_loading: false\nfsdp_offload_params: false"),
        {},
        id="no broadcast",
    ),
    pytest.param(
        "FSD801",
        accelerate("fsdp_state_dict_type: LOCAL_STATE_DICT", 2),
        accelerate("fsdp_state_dict_type: SHARDED_STATE_DICT", 2),
        {},
        id="a state dict that FSDP2 lacks",
    ),
    pytest.param(
        "FSD406",
        accelerate("fsdp_backward_prefetch: BACKWARD_PRE\nfsdp_offload_params: false", 2),
        accelerate("fsdp_offload_params: false", 2),
        {},
        id="what FSDP2 does by itself",
    ),
    pytest.param(
        "FSD007",
        "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n",
        {},
        id="an FSDP block that nothing switches on",
    ),
]

UNSAFE += [
    pytest.param(
        "FSD006",
        HF + "fsdp_offload_params: true\nfsdp_config:\n  version: 2 # c\n",
        HF + "fsdp_config:\n  version: 2 # c\n  cpu_offload: true\n",
        {},
        id="an option of accelerate's file beside TrainingArguments",
    ),
    pytest.param(
        "FSD005",
        HF + 'bf16: "false"\n',
        HF + "bf16: false\n",
        {},
        id="a quoted boolean that counts as true",
    ),
]

NONE = [
    pytest.param("FSD003", accelerate("main_training_prt: 1"), {}, id="a key that only resembles others"),
    pytest.param("FSD003", accelerate("fsdp_offload_param: true\nfsdp_offload_params: false"), {}, id="the real key is there"),
    pytest.param("FSD406", accelerate("fsdp_use_orig_params: false", 2), {}, id="flat parameters, which would be lost"),
    pytest.param("FSD406", accelerate("fsdp_forward_prefetch: true", 2), {}, id="prefetching, which would be lost"),
    pytest.param("FSD002", accelerate("fsdp_offload_params: true\nfsdp_offload_params: false"), {}, id="a key twice"),
    pytest.param(
        "FSD404",
        titan("[training]\nsteps = 10\nseed = 3  # why\n"),
        {"path": "a.toml", "target": ("torchtitan==0.2.1",)},
        id="a comment would be lost",
    ),
]


@pytest.mark.parametrize(("code", "before", "after", "options"), SAFE)
def test_safe(code: str, before: str, after: str, options: dict[str, Any]) -> None:
    text, fixed, left = mended(before, unsafe=False, **options)
    assert text == after
    assert code in fixed
    assert code not in left


@pytest.mark.parametrize(("code", "before", "after", "options"), UNSAFE)
def test_unsafe(code: str, before: str, after: str, options: dict[str, Any]) -> None:
    assert mended(before, unsafe=False, **options)[:2] == (before, [])
    text, fixed, left = mended(before, unsafe=True, **options)
    assert text == after
    assert code in fixed
    assert code not in left


@pytest.mark.parametrize(("code", "text", "options"), NONE)
def test_no_fix(code: str, text: str, options: dict[str, Any]) -> None:
    after, _, left = mended(text, unsafe=True, **options)
    assert after == text
    assert code in left


def test_a_successor_is_safe_only_for_declared_releases_while_the_old_name_works() -> None:
    text = "output_dir: out\nper_device_train_batch_size: 1\ngradient_checkpointing: true\n"
    after = text.replace("gradient_", "activation_")
    assert mended(text, unsafe=False)[0] == text, "an older transformers stops on the new name"
    assert mended(text, unsafe=True)[0] == after
    assert mended(text, unsafe=False, target=("transformers==5.24.0",))[0] == after


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.rule.code)
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_page_examples_can_be_read_after_fixes_and_a_second_run_changes_nothing(bad: Example, unsafe: bool) -> None:
    path = path_of(bad.text, bad.options)
    text, fixed, left = mended(bad.text, unsafe=unsafe, path=path, **bad.options)
    assert bad.rule.code == "FSD001" or "FSD001" not in left
    assert mended(text, unsafe=unsafe, path=path, **bad.options) == (text, [], left)
    assert bool(fixed) == (text != bad.text)


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the collection of real files is not here")
def test_real_files_lose_nothing_by_safe_fixes() -> None:
    """The numbers over real files: everything but what was fixed stays, comments included, and nothing new is found."""
    result = fix(Request(paths=(str(SHARED / "corpus" / "files"),), isolated=True), dry=True)
    report = result.outcome.report
    assert report.fixed
    assert len(result.changes) > 50
    for change in result.changes:
        old, new = change.old.decode(), change.new.decode()
        assert replayed(old, [d for d in report.fixed if d.path == change.path]) == new, change.path
        assert old.count("#") == new.count("#"), change.path
        assert len(old.splitlines()) - len(new.splitlines()) in range(8), change.path
        after, fixed, left = mended(new, unsafe=False, path=change.path)
        assert (after, fixed) == (new, []), change.path
        assert len(left) < len(mended_codes(old, change.path)), change.path


def replayed(text: str, fixed: list[Diagnostic]) -> str:
    """A text after the edits of its fixes, one fix after the other, and nothing else."""
    bom, text = text[: text.startswith("\ufeff")], text.removeprefix("\ufeff")
    for diagnostic in fixed:
        for edit in sorted(diagnostic.fix.edits if diagnostic.fix else (), key=lambda edit: -edit.start):
            text = text[: edit.start] + edit.text + text[edit.end :]
    return bom + text


def mended_codes(text: str, path: str) -> list[str]:
    from fsdplint import check_text

    return [d.code for d in check_text(text, path=path, isolated=True)]
