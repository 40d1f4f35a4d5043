"""Writes two pictures of `docs/index.md`: `python -m tests.write_start_pictures`.

The others are those of `write_figure_pictures` and `write_course_pictures`.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import altair as alt

import dumbbell
from dumbbell.figures.figure import Figure
from dumbbell.figures.theme import THEMES
from dumbbell.metrics import METRICS, summary
from tests.helpers import ROOT
from tests.model_figures import DATA
from tests.write_figure_pictures import PICTURES, written

STUDY = ROOT / "studies" / "multipath"
#: Repeats of each pair of the study.
REPEATS = 3


def kernel() -> Figure:
    """CUBIC's congestion window in the simulator and on Linux, as measured for its model page."""
    rows = _read(DATA / "cubic.csv")
    values = [{**row, "s": float(row["s"]), "packets": int(row["packets"])} for row in rows]
    labels = list(dict.fromkeys(row["series"] for row in rows))
    dashes = alt.Scale(domain=labels, range=[[1, 0], [4, 3]])
    colours = alt.Scale(domain=labels, range=list(THEMES["light"].series[:2]))
    chart = _chart(values).mark_line().encode(
        x=alt.X("s:Q", title="Time (s)"),
        y=alt.Y("packets:Q", title="Window (packets)"),
        color=alt.Color("series:N", title=None, sort=labels, scale=colours,
                        legend=alt.Legend(orient="top")),
        strokeDash=alt.StrokeDash("series:N", sort=labels, scale=dashes, legend=None),
    )  # fmt: skip
    return Figure("", "CUBIC's window on both engines: one curve", chart.to_dict())


def study() -> Figure:
    """Goodputs of Table 5.2 of study 1, published and ours."""
    results = dumbbell.run(STUDY / "fairness.yaml", repeats=REPEATS)
    ours = summary(results, METRICS["goodput_mbps"])
    mean = {
        (row["cc_1"], row["cc_2"], row["flow"]): row["mean"] for row in ours.iter_rows(named=True)
    }
    values = [
        {
            "published": float(row[f"throughput_{flow}_mbps"]),
            "ours": mean[row["cc_1"], row["cc_2"], f"flow{flow}"],
        }
        for row in _read(STUDY / "table-5.2.csv")
        for flow in (1, 2)
    ]
    scale = alt.Scale(domain=[4, 15])
    x = alt.X("published:Q", title="Published goodput (Mbit/s)", scale=scale)
    y = alt.Y("ours:Q", title="Measured (Mbit/s)", scale=scale)
    equal = _chart([{"published": at, "ours": at} for at in (4, 15)])
    line = equal.mark_line(strokeDash=[4, 3], color=THEMES["light"].series[1])
    points = _chart(values).mark_point(filled=True, size=60, color=THEMES["light"].series[0])
    chart = alt.layer(line.encode(x=x, y=y), points.encode(x=x, y=y))
    return Figure("", "Published and measured goodput of 12 flows", chart.to_dict())


def _chart(values: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=values))


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as text:
        return [dict(row) for row in csv.DictReader(text)]


if __name__ == "__main__":
    for name, figure in (("kernel", kernel), ("study", study)):
        written(PICTURES / f"start-{name}.svg", figure().printed())
