"""Verbs that check an experiment file: `check`, `validate`, `schema`."""

from __future__ import annotations

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded, levels
from dumbbell.cli.options import (
    DEFAULT_STORE,
    Allow,
    EngineName,
    File,
    Repeats,
    Seed,
    Set,
    StoreDir,
    Workers,
)
from dumbbell.console import Pulse, print_text
from dumbbell.errors import DumbbellError
from dumbbell.files.output import json_text


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
    """Run an experiment and check its expectations; exit code 1 if one fails."""
    with guarded():
        import dumbbell
        from dumbbell.compare.expectations import check, refuse_impossible
        from dumbbell.execution import use_progress
        from dumbbell.execution.bar import RichProgress
        from dumbbell.experiment import load

        opened = load(file, set=levels(set_))
        expected = opened.expect
        if not expected:
            message = "nothing is expected: write `expect` into the file"
            raise DumbbellError(f"{file}: {message}")
        flows = {flow for cell in opened.cells for flow in cell.rtt_ns}
        refuse_impossible(opened.info, opened.file, expected, flows)
        with use_progress(RichProgress(console.err)):
            results = dumbbell.run(
                file,
                set=levels(set_),
                seed=seed,
                repeats=repeats,
                workers=workers,
                engine=engine,
                store=store,
                allow=allow,
            )
        found = check(results, expected)
        for one in found:
            console.out.print(f"{'✓' if one.holds else '✗'} {one.words}", soft_wrap=True)
        if not all(one.holds for one in found):
            raise typer.Exit(1)


def validate(file: File) -> None:
    """Check an experiment file without running it."""
    with guarded():
        from rich.text import Text

        from dumbbell.experiment.check import check_cells
        from dumbbell.experiment.load import open_file

        experiment = open_file(file)
        info, cells = experiment.info, experiment.count
        runs = cells * info.repeats
        pulse, checked, simulated_s, flows = Pulse(console.err), 0, 0.0, set[str]()
        with console.err.status("") as status:
            for part in check_cells(experiment):
                checked += part.cells
                simulated_s += part.duration_ns * info.repeats / 1e9
                flows |= part.flows
                text = f"{file.name}: {checked} of {cells} cells checked"
                status.update(Text(text))
                pulse(text)
        if experiment.expect:
            from dumbbell.compare.expectations import refuse_impossible

            refuse_impossible(info, experiment.file, experiment.expect, flows)
        if experiment.search is not None:
            from dumbbell.search.check import refuse_impossible as refuse_search

            refuse_search(experiment)
            names, spec = ", ".join(experiment.design.space), experiment.search
            times = f"{_count(spec.evaluations, 'evaluation')} × {_count(spec.repeats, 'repeat')}"
            console.out.print(f"  search over {names}: {times}", soft_wrap=True)
        for name, levels in info.factors.items():
            console.out.print(f"  {name}: {', '.join(levels)}", soft_wrap=True)
        parts = [
            _count(cells, "cell"),
            "×",
            _count(info.repeats, "repeat"),
            "=",
            _count(runs, "run"),
        ]
        text = f"{info.name}: {' '.join(parts)}, {simulated_s:g} simulated seconds"
        console.out.print(text, soft_wrap=True)


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    with guarded():
        from dumbbell.experiment import json_schema

        print_text(json_text(json_schema(), indent=1) + "\n")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
