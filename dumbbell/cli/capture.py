"""Verb `capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded


def capture(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Captures (pcap, pcapng, snoop, also compressed), or folders; - is standard input."
        ),
    ],
    json_file: Annotated[
        str | None,
        typer.Option(
            "--json", help="Everything as JSON, into a file or (without a value) printed."
        ),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(
            help="Tables as CSV, into a folder; without a value, the connections are printed."
        ),
    ] = None,
    parquet: Annotated[Path | None, typer.Option(help="Tables as Parquet, into a folder.")] = None,
    html: Annotated[Path | None, typer.Option(help="Page (HTML), one file.")] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            help="Size class of connections, 'small<10 kB'; the last one may be a name alone.",
        ),
    ] = None,
    connections: Annotated[
        list[int] | None,
        typer.Option("--connection", help="Connections with packets on the page or in the table."),
    ] = None,
    packets: Annotated[
        str | None,
        typer.Option(
            help="TCP packets with their labels as CSV, into a file; without a value, printed."
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Only conversations of this host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Only conversations of this port.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Only frames from this time on: '2 s' after the first."
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only frames before this time.")
    ] = None,
) -> None:
    """Analyse captures. Totals, conversations, retransmissions and RTT of connections."""
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
        tell(files, wanted, console.out)
