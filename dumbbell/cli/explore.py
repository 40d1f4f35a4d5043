"""Verb `explore`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.cli.options import DEFAULT_STORE, StoreArgument
from dumbbell.console import print_text, say


def explore(
    store: StoreArgument = DEFAULT_STORE,
    *,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port on 127.0.0.1 [default: a free one].")
    ] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Look around in a store with the browser. Filter, compare, zoom, ask why, edit, run."""
    with guarded():
        from dumbbell.explore.needs import check_installed

        check_installed()
        from dumbbell.explore.serving import serve

        def ready(address: str) -> None:
            print_text(f"{address}\n")
            say("The address is a secret: whoever has it sees this store. Ctrl-C ends.")
            if open_:
                launched.enter_context(_launched(address))

        with contextlib.ExitStack() as launched:
            serve(store, port or 0, ready)


@contextlib.contextmanager
def _launched(address: str) -> Iterator[None]:
    """Context with the address opened in the browser.

    The browser gets a file that leads there: others on this machine see the arguments of programs.
    """
    with tempfile.TemporaryDirectory(prefix="dumbbell-") as folder:
        page = Path(folder) / "explorer.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', "utf-8")
        _open(page.as_uri())
        yield


def _open(address: str) -> None:
    """Opens an address in the browser. What a missing browser prints is not shown."""
    program = shutil.which("xdg-open")
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if program is None or not has_screen:
        say("No browser opens here: copy the address into one.")
        return
    quiet = subprocess.DEVNULL
    subprocess.Popen([program, address], stdin=quiet, stdout=quiet, stderr=quiet)
