"""The playground's page."""

from __future__ import annotations

import base64
import gzip
from importlib.resources import files

from dumbbell.errors import DumbbellError
from dumbbell.face.markup import Markup
from dumbbell.face.page import application, editor_library, json_data
from dumbbell.figures.figure import script_safe
from dumbbell.files.output import json_text
from dumbbell.playground.presets import presets
from dumbbell.playground.subset import schema

#: Scripts of the page, in order.
_SCRIPTS = ("simulator", "results", "figures", "saving", "main")
_MODULE = "playground.wasm"


def simulator() -> bytes:
    """The simulator as WebAssembly. Raises `DumbbellError` if this installation has none."""
    try:
        return files("dumbbell.playground").joinpath(_MODULE).read_bytes()
    except OSError:
        message = (
            "this installation has no simulator for pages: `make build` and `make wheel` build it "
            "where a compiler for WebAssembly is found (scripts/build-playground.sh says why not)"
        )
        raise DumbbellError(message) from None


def page(text: str | None = None, name: str = "experiment.yaml") -> str:
    """Page with an editor, the simulator and figures.

    Args:
        text: Experiment file that it opens with; None: the first preset.
        name: Name of that file.

    Raises:
        DumbbellError: The simulator was not built for pages.
    """
    module = base64.b64encode(gzip.compress(simulator(), mtime=0)).decode()
    shown = presets()
    begin = {"name": name, "text": shown[0]["text"] if text is None else text}
    return application(
        "Playground",
        "Dumbbell playground",
        package="dumbbell.playground",
        scripts=_SCRIPTS,
        data=[
            json_data("begin", json_text(begin)),
            json_data("presets", json_text(shown)),
            json_data("schema", json_text(schema())),
            Markup(f'<script type="text/plain" id="wasm">{module}</script>\n'),
            Markup(f"<script>{script_safe(editor_library())}</script>"),
        ],
    )
