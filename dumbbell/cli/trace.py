"""Verbs for packet events: `trace` and `animate`. Imports no large package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dumbbell import console
from dumbbell.cli.guard import guarded, levels
from dumbbell.cli.options import Set, html_file
from dumbbell.console import say

Names = Annotated[
    Path | None,
    typer.Option(help="Names of the trace's nodes, links and flows [default: FILE.json]."),
]


class TraceCommand(TyperCommand):
    """Command that accepts `--json` without a value, which then prints."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds the values that the command line omits."""
        full: list[str] = []
        for number, word in enumerate(args):
            full.append(word)
            follows = args[number + 1] if number + 1 < len(args) else None
            if word == "--json" and _stands_alone(follows, args):
                full.append("-")
        return super().parse_args(ctx, full)


def _stands_alone(follows: str | None, args: list[str]) -> bool:
    """Returns true if the next word is missing, an option, or the trace itself."""
    if follows is None or follows.startswith("--"):
        return True
    words = [word for word in args if not word.startswith("--")]
    return words == [follows] and Path(follows).is_file()


def trace(
    file: Annotated[
        str, typer.Argument(help="Event trace of ns-2 or ns-3, also compressed; - reads stdin.")
    ],
    json_file: Annotated[
        str | None, typer.Option("--json", help="Everything as JSON to a file; - prints it.")
    ] = None,
    parquet: Annotated[Path | None, typer.Option(help="Tables as Parquet into a folder.")] = None,
    html: Annotated[Path | None, typer.Option(help="A page (HTML), one file.")] = None,
    names: Names = None,
) -> None:
    """Analyse an event trace. Throughput, loss and delay of flows and links."""
    with guarded():
        from dumbbell.trace.command import Wanted, tell

        tell(file, Wanted(json_file, parquet, html, names), console.out, console.err)


def animate(
    sources: Annotated[
        list[str],
        typer.Argument(help="Experiment (YAML), store, event trace, or captures of some points."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page [default: SOURCE.html].", callback=html_file),
    ] = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the run.")] = None,
    engine: Annotated[str, typer.Option(help="Engine that executes the run.")] = "sim",
    from_: Annotated[str | None, typer.Option("--from", help="Start time: 10 s.")] = None,
    to: Annotated[str | None, typer.Option(help="End time.")] = None,
    names: Names = None,
    positions: Annotated[
        Path | None, typer.Option(help='Positions of nodes: JSON, {"r1": [100, 40], …}.')
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the state at the time --at as SVG.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="Time of --svg.")] = None,
    frames: Annotated[Path | None, typer.Option(help="Folder for PNG frames.")] = None,
    film: Annotated[Path | None, typer.Option(help="Film as MP4 or GIF (needs ffmpeg).")] = None,
    speed: Annotated[
        float | None,
        typer.Option(min=1e-6, help="Speed of the film, × real time [default: 20 s long]."),
    ] = None,
    fps: Annotated[int, typer.Option(min=1, max=120, help="Frames per second of the film.")] = 30,
) -> None:
    """Animate packets in a page. An experiment is run once for this."""
    with guarded():
        from dumbbell.animation.command import Wanted
        from dumbbell.animation.command import animate as write

        wanted = Wanted(
            output=output,
            set=levels(set_),
            seed=seed,
            engine=engine,
            from_=from_,
            to=to,
            names=names,
            positions=positions,
            svg=svg,
            frames=frames,
            film=film,
            at=at,
            speed=speed,
            fps=fps,
        )
        say(f"The page: {write(sources, wanted, console.err)}")
