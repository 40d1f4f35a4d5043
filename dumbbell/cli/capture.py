"""The verb `capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded
from dumbbell.console import out


def capture(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Captures (pcap, pcapng, snoop, also compressed), or folders; - is standard input."
        ),
    ],
    json_file: Annotated[
        str | None,
        typer.Option("--json", help="Everything as JSON, to a file or (without one) printed."),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(help="Tables as CSV into a folder; without one, connections are printed."),
    ] = None,
    parquet: Annotated[Path | None, typer.Option(help="Tables as Parquet into a folder.")] = None,
    html: Annotated[Path | None, typer.Option(help="A page (HTML), one file.")] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", help="Class of connections by bytes, 'small<10 kB'; the last may be a name."
        ),
    ] = None,
    connections: Annotated[
        list[int] | None,
        typer.Option("--connection", help="Connections whose packets the page or table shows."),
    ] = None,
    packets: Annotated[
        str | None,
        typer.Option(help="Each TCP packet with its label, as CSV; without a file, printed."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Only conversations of this host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Only conversations of this port.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Only frames from then on: '2 s' of the file."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only frames before then.")
    ] = None,
) -> None:
    """Analyse captures: totals, conversations, retransmissions and RTT of connections."""
    with guarded():
        from dumbbell.capture.command import Wanted, tell

        wanted = Wanted(
            json_file,
            csv,
            parquet,
            html,
            classes or (),
            connections or (),
            packets,
            host,
            port,
            start,
            end,
        )
        tell(files, wanted, out)
