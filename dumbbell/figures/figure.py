"""A figure: one chart specification, and the forms in which it is given out."""

from __future__ import annotations

import contextlib
import copy
import html
import json
import os
import re
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from dumbbell.figures.paper import COLUMN_MM, LEAST_MM, MOST_MM, PPI, printed_svg
from dumbbell.figures.theme import THEMES, ThemeName, config
from dumbbell.files.cache import cache_folder
from dumbbell.files.output import json_text, write_json, write_output
from dumbbell.vega.drawing import VEGA_LITE, Drawer, drawn

#: Suffixes of files; of those the ones that are printed.
SUFFIXES = (".svg", ".pdf", ".png", ".html", ".json")
PRINTED = (".svg", ".pdf", ".png")
_WIDTH = 680
_HEIGHT = 300


@dataclass(frozen=True)
class Figure:
    """A chart as a Vega-Lite specification without colours and width; those come with a theme.

    `title` heads it, `description` says for people who do not see it what it shows. `panels` is
    the number of its panels (small multiples), 1 for a single chart, whose `height` is in pixels.
    """

    title: str
    description: str
    spec: dict[str, Any]
    panels: int = 1
    height: int = _HEIGHT

    def specification(
        self, theme: ThemeName = "light", width: int = _WIDTH, *, titled: bool = False
    ) -> dict[str, Any]:
        """The whole specification for a theme and a width in pixels; `titled`: with the title."""
        spec = copy.deepcopy(self.spec)
        if titled:
            spec["title"] = {"text": self.title, "limit": width}
        spec["config"] = config(theme)
        spec["description"] = self.description
        if self.panels > 1:
            columns = 1 if width < 560 else 2
            spec["columns"] = columns
            spec["spec"]["width"] = width // columns - 60
            spec["spec"]["height"] = 190
        else:
            spec["width"] = width - 70
            spec["height"] = self.height
        return spec

    def svg(self, theme: ThemeName = "light", width: int = _WIDTH, *, titled: bool = False) -> str:
        """The chart as SVG text on a transparent ground."""
        return drawn(self.specification(theme, width, titled=titled))

    def printed(
        self, width_mm: float = COLUMN_MM, theme: ThemeName = "light", *, titled: bool = False
    ) -> str:
        """The chart as SVG text for print: 50 to 400 mm wide, no letter below 7 points."""
        spec = self.specification(theme, titled=titled)
        height = None if self.height == _HEIGHT else self.height
        return printed_svg(spec, width_mm, height)

    def begin(self, drawer: Drawer) -> Future[str]:
        """Begins to draw `svg()` in the background."""
        return drawer.draw(self.specification())

    def png(
        self,
        theme: ThemeName = "light",
        width: int = _WIDTH,
        scale: float = 2.0,
        *,
        titled: bool = False,
    ) -> bytes:
        """The chart as PNG on the theme's ground, `scale` device pixels per pixel."""
        spec = self.specification(theme, width, titled=titled)
        spec["config"]["background"] = THEMES[theme].ground
        return vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale)

    def html(self) -> str:
        """A page of its own with the interactive chart; needs no network."""
        return _PAGE.format(
            title=html.escape(self.title),
            block=self.html_block("figure"),
            scripts=page_scripts(),
        )

    def html_block(self, identity: str, svg: str | None = None, *, static: bool = True) -> str:
        """The chart as a part of a page that also holds `page_scripts()`.

        Without scripts the static drawing in it stays: `svg`, if it was drawn already. Without
        `static` there is none.
        """
        drawing = _renumbered(svg or self.svg(), identity + "-clip") if static else ""
        data = json_text(self.spec)
        label = html.escape(self.description, quote=True)
        return (
            f'<div class="chart" id="{html.escape(identity, quote=True)}" '
            f'data-panels="{self.panels}" data-height="{self.height}" '
            f'role="img" aria-label="{label}">'
            f'<script type="application/json">{json_safe(data)}</script>'
            f'<div class="drawing{" static" * static}" aria-hidden="true">{drawing}</div></div>'
        )

    def save(
        self,
        path: str | Path,
        theme: ThemeName = "light",
        *,
        width_mm: float | None = None,
        titled: bool = False,
    ) -> Path:
        """Writes the figure as its suffix says: .svg, .pdf, .png, .html or .json.

        Args:
            path: File.
            theme: Colours.
            width_mm: Width in print, as of a paper's column (85 mm), for .svg, .pdf and .png.
            titled: With the title in the drawing.

        Raises:
            ValueError: The suffix is another, or the width is none of a figure.
            OutputError: The file cannot be written.
        """
        target = Path(path)
        suffix = check_form(target, width_mm)
        if width_mm is not None:
            write_output(target, self._printed_as(suffix, width_mm, theme, titled))
            return target
        match suffix:
            case ".html":
                write_output(target, self.html())
            case ".svg":
                write_output(target, self.svg(theme, titled=titled))
            case ".pdf":
                write_output(target, vl_convert.svg_to_pdf(self.svg(theme, titled=titled)))
            case ".png":
                write_output(target, self.png(theme, titled=titled))
            case _:
                write_json(target, self.specification(theme, titled=titled))
        return target

    def _printed_as(
        self, suffix: str, width_mm: float, theme: ThemeName, titled: bool
    ) -> str | bytes:
        svg = self.printed(width_mm, theme, titled=titled)
        if suffix == ".svg":
            return svg
        # The converters take a pixel for a point.
        svg = re.sub(r'width="[^"]*mm" height="[^"]*mm"', "", svg, count=1)
        if suffix == ".pdf":
            return vl_convert.svg_to_pdf(svg)
        ground = f'><rect width="100%" height="100%" fill="{THEMES[theme].ground}"/>'
        return vl_convert.svg_to_png(svg.replace(">", ground, 1), ppi=PPI)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {
            "image/svg+xml": self.svg(titled=True),
            "text/plain": f"{self.title}: {self.description}",
        }


def check_form(path: Path, width_mm: float | None) -> str:
    """Suffix of a figure's file. Raises `ValueError` for another one, or a width it cannot have."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        words = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ValueError(f"a figure is saved as {words}, not {path.suffix!r}")
    if width_mm is not None and suffix not in PRINTED:
        raise ValueError(f"a width in mm is for {', '.join(PRINTED)}, not {suffix}")
    if width_mm is not None and not LEAST_MM <= width_mm <= MOST_MM:
        raise ValueError(f"a figure is {LEAST_MM:g} to {MOST_MM:g} mm wide, not {width_mm:g} mm")
    return suffix


def unchecked() -> AbstractContextManager[None]:
    """Context in which Altair does not compare parts of charts with its schema: tests do."""
    return debug_mode(False)


def as_spec(chart: alt.LayerChart | alt.FacetChart) -> dict[str, Any]:
    """A chart of Altair as a specification that is the same each time.

    Altair numbers views by the order in which a process makes charts.
    """
    with alt.data_transformers.enable(consolidate_datasets=False):
        # Validation costs more than the rest: the tests do it.
        text = json.dumps(chart.to_dict(validate=False))
    names = dict.fromkeys(re.findall(r"view_[0-9a-f]+_\d+", text))
    for number, name in enumerate(names):
        text = text.replace(f'"{name}"', f'"view_{number}"')
    found: dict[str, Any] = json.loads(text)
    return found


def _renumbered(svg: str, prefix: str) -> str:
    """The drawing with ids of its own: Vega numbers clips by the order of drawing."""
    names = {name: f"{prefix}{i}" for i, name in enumerate(re.findall(r'id="([^"]+)"', svg))}
    return re.sub(
        r'(id="|url\(#)([^")]+)', lambda match: match[1] + names.get(match[2], match[2]), svg
    )


def script_safe(code: str) -> str:
    """JavaScript that cannot end or nest the script element around it.

    Raises `ValueError` for code with an HTML comment's start, which cannot be written otherwise
    without knowing whether it stands in a string.
    """
    if "<!--" in code:
        raise ValueError("code with '<!--' cannot stand in a script element")
    return re.sub(r"<(?=/?script)", r"\\x3c", code, flags=re.IGNORECASE)


def json_safe(text: str) -> str:
    """JSON text that cannot end the script element around it."""
    return text.replace("<", "\\u003c")


def _bundle() -> str:
    """The chart library as one script. Making it takes a second, so it is kept in the cache."""
    kept = cache_folder(".") / f"charts-{version('vl-convert-python')}-{VEGA_LITE}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    with contextlib.suppress(OSError):  # a cache that cannot be written is none
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(made, encoding="utf-8")
        new.replace(kept)
    return made


@lru_cache(maxsize=1)
def page_scripts() -> str:
    """The script elements that make the charts of a page interactive, all inlined."""
    bundle = _bundle()
    themes = json.dumps({name: config(name) for name in THEMES}, separators=(",", ":"))
    own = files("dumbbell.figures").joinpath("charts.js").read_text(encoding="utf-8")
    parts = (bundle, f"const DUMBBELL_THEMES={themes};\n{own}")
    return "".join(f'<script type="module">{script_safe(part)}</script>\n' for part in parts)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 0 auto; padding: 1rem; max-width: 60rem; font-family: system-ui, sans-serif; }}
h1 {{ font-size: 1.2rem; }}
.chart svg {{ max-width: 100%; height: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #12171e; color: #e6eaf0; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
{block}
{scripts}</body>
</html>
"""
