"""The overview of results as a fragment of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from dumbbell.metrics import Tables
from dumbbell.summary import overview
from dumbbell.summary.cells import cells
from dumbbell.summary.findings import findings
from dumbbell.summary.fit import shortened

#: Cells of the table, and findings below it.
_MOST_CELLS, _MOST_FINDINGS = 20, 2
_LEFT, _RIGHT = "text-align: left", "text-align: right"


def overview_html(results: Tables) -> str:
    """Flows and bottlenecks of each cell, and what stands out. All names are escaped."""
    every = cells(results)
    if not every:
        return ""
    factors = list(results.experiment.factors)
    drawn = [overview.lines(cell) for cell in every[:_MOST_CELLS]]
    columns = overview.columns_of(drawn)
    heads = [overview.COLUMNS[name].replace("\n", " ").strip() for name in columns]
    rows = [_row("th", [*factors, ""], heads)]
    for cell, own in zip(every, drawn, strict=False):
        for place, (name, texts) in enumerate(own):
            shown = [shortened(cell.levels[one]) if place == 0 else "" for one in factors]
            rows.append(_row("td", [*shown, name], [texts.get(one, "") for one in columns]))
    more = len(every) - len(drawn)
    notes = [f"{more} more cells: results.flows, or dumbbell report"] if more > 0 else []
    notes += [one.sentence for one in findings(every)[:_MOST_FINDINGS]]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<table>{''.join(rows)}</table>" + (f"<ul>{items}</ul>" if items else "")


def _row(element: str, left: Iterable[str], right: Iterable[str]) -> str:
    styled = [*((text, _LEFT) for text in left), *((text, _RIGHT) for text in right)]
    inner = "".join(
        f"<{element} style='{style}'>{escape(text)}</{element}>" for text, style in styled
    )
    return f"<tr>{inner}</tr>"
