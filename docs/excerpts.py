"""Sphinx: excerpts of search results without a server.

Pages of `file:` cannot read other pages. The page of the search has their texts as a script.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes

#: Script with the texts, beside `excerpts_search.js`, which answers from it.
_TEXTS = "_static/excerpts.js"


def texts(part: Any) -> list[Any]:
    """Anchors of a page or a section, its own text, and the same of the sections in it."""
    kept = [one for one in part.children if not isinstance(one, nodes.comment | nodes.raw)]
    sections = [one for one in kept if isinstance(one, nodes.section)]
    words = (word for one in kept if one not in sections for word in one.astext().split())
    return [part["ids"], " ".join(words), [texts(one) for one in sections]]


def add_scripts(app: Any, page: str, template: str, context: Any, document: Any) -> None:
    """Adds both scripts to the page of the search."""
    del template, context, document
    if page == "search":
        app.add_js_file("excerpts.js")
        app.add_js_file("excerpts_search.js")


def write(app: Any, error: Exception | None) -> None:
    """Writes the texts of all pages."""
    if error is None and app.builder.format == "html":
        pages = {name: texts(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, _TEXTS).write_text(f"const EXCERPTS = {text};\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connects the functions."""
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
