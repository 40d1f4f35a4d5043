"""The explorer as a real server in a thread, and a plain client without a browser's manners."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dumbbell.explore.serving import in_background


@dataclass(frozen=True)
class Answer:
    """Answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Running:
    """A server that runs: its address with the token, its port, its token."""

    address: str
    port: int
    token: str

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        **asked: str,
    ) -> Answer:
        """Answer of the server; by default with the token. `headers`: '' leaves one out."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "X-Dumbbell-Token": self.token,
            **(headers or {}),
        }
        target = f"{path}?{urlencode(asked)}" if asked else path
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name, value)
        if body is not None and "Content-Length" not in given:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        if body:
            with suppress(OSError):  # refused before it was read
                connection.send(body)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        result = Answer(answer.status, found, answer.read())
        connection.close()
        return result

    def json(self, path: str, **asked: str) -> Any:
        """JSON of an answer that should be good."""
        found = self.ask(f"/api/{path}", **asked)
        assert found.status == 200, found.body
        return found.json()

    def post(self, text: str, *, run: bool = True) -> Answer:
        """Answer to an edited experiment."""
        body = json.dumps({"text": text, "run": run}).encode()
        return self.ask("/api/run", "POST", {"Content-Type": "application/json"}, body)


@contextmanager
def running(store: Path) -> Iterator[Running]:
    """The explorer of a store."""
    with in_background(store) as found:
        yield Running(found.url, found.port, found.token)
