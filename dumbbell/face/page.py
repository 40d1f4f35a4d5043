"""Frame of all pages: one HTML file that opens from disk and loads nothing from the network."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from dumbbell.face.colours import colours
from dumbbell.face.markup import Markup, joined, tag
from dumbbell.figures import page_scripts
from dumbbell.figures.figure import Figure, json_safe, script_safe
from dumbbell.files.output import json_text

#: Scripts that every application has before its own, in their order.
_SCRIPTS = ("elements", "words", "colours", "chart", "keys")


def whole_page(
    title: str, name: str, main: Markup, *, style: str = "", scripts: Iterable[Markup] = ()
) -> str:
    """A page with the style and the theme of all; `name` says in its top what kind it is."""
    own = Markup(f"<style>\n{_text('style.css')}{style}</style>")
    marked = Markup('<script>document.documentElement.classList.add("js")</script>')
    return frame(title, name, main, [own, marked], [module(_text("theme.js")), *scripts])


def frame(
    title: str, name: str, main: Markup, head: Iterable[Markup], scripts: Iterable[Markup]
) -> str:
    """Elements that every page has. `head`: its styles; `scripts`: what stands at its end."""
    whole_head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        *head,
    )
    button = tag("button", "Theme: system", id="theme", type="button", hidden=True)
    top = tag("header", tag("div", tag("span", name), button, class_="top"))
    body = tag("body", top, main, joined(scripts))
    return f"<!doctype html>\n{tag('html', whole_head, body, lang='en')}\n"


def chart_page(title: str, body: Markup, name: str = "Dumbbell report") -> str:
    """A page of text, tables and interactive figures."""
    main = tag("main", tag("h1", title), body)
    return whole_page(title, name, main, scripts=[Markup(page_scripts())])


def framed(drawn: Figure, identity: str, svg: str | None = None, *, static: bool = True) -> Markup:
    """A figure as a part of a page; `static`: seen without scripts, too."""
    return Markup(drawn.html_block(identity, svg, static=static))


def application(
    title: str, name: str, *, package: str, scripts: Iterable[str], data: Iterable[Markup]
) -> str:
    """A page that a program draws, with charts of uPlot.

    Args:
        package: Where its `page.css` and its `scripts` are.
        scripts: Names of the parts of the program, in their order.
        data: Elements that the program reads, see `json_data`.
    """
    return whole_page(
        title,
        name,
        application_main(),
        style=application_style(package),
        scripts=[
            *data,
            application_data(),
            Markup(f"<script>{script_safe(chart_library())}</script>"),
            module(program(package, scripts)),
        ],
    )


def application_main() -> Markup:
    """Element that an application fills."""
    return tag("main", tag("noscript", "This page needs JavaScript."), id="page")


def application_data() -> Markup:
    """Data that the shared scripts read."""
    return json_data("face", json_text(colours()))


def base_style() -> str:
    """Style of all pages."""
    return _text("style.css")


def theme_program() -> str:
    """Code of the button that chooses the theme, a module of its own."""
    return _text("theme.js")


def application_style(package: str) -> str:
    """Style that an application adds to that of all pages: charts, components, its own."""
    own = files(package).joinpath("page.css").read_text(encoding="utf-8")
    return _text("vendor/uPlot.min.css") + _text("components.css") + own


def chart_library() -> str:
    """Code of uPlot, a script that comes before the program."""
    return _text("vendor/uPlot.iife.min.js")


def editor_library() -> str:
    """Code of the editor of experiment files, a script that comes before the program."""
    return _text("vendor/editor.iife.min.js")


def program(package: str, scripts: Iterable[str]) -> str:
    """Code of an application: the shared scripts, then its own, one module."""
    here = files(package)
    own = [here.joinpath(f"scripts/{part}.js").read_text(encoding="utf-8") for part in scripts]
    return "\n".join([*(_text(f"scripts/{part}.js") for part in _SCRIPTS), *own])


def module(code: str) -> Markup:
    """Code as a module of the page."""
    return Markup(f'<script type="module">{script_safe(code)}</script>\n')


def json_data(name: str, text: str) -> Markup:
    """JSON text that the page's program finds by `name`."""
    return Markup(f'<script type="application/json" id="{name}">{json_safe(text)}</script>\n')


def _text(name: str) -> str:
    return files("dumbbell.face").joinpath(name).read_text(encoding="utf-8")
