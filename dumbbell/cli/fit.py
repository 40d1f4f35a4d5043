"""Verb `fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import JsonFile
from dumbbell.console import say
from dumbbell.files.output import write_json, write_output


def fit(
    capture: Annotated[
        Path, typer.Argument(help="Capture (pcap, pcapng, snoop, also compressed).")
    ],
    connection: Annotated[
        int | None,
        typer.Option(min=0, help="Number of the connection [default: the one with most data]."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The twin: an experiment file (YAML).")
    ] = None,
    algorithms: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="Try this congestion control; may be repeated [default: all of the catalogue].",
        ),
    ] = None,
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="[NAME=]FILE",
            help="Try this congestion control, too: a plug-in; may be repeated.",
        ),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank/--no-rank", help="Find the congestion control.")
    ] = True,
    draws: Annotated[
        int, typer.Option(min=1, max=100, help="Paths drawn for an algorithm near the best.")
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Change of the twin to try: cc=bbr3,cubic, queue=cake,fq_codel, "
            "buffer=50 packets, loss=0; may be repeated.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Page (HTML), one file: capture and twin over time.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Fit a twin to the transfer of a capture.

    Names the path, what limited the transfer, and its congestion control.
    """
    with guarded():
        from dumbbell.fit.command import Progress, known
        from dumbbell.fit.command import plugins as plugins_of
        from dumbbell.fit.display import as_json, shown
        from dumbbell.fit.fitting import fit as fitted

        check_places(output, json_file, html)
        names = known(algorithms) if rank else []
        found = fitted(
            capture,
            connection,
            algorithms=names,
            plugins=plugins_of(plugins) if rank else None,
            draws=draws,
            seed=seed,
            what_if=what_if or (),
            progress=Progress(),
        )
        console.out.print(shown(found))
        if output is not None:
            write_output(output, found.experiment)
            say(f"The twin: {output}. Run it: dumbbell run {output}")
        if html is not None:
            from dumbbell.fit.page import page

            write_output(html, page(found))
        if json_file is not None:
            write_json(json_file, as_json(found))
