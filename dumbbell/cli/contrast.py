"""Verb `contrast`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import DEFAULT_STORE, ExperimentName, JsonFile, StoreArgument
from dumbbell.console.words import many
from dumbbell.files.output import write_json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from dumbbell.compare.contrast import Contrast

_MOST_ROWS = 200


def contrast(
    factor: Annotated[str, typer.Option(help="Factor whose levels are compared.")],
    store: StoreArgument = DEFAULT_STORE,
    level: Annotated[
        list[str] | None,
        typer.Option(help="Level to compare; twice or more [default: all levels]."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metric; may be repeated [default: the usual ones]."),
    ] = None,
    experiment: ExperimentName = None,
    json_file: JsonFile = None,
) -> None:
    """Compare the levels of a factor. Difference, effect size, and whether it is shown."""
    with guarded():
        import dumbbell
        from dumbbell.compare.contrast import contrasts

        check_places(json_file)
        results = dumbbell.load_results(store, experiment)
        found = contrasts(results, factor, levels=level or (), metrics=metric or ())
        for name in dict.fromkeys(one.metric for one in found):
            console.out.print(_table(name, [one for one in found if one.metric == name]))
        shown = sum(one.shown for one in found)
        of_all = many(len(found), "difference is", "differences are")
        text = f"{shown} of {of_all} shown at 5 % over all together (Holm)."
        console.out.print(text, soft_wrap=True)
        if json_file is not None:
            write_json(json_file, [one.to_json() for one in found])


def _effect(value: float) -> str:
    """Size of an effect; infinite where the difference is the same in every repeat."""
    from dumbbell.metrics.numbers import number

    return "same in each repeat" if math.isinf(value) else number(value)


def _table(metric: str, found: list[Contrast]) -> RenderableType:
    from dumbbell.metrics import METRICS
    from dumbbell.metrics.numbers import number
    from dumbbell.summary.fit import add_columns, fitted, plain_table, shortened, titled

    def make(wide: bool) -> Table:
        table = plain_table()
        add_columns(table, ["", "levels"], ["from", "to", "effect"] if wide else [])
        table.add_column("difference (95 % interval)")
        for one in found[:_MOST_ROWS]:
            effect = f"{one.size} ({_effect(one.paired.effect)})" if one.size else "–"
            values = [*map(number, one.means), effect]
            pair = f"{shortened(one.first)} → {shortened(one.second)}"
            table.add_row(one.place, pair, *(values if wide else []), one.words)
        if len(found) > _MOST_ROWS:
            table.caption = f"{len(found) - _MOST_ROWS} more: --json"
        return table

    title = METRICS[metric].axis
    return titled(title, fitted(make, (True, False), console.out.width))
