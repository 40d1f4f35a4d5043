"""Fairness matrix: the share of one algorithm against another, for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from dumbbell.catalogue import congestion_controls
from dumbbell.figures.factor import rounded, series_name, words
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.names import no_factor
from dumbbell.figures.theme import label_angle
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.definition import CONNECTIONS
from dumbbell.rows import Where, where_rows

#: Pixels of a row.
_ROW = 52


def matrix(
    results: Tables,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    title: str | None = None,
) -> Figure:
    """Mean share of the goodput that the flows of the row get against those of the column.

    Args:
        results: Tables of an experiment in which two factors name the algorithms of competing
            flows. A flow is of the row if its algorithm is the level of `by` in every run.
        x: Factor of the columns; None: the second one whose levels are algorithms.
        by: Factor of the rows; None: the first one.
        where: Level of each further factor.
        title: Title of the figure.

    Raises:
        ValueError: No two factors name algorithms, no flows follow them, or factors stay open.
    """
    rows, columns = _factors(results, by, x)
    goodput = METRICS["goodput_mbps"].measure(results).filter(pl.col("kind").is_in(CONNECTIONS))
    frame = where_rows(goodput.filter(pl.col("value").is_not_nan()), where or {})
    left = [
        name
        for name in results.experiment.factors
        if name not in (rows, columns) and not frame.is_empty() and frame[name].n_unique() > 1
    ]
    if left:
        raise ValueError(f"several values for each cell: fix {', '.join(left)} by where")
    shares = _shares(frame, rows, columns)
    levels = {
        name: [one for one in results.experiment.factors[name] if one in shares[name]]
        for name in (rows, columns)
    }
    if set(levels[rows]) == set(levels[columns]):  # an algorithm against itself is on the diagonal
        levels[columns] = levels[rows]
    cells = _cells(shares, rows, columns)
    spec = as_spec(_chart(cells, levels[rows], levels[columns]))
    heading = title or "Share of the goodput of each row against each column"
    height = _ROW * len(levels[rows])
    return Figure(heading, _description(cells), spec, height=height)


def _algorithm(level: str) -> str | None:
    """Name of the congestion control that a level names."""
    for name, one in congestion_controls().items():
        if level.lower() in (name.lower(), one.title.lower()):
            return name
    return None


def _factors(results: Tables, by: str | None, x: str | None) -> tuple[str, str]:
    """Factors of rows and columns."""
    factors = results.experiment.factors
    for name in filter(None, (by, x)):
        if name not in factors:
            raise no_factor(name, factors)
    naming = [name for name, levels in factors.items() if all(map(_algorithm, levels))]
    rest = [name for name in naming if name not in (by, x)]
    found = [name or (rest.pop(0) if rest else None) for name in (by, x)]
    rows, columns = found
    if rows is None or columns is None or rows == columns:
        raise ValueError(
            "a matrix needs two factors that name the algorithms of competing flows; "
            f"of {', '.join(factors) or 'no factor'} so does {', '.join(naming) or 'none'}"
        )
    return rows, columns


def _shares(frame: pl.DataFrame, rows: str, columns: str) -> pl.DataFrame:
    """Share of the flows of the row in each run."""
    sides = {side: _flows_of(frame, side) for side in (rows, columns)}
    both = set(sides[rows]) & set(sides[columns])
    own, others = ([name for name in sides[side] if name not in both] for side in (rows, columns))
    if not own or not others:
        raise ValueError(
            f"no flows have the algorithms that {words(rows)} and {words(columns)} name"
        )

    def total(names: Sequence[str]) -> pl.Expr:
        return pl.col("value").filter(pl.col("flow").is_in(list(names))).sum()

    totals = frame.group_by("run", rows, columns, maintain_order=True).agg(
        total(own).alias("own"), total(others).alias("others")
    )
    known = totals.filter(pl.col("own") + pl.col("others") > 0)
    return known.with_columns((pl.col("own") / (pl.col("own") + pl.col("others"))).alias("share"))


def _flows_of(frame: pl.DataFrame, factor: str) -> list[str]:
    """Flows whose algorithm is the level of the factor in every run."""
    follows = pl.struct(factor, "congestion_control").map_elements(
        lambda row: _algorithm(row[factor]) == row["congestion_control"], return_dtype=pl.Boolean
    )
    per_flow = frame.group_by("flow", maintain_order=True).agg(follows.all().alias("all"))
    return per_flow.filter(pl.col("all"))["flow"].to_list()


def _cells(shares: pl.DataFrame, rows: str, columns: str) -> list[dict[str, Any]]:
    grouped = shares.group_by(rows, columns, maintain_order=True).agg(
        pl.col("share").mean(),
        pl.col("share").min().alias("low"),
        pl.col("share").max().alias("high"),
        pl.len().alias("runs"),
        pl.col("own").mean(),
        pl.col("others").mean(),
    )
    return [
        {
            "row": series_name(row[rows]),
            "column": series_name(row[columns]),
            **{name: rounded(row[name]) for name in ("share", "low", "high", "own", "others")},
            "runs": row["runs"],
            "text": f"{100 * row['share']:.0f} %",
        }
        for row in grouped.iter_rows(named=True)
    ]


def _chart(
    cells: list[dict[str, Any]], rows: list[str], columns: list[str]
) -> alt.LayerChart | alt.FacetChart:
    down, across = [list(map(series_name, levels)) for levels in (rows, columns)]
    axis = alt.Axis(labelAngle=label_angle(across), labelOverlap=False)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("column:N", sort=across, title="against", axis=axis),
        y=alt.Y("row:N", sort=down, title="Share of"),
        tooltip=[
            alt.Tooltip("row:N", title="Share of"),
            alt.Tooltip("column:N", title="against"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("low:Q", title="lowest of a run", format=".1%"),
            alt.Tooltip("high:Q", title="highest", format=".1%"),
            alt.Tooltip("own:Q", title="its goodput (Mbit/s)", format=",.4~g"),
            alt.Tooltip("others:Q", title="of the other (Mbit/s)", format=",.4~g"),
            alt.Tooltip("runs:Q", title="runs"),
        ],
    )
    scale = alt.Scale(domain=[0, 0.5, 1], range="diverging", interpolate="lab")
    cell = base.mark_rect(stroke="transparent").encode(
        color=alt.Color("share:Q", scale=scale, legend=None)
    )
    return alt.layer(cell, base.mark_text(style="cell").encode(text="text:N"))


def _description(cells: list[dict[str, Any]]) -> str:
    parts = (f"{one['row']} against {one['column']} {one['text']}" for one in cells)
    return f"Share of the goodput: {'; '.join(parts)}."
