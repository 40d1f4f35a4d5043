"""Agreement with a reference as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from dumbbell.compare.agreement import Agreement, AgreementCell, Comparison, Criterion
from dumbbell.console.words import many
from dumbbell.metrics.numbers import number

#: From this width on, all quantities of a flow stand in one row.
_WIDE = 132


@dataclass(frozen=True)
class AgreementTable:
    """Ours beside the reference, largest difference first, as wide as the terminal allows.

    A narrow terminal gets one row per quantity: of each cell those that do not agree, or the one
    furthest apart.
    """

    agreement: Agreement

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _wide(self.agreement) if options.max_width >= _WIDE else _narrow(self.agreement)


def agreement_line(agreement: Agreement) -> Text:
    """Share of cells that agree, and by quantity what does not."""
    count = sum(cell.agrees for cell in agreement.cells)
    style = "bold green" if agreement.share >= 0.9 else "bold yellow"
    line = Text(
        f"{count} of {many(len(agreement.cells), 'cell')} agree ({agreement.share:.1%})", style
    )
    for criterion in agreement.criteria:
        apart = sum(
            any(one.criterion == criterion and not one.agrees for one in cell.comparisons)
            for cell in agreement.cells
        )
        line.append(
            f"\n  {criterion.label} ({criterion.words}): {many(apart, 'cell')} apart", "dim"
        )
    missing = sum(cell.missing for cell in agreement.cells)
    if missing:
        line.append(f"\n  {many(missing, 'cell was', 'cells were')} not run", "red")
    return line


def _table(agreement: Agreement) -> RichTable:
    title = f"Ours / {agreement.reference}, furthest apart first; distance 1 is the edge"
    return RichTable(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def _wide(agreement: Agreement) -> RichTable:
    table = _table(agreement)
    table.add_column("cell", no_wrap=True)
    table.add_column("flow", no_wrap=True)
    for criterion in agreement.criteria:
        table.add_column(criterion.label, justify="right", no_wrap=True)
    table.add_column("distance", justify="right", no_wrap=True)
    for cell in agreement.cells:
        for row in _wide_rows(cell, agreement.criteria):
            table.add_row(*row)
    return table


def _style(cell: AgreementCell) -> str:
    return "green" if cell.agrees else "red"


def _wide_rows(cell: AgreementCell, criteria: Sequence[Criterion]) -> Iterator[list[Text]]:
    style = _style(cell)
    if cell.missing:
        yield [Text(cell.name, style), *[Text("–")] * (len(criteria) + 1), Text("not run", style)]
        return
    flows: dict[str, dict[str, Comparison]] = {}
    for one in cell.comparisons:
        flows.setdefault(one.flow, {})[one.criterion.column] = one
    for place, (flow, found) in enumerate(flows.items()):
        cells = [_pair(found.get(criterion.column)) for criterion in criteria]
        cc = next(iter(found.values())).cc.partition(":")[0]
        name = Text(cell.name if place == 0 else "", style)
        distance = Text(number(cell.distance) if place == 0 else "", style)
        yield [name, Text(f"{flow} {cc}"), *cells, distance]


def _pair(one: Comparison | None) -> Text:
    if one is None:
        return Text("")
    text = f"{number(one.ours)} / {number(one.reference)}"
    return Text(text, "" if one.agrees else "bold red")


def _narrow(agreement: Agreement) -> RichTable:
    table = _table(agreement)
    table.add_column("cell")
    table.add_column("quantity")
    for column in ("ours", agreement.reference, "distance"):
        table.add_column(column, justify="right", no_wrap=True)
    for cell in agreement.cells:
        style = _style(cell)
        if cell.missing:
            table.add_row(Text(cell.name, style), "", "–", "–", Text("not run", style))
            continue
        ordered = sorted(cell.comparisons, key=lambda one: -one.distance)
        shown = [one for one in ordered if not one.agrees] or ordered[:1]
        several = len({one.flow for one in cell.comparisons}) > 1
        for place, one in enumerate(shown):
            quantity = one.criterion.label + (f", flow {one.flow}" if several else "")
            values = [number(one.ours), number(one.reference), number(one.distance)]
            name = Text(cell.name if place == 0 else "", style)
            table.add_row(name, quantity, *values, style=None if one.agrees else "red")
    return table
