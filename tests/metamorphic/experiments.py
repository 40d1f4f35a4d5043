"""Experiments over which the relations are asked: examples, parts of studies, random ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dumbbell
from dumbbell.errors import DumbbellError
from dumbbell.results import Results
from tests.helpers import ROOT, simulated
from tests.trials.experiments import experiment

#: Repeats of an example, and of a random experiment.
REPEATS, FEW_REPEATS = 3, 2
#: Experiments that would take more are left out: a minute each, and nothing new.
_LARGEST = {"events": 1e8}

EXAMPLES = simulated(sorted((ROOT / "examples").glob("*.yaml")))


def example(file: Path) -> Results:
    """An example with a few repeats."""
    return dumbbell.run(file, repeats=REPEATS)


def drawn(numbers: Iterator[int] | range, folder: Path) -> Iterator[tuple[int, Results]]:
    """Random experiments by number, with time series; those that are refused are left out."""
    file = folder / "drawn.yaml"
    for number in numbers:
        asked = experiment(number) | {"repeats": FEW_REPEATS}
        asked.pop("sampling", None)
        file.write_text(json.dumps(asked), encoding="utf-8")
        try:
            yield number, dumbbell.run(file, allow=_LARGEST)
        except DumbbellError:
            continue  # what refusals say is asked in tests/trials
