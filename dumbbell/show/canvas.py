"""Drawing area of a terminal: lines of braille dots, or of one sign per cell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.text import Text

#: Dots of a cell that braille characters have: columns and rows.
_ACROSS, _DOWN = 2, 4
#: Bit of each dot of a braille character, by row from the top and column.
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
#: Cell without a dot: its bits, sign and colour.
_NOTHING = (0, " ", "")


class Canvas:
    """Cells of a drawing. A later line covers the colour of an earlier one.

    Attributes:
        width: Number of dots in a row.
        height: Number of dots in a column.
    """

    def __init__(self, columns: int, rows: int, *, braille: bool) -> None:
        self._columns, self._rows = columns, rows
        self._across, self._down = (_ACROSS, _DOWN) if braille else (1, 1)
        self._braille = braille
        self._cells: dict[tuple[int, int], tuple[int, str, str]] = {}
        self.width, self.height = columns * self._across, rows * self._down

    def line(self, points: Iterable[tuple[float, float]], sign: str, style: str) -> None:
        """Draws a line through points from (0, 0), left at the bottom, to (1, 1).

        Args:
            points: Places of the points.
            sign: Sign of its cells, without braille.
            style: Colour of its cells; empty: that of the terminal.
        """
        before: tuple[int, int] | None = None
        for x, y in points:
            here = round(x * (self.width - 1)), round(y * (self.height - 1))
            for place in _between(before or here, here):
                self._set(*place, sign, style)
            before = here

    def _set(self, x: int, y: int, sign: str, style: str) -> None:
        if not (0 <= x < self.width and 0 <= y < self.height):
            return
        down = self.height - 1 - y
        cell = down // self._down, x // self._across
        bits, _, _ = self._cells.get(cell, _NOTHING)
        bit = _BITS[down % self._down][x % self._across]
        self._cells[cell] = bits | bit, sign, style

    def rows(self) -> list[Text]:
        """Rows of cells, from the top."""
        return [self._row(number) for number in range(self._rows)]

    def _row(self, number: int) -> Text:
        cells = [self._cells.get((number, column), _NOTHING) for column in range(self._columns)]
        parts = groupby(cells, key=lambda cell: cell[2])
        return Text.assemble(*(("".join(map(self._shown, part)), style) for style, part in parts))

    def _shown(self, cell: tuple[int, str, str]) -> str:
        bits, sign, _ = cell
        return chr(_BRAILLE + bits) if bits and self._braille else sign


def _between(one: tuple[int, int], other: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """Dots from one to the other, both included."""
    (x, y), (right, up) = one, other
    steps = max(abs(right - x), abs(up - y), 1)
    for step in range(steps + 1):
        yield x + round((right - x) * step / steps), y + round((up - y) * step / steps)
