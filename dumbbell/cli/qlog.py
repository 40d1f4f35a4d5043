"""Verb `qlog`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.cli.options import DEFAULT_STORE, StoreArgument, StoredRun, grouped


@grouped
def qlog(
    store: StoreArgument = DEFAULT_STORE,
    *,
    run: StoredRun,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the logs.")
    ] = Path("qlog"),
) -> None:
    """Write qlog of the QUIC connections of a run."""
    with guarded():
        from dumbbell import console
        from dumbbell.show.chosen import choose_run
        from dumbbell.show.qlog import write_logs

        chosen = choose_run(store, run.cell, run.repeat, run.experiment)
        console.say(chosen.title)
        for path in write_logs(chosen, output):
            console.say(f"Written: {path}")
