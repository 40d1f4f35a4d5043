"""Verbs of `dumbbell study`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import (
    DEFAULT_STORE,
    EngineName,
    Execution,
    JsonFile,
    Rehearsed,
    Repeats,
    ShardOption,
    StoreDir,
    StoreOfStudy,
    Workers,
    grouped,
    page_file,
)
from dumbbell.console import say
from dumbbell.files.output import write_json, write_output


@dataclass(frozen=True)
class Scorecard:
    """Options of scorecards."""

    cc: Annotated[
        str | None,
        typer.Option(
            help="Scorecard rfc9743 or bbr-draft of this congestion control: `bbr`, `./mine.so` …"
        ),
    ] = None
    aqm: Annotated[
        str | None,
        typer.Option(help="Scorecard rfc7928 or rfc8867 of this queue discipline: `codel` …"),
    ] = None
    beside: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help="Ask this engine about a cell of each item: `linux`."),
    ] = None
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Smaller changes of a scorecard are the same.")
    ] = "2 %"
    page: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Scorecard as a page: HTML, or Markdown (.md).",
            callback=page_file,
        ),
    ] = None

    def refuse_all(self, name: str, *, has_page: bool = False) -> None:
        """Checks that no option of scorecards is given. Raises `DumbbellError`.

        A study that `has_page` takes `-o`, too.
        """
        from dumbbell.cards.card import names
        from dumbbell.codes import Code
        from dumbbell.errors import DumbbellError

        page = None if has_page else self.page
        given = {"--cc": self.cc, "--aqm": self.aqm, "--beside": self.beside, "-o": page}
        for option, value in given.items():
            if value is not None:
                there = ", ".join(names())
                raise DumbbellError(
                    f"{option} is for the scorecards {there}; {name} is a study", code=Code.GATE
                )

    def refuse_rest(self, name: str, given: Mapping[str, bool]) -> None:
        """Checks that no option of studies alone is given. Raises `DumbbellError`."""
        from dumbbell.codes import Code
        from dumbbell.errors import DumbbellError

        for option, is_given in given.items():
            if is_given:
                raise DumbbellError(f"{option} is not for the scorecard {name}", code=Code.GATE)

    def measure(
        self,
        name: str,
        items: list[str] | None,
        engine: str,
        repeats: int | None,
        workers: int | None,
        store: Path | None,
        json_file: Path | None,
        base: str | None,
        execution: Execution,
    ) -> None:
        """Measures a scorecard and shows it."""
        from dumbbell.cards import display
        from dumbbell.cards.page import scorecard_page
        from dumbbell.cards.running import REPEATS, chosen, folder_of, run_card
        from dumbbell.cli.sweeps import executed
        from dumbbell.compare.checking import share_of
        from dumbbell.engines import engine_named

        check_places(json_file, self.page)
        new = chosen(name, {"cc": self.cc, "aqm": self.aqm})
        folder = folder_of(name, store)
        if self.beside is not None:
            engine_named(self.beside)
        with executed(execution, workers):
            found = run_card(
                name, new, base, store=folder, engine=engine, beside=self.beside,
                tolerance=share_of(self.tolerance), repeats=repeats or REPEATS, workers=workers,
                items=tuple(items or ()),
            )  # fmt: skip
        for shown in display.terminal(found):
            console.out.print(shown)
        for line in display.notes(found):
            console.out.print(line, soft_wrap=True)
        if json_file is not None:
            write_json(json_file, display.to_json(found))
        if self.page is not None:
            is_markdown = self.page.suffix == ".md"
            text = display.markdown(found) if is_markdown else scorecard_page(found)
            write_output(self.page, text)


@dataclass(frozen=True)
class DrawnCells:
    """Options of the study `agreement`."""

    cells: Annotated[
        int | None, typer.Option(min=1, help="Cells that agreement draws. [default: 500]")
    ] = None
    cell_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the drawn cells. [default: 1]")
    ] = None

    def refuse_all(self, name: str) -> None:
        """Checks that no option is given. Raises `DumbbellError`."""
        from dumbbell.codes import Code
        from dumbbell.errors import DumbbellError

        for option, value in {"--cells": self.cells, "--cell-seed": self.cell_seed}.items():
            if value is not None:
                raise DumbbellError(
                    f"{option} is not for {name}, but for agreement", code=Code.GATE
                )

    def refuse_rest(self, given: Mapping[str, bool]) -> None:
        """Checks that no option of other studies is given. Raises `DumbbellError`."""
        from dumbbell.codes import Code
        from dumbbell.errors import DumbbellError

        for option, is_given in given.items():
            if is_given:
                raise DumbbellError(f"{option} is not for {AGREEMENT}", code=Code.GATE)

    def compare(
        self,
        engine: str,
        store: Path,
        workers: int | None,
        json_file: Path | None,
        page: Path | None,
        execution: Execution,
    ) -> None:
        """Compares both engines over drawn cells and shows the tables."""
        from dumbbell.agreement import compare_drawn, display
        from dumbbell.cli.sweeps import executed

        check_places(json_file, page)
        with executed(execution, workers):
            found = compare_drawn(
                self.cells or 500,
                1 if self.cell_seed is None else self.cell_seed,
                engine=engine,
                store=store,
                workers=workers,
            )
        for table in display.terminal(found):
            console.out.print(table)
        console.out.print(display.line(found), soft_wrap=True)
        if json_file is not None:
            write_json(json_file, display.to_json(found))
        if page is not None:
            write_output(page, display.markdown(found))


StudyName = Annotated[str, typer.Argument(help="Name of a study, see `dumbbell study list`.")]
#: Name of the study that draws its experiments.
AGREEMENT = "agreement"
study_app = typer.Typer(help="Replications of published studies.", no_args_is_help=True)


@study_app.command("list")
def study_list() -> None:
    """List the studies."""
    with guarded():
        from dumbbell import studies
        from dumbbell.cards.card import cards_table

        console.out.print(studies.studies_table(studies.list_studies()))
        console.out.print(cards_table())


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
    store: StoreOfStudy = None,
    json_file: JsonFile = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare with a reference of the study, as `kernel`; of a scorecard: with this "
            "incumbent [default: cubic, bbr3, fifo]."
        ),
    ] = None,
    card: Scorecard,
    drawn: DrawnCells,
    shard: ShardOption = None,
    execution: Rehearsed,
) -> None:
    """Run a study, print its tables, evaluate its claims.

    `rfc9743` and `bbr-draft` with `--cc NAME`, `rfc7928` and `rfc8867` with `--aqm NAME` measure a
    scorecard. `agreement` draws cells and compares the simulator with a kernel.
    """
    with guarded():
        from dumbbell.cards.card import names

        if name == AGREEMENT:
            drawn.refuse_rest(
                {
                    "--part": bool(part),
                    "--repeats": repeats is not None,
                    "--engine": engine != "sim",
                    "--shard": shard is not None,
                    "--dry-run": execution.dry_run,
                }
            )
            card.refuse_all(name, has_page=True)
            kernel, kept = against or "linux:7.3", store or DEFAULT_STORE
            drawn.compare(kernel, kept, workers, json_file, card.page, execution)
            return
        drawn.refuse_all(name)
        if name in names():
            card.refuse_rest(name, {"--shard": shard is not None, "--dry-run": execution.dry_run})
            card.measure(name, part, engine, repeats, workers, store, json_file, against, execution)
            return
        card.refuse_all(name)
        from dumbbell import studies
        from dumbbell.cli import forecasts, shards
        from dumbbell.cli.sweeps import executed, say_forecasts
        from dumbbell.execution.shard import shard_of

        own, store = shard_of(shard), store or DEFAULT_STORE
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
