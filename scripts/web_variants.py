"""Renews the tables of studies/web/README.md: `web_variants.py SIM.json [LINUX.json]`.

The files are what `dumbbell study run web --json FILE` writes, the first of all parts on the
simulator, the second of part *today* on the engine linux. Only what stands between markers is
written; the words around it are written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "studies" / "web" / "README.md"
SIGNS = {
    "reproduced": "✓ reproduced",
    "not reproduced": "✗ not reproduced",
    "within noise": "~ within noise",
    "inconsistent in the source": "! inconsistent",
}
NAMES = {"newreno": "NewReno", "cubic": "CUBIC", "none": "plain"}
COLUMNS = {"time_s": "time (s)", "retransmitted_percent": "sent again (%)", "rate_kbps": "kbit/s"}
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
    head = " | ".join(f"{label}: published | ours | single runs" for label in COLUMNS.values())
    lines = [f"| variant | {head} | done (s) |", "| --- |" + " --- |" * (3 * len(COLUMNS) + 1)]
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
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def verdicts(claims: list[Row]) -> list[str]:
    """Each claim with its verdict, what was published and measured, and what single runs show."""
    lines = ["| claim | | published | measured | single runs | verdict |", "| --- |" + " --- |" * 5]
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
        row = (claim["id"], claim["text"], published, f"{measured}{unit}", runs, sign)
        lines.append(f"| {' | '.join(row)} |")
    return lines


def today(ours: list[Row], theirs: list[Row]) -> list[str]:
    """Linux 6.1 on both engines."""
    lines = [
        "| variant | category | simulator (s) | Linux (s) | difference |",
        "| --- | --- | --- | --- | --- |",
    ]
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
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def modern(rows: list[Row]) -> list[str]:
    """Today's stacks and queues."""
    lines = [
        "| line | queue | stack | large (s) | medium | small | all | page done |",
        "| --- |" + " --- |" * 7,
    ]
    columns = ("large_s", "medium_s", "small_s", "all_s", "completion_s")
    for row in rows:
        values = " | ".join(number(row[f"{column}_measured"]) for column in columns)
        lines.append(f"| {row['rate']} | {row['queue']} | {row['stack']} | {values} |")
    return lines


def main(files: list[str]) -> None:
    """Writes the page anew."""
    ours, *others = (json.loads(Path(name).read_text(encoding="utf-8")) for name in files)
    tables = ours["tables"]
    found = {f"table-{number}": table(tables[f"table-{number}"]) for number in TITLES}
    found |= {"verdicts": verdicts(ours["claims"]), "modern": modern(tables["modern"])}
    for other in others:
        found["today"] = today(tables["today"], other["tables"]["today"])
    text = PAGE.read_text(encoding="utf-8")
    for place, lines in found.items():
        before, _, rest = text.partition(f"<!-- {place} -->\n")
        _, _, after = rest.partition(f"<!-- end {place} -->")
        new = "\n".join(lines)
        text = f"{before}<!-- {place} -->\n{new}\n<!-- end {place} -->{after}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
