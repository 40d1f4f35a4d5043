"""Verbs of `dumbbell study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import (
    DEFAULT_STORE,
    EngineName,
    JsonFile,
    Rehearsed,
    Repeats,
    ShardOption,
    StoreDir,
    Workers,
    grouped,
)
from dumbbell.console import say
from dumbbell.files.output import write_json

StudyName = Annotated[str, typer.Argument(help="Name of a study, see `dumbbell study list`.")]
study_app = typer.Typer(help="Replications of published studies.", no_args_is_help=True)


@study_app.command("list")
def study_list() -> None:
    """List the studies."""
    with guarded():
        from dumbbell import studies

        console.out.print(studies.studies_table(studies.list_studies()))


@study_app.command("run")
@grouped
def study_run(
    name: StudyName,
    *,
    part: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this part; may be repeated.")
    ] = None,
    engine: EngineName = "sim",
    repeats: Repeats = None,
    workers: Workers = None,
    store: StoreDir = DEFAULT_STORE,
    json_file: JsonFile = None,
    against: Annotated[
        str | None, typer.Option(help="Compare with a reference of the study, as `kernel`.")
    ] = None,
    shard: ShardOption = None,
    execution: Rehearsed,
) -> None:
    """Run a study, print its tables, evaluate its claims."""
    with guarded():
        from dumbbell import studies
        from dumbbell.cli import forecasts, shards
        from dumbbell.cli.sweeps import executed, say_forecasts
        from dumbbell.execution.shard import shard_of

        own = shard_of(shard)
        if own is not None:
            shards.refuse_json(json_file)
        check_places(json_file)
        chosen: dict[str, Any] = {
            "parts": part or None,
            "engine": engine,
            "repeats": repeats,
            "workers": workers,
            "store": store,
            "against": against,
        }
        with executed(execution, workers):
            if execution.dry_run:
                say_forecasts(forecasts.of_study(name, shard=own, **chosen))
                return
            if own is not None:
                studies.run_shard(name, str(own), console=console.err, **chosen)
                shards.say_done(own, store)
                return
            result = studies.run_study(name, console=console.err, **chosen)
        for shown in studies.renderables(result):
            console.out.print(shown)
        if json_file is not None:
            write_json(json_file, result.to_json())


@study_app.command("animate")
def study_animate(
    name: StudyName,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Folder of the pages; reports beside it link to it."),
    ] = Path("animations"),
    engine: EngineName = "sim",
) -> None:
    """Write the animations of a study. Its report links to these pages."""
    with guarded():
        from dumbbell.animation.study import animate_study

        for path in animate_study(name, output, engine, console.err):
            say(f"The page: {path}")


@study_app.command("tables")
def study_tables(
    name: Annotated[str, typer.Argument(help="Name of a study with a `tables.py`.")],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if a table differs.")
    ] = False,
    engine: Annotated[
        list[str] | None,
        typer.Option(help="Only tables of runs on this engine; may be repeated [default: all]."),
    ] = None,
    store: StoreDir = DEFAULT_STORE,
) -> None:
    """Write the tables of a study's pages. Runs that the store lacks are executed."""
    with guarded():
        from dumbbell.execution import use_progress
        from dumbbell.execution.bar import progress_on
        from dumbbell.studies.pages import Runs, renew, tables_folder

        runs = Runs(tables_folder(name), store, tuple(engine or ("sim", "linux")), console.err)
        differ = 0
        with use_progress(progress_on(console.err)):
            for page, marker, same in renew(runs, check=check):
                differ += not same
                state = "unchanged" if same else "differs" if check else "renewed"
                say(f"{page}: {marker}: {state}")
        if check and differ:
            raise typer.Exit(1)


@study_app.command("figures")
def study_figures(
    name: StudyName,
    figures: Annotated[list[str], typer.Argument(help="Ids of figures in its `study.yaml`.")],
    store: StoreDir = DEFAULT_STORE,
) -> None:
    """Draw figures of a study into its folder `figures`."""
    with guarded():
        from dumbbell.execution import use_progress
        from dumbbell.execution.bar import progress_on
        from dumbbell.report.readme import draw

        with use_progress(progress_on(console.err)):
            for path in draw(name, figures, store):
                say(f"The figure: {path}")
