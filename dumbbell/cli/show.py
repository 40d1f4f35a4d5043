"""Verb `show`."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.cli.options import DEFAULT_STORE, StoreArgument, StoredRun, grouped

#: Columns of a drawing: at most, and at least.
_WIDEST, _NARROWEST = 100, 40


@grouped
def show(
    store: StoreArgument = DEFAULT_STORE,
    *,
    run: StoredRun,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Print the state of flows and queues at this time: 5 s."),
    ] = None,
) -> None:
    """Draw windows and queues of a run in the terminal."""
    with guarded():
        from dumbbell.console.output import Output
        from dumbbell.show.chart import Terminal
        from dumbbell.show.chosen import choose
        from dumbbell.show.drawing import drawing
        from dumbbell.show.moment import tables

        columns = shutil.get_terminal_size((_WIDEST, 0)).columns
        out = Output(width=max(_NARROWEST, min(_WIDEST, columns)))
        chosen = choose(store, run.cell, run.repeat, run.experiment)
        moment = None if at is None else tables(chosen, at, out)
        out.print(chosen.title, soft_wrap=True)
        for hint in chosen.hints:
            out.print(hint, style="dim", soft_wrap=True)
        if moment is not None:
            for table in moment:
                out.print(table)
            return
        terminal = Terminal(out.width, out.options.ascii_only, out.color_system is not None)
        for line in drawing(chosen, terminal):
            out.print(line, soft_wrap=True)
