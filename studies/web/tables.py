"""Tables of tables.md: `dumbbell study tables web`.

All parts on the simulator (five minutes), part *today* on the engine linux too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.studies.pages import SIGNS, Made, Runs, as_json, markdown

PAGE = "tables.md"
NAMES = {"newreno": "NewReno", "cubic": "CUBIC", "none": "plain"}
COLUMNS = {
    "time_s": "time (s)",
    "retransmitted_percent": "retransmitted (%)",
    "rate_kbps": "kbit/s",
}
TITLES = {4: "large", 5: "medium", 6: "small", 7: "all"}

Row = dict[str, Any]


def number(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def name(row: Row) -> str:
    """NewReno, SACK + ABC."""
    options = str(row["options"])
    words = NAMES.get(options) or " + ".join(part.upper() for part in options.split("-"))
    return f"{NAMES[row['algorithm']]}, {words}"


def table(rows: list[Row]) -> list[str]:
    """Published, our mean with its interval, and where single runs lie, column by column."""
    heads = [f"{label}: published | ours | single runs" for label in COLUMNS.values()]
    heads = ["variant", *" | ".join(heads).split(" | "), "done (s)"]
    found = []
    for row in sorted(rows, key=lambda row: float(row["time_s"])):
        cells = [name(row)]
        for column in COLUMNS:
            low, high = row.get(f"{column}_runs_low"), row.get(f"{column}_runs_high")
            inside = low is None or high is None or low <= row[column] <= high
            cells.append(number(row[column]) + ("" if inside else " ✗"))
            half = (row[f"{column}_high"] - row[f"{column}_low"]) / 2
            cells.append(f"{number(row[f'{column}_measured'])} ± {number(half)}")
            cells.append(f"{number(low)}–{number(high)}")
        cells.append(number(row["completion_s_measured"]))
        found.append(cells)
    return markdown(heads, found)


def verdicts(claims: list[Row]) -> list[str]:
    """Each claim with its verdict, what was published and measured, and what single runs show."""
    rows = []
    for claim in claims:
        case = max(claim["cases"], key=lambda case: case["measured"] == claim["measured"])
        if case["runs_low"] is not None:
            runs = f"{number(case['runs_low'])} to {number(case['runs_high'])}"
        else:
            share = case["share_of_runs"]
            runs = "–" if share is None else f"{share:.0%} of them show it"
        several = len(claim["cases"]) > 1
        published = "12 values" if several else number(claim["published"])
        measured = claim["note"] if several else number(claim["measured"])
        unit = "" if several else f" {claim['unit']}".rstrip()
        sign = SIGNS[claim["verdict"]]
        causes = [cause["text"] for cause in claim["causes"] if cause["shown"]]
        if causes:
            sign += "; reproduced if: " + " / ".join(causes)
        runs = "" if several else runs
        rows.append([claim["id"], claim["text"], published, f"{measured}{unit}", runs, sign])
    return markdown(["claim", "", "published", "measured", "single runs", "verdict"], rows)


def today(ours: list[Row], theirs: list[Row]) -> list[str]:
    """Linux 6.1 on both engines."""
    found = []
    for row, other in zip(ours, theirs, strict=True):
        sack = "SACK" if row["sack"] == "true" else "without SACK"
        for column in ("large_s", "medium_s", "small_s", "all_s", "completion_s"):
            cells = [f"{NAMES[row['algorithm']]}, {sack}", column.removesuffix("_s")]
            values = []
            for one in (row, other):
                value = one[f"{column}_measured"]
                half = (one[f"{column}_high"] - one[f"{column}_low"]) / 2
                values.append(value)
                cells.append(f"{number(value)} ± {number(half)}")
            cells.append(f"{100 * (values[0] / values[1] - 1):+.1f} %")
            found.append(cells)
    return markdown(["variant", "category", "simulator (s)", "Linux (s)", "difference"], found)


def modern(rows: list[Row]) -> list[str]:
    """Today's stacks and queues."""
    heads = ["line", "queue", "stack", "large (s)", "medium", "small", "all", "page done"]
    columns = ("large_s", "medium_s", "small_s", "all_s", "completion_s")
    found = [
        [
            row["rate"],
            row["queue"],
            row["stack"],
            *(number(row[f"{column}_measured"]) for column in columns),
        ]
        for row in rows
    ]
    return markdown(heads, found)


def tables(runs: Runs) -> Iterator[Made]:
    """All tables of the page."""
    ours = as_json(runs.study())
    for number_ in TITLES:
        yield PAGE, f"table-{number_}", table(ours["tables"][f"table-{number_}"])
    yield PAGE, "verdicts", verdicts(ours["claims"])
    yield PAGE, "modern", modern(ours["tables"]["modern"])
    if runs.allows("linux"):
        theirs = as_json(runs.study(engine="linux", parts=["today"]))
        yield PAGE, "today", today(ours["tables"]["today"], theirs["tables"]["today"])
