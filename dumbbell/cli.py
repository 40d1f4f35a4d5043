"""The command line: verbs only.

Exit codes: 0 all went well; 1 a defect of the program or a failed check; 2 something the user can
mend; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.capture_cli import CaptureCommand
from dumbbell.console import Pulse, err, out, print_text, use_terminal
from dumbbell.console import guarded as _guarded
from dumbbell.console import levels as _levels
from dumbbell.console import say as _say
from dumbbell.errors import DumbbellError
from dumbbell.output import check_place, json_text, write_json
from dumbbell.store_cli import store_app
from dumbbell.trace_cli import TraceCommand, animate, trace
from dumbbell.workload_cli import workload_app

if TYPE_CHECKING:
    from dumbbell.compare import Comparison

app = typer.Typer(
    name="dumbbell",
    help="A laboratory for transport protocols.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
study_app = typer.Typer(help="Published studies, run again.", no_args_is_help=True)
app.add_typer(study_app, name="study")
kernel_app = typer.Typer(help="Linux kernels to run experiments on.", no_args_is_help=True)
app.add_typer(kernel_app, name="kernel")
app.add_typer(workload_app, name="workload")
app.add_typer(store_app, name="store")

File = Annotated[Path, typer.Argument(help="Experiment file (YAML).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACTOR=LEVEL", help="Take this level; may be repeated."),
]
Repeats = Annotated[int | None, typer.Option(min=1, help="Runs per combination of levels.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the first repeat.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Runs at once [default: all cores].")]
StoreDir = Annotated[Path, typer.Option(help="Folder in which runs are kept and found again.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the numbers here.")]
Captures = Annotated[
    Path | None, typer.Option(help="Folder for captures, a file (pcapng) per run.")
]
EngineName = Annotated[str, typer.Option(help="What executes the runs.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT=NUMBER",
        help="Raise a limit of what a run may take: events=5e9, rows=1e8, memory=16GB, "
        "captures=8GB, all.",
    ),
]
DEFAULT_STORE = Path("store")
#: A stream that takes nothing more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _write_windows(found: Comparison, path: Path) -> None:
    from dumbbell.figures import plot

    try:
        plot(found.together(), "window", over="engine").save(path)
    except ValueError as error:
        raise DumbbellError(f"{path}: not drawn: {error}") from None


def _version(wanted: bool) -> None:
    if wanted:
        from dumbbell import __version__

        print_text(f"dumbbell {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """A laboratory for transport protocols."""


def _check_places(*paths: Path | None) -> None:
    """Refuses what cannot be written before the work for it is done."""
    for path in paths:
        if path is not None:
            check_place(path)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@app.command()
def run(
    file: File,
    set_: Set = None,
    seed: Seed = None,
    repeats: Repeats = None,
    workers: Workers = None,
    engine: EngineName = "sim",
    store: StoreDir = DEFAULT_STORE,
    json_file: JsonFile = None,
    captures: Captures = None,
    per_tap: Annotated[
        bool, typer.Option("--per-tap", help="Captures: a file per run and tap.")
    ] = False,
    traces: Annotated[
        Path | None, typer.Option(help="Folder for ns-2 event traces, a file per run.")
    ] = None,
    allow: Allow = None,
) -> None:
    """Run an experiment; runs that the store holds are not run again."""
    with _guarded():
        import dumbbell
        from dumbbell import load_summary, page_summary, summary
        from dumbbell.execution.progress import RichProgress, use_progress

        _check_places(json_file)
        with use_progress(RichProgress(err)):
            results = dumbbell.run(
                file,
                set=_levels(set_),
                seed=seed,
                repeats=repeats,
                workers=workers,
                engine=engine,
                store=store,
                captures=captures,
                per_tap=per_tap,
                traces=traces,
                allow=allow,
            )
        out.print(summary.table(results))
        for one in page_summary.tables(results):
            out.print(one)
        under_load = load_summary.table(results)
        if under_load is not None:
            out.print(under_load)
        if json_file is not None:
            write_json(json_file, summary.to_json(results))
        _say(f"Runs are kept in {store}; a page of them: dumbbell report {store} -o report.html")


@app.command()
def compare(
    file: File,
    engines: Annotated[
        str, typer.Option(help="Two engines, the second is the measure: `sim,linux`.")
    ] = "sim,linux",
    set_: Set = None,
    seed: Seed = None,
    repeats: Repeats = None,
    workers: Workers = None,
    store: StoreDir = DEFAULT_STORE,
    json_file: JsonFile = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the windows over each other (.html, .svg, .png)."),
    ] = None,
    allow: Allow = None,
) -> None:
    """Run an experiment on two engines and compare; exit code 1 if anything differs."""
    with _guarded():
        from dumbbell.compare import compare_engines
        from dumbbell.compare_display import comparison_table, summary_line
        from dumbbell.execution.progress import RichProgress, use_progress

        _check_places(json_file, figure)
        with use_progress(RichProgress(err)):
            found = compare_engines(
                file,
                engines.split(","),
                set=_levels(set_),
                seed=seed,
                repeats=repeats,
                workers=workers,
                store=store,
                allow=allow,
            )
        out.print(comparison_table(found))
        out.print(summary_line(found))
        if json_file is not None:
            write_json(json_file, found.to_json())
        if figure is not None:
            _write_windows(found, figure)
        if not found.agrees:
            raise typer.Exit(1)


@app.command(cls=CaptureCommand)
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
    html: Annotated[Path | None, typer.Option(help="A page to look at, one file.")] = None,
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
        typer.Option(help="Each TCP packet and what it was, as CSV; without a file, printed."),
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
    """Say what captures hold: totals, conversations, and what happened in connections."""
    with _guarded():
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


app.command(cls=TraceCommand)(trace)
app.command()(animate)


@app.command()
def check(
    file: File,
    set_: Set = None,
    seed: Seed = None,
    repeats: Repeats = None,
    workers: Workers = None,
    engine: EngineName = "sim",
    store: StoreDir = DEFAULT_STORE,
    allow: Allow = None,
) -> None:
    """Run an experiment and see whether what it expects holds; exit code 1 if not."""
    with _guarded():
        import dumbbell
        from dumbbell.execution.progress import RichProgress, use_progress
        from dumbbell.expectations import check, refuse_impossible
        from dumbbell.experiment import load

        opened = load(file, set=_levels(set_))
        expected = opened.expect
        if not expected:
            message = "nothing is expected: write `expect` into the file"
            raise DumbbellError(f"{file}: {message}")
        flows = {flow for cell in opened.cells for flow in cell.rtt_ns}
        refuse_impossible(opened.info, opened.file, expected, flows)
        with use_progress(RichProgress(err)):
            results = dumbbell.run(
                file,
                set=_levels(set_),
                seed=seed,
                repeats=repeats,
                workers=workers,
                engine=engine,
                store=store,
                allow=allow,
            )
        found = check(results, expected)
        for one in found:
            out.print(f"{'✓' if one.holds else '✗'} {one.words}", soft_wrap=True)
        if not all(one.holds for one in found):
            raise typer.Exit(1)


@app.command()
def validate(file: File) -> None:
    """Check an experiment file without running it."""
    with _guarded():
        from rich.text import Text

        from dumbbell.expectations import refuse_impossible
        from dumbbell.experiment.check import check_cells
        from dumbbell.experiment.load import open_file

        experiment = open_file(file)
        info, cells = experiment.info, experiment.count
        runs = cells * info.repeats
        pulse, checked, simulated_s, flows = Pulse(err), 0, 0.0, set[str]()
        with err.status("") as status:
            for part in check_cells(experiment):
                checked += part.cells
                simulated_s += part.duration_ns * info.repeats / 1e9
                flows |= part.flows
                text = f"{file.name}: {checked} of {cells} cells checked"
                status.update(Text(text))
                pulse(text)
        refuse_impossible(info, experiment.file, experiment.expect, flows)
        for name, levels in info.factors.items():
            out.print(f"  {name}: {', '.join(levels)}", soft_wrap=True)
        parts = [
            _count(cells, "cell"),
            "×",
            _count(info.repeats, "repeat"),
            "=",
            _count(runs, "run"),
        ]
        text = f"{info.name}: {' '.join(parts)}, {simulated_s:g} simulated seconds"
        out.print(text, soft_wrap=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    with _guarded():
        from dumbbell.experiment import json_schema

        print_text(json_text(json_schema(), indent=1) + "\n")


@study_app.command("list")
def study_list() -> None:
    """List the studies."""
    with _guarded():
        from dumbbell import studies

        out.print(studies.studies_table(studies.list_studies()))


@study_app.command("run")
def study_run(
    name: Annotated[str, typer.Argument(help="Name of a study, see `dumbbell study list`.")],
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
) -> None:
    """Run a study, print its tables, judge its claims."""
    with _guarded():
        from dumbbell import studies
        from dumbbell.execution.progress import RichProgress, use_progress

        _check_places(json_file)
        with use_progress(RichProgress(err)):
            result = studies.run_study(
                name,
                parts=part or None,
                engine=engine,
                repeats=repeats,
                workers=workers,
                store=store,
                against=against,
                console=err,
            )
        for shown in studies.renderables(result):
            out.print(shown)
        if json_file is not None:
            write_json(json_file, result.to_json())


@study_app.command("animate")
def study_animate(
    name: Annotated[str, typer.Argument(help="Name of a study, see `dumbbell study list`.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the pages; reports beside it link it.")
    ] = Path("animations"),
    engine: EngineName = "sim",
) -> None:
    """Show the packets of a study moving: the pages that its report links."""
    with _guarded():
        from dumbbell.animation.study import animate_study

        for path in animate_study(name, output, engine, err):
            _say(f"The page: {path}")


@kernel_app.command("build")
def kernel_build(
    source: Annotated[
        Path | None,
        typer.Option(metavar="TREE", help="A kernel tree [default: Debian's source]."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What to call it [default: its version, as 6.1].")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Compilers at once [default: all cores].")
    ] = None,
) -> None:
    """Build a kernel that runs in virtual time, as one process, without root."""
    with _guarded():
        from dumbbell.engines.linux.trial import build_and_try
        from dumbbell.kernel_cli import BuildBar

        with BuildBar(err) as bar:
            kernel = build_and_try(source, name, bar, jobs=jobs)
        text = f"{kernel.name}: Linux {kernel.version} from {kernel.built_from}, {kernel.hash}"
        out.print(text, soft_wrap=True)


@kernel_app.command("list")
def kernel_list() -> None:
    """List the kernels that were built."""
    with _guarded():
        from dumbbell.engines.linux.kernel import kernels
        from dumbbell.kernel_cli import kernels_table

        found = kernels()
        if found:
            out.print(kernels_table(found))
        else:
            _say("There is no kernel yet; build one with: dumbbell kernel build")


@kernel_app.command("test")
def kernel_test(
    name: Annotated[str, typer.Argument(help="Which kernel [default: Debian's].")] = "",
) -> None:
    """Boot a kernel and send a flow through everything that the engine promises."""
    with _guarded():
        from dumbbell.engines.linux.probe import probe

        wrong = 0
        for one in probe(name):
            wrong += not one.well
            sign = "ok  " if one.well else "FAIL"
            out.print(f"{sign} {one.name:<20} {one.found}", soft_wrap=True)
        if wrong:
            raise typer.Exit(1)


@app.command()
def report(
    store: Annotated[Path, typer.Argument(help="Folder in which runs are kept.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page (HTML).")],
) -> None:
    """Write a page of tables and figures from stored runs alone."""
    with _guarded():
        from dumbbell.report import write_report

        _check_places(output)
        write_report(store, output)
        _say(f"The report: {output}")


@app.command()
def doctor() -> None:
    """Check this installation."""
    with _guarded():
        from dumbbell.doctor import examine

        well = True
        for finding in examine():
            well = well and finding.well
            sign, style = ("ok  ", "green") if finding.well else ("FAIL", "red")
            out.print(sign, style=style, end="")
            out.print(f" {finding.name:<11}{finding.found}", soft_wrap=True)
        if not well:
            raise typer.Exit(1)


def main() -> None:
    """Runs the verb that the command line names."""
    use_terminal()
    try:
        app()
    except BrokenPipeError:  # `dumbbell schema | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:  # of the help, which is printed outside of `guarded`
        if error.errno not in _FULL or error.filename is not None:
            raise
        _say(f"dumbbell: standard output: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
