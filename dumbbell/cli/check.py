"""Verbs that check an experiment file: `check`, `validate`, `schema`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import Allow, Execution, File, Junit, OnEngine, grouped
from dumbbell.console import Pulse, print_text, say
from dumbbell.console.words import many
from dumbbell.errors import ExperimentError
from dumbbell.files.output import json_text, write_output

if TYPE_CHECKING:
    from dumbbell.experiment.load import Opened


@grouped
def check(
    file: File,
    *,
    design: OnEngine,
    allow: Allow = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with the values in this file.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the baseline in place of comparing with it.")
    ] = False,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Smaller differences from the baseline pass.")
    ] = "1 %",
    junit: Junit = None,
    execution: Execution,
) -> None:
    """Check expectations and a baseline. The experiment is run first. Exit code 1 if one fails."""
    with guarded():
        import dumbbell
        from dumbbell.cli.sweeps import executed
        from dumbbell.compare.checking import Checking, share_of

        given = design.given()
        checking = Checking(file, given["set"], baseline, share_of(tolerance), update=update)
        check_places(junit, baseline if update else None)
        with executed(execution, design.workers):
            results = dumbbell.run(file, allow=allow, **given)
        passed = checking.judge(results)
        for line in checking.lines:
            console.out.print(line, soft_wrap=True)
        if junit is not None:
            write_output(junit, checking.junit(results))
        if not passed:
            raise typer.Exit(1)


def validate(
    file: File,
    watch: Annotated[
        bool, typer.Option("--watch", help="Check again whenever the file is saved, until Ctrl-C.")
    ] = False,
) -> None:
    """Check an experiment file without running it."""
    with guarded():
        if not watch:
            for line in _plan_or_every_error(file):
                console.out.print(line, soft_wrap=True)
            return
        import time

        from dumbbell.cli.watch import watch as watched

        watched(file, lambda path: f"good: {_plan(path)[-1]}", time.sleep)


def _plan_or_every_error(file: Path) -> list[str]:
    """See `_plan`. The first error of the file has the others with it."""
    try:
        return _plan(file)
    except ExperimentError as error:
        error.others = error.more
        raise


def _plan(file: Path) -> list[str]:
    """Checks all cells. Returns a line per factor, and the number of cells, repeats and runs."""
    from rich.text import Text

    from dumbbell.engines.everywhere import warnings_everywhere
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
            text = f"{file.name}: {checked} of {many(cells, 'cell')} checked"
            status.update(Text(text))
            pulse(text)
    for warning in warnings_everywhere(experiment):
        say(f"warning: {warning}")
    if experiment.enough is not None:
        from dumbbell.execution.enough import refuse_endless

        refuse_endless(experiment, flows)
    lines = []
    if experiment.expect:
        from dumbbell.compare.expectations import refuse_impossible

        refuse_impossible(info, experiment.file, experiment.expect, flows)
    if experiment.search is not None:
        from dumbbell.search.check import refuse_impossible as refuse_search

        refuse_search(experiment)
        names, spec = ", ".join(dict(experiment.reading.core.space)), experiment.search
        times = f"{_count(spec.evaluations, 'evaluation')} × {_count(spec.repeats, 'repeat')}"
        lines.append(f"  search over {names}: {times}")
    lines += [f"  {name}: {', '.join(levels)}" for name, levels in info.factors.items()]
    lines += _access_links(experiment)
    at_most = "at most " if experiment.enough is not None else ""
    parts = [
        _count(cells, "cell"),
        "×",
        at_most + _count(info.repeats, "repeat"),
        "=",
        at_most + _count(runs, "run"),
    ]
    lines.append(f"{info.name}: {' '.join(parts)}, {at_most}{simulated_s:g} simulated seconds")
    return lines


def _access_links(experiment: Opened) -> list[str]:
    """Fields that access links stand for: a line per direction of the first cell's links."""
    if not experiment.has_access_links:
        return []
    import json

    from dumbbell.report.setup import link_words

    scenario = json.loads(next(experiment.cells(0, 1)).scenario)
    return [f"  {words}" for words in link_words(scenario)]


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    with guarded():
        from dumbbell.experiment import json_schema

        print_text(json_text(json_schema(), indent=1) + "\n")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
