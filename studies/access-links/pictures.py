"""Picture of docs/access-links.md: `python studies/access-links/pictures.py`.

Each model beside published numbers (`published.csv`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt

import dumbbell
from dumbbell.figures.theme import THEMES
from dumbbell.vega.drawing import drawn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from tables import published, rates_mbps  # type: ignore[import-not-found]  # noqa: E402

TARGET = HERE.parents[1] / "docs" / "images" / "access-links.svg"
WIDTH, HEIGHT = 190, 120
CURVE, POINT = "#2b6cb0", "#c05621"


def quantiles(values: list[float]) -> list[dict[str, float]]:
    """Curve of a CDF."""
    ordered = sorted(values)
    places = (i / 200 for i in range(201))
    return [{"value": ordered[int(p * (len(ordered) - 1))], "share": p} for p in places]


def points(name: str) -> list[dict[str, float]]:
    """Published quantiles of a link."""
    found = []
    for row in published():
        kind, _, rest = row["quantity"].partition("_p")
        if row["access"] == name and kind in ("rtt", "rate") and rest[:2].isdigit():
            found.append({"value": float(row["published"]), "share": int(rest[:2]) / 100})
        if row["access"] == name and row["quantity"] == "rtt_max_ms":
            found.append({"value": float(row["published"]), "share": 1.0})
    return found


def cdf(name: str, values: list[float], title: str, **scale: Any) -> alt.LayerChart:
    """Curve of the model, points of what is published."""
    x = alt.X("value:Q", title=title, scale=alt.Scale(**{"type": "linear", "zero": False} | scale))
    y = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4))
    curve = alt.Chart(alt.InlineData(values=quantiles(values))).mark_line(color=CURVE)
    dots = alt.Chart(alt.InlineData(values=points(name))).mark_point(
        color=POINT, filled=True, size=50
    )
    return alt.layer(curve.encode(x=x, y=y), dots.encode(x=x, y=y)).properties(
        title=name, width=WIDTH, height=HEIGHT
    )


def over_time(rows: list[dict[str, float]]) -> alt.LayerChart:
    """Pings over Starlink, and the moments of its changes."""
    x = alt.X("s:Q", title="time (s)", scale=alt.Scale(domain=[0, 60]))
    y = alt.Y("value:Q", title="RTT (ms)", scale=alt.Scale(zero=False))
    dots = alt.Chart(alt.InlineData(values=rows)).mark_point(color=CURVE, size=8)
    moments = [{"s": at} for at in range(12, 61, 15)]
    rules = alt.Chart(alt.InlineData(values=moments)).mark_rule(color=POINT)
    return alt.layer(rules.encode(x=x), dots.encode(x=x, y=y)).properties(
        title="starlink", width=WIDTH, height=HEIGHT
    )


def main() -> None:
    """Runs `idle.yaml` and writes the picture."""
    probes = dumbbell.run(HERE / "idle.yaml").probes
    probes = probes.filter(probes["delay_ns"] > 0)

    def rtts(name: str) -> list[float]:
        found: list[float] = (probes.filter(probes["access"] == name)["delay_ns"] / 1e6).to_list()
        return found

    starlink = probes.filter((probes["access"] == "starlink") & (probes["time_ns"] < 60e9))
    rows: list[dict[str, Any]] = [
        {"s": at / 1e9, "value": delay / 1e6}
        for at, delay in starlink.select("time_ns", "delay_ns").gather_every(2).iter_rows()
    ]
    panels = [
        cdf("wifi", rtts("wifi"), "RTT (ms)", type="log"),
        over_time(rows),
        cdf("lte", rates_mbps("lte"), "rate down (Mbit/s)", type="log"),
        cdf("5g", rates_mbps("5g"), "rate down (Mbit/s)", type="log"),
        cdf("docsis", rtts("docsis"), "RTT (ms)"),
        cdf("gpon", rtts("gpon"), "RTT (ms)"),
        cdf("geo", rtts("geo"), "RTT (ms)", domain=[500, 700]),
    ]
    chart = alt.concat(*panels, columns=3).configure_view(stroke=None)
    ground = THEMES["light"].ground
    svg = drawn(chart.configure(background=ground).to_dict())
    TARGET.write_text(svg + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
