"""Table of the phases of each cell whose links change: before, between and after the changes."""

from __future__ import annotations

import math

from rich.console import Group
from rich.table import Table

from dumbbell.console import words
from dumbbell.metrics.numbers import number
from dumbbell.metrics.phases import Phase
from dumbbell.summary.causes import time_of
from dumbbell.summary.cells import CellLine
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled
from dumbbell.summary.links import arrow
from dumbbell.summary.setting import PipeSetting

#: Cells and rows that are shown.
_MOST_CELLS, _MOST_ROWS = 6, 30
WORDS = ("phase", "link", "change")
"""Columns of words."""
_SETTLED = "settled after"
_HEAD = (*WORDS, "use", "queue ms p50", "p95", _SETTLED)
_OF_LINKS = "Use and queueing delay of each link that changes."
_OF_SETTLING = (
    "Settled: after a higher rate, once the link carries 90 % of it to stay; after a lower one, "
    "once the queueing delay stays at most twice its median in the second half of the phase, which "
    "stands beside it."
)


def caption(head: list[str]) -> str:
    """Sentences about the columns shown."""
    return f"{_OF_LINKS} {_OF_SETTLING}" if _SETTLED in head else _OF_LINKS


def left_out(every: list[CellLine]) -> str:
    """How many rows are not shown; empty for none."""
    counts = [len(_of_cell(cell)) for cell in every]
    return words.left_out(sum(counts), min(sum(counts[:_MOST_CELLS]), _MOST_ROWS))


def rows(every: list[CellLine]) -> tuple[list[str], list[list[str]]]:
    """Headings without the factors, and texts with them; none where no link changes.

    At most so many cells and rows as a reader looks at: see `left_out`.
    """
    texts: list[list[str]] = []
    for cell in every[:_MOST_CELLS]:
        levels = list(cell.levels.values())
        for row in _of_cell(cell):
            texts.append([*levels, *row])
            levels = [""] * len(levels)
    names = len(every[0].levels) if every else 0
    filled = [
        place
        for place in range(len(_HEAD))
        if any(row[names + place] for row in texts) and not _constant_link(texts, names, place)
    ]
    kept = [[*row[:names], *(row[names + place] for place in filled)] for row in texts]
    return [_HEAD[place] for place in filled], kept[:_MOST_ROWS]


def _constant_link(texts: list[list[str]], names: int, place: int) -> bool:
    """True for the column of links if there is only one."""
    return _HEAD[place] == "link" and len({row[names + place] for row in texts}) == 1


def _of_cell(cell: CellLine) -> list[list[str]]:
    pipes = cell.setting.pipes if cell.setting else {}
    changing = [name for name, pipe in pipes.items() if pipe.changes]
    return [
        _row(phase, name, pipes[name])
        for phase in cell.phases
        for name in changing
        if name in phase.used
        or name in phase.delay_p50_ms
        or pipes[name].change_in(phase.begin_s, phase.end_s)
    ]


def _row(phase: Phase, name: str, pipe: PipeSetting) -> list[str]:
    used = phase.used.get(name)
    return [
        time_of(phase),
        arrow(name),
        pipe.change_in(phase.begin_s, phase.end_s),
        "" if used is None else f"{100 * used:.0f} %",
        delay_text(phase.delay_p50_ms.get(name)),
        delay_text(phase.delay_p95_ms.get(name)),
        settled(phase, name),
    ]


def settled(phase: Phase, name: str) -> str:
    """`1.3 s`; `4.2 s, at 17 ms`; `at once`; empty where the rate did not change."""
    time_s = phase.settled_s.get(name)
    if time_s is None:
        return ""
    if math.isnan(time_s):
        return "not in every run"
    if not math.isfinite(time_s):
        return "not in this phase"
    level = phase.settled_ms.get(name)
    seconds = round(time_s, 2)
    words = f"{number(seconds)} s" if seconds else "at once"
    return words if level is None else f"{words}, at {number(round(level, 1))} ms"


def delay_text(value: float | None) -> str:
    """Delay in ms for a table; empty for none."""
    return "" if value is None else number(value if value >= 1 else round(value, 2))


def table(every: list[CellLine], width: int = WIDTH) -> Group | None:
    """The rows for a terminal of this width; None where no link changes."""
    head, texts = rows(every)
    if not texts:
        return None
    factors = list(every[0].levels)

    def make(_: bool) -> Table:
        shown = plain_table()
        names = [name for name in head if name in WORDS]
        add_columns(shown, map(shortened, [*factors, *names]), head[len(names) :])
        for row in texts:
            shown.add_row(*row)
        return shown

    shown = fitted(make, (True,), width)
    more = left_out(every)
    return titled("Before and after each change", Group(shown, more) if more else shown)
