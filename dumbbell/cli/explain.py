"""Verb `explain`."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.cli.options import DEFAULT_STORE, StoreArgument, StoredRun, grouped

#: Columns of the text: at most, and at least.
_WIDEST, _NARROWEST = 100, 40


@grouped
def explain(
    store: StoreArgument = DEFAULT_STORE,
    *,
    flow: Annotated[str, typer.Option(metavar="FLOW", help="Name of the flow, as in the file.")],
    at: Annotated[str, typer.Option(metavar="TIME", help="Time of what is explained: 12.3 s.")],
    run: StoredRun,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain what happened to a flow near a time. Cause, reaction, repair, cost."""
    with guarded():
        from dumbbell.console import print_text
        from dumbbell.console.output import Output
        from dumbbell.explain.display import as_json, lines
        from dumbbell.explain.made_again import explain_stored

        told = Output(stderr=True)
        explained = explain_stored(store, flow, at, run.cell, run.repeat, told, run.experiment)
        if json:
            print_text(f"{as_json(explained)}\n")
            return
        columns = shutil.get_terminal_size((_WIDEST, 0)).columns
        out = Output(width=max(_NARROWEST, min(_WIDEST, columns)))
        out.print(f"{explained.run.title}: {flow} at {at}", style="bold", soft_wrap=True)
        for hint in (*explained.run.hints, *explained.notes):
            out.print(hint, style="dim", soft_wrap=True)
        for line, heading in lines(explained.explanation, out.width):
            out.print(line, style="bold" if heading else "", soft_wrap=True)
