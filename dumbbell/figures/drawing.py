"""Drawing in a process of its own: vl-convert holds the interpreter while it draws.

This file, run by itself, reads specifications from standard input, a JSON text a line, and answers
each with its SVG as a JSON text a line. It imports nothing of ours, so that it starts at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import vl_convert


def drawn(spec: dict[str, Any], version: str) -> str:
    """A Vega-Lite specification as SVG text."""
    return vl_convert.vegalite_to_svg(spec, vl_version=version)


class Drawer:
    """Draws in the background, in order; use it as a context."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        command = [sys.executable, "-P", __file__]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def draw(self, spec: dict[str, Any], version: str) -> Future[str]:
        """Begins to draw."""
        return self._thread.submit(self._ask, spec, version)

    def _ask(self, spec: dict[str, Any], version: str) -> str:
        try:
            if self._process.stdin is None or self._process.stdout is None:
                raise OSError("no pipes")
            self._process.stdin.write(json.dumps([spec, version]) + "\n")
            self._process.stdin.flush()
            return str(json.loads(self._process.stdout.readline()))
        except (OSError, ValueError):  # the process is gone: its figure is drawn here
            return drawn(spec, version)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._process.communicate()


def serve(lines: Iterable[str]) -> None:
    """Answers every line of specifications."""
    for line in lines:
        spec, version = json.loads(line)
        sys.stdout.write(json.dumps(drawn(spec, version)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.stdin)
