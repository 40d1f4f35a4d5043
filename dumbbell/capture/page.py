"""A page about captures: one HTML file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from dumbbell.capture import packets
from dumbbell.errors import DumbbellError
from dumbbell.figures.figure import script_safe
from dumbbell.report.markup import Markup, tag

#: Parts of the page's program, in their order.
_SCRIPTS = (
    "elements",
    "overview",
    "conversations",
    "packets",
    "sequence",
    "ladder",
    "connection",
    "main",
)
#: Packets of all connections together that a page holds, unless connections are asked for.
PACKETS_MAX = 60_000
#: Connections whose packets a page holds, unless connections are asked for.
CONNECTIONS_MAX = 20


def page(captures: Sequence[dict[str, Any]], connections: Sequence[int] = ()) -> str:
    """The page of captures as `survey` tells of them.

    Args:
        captures: What `survey` returned; their files are read once more, for packets.
        connections: Those whose packets are shown; none: the largest of each file.

    Raises:
        DumbbellError: A capture came from standard input, or has no such connection.
    """
    data = [{**found, "packets": _packets(found, connections)} for found in captures]
    here = files("dumbbell.capture")
    style = files("dumbbell.report").joinpath("style.css").read_text(encoding="utf-8")
    theme = files("dumbbell.report").joinpath("page.js").read_text(encoding="utf-8")

    def own(name: str) -> str:
        return here.joinpath(name).read_text(encoding="utf-8")

    program = "\n".join(own(f"scripts/{name}.js") for name in _SCRIPTS)
    title = ", ".join(found["file"]["name"] for found in captures)
    head = [
        Markup('<meta charset="utf-8">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        Markup(f"<style>\n{style}{own('vendor/uPlot.min.css')}{own('page.css')}</style>"),
        Markup('<script>document.documentElement.classList.add("js")</script>'),
    ]
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    button = tag("button", "Theme: system", id="theme", type="button", hidden=True)
    body = [
        tag("header", tag("div", tag("span", "Dumbbell capture"), button, class_="top")),
        tag("main", tag("noscript", "This page needs JavaScript."), id="page"),
        Markup(f'<script type="application/json" id="data">{text}</script>'),
        Markup(f"<script>{script_safe(own('vendor/uPlot.iife.min.js'))}</script>"),
        Markup(f'<script type="module">{script_safe(theme)}</script>'),
        Markup(f'<script type="module">{script_safe(program)}</script>'),
    ]
    return "<!doctype html>\n" + tag("html", tag("head", *head), tag("body", *body), lang="en")


def _packets(found: dict[str, Any], connections: Sequence[int]) -> dict[str, Any]:
    name = found["file"]["name"]
    if name == "-":
        raise DumbbellError("a page needs the packets once more: give a file, not standard input")
    sizes: dict[int, int] = {}
    for row in found["connections"]:
        sizes[row["connection"]] = sizes.get(row["connection"], 0) + row["packets"]
    for one in connections:
        if one not in sizes:
            known = ", ".join(map(str, list(sizes)[:20])) or "none"
            more = ", …" if len(sizes) > 20 else ""
            raise DumbbellError(f"{name}: --connection {one}: there are {known}{more}")
    wanted = list(connections) or sorted(sizes, key=lambda one: -sizes[one])[:CONNECTIONS_MAX]
    if not wanted:
        return {"frame": [], "packets_of_connections": {}}
    return packets(name, wanted, PACKETS_MAX // len(wanted) if not connections else PACKETS_MAX)
