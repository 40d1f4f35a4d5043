"""Verb `figure`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import ExperimentName, StoreArgument
from dumbbell.codes import Code
from dumbbell.console import say
from dumbbell.errors import DumbbellError

#: Kinds, for completion in shells. `dumbbell.figures` is not imported for it: it takes a second.
KINDS = (
    "bars", "cdf", "delay-throughput", "goodput", "ladder", "matrix", "queue-delay", "rrul", "rtt",
    "runs", "sequence", "series", "sojourn", "sweep", "window",
)  # fmt: skip


def figure(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of figure, or name of a metric: dumbbell help --page figures.",
            autocompletion=lambda: KINDS,
        ),
    ],
    store: StoreArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Output (.svg, .pdf, .png, .html, .json)."),
    ] = None,
    experiment: ExperimentName = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=LEVEL", help="Level of a factor; may be repeated."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR", help="Factor with a line, panel or curve per level."),
    ] = None,
    x: Annotated[
        str | None, typer.Option("--x", metavar="FACTOR", help="Factor on the x axis.")
    ] = None,
    over: Annotated[
        str | None, typer.Option(metavar="FACTOR", help="Factor whose levels are averaged.")
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Metric to show.")] = None,
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="Flow to show.")] = None,
    pipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Queue, as bottleneck/forward.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=0, help="Repeat to show [default: the first].")
    ] = None,
    start_ms: Annotated[float | None, typer.Option(help="Start of the stretch to show.")] = None,
    end_ms: Annotated[float | None, typer.Option(help="End of the stretch to show.")] = None,
    title: Annotated[str | None, typer.Option(help="Title, drawn above the figure.")] = None,
    column: Annotated[
        bool, typer.Option("--column", help="As wide as a column of a paper: 85 mm.")
    ] = False,
    width: Annotated[
        float | None, typer.Option(metavar="MM", help="Width in print, in mm.")
    ] = None,
    theme: Annotated[Literal["light", "dark"], typer.Option(help="Colours.")] = "light",
) -> None:
    """Draw a figure from the runs of a store."""
    with guarded():
        if output is None:
            raise DumbbellError(
                "figure: -o FILE is missing, as -o figure.svg (or .pdf, .png)", code=Code.OPTION
            )
        from dumbbell import load_results
        from dumbbell.cli.figure_options import checked, in_flags, known_levels, levels_of
        from dumbbell.figures import plot
        from dumbbell.figures.figure import check_form
        from dumbbell.figures.paper import COLUMN_MM

        options: dict[str, Any] = {
            "where": levels_of(where),
            "by": by,
            "x": x,
            "over": over,
            "metric": metric,
            "flow": flow,
            "pipe": pipe,
            "repeat": repeat,
            "start_ms": start_ms,
            "end_ms": end_ms,
            "title": title,
        }
        given = {name: value for name, value in options.items() if value not in (None, {})}
        wide = COLUMN_MM if column and width is None else width
        try:
            chosen = checked(kind, given)
            check_form(output, wide)
            check_places(output)
            results = load_results(store, experiment, partial=True)
            if where:
                chosen["where"] = known_levels(where, results.experiment.factors)
            drawn = plot(results, kind, **chosen)
            drawn.save(output, theme, width_mm=wide, titled=title is not None)
        except ValueError as error:
            raise DumbbellError(f"figure {kind}: {in_flags(error)}", code=Code.OPTION) from None
        say(f"{drawn.title}: {output}")
