"""The server of the explorer, on the loopback address alone."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from dumbbell.errors import DumbbellError
from dumbbell.explore.guard import Guard
from dumbbell.explore.server import Explorer


def application(store: Path, token: str, port: int) -> ASGIApp:
    """The guarded application.

    Args:
        store: Folder of the store.
        token: Secret that requests carry.
        port: Port on which it is served.
    """
    return Guard(Starlette(routes=Explorer(store).routes()), token, port)


@contextlib.contextmanager
def opened(store: Path, port: int) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    """Context with a server that does not run yet, its socket, and the address to open.

    Args:
        store: Folder of the store.
        port: Port on the loopback address; 0: a free one.

    Raises:
        DumbbellError: The port cannot be used.
        StoreError: The store cannot be read.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise DumbbellError(f"--port {port}: cannot be used: {reason}") from None
        own = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        config = uvicorn.Config(
            application(store, token, own),
            log_level="critical",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        listening.listen(128)
        yield uvicorn.Server(config), listening, f"http://127.0.0.1:{own}/?token={token}"


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a server.

    Attributes:
        url: What a browser opens, with the token.
        port: Port on the loopback address.
        token: Secret that requests carry.
    """

    url: str
    port: int
    token: str


@contextlib.contextmanager
def in_background(store: Path) -> Iterator[Address]:
    """Context with a server that runs in a thread, on a free port. Errors: those of `opened`."""
    with opened(store, 0) as (server, listening, url):
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            parts = urlsplit(url)
            yield Address(url, parts.port or 0, parse_qs(parts.query)["token"][0])
        finally:
            server.should_exit = True
            thread.join(10)


def serve(store: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serves a store until it is stopped. `ready` is called with the address.

    Other arguments and errors: those of `opened`.
    """
    with opened(store, port) as (server, listening, address):
        ready(address)
        with contextlib.suppress(KeyboardInterrupt):  # the way to end it
            server.run(sockets=[listening])
