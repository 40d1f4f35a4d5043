"""The verb `animate`: what is asked for, and doing it."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from dumbbell.animation import export
from dumbbell.animation.page import page
from dumbbell.animation.scene import Scene
from dumbbell.animation.sources import Places, scene_of_run, scene_of_trace
from dumbbell.codes import Code
from dumbbell.console import Pulse, say
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError
from dumbbell.explain.watched import interval_ns, watched
from dumbbell.files.input import read_file
from dumbbell.files.output import write_output
from dumbbell.files.urls import is_url
from dumbbell.results import Results
from dumbbell.scenario import read_scenario
from dumbbell.store import MemoryStore
from dumbbell.trace.command import begins, reading, refuse_loss
from dumbbell.units import TIME, QuantityError, whole

_CAPTURES = (
    b"\xa1\xb2",
    b"\xd4\xc3\xb2\xa1",
    b"\x4d\x3c\xb2\xa1",
    b"\n\r\r\n",
)


#: More flows than this are sampled less often than the experiment says.
_MANY = 200
#: Sending hosts at which SACK blocks are kept.
_HOSTS = 16
#: Largest file of positions that is read.
_POSITIONS_BYTES = 1 << 24
#: Frames of a film, ten minutes of it.
_FRAMES_MAX = 18_000


@dataclass(frozen=True)
class Wanted:
    """Outputs of `animate`, and what they show.

    Attributes:
        output: The page; None: `<first source>.html` beside the caller.
        set: Factor → levels, of a run.
        seed: Of an experiment that is run for this.
        engine: That it is run on.
        from_: Beginning, with its unit.
        to: End.
        names: What the numbers of a trace mean.
        positions: Where nodes stand, a JSON file.
        svg: A file, for the moment `at`.
        frames: A folder for PNG frames.
        film: A file, MP4 or GIF.
        at: The moment of the SVG.
        speed: Virtual seconds per second of a film.
        fps: Frames per second of a film.
    """

    output: Path | None = None
    set: dict[str, list[str]] = field(default_factory=dict)
    seed: int | None = None
    engine: str = "sim"
    from_: str | None = None
    to: str | None = None
    names: Path | None = None
    positions: Path | None = None
    svg: Path | None = None
    frames: Path | None = None
    film: Path | None = None
    at: str | None = None
    speed: float | None = None
    fps: int = 30


def animate(sources: Sequence[str], wanted: Wanted, err: Console) -> Path:
    """Writes the page, and the pictures that are asked for. Returns the page.

    Raises:
        DumbbellError: Something cannot be read, drawn or written.
    """
    window = (_ns(wanted.from_, "--from") or 0, _ns(wanted.to, "--to"))
    if window[1] is not None and window[1] <= window[0]:
        raise DumbbellError(
            f"--to {wanted.to}: should be later than --from {wanted.from_ or '0'}", code=Code.MOMENT
        )
    at = _ns(wanted.at, "--at")
    stem = Path(sources[0]).name.split(".")[0].strip("-") or "animation"
    path = wanted.output or Path(f"{stem}.html")
    refuse_loss(sources, {"-o": path, "--svg": wanted.svg, "--film": wanted.film})
    scene = _scene(sources, wanted, window, err)
    if at is not None and not scene.from_ns <= at <= scene.to_ns:
        ends = f"{scene.from_ns / 1e9:g} s and {scene.to_ns / 1e9:g} s"
        raise DumbbellError(
            f"--at {wanted.at}: the animation lies between {ends}", code=Code.MOMENT
        )
    with err.status(Text(f"writing {path.name}")):
        write_output(path, page(scene))
    _pictures(path, scene, wanted, err)
    return path


def _ns(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    try:
        return whole(text, TIME)
    except QuantityError as error:
        raise DumbbellError(
            f"{option} {text}: {error.message}, as 10 s or 250 ms", code=error.code
        ) from None


def _scene(
    sources: Sequence[str], wanted: Wanted, window: tuple[int, int | None], err: Console
) -> Scene:
    given = _positions(wanted.positions)
    first = Path(sources[0])
    first_bytes = b""
    with contextlib.suppress(OSError):
        first_bytes = begins(first)
    if first_bytes.startswith(_CAPTURES):
        from dumbbell.animation.captures import scene_of_captures

        return scene_of_captures(sources, window=window, given=given)
    if len(sources) > 1:
        raise DumbbellError(
            f"{sources[1]}: several files are animated together only as captures",
            code=Code.SELECTION,
        )
    if is_url(sources[0]) or first.is_dir():
        from dumbbell import load_results

        return run_scene(load_results(sources[0], partial=True), first.name, wanted, window, given)
    if first.suffix in (".yaml", ".yml"):
        return _experiment_scene(first, wanted, window, given, err)
    if sources[0] != "-" and not first.exists():
        raise DumbbellError(f"{first}: there is no such file", code=Code.UNREADABLE)
    with reading(sources[0], err) as told:
        return scene_of_trace(first, window=window, names=wanted.names, given=given, told=told)


def _positions(path: Path | None) -> Places | None:
    if path is None:
        return None
    try:
        found = json.loads(read_file(path, _POSITIONS_BYTES))
        places = {str(name): (float(x), float(y)) for name, (x, y) in found.items()}
        if not all(math.isfinite(one) for place in places.values() for one in place):
            raise ValueError
        return places
    except OSError as error:
        raise DumbbellError(
            f"{path}: cannot be read: {error.strerror or error}", code=Code.UNREADABLE
        ) from None
    except (ValueError, TypeError, AttributeError):
        message = 'should be JSON like {"s1": [0, 0], "r1": [100, 40]}'
        raise DumbbellError(f"{path}: {message}", code=Code.ANIMATION) from None


def _experiment_scene(
    file: Path,
    wanted: Wanted,
    window: tuple[int, int | None],
    given: Places | None,
    err: Console,
) -> Scene:
    """Runs one cell of an experiment, once, keeping what an animation needs."""
    from dumbbell.engines import engine_named
    from dumbbell.execution import execute, use_progress
    from dumbbell.execution.bar import progress_on
    from dumbbell.experiment import load

    experiment = load(file, set=wanted.set, seed=wanted.seed, repeats=1)
    _one_cell([cell.levels for cell in experiment.cells], str(file))
    cell = experiment.cells[0]
    looked_at = looking(cell.scenario, window[1] or cell.duration_ns, taps=wanted.engine == "sim")
    cells = [replace(cell, scenario=looked_at, unsampled=None)]
    kept = MemoryStore()
    with use_progress(progress_on(err)):
        record = execute(
            replace(experiment, cells=cells), engine_named(wanted.engine), kept, workers=1
        )
        results = kept.results(record)
    return run_scene(results, file.stem, wanted, window, given)


def looking(scenario: str, to_ns: int, *, taps: bool) -> str:
    """Scenario that keeps the path of every packet up to a time, and what explanations read.

    Args:
        scenario: Scenario of the run.
        to_ns: End of the time in which packets are kept.
        taps: Whether the engine keeps packets at hosts.
    """
    spec = read_scenario(scenario)
    flows = spec["flows"]
    hosts = list(dict.fromkeys(one["from"] for one in flows if "tcp" in one["traffic"]))
    if spec["arrivals"] or len(flows) > _MANY:
        # Windows of many flows as rarely as the experiment says: a chart shows few.
        few = max(spec["sampling"]["interval_ns"], spec["duration_ns"] // 5000)
        return watched(spec, (0, to_ns), few, [])
    interval = min(
        spec["sampling"]["interval_ns"],
        max(interval_ns(spec, len(flows) * spec["duration_ns"]), spec["duration_ns"] // 50_000),
    )
    return watched(spec, (0, to_ns), interval, hosts[:_HOSTS] if taps else [])


def _one_cell(levels: Sequence[dict[str, str]], place: str) -> None:
    if len(levels) == 1:
        return
    open_ = {
        name: list(dict.fromkeys(one[name] for one in levels))
        for name in levels[0]
        if len({one[name] for one in levels}) > 1
    }
    words = "; ".join(f"{name}: {', '.join(values)}" for name, values in open_.items())
    raise DumbbellError(
        f"{place}: {len(levels)} combinations of levels, and one is animated: choose with"
        f" --set FACTOR=LEVEL ({words})",
        code=Code.SELECTION,
    )


def run_scene(
    results: Results,
    title: str,
    wanted: Wanted,
    window: tuple[int, int | None],
    given: Places | None,
) -> Scene:
    """The scene of the run that `wanted.set` chooses. Raises `DumbbellError` if it is not one."""
    rows = results.runs
    for name in results.experiment.factors:
        if name in wanted.set:
            rows = rows.filter(pl.col(name).is_in(wanted.set[name]))
    if rows.is_empty():
        raise DumbbellError(f"{title}: no run with these levels", code=Code.SELECTION)
    factors = list(results.experiment.factors)
    _one_cell(rows.select(factors).unique(maintain_order=True).to_dicts() or [{}], title)
    row = rows.sort("repeat").row(0, named=True)
    words = ", ".join(f"{name} {row[name]}" for name in factors)
    hops = results.hops.filter(pl.col("run") == row["run"])
    heading = f"{results.experiment.name}: {words}" if words else results.experiment.name
    if row["engine"] != "sim":
        heading += f" (engine {row['engine']})"
    return scene_of_run(results, row, hops, title=heading, window=window, given=given)


def _pictures(path: Path, scene: Scene, wanted: Wanted, err: Console) -> None:
    if wanted.svg is not None:
        at = _ns(wanted.at, "--at")
        text = export.svg(path, (at if at is not None else scene.from_ns) / 1e9)
        write_output(wanted.svg, text)
        say(f"The moment: {wanted.svg}")
    if wanted.frames is None and wanted.film is None:
        return
    span = (scene.to_ns - scene.from_ns) / 1e9
    speed = wanted.speed or span / 20
    stretch = export.Stretch(scene.from_ns / 1e9, scene.to_ns / 1e9, speed, wanted.fps)
    if stretch.frames > _FRAMES_MAX:
        raise DumbbellError(
            f"{stretch.frames} frames, and a film has at most {_FRAMES_MAX}: choose a shorter"
            " stretch with --from and --to, or a higher --speed",
            code=Code.ANIMATION,
        )
    with _bar(stretch.frames, err) as told:
        if wanted.frames is not None:
            export.write_frames(path, wanted.frames, stretch, told)
        if wanted.film is not None:
            export.write_film(path, wanted.film, stretch, told)
    for place in (wanted.frames, wanted.film):
        if place is not None:
            say(f"{many(stretch.frames, 'frame')}: {place}")


@contextlib.contextmanager
def _bar(total: int, err: Console) -> Iterator[export.Told]:
    columns = (TextColumn("frames"), BarColumn(), MofNCompleteColumn())
    pulse = Pulse(err)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def told(done: int) -> None:
            bar.update(task, completed=done)
            pulse(f"{done} of {many(total, 'frame')}")

        yield told
