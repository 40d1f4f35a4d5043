"""Tables of README.md: `dumbbell study tables adsl-codel`.

All parts on the simulator (two minutes), and with four repeats on the engine linux.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.studies.pages import SIGNS, Made, Runs, as_json, markdown

PAGE = "README.md"
LINES = {"0.25 Mbit/s": "0.25/0.50", "0.40 Mbit/s": "0.40/1.00", "0.50 Mbit/s": "0.50/2.00"}
TARGETS = ("1 ms", "5 ms", "12 ms", "25 ms")
Row = dict[str, Any]


def number(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def row_of(rows: list[Row], **where: str) -> Row:
    """The row of a table in which these columns hold."""
    return next(row for row in rows if all(row[key] == level for key, level in where.items()))


def latency(tables: dict[str, list[Row]]) -> list[str]:
    """Mean round trips by line and target, eight flows each way."""
    heads = ["line (up/down, Mbit/s)", *TARGETS, "drop-tail (1000 packets)"]
    rows = []
    for up, name in LINES.items():
        cells = [row_of(tables["targets"], target=t, up=up, flows="8") for t in TARGETS]
        cells.append(row_of(tables["drop-tail"], up=up, flows="8"))
        rows.append([name, *(number(cell["latency_ms_measured"]) for cell in cells)])
    return markdown(heads, rows)


def disciplines(tables: dict[str, list[Row]]) -> list[str]:
    """The disciplines at the fastest and the slowest line, eight flows each way, no framing."""
    columns = {
        "latency_ms": "RTT (ms)",
        "latency_p99_ms": "99th percentile",
        "upload_mbps": "up (Mbit/s)",
        "download_mbps": "down",
        "loss": "loss",
        "mos_up": "MOS up",
        "mos_down": "MOS down",
    }
    rows = []
    for up in ("0.25 Mbit/s", "0.50 Mbit/s"):
        for row in tables["disciplines"]:
            if (row["up"], row["framing"], row["flows"]) == (up, "none", "8"):
                values = (number(row[f"{column}_measured"]) for column in columns)
                rows.append([LINES[up], row["queue"], *values])
    return markdown(["line", "queue", *columns.values()], rows)


def verdicts(ours: list[Row], theirs: list[Row]) -> list[str]:
    """A claim with its verdict on both engines."""
    known = {claim["id"]: claim for claim in theirs if claim["cases"]}
    rows = []
    for claim in ours:
        other = known.get(claim["id"])
        sign = SIGNS[other["verdict"]] if other else "–"
        rows.append([claim["id"], claim["text"], SIGNS[claim["verdict"]], sign])
    return markdown(["claim", "", "simulator", "Linux"], rows)


def tables(runs: Runs) -> Iterator[Made]:
    """All tables of the page."""
    ours = as_json(runs.study())
    yield PAGE, "latency", latency(ours["tables"])
    yield PAGE, "disciplines", disciplines(ours["tables"])
    if runs.allows("linux"):
        theirs = as_json(runs.study(engine="linux", repeats=4))
        yield PAGE, "verdicts", verdicts(ours["claims"], theirs["claims"])
