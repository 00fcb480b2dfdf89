"""The language server: what it says, word for word, to a client on its standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console import CLEAN, FOREIGN, TWICE, write
from lsp_client import FSDP1_KEYS, TRAINER, Client, applied, places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("pygls", reason="the language server needs pygls")

LAZY = {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}}
VERSIONED = {"workspace": {"workspaceEdit": {"documentChanges": True}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository of its own."""
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    client = Client(folder)
    try:
        yield client
    finally:
        client.process.kill()
        client.process.wait()
        for stream in (client.process.stdin, client.process.stdout):
            assert stream is not None
            stream.close()


def test_diagnostics_follow_the_text(client: Client) -> None:
    client.start()
    (found,) = client.open(TWICE)
    assert found["range"] == {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 15}}
    assert (found["severity"], found["source"]) == (2, "fsdplint")
    assert found["codeDescription"]["href"].endswith("/docs/rules/FSD002.md")
    (related,) = found["relatedInformation"]
    assert (related["location"]["uri"], related["location"]["range"]["start"]["line"]) == (client.uri("a.yaml"), 2)
    client.change(CLEAN, 2)
    assert client.published(client.uri("a.yaml"), 2) == []
    client.change(TWICE, 3)
    assert places(client.published(client.uri("a.yaml"), 3)) == [("FSD002", 3, 0)]
    client.change(FOREIGN, 4)
    assert client.published(client.uri("a.yaml"), 4) == []
    client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri("a.yaml")}})
    assert client.published(client.uri("a.yaml"), None) == []
    client.end()


def test_severities_tags_and_help(client: Client) -> None:
    client.start()
    misspelt, unread = client.open(CLEAN + "  fsdp_offload_param: true\n  fsdp_sharding_strategy: FULL_SHARD\n")
    assert (misspelt["severity"], misspelt["tags"]) == (2, [1])
    assert misspelt["message"].endswith("drops it without a word\nhelp: did you mean `fsdp_offload_params`?")
    assert (unread["code"], unread["severity"], "tags" in unread) == ("FSD406", 3, False)
    client.end()


@pytest.mark.parametrize(("encoding", "column"), [(None, 29), ("utf-8", 32), ("utf-32", 28)])
def test_places_count_in_the_encoding_that_was_negotiated(client: Client, encoding: str | None, column: int) -> None:
    offered = {"general": {"positionEncodings": [encoding, "utf-16"]}} if encoding else {}
    assert client.start(offered)["positionEncoding"] == (encoding or "utf-16")
    text = "distributed_type: FSDP\r\nmixed_precision: bf16\r\n" + 'fsdp_config: {"fsdp_😀é": 1, unheard_of: 2}\r\n'
    found = [one for one in client.open(text) if "`unheard_of`" in one["message"]]
    assert places(found) == [("FSD003", 2, column)]
    assert found[0]["range"]["end"] == {"line": 2, "character": column + len("unheard_of")}
    client.end()


def test_a_place_in_another_file_is_related_information(client: Client) -> None:
    write(client.folder, ds_json='{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}')
    client.start()
    (found,) = client.open(TRAINER)
    (related,) = found["relatedInformation"]
    assert (found["code"], related["location"]["uri"]) == ("DSP001", client.uri("ds.json"))
    client.tell("textDocument/didOpen", {"textDocument": {"uri": client.uri("ds.json"), "languageId": "json", "version": 1, "text": "{}"}})
    assert client.published(client.uri("a.yaml"), 1) == []
    client.end()


def test_quick_fixes_say_which_of_them_change_what_runs(client: Client) -> None:
    client.start()
    client.open(FSDP1_KEYS)
    safe, silence = client.actions(10, ["quickfix"])
    assert (safe["title"], safe["isPreferred"]) == ("Remove `fsdp_use_orig_params`", True)
    assert places(safe["diagnostics"]) == [("FSD406", 10, 2)]
    assert applied(FSDP1_KEYS, safe["edit"], client.uri("a.yaml")) == FSDP1_KEYS.replace("  fsdp_use_orig_params: true\n", "")
    assert silence["title"] == "Silence FSD406 (fsdp1-key-in-fsdp2) on this line"
    mended = applied(FSDP1_KEYS, silence["edit"], client.uri("a.yaml"))
    assert mended == FSDP1_KEYS.replace("params: true", "params: true  # fsdplint: ignore[FSD406]")
    unsafe, _ = client.actions(11, ["quickfix"])
    assert unsafe["title"] == "Remove `fsdp_backward_prefetch` (unsafe: changes what runs)"
    assert "isPreferred" not in unsafe
    assert client.actions(0, ["quickfix"]) == []
    client.end()


def test_all_safe_fixes_at_once_are_worked_out_when_they_are_wanted(client: Client) -> None:
    client.start(LAZY | VERSIONED)
    client.open(FSDP1_KEYS)
    (action,) = client.actions(0, ["source.fixAll"])
    assert (action["kind"], "edit" in action) == ("source.fixAll.fsdplint", False)
    client.change("\n" + FSDP1_KEYS, 2)
    (change,) = client.ask("codeAction/resolve", action)["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": client.uri("a.yaml"), "version": 2}
    assert [(one["range"]["start"]["line"], one["newText"]) for one in change["edits"]] == [(11, "")]
    client.end()


def test_presets_are_offered_where_the_user_asks(client: Client) -> None:
    client.start(LAZY)
    client.open(CLEAN)
    assert client.actions(0, trigger=2) == []
    titles = [action["title"] for action in client.actions(0)]
    assert titles == [f"Rewrite into preset {name}" for name in ("full_shard", "shard_grad", "full_offload")]
    (action,) = client.actions(0, ["refactor.rewrite.fsdplint.shard_grad"])
    edit = client.ask("codeAction/resolve", action)["edit"]
    assert applied(CLEAN, edit, client.uri("a.yaml")) == CLEAN.replace("reshard_after_forward: true", "reshard_after_forward: false")
    (action,) = client.actions(0, ["refactor.rewrite.fsdplint.full_shard"])
    assert "edit" not in client.ask("codeAction/resolve", action)
    assert client.asides[-1]["params"] == {"type": 2, "message": "fsdplint: the file says full_shard already"}
    client.end()


def test_a_client_that_cannot_ask_later_gets_edits_at_once(client: Client) -> None:
    client.start()
    client.open(CLEAN)
    assert [action["title"] for action in client.actions(0)] == ["Rewrite into preset shard_grad", "Rewrite into preset full_offload"]
    client.open(FSDP1_KEYS, "b.yaml")
    (action,) = client.actions(0, ["source.fixAll.fsdplint"], "b.yaml")
    assert applied(FSDP1_KEYS, action["edit"], client.uri("b.yaml")) == FSDP1_KEYS.replace("  fsdp_use_orig_params: true\n", "")
    client.end()


def test_hover_is_markdown_at_the_key(client: Client) -> None:
    client.start()
    client.open(CLEAN)
    at = {"textDocument": {"uri": client.uri("a.yaml")}, "position": {"line": 6, "character": 5}}
    found = client.ask("textDocument/hover", at)
    assert found["contents"]["kind"] == "markdown"
    assert found["range"] == {"start": {"line": 6, "character": 2}, "end": {"line": 6, "character": 14}}
    assert client.ask("textDocument/hover", at | {"position": {"line": 99, "character": 0}}) is None
    client.end()


def test_settings_that_change_are_seen_when_something_is_saved(client: Client) -> None:
    client.start()
    assert places(client.open(TWICE)) == [("FSD002", 3, 0)]
    write(client.folder, fsdplint_toml="ignore = ['FSD002']\n")
    client.save()
    assert client.published(client.uri("a.yaml"), 1) == []
    write(client.folder, fsdplint_toml="ignore = ['FSD00']\nselct = []\n")
    client.tell("workspace/didChangeWatchedFiles", {"changes": []})
    assert "selct" in client.notified("window/showMessage")["message"]
    assert client.published(client.uri("a.yaml"), 1) == []
    (client.folder / "fsdplint.toml").unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": []})
    assert places(client.published(client.uri("a.yaml"), 1)) == [("FSD002", 3, 0)]
    client.end()


def test_files_that_matter_to_others_are_watched(client: Client) -> None:
    client.start({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    (registration,) = client.notified("client/registerCapability")["registrations"]
    assert {"globPattern": "**/pyproject.toml"} in registration["registerOptions"]["watchers"]


def test_a_rule_that_crashes_is_logged_and_the_server_goes_on(client: Client) -> None:
    write(
        client.folder,
        crashing_py="from fsdplint.rule import Rule\n\n\nclass Crash(Rule):\n    code, name = 'XXX001', 'crash'\n\n"
        "    def check(self, context):\n        raise KeyError('odd')\n\n\nRULES = (Crash(),)\n",
        fsdplint_toml="rule-packs = ['crashing']\n",
    )
    client.start()
    assert client.open(TWICE) == []
    logged = [one["params"]["message"] for one in client.asides if one.get("method") == "window/logMessage"]
    assert logged == ["a.yaml: rule XXX001 crash crashed: KeyError: 'odd'"]
    client.asides.clear()
    (client.folder / "fsdplint.toml").unlink()
    client.save()
    assert places(client.published(client.uri("a.yaml"), 1)) == [("FSD002", 3, 0)]
    client.end()


def test_a_client_that_pulls_gets_no_diagnostics_unasked(client: Client) -> None:
    capabilities = client.start({"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}})
    assert capabilities["diagnosticProvider"]["interFileDependencies"] is True
    client.tell("textDocument/didOpen", {"textDocument": {"uri": client.uri("a.yaml"), "languageId": "yaml", "version": 1, "text": TWICE}})
    identifier = {"textDocument": {"uri": client.uri("a.yaml")}}
    assert places(client.ask("textDocument/diagnostic", identifier)["items"]) == [("FSD002", 3, 0)]
    client.change(CLEAN, 2)
    assert client.ask("textDocument/diagnostic", identifier)["items"] == []
    client.save()
    client.await_(lambda message: message.get("method") == "workspace/diagnostic/refresh")
    client.end()
    assert [one for one in client.asides if one.get("method") == "textDocument/publishDiagnostics"] == []


def test_odd_documents_do_no_harm(client: Client) -> None:
    client.start()
    assert places(client.open_uri("untitled:Untitled-1", TWICE)) == [("FSD002", 3, 0)]
    for uri, language in (
        ("vscode-notebook-cell:/a.ipynb#W0", "yaml"),
        ("git:/a.yaml?ref", "yaml"),
        ("untitled:b", "plaintext"),
        ("", "yaml"),
    ):
        client.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": TWICE}})
        assert client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}) is None
    assert (
        client.ask("textDocument/hover", {"textDocument": {"uri": "file:///nowhere.yaml"}, "position": {"line": 0, "character": 0}}) is None
    )
    for number, text in enumerate(("", "\x00", "\ud800: 1\n" + TWICE, "[" * 50_000, '{"a": ' * 5_000, "&a [*a, *a]", "\ufeff" + CLEAN)):
        client.open(text, f"odd{number}.yaml")
    client.open("accelerate launch --use_fsdp --multi_gpu train.py\n", "run.sh", "shellscript")
    assert places(client.open(TWICE, "a b#c.yaml")) == [("FSD002", 3, 0)]
    client.end()


def test_the_command_line_says_what_to_judge_by(folder: Path, client: Client) -> None:
    other = Client(folder, "--stdio", "--ignore", "FSD002")
    try:
        other.start()
        assert other.open(TWICE) == []
        other.end()
    finally:
        other.process.kill()
    client.start()
    assert places(client.open(TWICE)) == [("FSD002", 3, 0)]
