"""The page of a scene: one HTML file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import json
from importlib.resources import files

from dumbbell.animation.pack import packed
from dumbbell.animation.scene import Scene
from dumbbell.figures.figure import json_safe, script_safe
from dumbbell.report.markup import Markup, tag

#: Parts of the page's program, in their order.
_SCRIPTS = ("data", "moments", "words", "surface", "draw", "panel", "charts", "main")


def page(scene: Scene) -> str:
    """The page."""
    header, columns = packed(scene)
    report = files("dumbbell.report")
    vendor = files("dumbbell.capture").joinpath("vendor")
    here = files("dumbbell.animation")
    style = "".join(
        place.read_text(encoding="utf-8")
        for place in (
            report.joinpath("style.css"),
            vendor.joinpath("uPlot.min.css"),
            here.joinpath("page.css"),
        )
    )
    program = "\n".join(
        here.joinpath(f"scripts/{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS
    )
    plots = vendor.joinpath("uPlot.iife.min.js").read_text(encoding="utf-8")
    theme = report.joinpath("page.js").read_text(encoding="utf-8")
    text = json_safe(json.dumps(header, allow_nan=False, separators=(",", ":")))
    head = [
        Markup('<meta charset="utf-8">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{scene.title}: packets moving"),
        Markup(f"<style>\n{style}</style>"),
        Markup('<script>document.documentElement.classList.add("js")</script>'),
    ]
    button = tag("button", "Theme: system", id="theme", type="button", hidden=True)
    body = [
        tag("header", tag("div", tag("span", "Dumbbell animation"), button, class_="top")),
        tag("main", tag("noscript", "This page needs JavaScript."), id="page"),
        Markup(f'<script type="application/json" id="header">{text}</script>'),
        Markup(f'<script type="text/plain" id="packed">{columns}</script>'),
        Markup(f"<script>{script_safe(plots)}</script>"),
        Markup(f'<script type="module">{script_safe(theme)}</script>'),
        Markup(f'<script type="module">{script_safe(program)}</script>'),
    ]
    return "<!doctype html>\n" + tag("html", tag("head", *head), tag("body", *body), lang="en")
