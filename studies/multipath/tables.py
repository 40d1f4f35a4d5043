"""Tables of docs/agreement.md: `dumbbell study tables multipath`.

The cells of study 1 as both references were set up: 1 to 2 minutes. `seeds.py` makes the table of
seeds, `kernel_rebuilt.py` the reference `kernel-rebuilt.csv`.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dumbbell.compare.agreement import Agreement, AgreementCell, Comparison, agree, read_reference
from dumbbell.studies import load_study
from dumbbell.studies.pages import Made, Runs, markdown

PAGE = "../../docs/agreement.md"
FOLDER = Path(__file__).resolve().parent
KERNEL = FOLDER / "kernel.csv"
REBUILT = FOLDER / "kernel-rebuilt.csv"
LAYOUT = load_study(FOLDER).references["kernel"].layout


def number(value: float) -> str:
    """Three or four digits; thousands apart."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def cause(cell: AgreementCell, found: Comparison) -> str:
    """The letter of the page's list of causes."""
    part, second = cell.place["part"], cell.place["cc_2"]
    if part == "fairness":
        return "C"
    if part == "loss":
        return "E"
    if found.criterion.column == "sack_blocks":
        return "B"
    return "D" if second.startswith("udp") else "A"


def quantity(cell: AgreementCell, found: Comparison) -> str:
    """What is compared, with the flow where there are two of TCP."""
    second = cell.place["cc_2"]
    one = second == "-" or second.startswith("udp")
    return found.criterion.label + ("" if one else f", flow {found.flow}")


def apart(agreement: Agreement) -> list[tuple[AgreementCell, Comparison]]:
    """Everything that does not agree, furthest first."""
    return [(cell, one) for cell in agreement.cells for one in cell.comparisons if not one.agrees]


def rebuilt() -> dict[tuple[str, ...], list[dict[str, str]]]:
    """Rows of the rebuilt kernel by cell and flow."""
    rows: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with REBUILT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(tuple(row[name] for name in (*LAYOUT.columns, "flow")), []).append(row)
    return rows


def quiet(cell: AgreementCell) -> bool:
    """No random loss, one flow: nothing is left to chance but ARP and the moment of the start."""
    return float(cell.place["loss_percent"]) == 0 and cell.place["cc_2"] == "-"


def engine() -> list[str]:
    """The rebuilt kernel beside `kernel.csv`, seed by seed; the last row holds the sums."""
    ours, theirs = read_reference(REBUILT, LAYOUT), read_reference(KERNEL, LAYOUT)
    inside = {True: Counter[str](), False: Counter[str]()}
    of = {True: Counter[str](), False: Counter[str]()}
    on_one_side, cells = Counter[str](), Counter[str]()
    for cell in agree(ours, theirs, LAYOUT).cells:
        for one in cell.comparisons:
            lowest, highest = one.reference_range
            values = ours[tuple(cell.place.values())][one.flow, one.criterion.column]
            for label in (one.criterion.label, "all"):
                of[quiet(cell)][label] += len(values)
                inside[quiet(cell)][label] += sum(
                    0.9 * lowest <= value <= 1.1 * highest for value in values
                )
                cells[label] += 1
                on_one_side[label] += min(values) > highest or max(values) < lowest
    heads = ["quantity", "inside, one flow without loss", "inside, other cells", "on one side"]
    rows = (
        [
            label,
            f"{inside[True][label]} of {of[True][label]}",
            f"{inside[False][label]} of {of[False][label]}",
            f"{on_one_side[label]} of {cells[label]}",
        ]
        for label in sorted(cells, key=lambda label: label == "all")
    )
    return markdown(heads, rows)


def asked() -> list[str]:
    """The rebuilt kernel beside `kernel.csv`, by tolerance: cells, means of seeds, values."""
    ours, theirs = read_reference(REBUILT, LAYOUT), read_reference(KERNEL, LAYOUT)
    cells = agree(ours, theirs, LAYOUT).cells
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
            values = ours[tuple(cell.place.values())][one.flow, column]
            narrow += [lowest - room <= value <= highest + room for value in values]
    rows = [["cells that agree", f"{sum(cell.agrees for cell in cells)} of {len(cells)}"]]
    for (column, share), name in zip(within.items(), ("goodput", "mean RTT"), strict=True):
        words = f"one flow without loss: {name} within {100 * share:.0f} %"
        rows.append([words, f"{sum(near[column])} of {len(near[column])}"])
    words = "other values inside the seeds' range, widened by a tenth of its width"
    rows.append([words, f"{sum(narrow)} of {len(narrow)}"])
    return markdown(["beside `kernel.csv`", "rebuilt kernel"], rows)


def counts(name: str, agreement: Agreement) -> list[str]:
    """How many cells agree."""
    agreeing, total = sum(cell.agrees for cell in agreement.cells), len(agreement.cells)
    return [f"`{name}.csv`", f"**{agreeing} of {total} ({100 * agreeing / total:.0f} %)**"]


def tables(runs: Runs) -> Iterator[Made]:
    """All tables of the page but that of seeds."""
    found = [runs.study(against=name).agreement for name in ("kernel", "kernel-rebuilt")]
    kernel, again = (one for one in found if one is not None)
    rows = [counts("kernel", kernel), counts("kernel-rebuilt", again)]
    yield PAGE, "result", markdown(["reference", "cells that agree"], rows)
    labels: dict[str, list[bool]] = {}
    for cell in kernel.cells:
        for one in cell.comparisons:
            labels.setdefault(one.criterion.label, []).append(one.agrees)
    rows = [[label, f"{sum(all_)} of {len(all_)}"] for label, all_ in labels.items()]
    yield PAGE, "quantities", markdown(["quantity", "agrees with `kernel.csv`"], rows)
    yield PAGE, "asked", asked()
    yield PAGE, "engine", engine()
    yield PAGE, "cells", apart_from_both(kernel)
    heads = ["cell", "quantity", "rebuilt kernel", "simulator", "distance"]
    rows = [
        [
            cell.name,
            quantity(cell, one),
            number(one.reference),
            number(one.ours),
            f"{one.distance:.2f}",
        ]
        for cell, one in apart(again)
    ]
    yield PAGE, "rebuilt", markdown(heads, rows)


def apart_from_both(kernel: Agreement) -> list[str]:
    """What does not agree with `kernel.csv`, with the rebuilt kernel's mean and the cause."""
    theirs = rebuilt()
    rows = []
    for cell, one in apart(kernel):
        values = [
            float(row[one.criterion.column])
            for row in theirs.get((*cell.place.values(), one.flow), [])
        ]
        mean = sum(values) / len(values) if values else math.nan
        numbers = map(number, (one.reference, mean, one.ours))
        rows.append([cell.name, quantity(cell, one), *numbers, cause(cell, one)])
    heads = ["cell", "quantity", "`kernel.csv`", "rebuilt kernel", "simulator", "cause"]
    return markdown(heads, rows)
