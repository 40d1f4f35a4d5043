"""Tables of a terminal: as many words as fit, and each number whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

#: Widest table where the terminal is no narrower, in characters.
WIDTH = 100
#: Characters between columns.
_BETWEEN = 2
_LONGEST_NAME = 30

_Form = TypeVar("_Form")


def plain_table() -> Table:
    """A table with a line below its heading alone."""
    return Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def titled(title: str, table: Table | Group) -> Group:
    """A table below its title, which may be wider."""
    return Group(Text(title, style="bold"), table, "")


def add_columns(table: Table, left: Iterable[str], right: Iterable[str]) -> None:
    """Adds columns of names and of numbers. In a narrow terminal names wrap, numbers do not."""
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)


def fitted(make: Callable[[_Form], Table], forms: Iterable[_Form], width: int) -> Table:
    """The first form of a table that fits, or the last."""
    made = Table()
    for form in forms:
        made = make(form)
        if _natural_width(made) <= width:
            break
    return made


def _natural_width(table: Table) -> int:
    longest = 0
    for column in table.columns:
        texts = [str(column.header), *map(str, column.cells)]
        longest += max(len(line) for text in texts for line in text.splitlines() or [""])
    return longest + _BETWEEN * len(table.columns)


def shortened(text: str) -> str:
    """A name with at most 30 characters."""
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
