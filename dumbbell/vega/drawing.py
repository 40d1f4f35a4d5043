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

#: Vega-Lite version of the specifications, as vl-convert names it: Altair's.
VEGA_LITE = "6.4"
#: A figure that is drawn before the first one: facets and layers get the compiler ready.
_FIRST: dict[str, Any] = {
    "data": {"values": [{"x": 0, "y": 1, "f": "a"}, {"x": 1, "y": 2, "f": "a"}]},
    "facet": {"field": "f", "type": "nominal"},
    "columns": 2,
    "spec": {
        "layer": [
            {"mark": mark, "encoding": {"x": {"field": "x", "type": "quantitative"},
             "y": {"field": "y", "type": "quantitative"},
             "color": {"field": "f", "type": "nominal"}}}
            for mark in ("line", "area", "point")
        ]
    },
    "resolve": {"scale": {"y": "independent"}},
}  # fmt: skip


def drawn(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG text."""
    import vl_convert

    return vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)


class Drawer:
    """Draws in the background, in order; use it as a context.

    The process starts at once and gets ready for the first figure, which takes half a second.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        command = [sys.executable, "-P", __file__]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def draw(self, spec: dict[str, Any]) -> Future[str]:
        """Begins to draw."""
        return self._thread.submit(self._ask, spec)

    def _ask(self, spec: dict[str, Any]) -> str:
        try:
            if self._process.stdin is None or self._process.stdout is None:
                raise OSError("no pipes")
            self._process.stdin.write(json.dumps(spec) + "\n")
            self._process.stdin.flush()
            return str(json.loads(self._process.stdout.readline()))
        except (OSError, ValueError):  # the process is gone: its figure is drawn here
            return drawn(spec)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._thread.shutdown(cancel_futures=True)
        self._process.communicate()


def serve(lines: Iterable[str]) -> None:
    """Answers every line of specifications."""
    drawn(_FIRST)
    for line in lines:
        sys.stdout.write(json.dumps(drawn(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.stdin)
