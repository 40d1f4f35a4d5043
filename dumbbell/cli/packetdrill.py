"""Verb `packetdrill`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import JsonFile, Junit, Workers
from dumbbell.files.output import write_json, write_output

if TYPE_CHECKING:
    from dumbbell.packetdrill.plan import Played


class _Version(StrEnum):
    V4 = "ipv4"
    MAPPED = "ipv4-mapped-ipv6"
    V6 = "ipv6"


def packetdrill(
    scripts: Annotated[
        list[Path], typer.Argument(metavar="SCRIPT...", help="Scripts (.pkt), or their folders.")
    ],
    *,
    engine: Annotated[
        str, typer.Option(help="TCP that is tested: linux, linux:NAME, sim.")
    ] = "linux",
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="TCP profile of the simulator.")
    ] = None,
    ip: Annotated[
        _Version, typer.Option("--ip", help="Version of IP, where a script names none.")
    ] = _Version.V4,
    define: Annotated[
        list[str] | None,
        typer.Option(
            "--define", "-D", metavar="NAME=VALUE", help="A word that stands for another."
        ),
    ] = None,
    tolerance: Annotated[
        int | None,
        typer.Option(min=1, metavar="µs", help="Deviation of a time [default: the script's]."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="A script fails, too, if one of its repeats differs.")
    ] = 1,
    workers: Workers = None,
    times: Annotated[bool, typer.Option("--times", help="Show when each packet was sent.")] = False,
    tap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as TAP.")
    ] = None,
    junit: Junit = None,
    json_file: JsonFile = None,
) -> None:
    """Play packetdrill's scripts on a kernel or on the simulator. Exit code 1 if one fails."""
    with guarded():
        import os

        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from dumbbell.packetdrill import display
        from dumbbell.packetdrill.engine import player_named
        from dumbbell.packetdrill.plan import Plan
        from dumbbell.packetdrill.playing import play_all
        from dumbbell.packetdrill.suite import defined, find_scripts

        check_places(tap, junit, json_file)
        plan = Plan(ip.value, defined(define or []), tolerance)
        found_scripts = find_scripts(scripts)
        player = player_named(engine, profile)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Progress(
            *columns, console=console.err, transient=True, disable=not console.err.is_terminal
        ) as bar:
            task = bar.add_task("scripts", total=len(found_scripts))

            def advance(_: Played) -> None:
                bar.advance(task)

            found = play_all(
                player, found_scripts, plan, workers=workers or os.cpu_count() or 1,
                repeats=repeats, progress=advance,
            )  # fmt: skip
        for one in found:
            if one.failed:
                for line in display.failure_lines(one):
                    console.out.print(line, soft_wrap=True)
            if times:
                console.out.print(f"{one.script.name}: {one.verdict.value}", soft_wrap=True)
                for line in (*display.times(one), *display.printed(one)):
                    console.out.print(line, soft_wrap=True)
        for line in display.lacking(found):
            console.out.print(line, soft_wrap=True)
        console.out.print(display.summary(found, player.name), soft_wrap=True)
        if tap is not None:
            write_output(tap, display.tap(found))
        if junit is not None:
            write_output(junit, display.junit(found, player.name))
        if json_file is not None:
            write_json(json_file, display.to_json(found, player.name))
        if any(one.failed for one in found):
            raise typer.Exit(1)
