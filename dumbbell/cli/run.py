"""Verb `run`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import Allow, File, JsonFile, OnEngine, Rehearsed, ShardOption, grouped
from dumbbell.codes import Code
from dumbbell.console import say
from dumbbell.files.output import write_json

if TYPE_CHECKING:
    from dumbbell.results import Results


@grouped
def run(
    file: File,
    *,
    design: OnEngine,
    json_file: JsonFile = None,
    captures: Annotated[
        Path | None, typer.Option(help="Folder for captures (pcapng), a file per run.")
    ] = None,
    per_tap: Annotated[
        bool, typer.Option("--per-tap", help="Write a capture per run and tap.")
    ] = False,
    traces: Annotated[
        Path | None, typer.Option(help="Folder for ns-2 event traces, a file per run.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Folder for what each guest left: scenario, console, tables; also of runs that "
            "failed (engines linux and netns)."
        ),
    ] = None,
    allow: Allow = None,
    shard: ShardOption = None,
    execution: Rehearsed,
) -> None:
    """Run an experiment. Finished runs in the store are not repeated."""
    with guarded():
        import dumbbell
        from dumbbell.cli import shards
        from dumbbell.cli.sweeps import executed, say_forecasts
        from dumbbell.engines import engine_named
        from dumbbell.execution.budget import allowed
        from dumbbell.execution.exports import Exports
        from dumbbell.execution.forecast import forecast
        from dumbbell.execution.shard import shard_of
        from dumbbell.experiment import load

        part = shard_of(shard)
        if part is not None:
            shards.refuse_json(json_file)
        check_places(json_file)
        if keep is not None:
            _keep(keep, design.engine)
        with executed(execution, design.workers):
            given = design.given()
            if execution.dry_run:
                changed = load(file, **{name: given[name] for name in ("set", "repeats", "seed")})
                Exports(captures, per_tap, traces).check(changed, file)
                found = forecast(
                    changed,
                    engine_named(design.engine),
                    design.store,
                    workers=design.workers,
                    shard=part,
                    allow=allowed(allow),
                )
                say_forecasts([found])
                return
            results = dumbbell.run(
                file,
                captures=captures,
                per_tap=per_tap,
                traces=traces,
                allow=allow,
                shard=part,
                **given,
            )
        if part is not None:
            shards.say_done(part, design.store)
        else:
            _show(results, design.store, json_file)


#: Effects of factors, and findings, that are printed.
_MOST_SENTENCES = 2


def _show(results: Results, store: Path, json_file: Path | None) -> None:
    """Prints tables, windows of a run, and what stands out."""
    from dumbbell.scenario import shared_scenario
    from dumbbell.show.picture import picture
    from dumbbell.summary import changes, load, outages, overview, pages, programs
    from dumbbell.summary.cells import cells
    from dumbbell.summary.findings import gravest
    from dumbbell.summary.sentences import sentences

    width = console.out.width
    every = cells(results)
    if not results.pipes.is_empty():
        console.out.print(overview.table(results, every, width))
    of_changes = changes.table(every, width)
    if of_changes is not None:
        console.out.print(of_changes)
    of_outages = outages.table(results, width)
    if of_outages is not None:
        console.out.print(of_outages)
    of_programs = programs.table(results, width)
    if of_programs is not None:
        console.out.print(of_programs)
    scenarios = results.runs["scenario"].unique()
    if any(shared_scenario(one)["sampling"]["samples"] for one in scenarios):
        for line in picture(store, gravest(every), console.out):
            console.out.print(line, soft_wrap=True)
    for sentence in sentences(results, every, _MOST_SENTENCES):
        console.out.print(f"• {sentence}")
    for one in pages.tables(results, width):
        console.out.print(one)
    under_load = load.table(results, width)
    if under_load is not None:
        console.out.print(under_load)
    if re.search(r"^search:", results.experiment.yaml, re.MULTILINE):
        say("The file has a search; these are its start values. `dumbbell search` looks for more")
    if json_file is not None:
        write_json(json_file, overview.to_json(results, every))
    say(f"Runs are kept in {store}. Windows and queues of one: dumbbell show {store}")
    say(f"A page of all: dumbbell report {store} -o report.html")


def _keep(folder: Path, engine: str) -> None:
    """Asks the engine, and workers that start later, to keep the folders of runs."""
    from dumbbell.engines.linux.launch import KEEP
    from dumbbell.errors import DumbbellError

    if engine == "sim":
        raise DumbbellError(
            "--keep: a run of the engine sim has no folder; linux and netns have",
            code=Code.EXCLUSIVE,
        )
    os.environ[KEEP] = str(folder.resolve())
