"""Runs made again on demand: explanations and animations."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from dumbbell.animation.cells import run_animation
from dumbbell.errors import DumbbellError
from dumbbell.execution.budget import estimated_s
from dumbbell.explain.display import as_json
from dumbbell.explain.made_again import explain_run
from dumbbell.explore.shelf import StoredExperiment
from dumbbell.explore.sources import levels_words, planned_of
from dumbbell.scenario import read_scenario
from dumbbell.show.chosen import ChosenRun

#: Estimated time of a run, in s, above which it is not made again for a page.
MOST_S = 120.0
#: One run at a time: the machine is the user's.
_TURN = threading.Lock()


def explained(source: StoredExperiment, run: str, flow: str, at_s: float) -> str:
    """JSON of the explanation of what happened to a flow near a time.

    Raises `DumbbellError` if nothing happened, or the run cannot be made again.
    """
    planned = planned_of(source, run)
    results = source.of_run(run)
    _affordable(source, run)
    title = f"{results.experiment.name}: {levels_words(planned)}"
    chosen = ChosenRun(title, [], source.record, planned, results)
    with _TURN:
        return as_json(explain_run(chosen, flow, f"{at_s:.9f} s", _silent()))


def animated(source: StoredExperiment, run: str) -> tuple[bytes, str]:
    """Page of the animation of a run, compressed, and what it leaves out.

    Raises `DumbbellError` if the run cannot be made again.
    """
    planned = planned_of(source, run)
    _affordable(source, run)
    with _TURN:
        made = run_animation(source.record, planned, source.of_run(run), _silent())
    return made.packed, made.note


def _affordable(source: StoredExperiment, run: str) -> None:
    text = source.of_run(run).runs["scenario"][0]
    took = estimated_s(source.engine, text, read_scenario(text)["duration_ns"])
    if took > MOST_S:
        raise DumbbellError(
            f"making this run again would take some {took:.0f} s, more than the page waits"
            f" ({MOST_S:.0f} s): use `dumbbell explain` or `dumbbell animate` in a terminal"
        )


def _silent() -> Console:
    return Console(file=io.StringIO(), stderr=True)
