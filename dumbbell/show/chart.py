"""Chart of lines over time, as lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from dumbbell.show.canvas import Canvas

#: Columns of the labels of the vertical axis.
_LABELS = 7
#: Cells between two ticks, at least.
_TICK_ROWS, _TICK_COLUMNS = 3, 12
#: Signs of the axes: corner, tick and line of the vertical one, tick and line of the horizontal
#: one.
_FRAME, _ASCII_FRAME = ("└", "┤", "│", "┬", "─"), ("+", "+", "|", "+", "-")
_TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a terminal can show.

    Attributes:
        width: Number of columns.
        ascii: True if its encoding has ASCII alone.
        colour: True if it has colours.
    """

    width: int
    ascii: bool
    colour: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a chart.

    Attributes:
        points: Time in ns and value, in order of time.
        sign: Its sign where lines differ by signs.
        style: Its colour.
    """

    points: Sequence[tuple[int, float]]
    sign: str
    style: str


def by_signs(terminal: Terminal, lines: int) -> bool:
    """Returns true if lines are drawn by signs: braille cannot tell several apart in one colour."""
    return terminal.ascii or (lines > 1 and not terminal.colour)


def chart(lines: Sequence[Line], end_ns: int, rows: int, terminal: Terminal) -> list[Text]:
    """Lines of a chart from time 0 to `end_ns`, with axes."""
    corner, tick, bar, mark, dash = _ASCII_FRAME if terminal.ascii else _FRAME
    most = max((value for line in lines for _, value in line.points), default=0)
    step = _round_step(max(most / max(rows // _TICK_ROWS, 1), 1))  # packets are whole
    top = step * max(math.ceil(most / step), 1)
    columns = terminal.width - _LABELS - 2
    canvas = Canvas(columns, rows, braille=not by_signs(terminal, len(lines)))
    for line in lines:
        places = ((at / end_ns, value / top) for at, value in line.points)
        canvas.line(places, line.sign, line.style if terminal.colour else "")
    labels = {
        rows - 1 - round(number * step / top * (rows - 1)): f"{number * step:g}"
        for number in range(round(top / step) + 1)
    }
    shown = [
        Text(f"{labels.get(number, ''):>{_LABELS}} {tick if number in labels else bar}") + row
        for number, row in enumerate(canvas.rows())
    ]
    return [*shown, *_times(end_ns, columns, corner, mark, dash)]


def _times(end_ns: int, columns: int, corner: str, mark: str, dash: str) -> list[Text]:
    """Horizontal axis and its labels."""
    unit, size = time_unit(end_ns)
    end = end_ns / size
    step = _round_step(end / max(columns // _TICK_COLUMNS, 1))
    axis, labels = [dash] * columns, [" "] * (columns + _LABELS + 2)
    for number in range(math.floor(end / step + 1e-9) + 1):
        column = round(number * step / end * (columns - 1))
        axis[column] = mark
        label = f"{number * step:g}"
        if number == math.floor(end / step + 1e-9):
            label += f" {unit}"
        begin = min(column + _LABELS + 2 - len(label) // 2, len(labels) - len(label))
        labels[begin : begin + len(label)] = label
    return [
        Text(f"{'':{_LABELS}} {corner}{''.join(axis)}"),
        Text("".join(labels).rstrip()),
    ]


def time_unit(time_ns: int) -> tuple[str, float]:
    """Unit for times up to `time_ns`, and its size in ns."""
    return next(one for one in _TIMES if time_ns >= 2 * one[1] or one[0] == "ns")


def _round_step(least: float) -> float:
    """Smallest of 1, 2, 5, 10, 20 … that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= least * (1 - 1e-9))
