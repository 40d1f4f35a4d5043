"""Figures of a study, drawn from its tables."""

from __future__ import annotations

from typing import Any

from dumbbell.figures import Extras, plot
from dumbbell.figures import Figure as Drawn
from dumbbell.metrics import Tables
from dumbbell.report.markup import Markup, joined, tag
from dumbbell.studies.definition import Figure, Study


def figure_section(study: Study, name: str, results: Tables) -> Markup:
    """A figure with number, title and caption; a sentence where it cannot be drawn."""
    figure = study.figures[name]
    head = tag("h3", f"Figure {name}: {figure.title}", id=f"figure-{name}")
    try:
        drawn = study_figure(study, figure, results)
    except ValueError as error:
        return tag("figure", head, tag("p", f"Not drawn: {error}.", class_="faint"))
    return tag("figure", head, framed(drawn, f"chart-{name}"), tag("figcaption", figure.caption))


def framed(drawn: Drawn, identity: str) -> Markup:
    """A figure as a part of the page."""
    return joined([Markup(drawn.html_block(identity))])


def study_figure(study: Study, figure: Figure, results: Tables) -> Drawn:
    """The figure with what was published drawn in. Raises `ValueError` where data is missing."""
    options: dict[str, Any] = {**figure.options, "title": figure.title}
    if figure.published:
        options["extras"] = _extras(study, figure)
    return plot(results, figure.kind, **options)


def _extras(study: Study, figure: Figure) -> Extras:
    published = figure.published
    line = [{"value": published["bound"]}] if "bound" in published else []
    points = []
    if "points" in published:
        table = published["points"]
        (key,) = study.tables[table].rows
        points = [
            {
                "x": published["at"],
                "series": row[key],
                "value": float(row[published["column"]]),
            }
            for row in study.published(table)
        ]
    return Extras(published=points, line=line, line_label=str(published.get("label", "")))
