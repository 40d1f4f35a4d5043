"""Renews the tables of docs/agreement.md: `python scripts/agreement.py [STORE]`.

Runs the cells of study 1 as both references were set up (1 to 2 minutes) and writes what stands
between the markers; the words around them are written by hand.
"""

from __future__ import annotations

import csv
import math
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dumbbell.compare.agreement import Agreement, AgreementCell, Comparison, agree, read_reference
from dumbbell.studies import run_study

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "agreement.md"
KERNEL = ROOT / "studies" / "multipath" / "kernel.csv"
REBUILT = ROOT / "studies" / "multipath" / "kernel-rebuilt.csv"
CELL = ("part", "mode", "delay_ms", "loss_percent", "cc_1", "cc_2", "flow")


def number(value: float) -> str:
    """Three or four digits; thousands apart."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def cause(cell: AgreementCell, found: Comparison) -> str:
    """The letter of the page's list of causes."""
    part, _, _, _, _, second = cell.key
    if part == "fairness":
        return "C"
    if part == "loss":
        return "E"
    if found.criterion.column == "sack_blocks":
        return "B"
    return "D" if second.startswith("udp") else "A"


def quantity(cell: AgreementCell, found: Comparison) -> str:
    """What is compared, with the flow where there are two of TCP."""
    one = cell.key[5] == "-" or cell.key[5].startswith("udp")
    return found.criterion.label + ("" if one else f", flow {found.flow}")


def apart(agreement: Agreement) -> list[tuple[AgreementCell, Comparison]]:
    """Everything that does not agree, furthest first."""
    return [(cell, one) for cell in agreement.cells for one in cell.comparisons if not one.agrees]


def rebuilt() -> dict[tuple[str, ...], list[dict[str, str]]]:
    """Rows of the rebuilt kernel by cell and flow."""
    rows: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with REBUILT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(tuple(row[name] for name in CELL), []).append(row)
    return rows


def quiet(cell: AgreementCell) -> bool:
    """No random loss, one flow: nothing is left to chance but ARP and the moment of the start."""
    return float(cell.key[3]) == 0 and cell.key[5] == "-"


def engine() -> list[str]:
    """The rebuilt kernel beside `kernel.csv`, seed by seed; the last row holds the sums."""
    ours, theirs = read_reference(REBUILT), read_reference(KERNEL)
    inside = {True: Counter[str](), False: Counter[str]()}
    of = {True: Counter[str](), False: Counter[str]()}
    on_one_side, cells = Counter[str](), Counter[str]()
    for cell in agree(ours, theirs).cells:
        for one in cell.comparisons:
            lowest, highest = one.reference_range
            values = ours[cell.key][one.flow, one.criterion.column]
            for label in (one.criterion.label, "all"):
                of[quiet(cell)][label] += len(values)
                inside[quiet(cell)][label] += sum(
                    0.9 * lowest <= value <= 1.1 * highest for value in values
                )
                cells[label] += 1
                on_one_side[label] += min(values) > highest or max(values) < lowest
    return [
        "| quantity | inside, one flow without loss | inside, other cells | on one side |",
        "| --- | --- | --- | --- |",
        *(
            f"| {label} | {inside[True][label]} of {of[True][label]} | "
            f"{inside[False][label]} of {of[False][label]} | "
            f"{on_one_side[label]} of {cells[label]} |"
            for label in sorted(cells, key=lambda label: label == "all")
        ),
    ]


def asked() -> list[str]:
    """The rebuilt kernel beside `kernel.csv`, by tolerance: cells, means of seeds, values."""
    ours, theirs = read_reference(REBUILT), read_reference(KERNEL)
    cells = agree(ours, theirs).cells
    within = {"goodput_mbps": 0.01, "rtt_mean_ms": 0.05}
    near, narrow = dict[str, list[bool]](), list[bool]()
    for cell in cells:
        for one in cell.comparisons:
            column = one.criterion.column
            if quiet(cell) and column in within:
                apart_by = abs(one.ours / one.reference - 1)
                near.setdefault(column, []).append(apart_by <= within[column])
                continue
            lowest, highest = one.reference_range
            room = 0.1 * (highest - lowest)
            values = ours[cell.key][one.flow, column]
            narrow += [lowest - room <= value <= highest + room for value in values]
    return [
        "| beside `kernel.csv` | rebuilt kernel |",
        "| --- | --- |",
        f"| cells that agree | {sum(cell.agrees for cell in cells)} of {len(cells)} |",
        *(
            f"| one flow without loss: {name} within {100 * share:.0f} % | "
            f"{sum(near[column])} of {len(near[column])} |"
            for (column, share), name in zip(within.items(), ("goodput", "mean RTT"), strict=True)
        ),
        f"| other values inside the seeds' range, widened by a tenth of its width | "
        f"{sum(narrow)} of {len(narrow)} |",
    ]


def counts(name: str, agreement: Agreement) -> str:
    """How many cells agree."""
    agreeing, total = sum(cell.agrees for cell in agreement.cells), len(agreement.cells)
    return f"| `{name}.csv` | **{agreeing} of {total} ({100 * agreeing / total:.0f} %)** |"


def tables(kernel: Agreement, again: Agreement) -> dict[str, list[str]]:
    """The tables by the name of their marker."""
    labels: dict[str, list[bool]] = {}
    for cell in kernel.cells:
        for one in cell.comparisons:
            labels.setdefault(one.criterion.label, []).append(one.agrees)
    theirs = rebuilt()
    cells = []
    for cell, one in apart(kernel):
        rows = theirs.get((*cell.key, one.flow), [])
        values = [float(row[one.criterion.column]) for row in rows]
        mean = sum(values) / len(values) if values else math.nan
        numbers = " | ".join(map(number, (one.reference, mean, one.ours)))
        cells.append(f"| {cell.name} | {quantity(cell, one)} | {numbers} | {cause(cell, one)} |")
    return {
        "result": [
            "| reference | cells that agree |",
            "| --- | --- |",
            counts("kernel", kernel),
            counts("kernel-rebuilt", again),
        ],
        "quantities": [
            "| quantity | agrees with `kernel.csv` |",
            "| --- | --- |",
            *(f"| {label} | {sum(found)} of {len(found)} |" for label, found in labels.items()),
        ],
        "asked": asked(),
        "engine": engine(),
        "cells": [
            "| cell | quantity | `kernel.csv` | rebuilt kernel | simulator | cause |",
            "| --- | --- | --- | --- | --- | --- |",
            *cells,
        ],
        "rebuilt": [
            "| cell | quantity | rebuilt kernel | simulator | distance |",
            "| --- | --- | --- | --- | --- |",
            *(
                f"| {cell.name} | {quantity(cell, one)} | {number(one.reference)} | "
                f"{number(one.ours)} | {one.distance:.2f} |"
                for cell, one in apart(again)
            ),
        ],
    }


def renewed(page: str, found: dict[str, list[str]]) -> str:
    """The page with new tables between its markers."""
    for name, lines in found.items():
        start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        if page.count(start) != 1 or page.count(end) != 1:
            raise SystemExit(f"{PAGE}: {start} and {end} should stand there once")
        before, rest = page.split(start)
        after = rest.split(end)[1]
        page = before + "\n".join([start, *lines, end]) + after
    return page


def main() -> None:
    """Runs both comparisons and writes the page."""
    store = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    found = [
        run_study("multipath", against=name, store=store / name).agreement
        for name in ("kernel", "kernel-rebuilt")
    ]
    kernel, again = (one for one in found if one is not None)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(renewed(page, tables(kernel, again)), encoding="utf-8")


if __name__ == "__main__":
    main()
