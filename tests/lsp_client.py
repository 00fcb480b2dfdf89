"""A client of the language server that speaks by hand, so that what is on the wire is what is tested; and configs for it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import CLEAN

import fsdplint
from fsdplint.lsp.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(fsdplint.__file__).parents[1]
PATIENCE = 120
"""Seconds after which a server that says nothing is taken for dead."""

FSDP1_KEYS = CLEAN + "  fsdp_use_orig_params: true\n  fsdp_backward_prefetch: BACKWARD_PRE\n"
"""Two warnings, FSD406, at the last two lines: the first has a safe fix, the second an unsafe one."""

TRAINER = """\
model_name_or_path: meta-llama/Llama-3.1-8B
output_dir: out
learning_rate: 0.0001
num_train_epochs: 1
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
bf16: true
deepspeed: ds.json
"""


class Client:
    """A client that speaks by hand, so that what is on the wire is what is tested."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "rules"), str(folder)])}
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fsdplint", "lsp", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.asides: list[dict[str, Any]] = []
        self._last = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            while stream.readline().strip():
                pass
            self.inbox.put(json.loads(stream.read(length)))
        self.inbox.put(None)

    def tell(self, method: str, params: Any = None, **more: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        stream = self.process.stdin
        assert stream is not None
        stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        stream.flush()

    def await_(self, is_meant: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is meant; those before it are put aside."""
        while True:
            message = self.inbox.get(timeout=PATIENCE)
            assert message is not None, "the server has ended"
            if is_meant(message):
                return message
            self.asides.append(message)

    def ask(self, method: str, params: Any = None) -> Any:
        self._last += 1
        own = self._last
        self.tell(method, params, id=own)
        answer = self.await_(lambda message: message.get("id") == own and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def start(self, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self.ask("initialize", {"processId": None, "rootUri": self.folder.as_uri(), "capabilities": capabilities or {}})
        self.tell("initialized", {})
        return dict(answer["capabilities"])

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, text: str, name: str = "a.yaml", language: str = "yaml") -> list[dict[str, Any]]:
        return self.open_uri(self.uri(name), text, language)

    def open_uri(self, uri: str, text: str, language: str = "yaml") -> list[dict[str, Any]]:
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}})
        return self.published(uri, 1)

    def change(self, text: str, version: int, name: str = "a.yaml") -> None:
        changed = {"textDocument": {"uri": self.uri(name), "version": version}, "contentChanges": [{"text": text}]}
        self.tell("textDocument/didChange", changed)

    def save(self, name: str = "a.yaml") -> None:
        self.tell("textDocument/didSave", {"textDocument": {"uri": self.uri(name)}})

    def published(self, uri: str, version: int | None) -> list[dict[str, Any]]:
        def is_meant(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            is_own = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            return is_own and params.get("version") == version

        return list(self.await_(is_meant)["params"]["diagnostics"])

    def notified(self, method: str) -> Any:
        return self.await_(lambda message: message.get("method") == method)["params"]

    def actions(self, line: int, only: list[str] | None = None, name: str = "a.yaml", trigger: int = 1) -> list[dict[str, Any]]:
        point = {"line": line, "character": 3}
        context = {"diagnostics": [], "triggerKind": trigger, **({"only": only} if only else {})}
        params = {"textDocument": {"uri": self.uri(name)}, "range": {"start": point, "end": point}, "context": context}
        return list(self.ask("textDocument/codeAction", params))

    def end(self) -> None:
        self.ask("shutdown")
        self.tell("exit")
        assert self.process.wait(PATIENCE) == 0
        assert [one for one in self.asides if one.get("method") == "window/logMessage"] == []


def places(diagnostics: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(one["code"], one["range"]["start"]["line"], one["range"]["start"]["character"]) for one in diagnostics]


def applied(text: str, edit: dict[str, Any], uri: str) -> str:
    own = Text(text)
    for one in sorted(edit["changes"][uri], key=lambda one: one["range"]["start"]["line"], reverse=True):
        start, end = (own.offset(one["range"][side]["line"], one["range"][side]["character"]) for side in ("start", "end"))
        text = text[:start] + one["newText"] + text[end:]
    return text
