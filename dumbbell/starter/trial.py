"""Trial of a first experiment before it is written: it is read, and it runs in a few seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dumbbell import _core
from dumbbell.errors import ExperimentError
from dumbbell.experiment import Experiment, load_text
from dumbbell.starter.answers import Answers
from dumbbell.starter.kinds import Starter
from dumbbell.units import TIME, whole

#: Packets times links of all runs that take a few seconds on one core.
_FEW_SECONDS = 1e7
#: Minimum duration in RTTs.
_LEAST_RTTS = 10
_DURATIONS = ("30 s", "20 s", "10 s", "5 s", "2 s", "1 s", "500 ms", "200 ms", "100 ms", "50 ms",
              "20 ms", "10 ms", "5 ms", "2 ms", "1 ms")  # fmt: skip


def read(starter: Starter, answers: Answers) -> Experiment:
    """Experiment of some answers.

    Raises:
        ExperimentError: No experiment has these answers. Its message names no place in a file.
    """
    try:
        return load_text(starter.text(answers), Path(f"{starter.name}.yaml"))
    except ExperimentError as error:
        raise ExperimentError(
            error.message,
            found=error.found,
            allowed=error.allowed,
            nearest=error.nearest,
            code=error.code,
        ) from None


def affordable(starter: Starter, answers: Answers) -> Experiment:
    """Experiment of some answers, see :func:`read`. Raises `ExperimentError` if it is too large."""
    from dumbbell.execution import budget  # imports polars

    experiment = read(starter, answers)
    try:
        for cell in experiment.cells:
            budget.check(cell.scenario, {})
    except _core.ScenarioError as error:
        raise ExperimentError(error.message) from None
    return experiment


def with_short_runs(starter: Starter, answers: Answers) -> Answers:
    """Answers with a duration, the default or a shorter one, of runs that take a few seconds."""
    for duration in _DURATIONS[_DURATIONS.index(answers.duration) + 1 :]:
        long = _events(read(starter, answers)) > _FEW_SECONDS
        if not long or whole(duration, TIME) < _LEAST_RTTS * answers.rtt_ns:
            break
        answers = replace(answers, duration=duration)
    return answers


def _events(experiment: Experiment) -> float:
    """Estimate of packets times links of all runs."""
    cells = (_core.budget(cell.scenario)["events"] for cell in experiment.cells)
    return float(sum(cells)) * experiment.info.repeats
