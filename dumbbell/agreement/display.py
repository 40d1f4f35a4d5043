"""Agreement over drawn cells as tables of texts, which the terminal and Markdown share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ruamel.yaml import YAML

from dumbbell.agreement.running import Drawn
from dumbbell.agreement.verdict import QUANTITIES, Compared, Verdict
from dumbbell.console.words import many
from dumbbell.metrics.numbers import number

if TYPE_CHECKING:
    from rich.table import Table

#: Head and rows.
Texts = tuple[list[str], list[list[str]]]
#: Cells in the table of the largest differences.
_WORST = 20


@lru_cache(maxsize=1)
def causes() -> dict[int, dict[str, str]]:
    """Seed → cell → cause of its difference, as found by comparing packets."""
    text = (Path(__file__).parent / "causes.yaml").read_text(encoding="utf-8")
    found: dict[int, dict[str, str]] = YAML(typ="safe").load(text)
    return found


def percent(share: float) -> str:
    """`0.00 %`, `12 %`."""
    value = 100 * abs(share)
    return f"{value:.2f} %" if value < 1 else f"{number(value)} %"


def _spread(found: Sequence[Compared]) -> str:
    """Median and 95 % of the differences."""
    if not found:
        return "–"
    shares = np.abs([one.difference for one in found])
    return f"{percent(float(np.median(shares)))}, {percent(float(np.percentile(shares, 95)))}"


def by_class(drawn: Drawn) -> Texts:
    """A row per class: differences of each quantity, and the share of comparisons that agree."""
    head = ["class", "cells", *(f"{one.label}: median, 95 %" for one in QUANTITIES), "agree"]
    kinds = list(dict.fromkeys(cell.kind for cell in drawn.cells))
    rows = [_class_row(drawn, kind) for kind in kinds]
    return head, [*rows, _class_row(drawn, "")] if len(kinds) > 1 else rows


def _class_row(drawn: Drawn, kind: str) -> list[str]:
    found = [one for one in drawn.compared if kind in ("", one.cell.kind)]
    cells = sum(kind in ("", cell.kind) for cell in drawn.cells)
    agree = sum(one.verdict.agrees for one in found)
    spreads = [_spread([one for one in found if one.quantity is each]) for each in QUANTITIES]
    return [kind or "all", str(cells), *spreads, f"{agree} of {len(found)}"]


def by_verdict(drawn: Drawn) -> Texts:
    """A row per quantity: its aims, and how many comparisons have each verdict."""
    head = ["quantity", "aim: median, 95 %", "found", *(one.value for one in Verdict)]
    rows = []
    for quantity in QUANTITIES:
        found = [one for one in drawn.compared if one.quantity is quantity]
        counts = [str(sum(one.verdict is each for one in found)) for each in Verdict]
        aim = f"{percent(quantity.median)}, {percent(quantity.most)}"
        rows.append([quantity.label, aim, _spread(found), *counts])
    return head, rows


def worst(drawn: Drawn, most: int = _WORST) -> Texts:
    """The largest difference of each cell that is outside, with its cause as far as it is known."""
    head = ["cell", "of", "quantity", "simulator", "kernel", "difference", "cause"]
    known = causes().get(drawn.seed, {})
    rows: dict[str, list[str]] = {}
    for one in drawn.outside:
        name = one.cell.name
        if name not in rows and len(rows) < most:
            rows[name] = [
                name, f"{one.cell.words}; {one.flows}", one.quantity.label,
                _range(one.ours), _range(one.kernel),
                f"{one.difference:+.1%}".replace("%", " %"), known.get(name, "not known"),
            ]  # fmt: skip
    return head, list(rows.values())


def _range(values: Sequence[float]) -> str:
    mean = number(float(np.mean(values)))
    same = min(values) == max(values)
    return mean if same else f"{mean} ({number(min(values))} to {number(max(values))})"


def line(drawn: Drawn) -> str:
    """The result in a sentence."""
    agree = sum(one.verdict.agrees for one in drawn.compared)
    cells = len({one.cell.number for one in drawn.outside})
    have = "has" if cells == 1 else "have"
    ours, kernel = drawn.versions
    return (
        f"{agree} of {many(len(drawn.compared), 'comparison')} agree; {many(cells, 'cell')} of "
        f"{len(drawn.cells)} {have} a quantity outside. Simulator {ours}, {drawn.engine} {kernel}, "
        f"seed {drawn.seed} of the cells."
    )


def tables(drawn: Drawn) -> Iterator[tuple[str, Texts]]:
    """Title and texts of each table."""
    yield "Differences by class", by_class(drawn)
    yield "Verdicts by quantity", by_verdict(drawn)
    if drawn.outside:
        yield "Cells outside, largest difference first", worst(drawn)


def terminal(drawn: Drawn) -> Iterator[Table]:
    """Tables for a terminal."""
    from rich.table import Table

    for title, (head, rows) in tables(drawn):
        table = Table(title=title, title_justify="left")
        for column in head:
            table.add_column(column)
        for row in rows:
            table.add_row(*row)
        yield table


def markdown(drawn: Drawn) -> str:
    """Tables as Markdown, after the sentence."""
    parts = [line(drawn)]
    for title, (head, rows) in tables(drawn):
        lines = [head, ["---"] * len(head), *rows]
        parts += [f"## {title}", "\n".join("| " + " | ".join(row) + " |" for row in lines)]
    return "\n\n".join(parts) + "\n"


def to_json(drawn: Drawn) -> dict[str, Any]:
    """All comparisons."""
    return {
        "seed": drawn.seed,
        "engine": drawn.engine,
        "versions": list(drawn.versions),
        "cells": len(drawn.cells),
        "rows": [
            {
                "cell": one.cell.name,
                "class": one.cell.kind,
                "words": one.cell.words,
                "flows": one.flows,
                "metric": one.quantity.metric,
                "sim": list(one.ours),
                "kernel": list(one.kernel),
                "difference": one.difference,
                "verdict": one.verdict.value,
            }
            for one in drawn.compared
        ],
    }
