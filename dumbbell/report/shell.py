"""Frame of all pages: one HTML file that opens from disk and loads nothing from the network."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from dumbbell.figures import page_scripts
from dumbbell.figures.figure import json_safe, script_safe
from dumbbell.report.markup import Markup, joined, tag


def whole_page(
    title: str, name: str, main: Markup, *, style: str = "", scripts: Iterable[Markup] = ()
) -> str:
    """A page with the style and the theme of all; `name` says in its top what kind it is."""
    here = files("dumbbell.report")
    common = here.joinpath("style.css").read_text(encoding="utf-8")
    theme = here.joinpath("page.js").read_text(encoding="utf-8")
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        Markup(f"<style>\n{common}{style}</style>"),
        Markup('<script>document.documentElement.classList.add("js")</script>'),
    )
    button = tag("button", "Theme: system", id="theme", type="button", hidden=True)
    top = tag("header", tag("div", tag("span", name), button, class_="top"))
    body = tag("body", top, main, module(theme), joined(scripts))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def chart_page(title: str, body: Markup, name: str = "Dumbbell report") -> str:
    """A page of text, tables and interactive figures."""
    main = tag("main", tag("h1", title), body)
    return whole_page(title, name, main, scripts=[Markup(page_scripts())])


def application(
    title: str, name: str, *, package: str, scripts: Iterable[str], data: Iterable[Markup]
) -> str:
    """A page that a program draws, with charts of uPlot.

    Args:
        package: Where its `page.css` and its `scripts` are.
        scripts: Names of the parts of the program, in their order.
        data: Elements that the program reads, see `json_data`.
    """
    here = files(package)
    vendor = files("dumbbell.report").joinpath("vendor")
    plots = vendor.joinpath("uPlot.iife.min.js").read_text(encoding="utf-8")
    style = vendor.joinpath("uPlot.min.css").read_text(encoding="utf-8")
    parts = [here.joinpath(f"scripts/{part}.js").read_text(encoding="utf-8") for part in scripts]
    return whole_page(
        title,
        name,
        tag("main", tag("noscript", "This page needs JavaScript."), id="page"),
        style=style + here.joinpath("page.css").read_text(encoding="utf-8"),
        scripts=[
            *data,
            Markup(f"<script>{script_safe(plots)}</script>"),
            module("\n".join(parts)),
        ],
    )


def module(code: str) -> Markup:
    """Code as a module of the page."""
    return Markup(f'<script type="module">{script_safe(code)}</script>\n')


def json_data(name: str, text: str) -> Markup:
    """JSON text that the page's program finds by `name`."""
    return Markup(f'<script type="application/json" id="{name}">{json_safe(text)}</script>\n')
