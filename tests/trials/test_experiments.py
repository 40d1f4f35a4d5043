"""Random experiments: each is refused with file and line, or obeys conservation and every bound.

Time and memory are held against the estimate that is made before a run (`_core.budget`), not
against a clock.

`make test` runs 150, `make test-all` 300. Others, or more of them:

    DUMBBELL_SCALE=20 DUMBBELL_TRIALS_FROM=300 pytest tests/trials/test_experiments.py

A failure names its number; `python -m tests.trials NUMBER` prints that experiment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import _core
from dumbbell.errors import ExperimentError
from dumbbell.experiment import load_text
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from tests.scale import SCALE, tried
from tests.trials.draw import NOT_DRAWN, schema, text
from tests.trials.experiments import experiment

pytestmark = pytest.mark.slow

COUNT = tried(150, 300) * SCALE
FIRST = int(os.environ.get("DUMBBELL_TRIALS_FROM", "0"))
#: So many are one test, so that a failure does not hide the next hundred.
AT_ONCE = 25
#: Of all experiments at most this share may be refused: the others try something.
REFUSED_MOST = 0.15
#: A run may take so many times its estimate, and so much whatever that is.
EVENTS_MOST = 10
ROWS_MOST = 5
FEW = 2000
#: Experiments that would take more are left out: a minute each, and nothing new.
LARGEST = {"events": 1e8}


def names(value: Any) -> Iterator[str]:
    """Every field's name in an experiment."""
    if isinstance(value, dict):
        for name, below in value.items():
            yield name
            yield from names(below)
    elif isinstance(value, list):
        for below in value:
            yield from names(below)
    elif isinstance(value, str):
        yield value


def test_every_field_of_the_catalogue_is_drawn() -> None:
    fields = {name for kind in schema()["$defs"].values() for name in kind.get("properties", {})}
    drawn = {name for number in range(3000) for name in names(experiment(number))}
    assert fields - drawn - set(NOT_DRAWN) == set()
    assert set(NOT_DRAWN) <= fields | set(schema()["properties"])


def test_most_experiments_are_accepted() -> None:
    refused = 0
    for number in range(300):
        try:
            load_text(text(experiment(number)), Path("trial.yaml"))
        except ExperimentError as error:
            refused += 1
            assert str(error).startswith("trial.yaml:"), f"{number}: {error}"
            assert error.line is not None, f"{number}: {error}"
    assert refused <= REFUSED_MOST * 300


def breaches(results: Results) -> Iterator[str]:
    """Metrics outside their bounds."""
    for metric in METRICS.values():
        yield from metric.breaches(metric.computed(results), results)


def beyond_budget(results: Results) -> Iterator[str]:
    """Packets and rows beyond what was estimated."""
    for scenario in results.runs["scenario"].unique():
        estimate = _core.budget(scenario)
        hops = results.pipes["arrived_packets"].sum()
        if hops > EVENTS_MOST * estimate["events"] + FEW:
            yield f"{hops} packets times links, {estimate['events']:.0f} were estimated"
        rows = sum(getattr(results, name).height for name in ("samples", "queues", "probes"))
        rows += results.packets.height + results.hops.height
        if rows > ROWS_MOST * estimate["rows"] + FEW:
            yield f"{rows} rows, {estimate['rows']:.0f} were estimated"


@pytest.mark.parametrize("begin", range(FIRST, FIRST + COUNT, AT_ONCE))
def test_random_experiments_obey_their_laws(begin: int, tmp_path: Path) -> None:
    found: list[str] = []
    file = tmp_path / "trial.yaml"
    for number in range(begin, min(begin + AT_ONCE, FIRST + COUNT)):
        file.write_text(text(experiment(number)), encoding="utf-8")
        try:
            results = dumbbell.run(file, allow=LARGEST)
        except ExperimentError:
            continue  # what refusals say is asked above
        # Conservation is checked at the end of every run; a breach is an error of the engine.
        found += [f"{number}: {breach}" for breach in breaches(results)]
        found += [f"{number}: {breach}" for breach in beyond_budget(results)]
        if number % 10 == 0:
            again = dumbbell.run(file)
            if again.runs["digest"].to_list() != results.runs["digest"].to_list():
                found.append(f"{number}: two digests for one run")
    assert not found, "\n".join(found)
