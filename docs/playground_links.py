"""Sphinx: the playground beside the pages, and links that open an answered question in it.

Without `playground.wasm` (see `docs/playground.md`) the site has neither.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
#: The page, at the root of the site.
_PAGE = "playground.html"
_FOLDER = "docs/questions/"
#: The link stands before the first block of YAML.
_BEFORE = '<div class="highlight-yaml'


def address(text: str) -> str:
    """Part behind `#` of the playground's address that opens an experiment; see `hashOf`."""
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    content = json.dumps({"text": text, "levels": {}}, ensure_ascii=False).encode()
    packed = packer.compress(content) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _is_built() -> bool:
    return (ROOT / "dumbbell" / "playground" / "playground.wasm").is_file()


def add_link(app: Any, page: str, template: str, context: Any, document: Any) -> None:
    """Adds the link to the page of a question."""
    del template, document
    file = ROOT / "examples" / "questions" / f"{page.removeprefix(_FOLDER)}.yaml"
    if app.builder.format != "html" or not page.startswith(_FOLDER) or not file.is_file():
        return
    if _is_built():
        to = f"{context['pathto'](_PAGE, 1)}#{address(file.read_text(encoding='utf-8'))}"
        link = f'<p><a class="reference external" href="{to}">Open in the playground</a></p>\n'
        context["body"] = context["body"].replace(_BEFORE, link + _BEFORE, 1)


def write(app: Any, error: Exception | None) -> None:
    """Writes the playground."""
    if error is None and app.builder.format == "html" and _is_built():
        sys.path.insert(0, str(ROOT))
        from dumbbell.playground.page import page

        Path(app.outdir, _PAGE).write_text(page(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connects the functions."""
    app.connect("html-page-context", add_link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
