"""Renews the tables of studies/adsl-codel/README.md: `adsl_codel.py SIM.json LINUX.json…`.

The files are what `dumbbell study run adsl-codel --json FILE` writes, the first of all parts on the
simulator, the others on the engine linux, of some parts each. Only what stands between markers is
written; the words around it are written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "studies" / "adsl-codel" / "README.md"
LINES = {"0.25 Mbit/s": "0.25/0.50", "0.40 Mbit/s": "0.40/1.00", "0.50 Mbit/s": "0.50/2.00"}
TARGETS = ("1 ms", "5 ms", "12 ms", "25 ms")
SIGNS = {
    "reproduced": "✓ reproduced",
    "not reproduced": "✗ not reproduced",
    "within noise": "~ within noise",
    "inconsistent in the source": "! inconsistent",
}

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
    lines = [
        "| line (up/down, Mbit/s) | 1 ms | 5 ms | 12 ms | 25 ms | drop-tail (1000 packets) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for up, name in LINES.items():
        cells = [row_of(tables["targets"], target=t, up=up, flows="8") for t in TARGETS]
        cells.append(row_of(tables["drop-tail"], up=up, flows="8"))
        values = " | ".join(number(cell["latency_ms_measured"]) for cell in cells)
        lines.append(f"| {name} | {values} |")
    return lines


def disciplines(tables: dict[str, list[Row]]) -> list[str]:
    """The disciplines at the fastest and the slowest line, eight flows each way, no framing."""
    columns = {
        "latency_ms": "round trip (ms)",
        "latency_p99_ms": "99th percentile",
        "upload_mbps": "up (Mbit/s)",
        "download_mbps": "down",
        "loss": "loss",
        "mos_up": "MOS up",
        "mos_down": "MOS down",
    }
    lines = [
        f"| line | queue | {' | '.join(columns.values())} |",
        "| --- | --- |" + " --- |" * len(columns),
    ]
    for up in ("0.25 Mbit/s", "0.50 Mbit/s"):
        for row in tables["disciplines"]:
            if (row["up"], row["framing"], row["flows"]) == (up, "none", "8"):
                values = " | ".join(number(row[f"{column}_measured"]) for column in columns)
                lines.append(f"| {LINES[up]} | {row['queue']} | {values} |")
    return lines


def verdicts(ours: list[Row], theirs: list[Row]) -> list[str]:
    """A claim with its verdict on both engines."""
    known = {claim["id"]: claim for claim in theirs if claim["cases"]}
    lines = ["| claim | | simulator | Linux |", "| --- | --- | --- | --- |"]
    for claim in ours:
        other = known.get(claim["id"])
        sign = SIGNS[other["verdict"]] if other else "–"
        lines.append(f"| {claim['id']} | {claim['text']} | {SIGNS[claim['verdict']]} | {sign} |")
    return lines


def main(files: list[str]) -> None:
    """Writes the page anew."""
    ours, *others = (json.loads(Path(name).read_text(encoding="utf-8")) for name in files)
    theirs = [claim for other in others for claim in other["claims"]]
    found = {
        "latency": latency(ours["tables"]),
        "disciplines": disciplines(ours["tables"]),
        "verdicts": verdicts(ours["claims"], theirs),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in found.items():
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"<!-- end {name} -->")
        new = "\n".join(lines)
        text = f"{before}<!-- {name} -->\n{new}\n<!-- end {name} -->{after}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
