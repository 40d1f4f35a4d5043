"""Verb `gate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import (
    EngineName,
    Execution,
    JsonFile,
    Junit,
    Workers,
    grouped,
    html_file,
)
from dumbbell.files.output import write_json, write_output

if TYPE_CHECKING:
    from dumbbell.gate.display import Beside
    from dumbbell.gate.gate import Outcome


@grouped
def gate(
    base: Annotated[
        str,
        typer.Argument(help="Sender before: `cubic`, `./mine.so`, `quinn:bbr` …; queue; store."),
    ],
    new: Annotated[str, typer.Argument(help="Sender, queue discipline or store now.")],
    *,
    suite: Annotated[
        str, typer.Option(help="Suite, or a file or folder of experiments with `tcp: subject`.")
    ] = "quick",
    engine: EngineName = "sim",
    control: Annotated[
        str, typer.Option(metavar="NAME", help="Congestion control of profiles and engines.")
    ] = "cubic",
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Smaller changes of a mean pass.")
    ] = "2 %",
    repeats: Annotated[
        int | None,
        typer.Option(min=2, help="Repeats of each run [default: 6, 12, 24 until decided]."),
    ] = None,
    at_most: Annotated[
        str | None, typer.Option(metavar="TIME", help="No further look after this time: `2 min`.")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help="Judge what fails on this engine, too: `linux`."),
    ] = None,
    workers: Workers = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the runs of both sides here.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The outcome as a page (HTML).", callback=html_file),
    ] = None,
    junit: Junit = None,
    json_file: JsonFile = None,
    execution: Execution,
) -> None:
    """Compare a sender or a queue with the one before. Exit code 1 if something got worse."""
    with guarded():
        import contextlib
        import tempfile

        from dumbbell.cli.sweeps import executed
        from dumbbell.codes import Code
        from dumbbell.compare.checking import share_of
        from dumbbell.engines import engine_named
        from dumbbell.errors import DumbbellError
        from dumbbell.gate.beside import judged_beside
        from dumbbell.gate.gate import LOOKS, run_gate, seconds_of
        from dumbbell.gate.queues import read_under_test
        from dumbbell.gate.stores import are_stores, gate_stores
        from dumbbell.gate.suite import read_suite

        check_places(junit, json_file, page)
        if are_stores(base, new):
            if beside is not None or repeats is not None or store is not None:
                given = {"--beside": beside, "--repeats": repeats, "--store": store}
                option = next(name for name, value in given.items() if value is not None)
                raise DumbbellError(f"{option} is not for stores: nothing is run", code=Code.GATE)
            _say(gate_stores(base, new, share_of(tolerance)), page, junit, json_file)
            return
        before, now = (read_under_test(one, engine, control) for one in (base, new))
        if beside is not None:
            engine_named(beside)
        contents, share = read_suite(suite), share_of(tolerance)
        most_s = None if at_most is None else seconds_of(at_most)
        with contextlib.ExitStack() as stack:
            folder = store or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            with executed(execution, workers):
                found = run_gate(
                    before, now, contents, folder, tolerance=share, at_most_s=most_s,
                    workers=workers, looks=LOOKS if repeats is None else (repeats,),
                )  # fmt: skip
                there, refused = None, ""
                if beside is not None and not found.passes:
                    try:
                        there = judged_beside(
                            found, contents, beside, folder / "beside", tolerance=share,
                            workers=workers,
                        )  # fmt: skip
                    except DumbbellError as error:  # what was found is not lost
                        refused = f"Not judged on {beside}: {error}"
            _say(found, page, junit, json_file, beside or "", there, refused)


def _say(
    found: Outcome,
    page: Path | None,
    junit: Path | None,
    json_file: Path | None,
    engine: str = "",
    there: Beside | None = None,
    refused: str = "",
) -> None:
    """Shows an outcome and writes its files. Exits with 1 if something fails."""
    from dumbbell.gate import display

    for shown in (display.table(found, engine, there), display.overview(found)):
        if shown is not None:
            console.out.print(shown)
    for line in (*([refused] if refused else []), *display.lines(found)):
        console.out.print(line, soft_wrap=True)
    if page is not None:
        from dumbbell.gate.page import gate_page

        write_output(page, gate_page(found, engine, there))
    if junit is not None:
        write_output(junit, display.junit(found))
    if json_file is not None:
        write_json(json_file, display.to_json(found))
    if not found.passes:
        raise typer.Exit(1)
