"""Figures of a study, drawn from its tables."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell.face.markup import Markup, tag
from dumbbell.face.page import framed
from dumbbell.figures import Extras, plot
from dumbbell.figures import Figure as Drawn
from dumbbell.metrics import Tables
from dumbbell.vega.drawing import Drawer

if TYPE_CHECKING:
    from dumbbell.studies.definition import Figure, Study


@dataclass(frozen=True)
class Begun:
    """A figure of a study that is being drawn; without one, why it cannot be."""

    figure: Drawn | None
    svg: Future[str] | None
    reason: str = ""


def begin_figures(
    study: Study, parts: Mapping[str, Tables], drawer: Drawer | None
) -> dict[str, Begun]:
    """The figures of the parts that were run, by name; with a `drawer` they are drawn meanwhile."""
    begun = {}
    for name, figure in study.figures.items():
        if figure.part in parts:
            try:
                drawn = study_figure(study, figure, parts[figure.part])
                begun[name] = Begun(drawn, drawn.begin(drawer) if drawer else None)
            except ValueError as error:
                begun[name] = Begun(None, None, str(error))
    return begun


def figure_section(study: Study, name: str, begun: Begun) -> Markup:
    """A figure with number, title and caption; a sentence where it cannot be drawn."""
    figure = study.figures[name]
    head = tag("h3", f"Figure {name}: {figure.title}", id=f"figure-{name}")
    if begun.figure is None:
        return tag("figure", head, tag("p", f"Not drawn: {begun.reason}.", class_="faint"))
    svg = begun.svg.result() if begun.svg else None
    chart = framed(begun.figure, f"chart-{name}", svg)
    return tag("figure", head, chart, tag("figcaption", figure.caption))


def study_figure(study: Study, figure: Figure, results: Tables) -> Drawn:
    """The figure with what was published drawn in. Raises `ValueError` where data is missing."""
    options: dict[str, Any] = {**figure.options, "title": figure.title}
    if figure.published:
        options["extras"] = _extras(study, figure)
    return plot(results, figure.kind, **options)


def _extras(study: Study, figure: Figure) -> Extras:
    published = figure.published
    line = [{"value": published["bound"]}] if "bound" in published else []
    points: list[dict[str, Any]] = []
    if "table" in published:
        points = _points(study, published, figure.options)
    return Extras(published=points, line=line, line_label=str(published.get("label", "")))


def _points(
    study: Study, published: Mapping[str, Any], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Published values by place and series; rows that share both (a factor `over`) are averaged.

    A factor that the table has no column for is where `at` says.
    """
    column_of = {factor: key for key, factor in study.tables[published["table"]].rows.items()}
    found: dict[tuple[str, str], list[float]] = {}
    by = options.get("by")
    factors = list(by) if isinstance(by, list) else [options.get("x"), by]
    for row in study.published(published["table"]):
        ends = [
            row[column_of[factor]] if factor in column_of else str(published.get("at", ""))
            for factor in factors
        ]
        found.setdefault((ends[0], ends[1]), []).append(float(row[published["column"]]))
    return [
        {"x": x, "series": series, "value": sum(values) / len(values)}
        for (x, series), values in found.items()
    ]
