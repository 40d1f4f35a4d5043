"""Table of the outages of links, and what they did to each flow: a row per cell and flow."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from dumbbell.console.words import left_out
from dumbbell.limits.outages import has_outages
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics import summary as over_repeats
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import CONTROLLED
from dumbbell.metrics.numbers import number, with_interval
from dumbbell.scenario import shared_scenario
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled

TITLE = "Outages"
_CAPTION = (
    "Outage: time in which a link of the flow's paths is down. Longest stall: time without new "
    "data at the receiver while the sender has data. New data and goodput back: time from the end "
    "of the outage, of several the longest"
)
#: Heading → metric.
_COLUMNS = {
    "outage s": "outage_s",
    "longest stall s": "stall_s",
    "new data after s": "resume_s",
    "goodput back after s": "recover_s",
}
HEAD = ("flow", *_COLUMNS)
#: Rows that are shown.
MOST_ROWS = 30


def rows(results: Tables, *, intervals: bool = True) -> list[list[str]]:
    """Levels, name of the flow and texts of `HEAD`; none where no link goes down.

    Flows of arrivals are left out: one of a repeat is another in the next.
    """
    texts = results.runs["scenario"].unique(maintain_order=True)
    if not any(has_outages(shared_scenario(text)) for text in texts):
        return []
    factors = list(results.experiment.factors)
    lasting = without_arrivals(results)
    found: dict[tuple[Any, ...], dict[str, str]] = {}
    concerned: set[tuple[Any, ...]] = set()
    runs: dict[tuple[Any, ...], int] = {}
    for heading, name in _COLUMNS.items():
        for row in over_repeats(lasting, METRICS[name]).iter_rows(named=True):
            key = (*(row[factor] for factor in factors), row["flow"])
            of_all = runs.setdefault(key, row["count"])
            text = _text(row, intervals=intervals)
            # A mean of the runs that came back, alone, hides those that did not.
            some = f" in {row['count']} of {of_all} runs" if 0 < row["count"] < of_all else ""
            found.setdefault(key, {})[heading] = f"{text}{some}"
            if name == "outage_s" and row["mean"] > 0 and row["kind"] in CONTROLLED:
                concerned.add(key)
    return [
        [*map(str, key), *(own.get(heading, "–") for heading in _COLUMNS)]
        for key, own in found.items()
        if key in concerned
    ]


def caption(every: list[list[str]]) -> str:
    """Sentences about the rows shown."""
    unknown = any(text == "–" for row in every for text in row)
    return f"{_CAPTION}{'; –: in no run, or not known' if unknown else ''}."


def _text(row: dict[str, Any], *, intervals: bool) -> str:
    mean: float = row["mean"]
    return with_interval(mean, row["low"], row["high"]) if intervals else number(mean)


def table(results: Tables, width: int = WIDTH) -> Group | None:
    """The rows for a terminal of this width; None where no link goes down."""
    every = rows(results, intervals=False)
    if not every:
        return None
    factors = list(results.experiment.factors)

    def make(intervals: bool) -> Table:
        shown = plain_table()
        add_columns(shown, map(shortened, [*factors, "flow"]), HEAD[1:])
        for row in rows(results, intervals=intervals)[:MOST_ROWS]:
            shown.add_row(*map(shortened, row))
        return shown

    shown = fitted(make, (True, False), width)
    more = left_out(len(every), MOST_ROWS)
    return titled(TITLE, Group(shown, more) if more else shown)
