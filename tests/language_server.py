"""Client of a language server, as far as tests need it: JSON-RPC over standard input and output."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Message = dict[str, Any]
#: Longest wait for a message, s.
PATIENCE_S = 60


class Client:
    """A session. Requests of the server are answered with its settings, or with nothing."""

    def __init__(self, server: subprocess.Popen[bytes], settings: Message) -> None:
        self._server, self._settings = server, settings
        self._received: queue.Queue[Message] = queue.Queue()
        self._last = 0
        threading.Thread(target=self._read, daemon=True).start()

    def request(self, method: str, parameters: Message) -> Any:
        """Result of a request."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": parameters})
        return self._wait(lambda one: one.get("id") == self._last and "method" not in one)["result"]

    def notify(self, method: str, parameters: Message) -> None:
        self._send({"method": method, "params": parameters})

    def open(self, file: Path) -> list[str]:
        """Opens a file. Messages of the first diagnostics."""
        text = file.read_text(encoding="utf-8")
        document = {"uri": file.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        found = self._wait(
            lambda one: (
                one.get("method") == "textDocument/publishDiagnostics"
                and one["params"]["uri"] == file.as_uri()
            )
        )
        return [one["message"] for one in found["params"]["diagnostics"]]

    def at(self, method: str, file: Path, line: int, character: int) -> Any:
        """Result of a request about a place in a file, both from 0."""
        place = {"line": line, "character": character}
        return self.request(method, {"textDocument": {"uri": file.as_uri()}, "position": place})

    def _wait(self, wanted: Any) -> Message:
        while True:
            message = self._received.get(timeout=PATIENCE_S)
            if wanted(message):
                return message
            if "id" in message and "method" in message:
                self._send({"id": message["id"], "result": self._answer(message)})

    def _answer(self, message: Message) -> Any:
        if message["method"] != "workspace/configuration":
            return None
        return [self._settings.get(item["section"]) for item in message["params"]["items"]]

    def _send(self, message: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._server.stdin.flush()

    def _read(self) -> None:
        assert self._server.stdout is not None
        while line := self._server.stdout.readline():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
                while self._server.stdout.readline().strip():
                    pass
                self._received.put(json.loads(self._server.stdout.read(length)))


@contextlib.contextmanager
def served(command: Sequence[str], folder: Path, settings: Message) -> Iterator[Client]:
    """A session in a folder."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            client = Client(server, settings)
            root = {"uri": folder.as_uri(), "name": folder.name}
            client.request(
                "initialize",
                {
                    "processId": None,
                    "rootUri": folder.as_uri(),
                    "workspaceFolders": [root],
                    "capabilities": {
                        "workspace": {"configuration": True, "workspaceFolders": True},
                        "textDocument": {"completion": {"completionItem": {}}},
                    },
                },
            )
            client.notify("initialized", {})
            yield client
        finally:
            server.kill()
