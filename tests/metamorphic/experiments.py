"""Experiments over which the relations are asked: examples, parts of studies, random ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dumbbell
from dumbbell.errors import DumbbellError
from dumbbell.experiment import load
from dumbbell.results import Results
from tests.helpers import ROOT, simulated
from tests.scale import ALL
from tests.short_examples import shorter
from tests.trials.experiments import experiment

REPEATS = 2
#: Experiments that would take more are left out: a minute each, and nothing new.
_LARGEST = {"events": 1e8}

_OWN = Path(__file__).parent / "files"
EXAMPLES = simulated([*sorted((ROOT / "examples").glob("*.yaml")), *sorted(_OWN.glob("*.yaml"))])
_STUDIES = ("multipath", "web", "mptcp", "adsl-codel", "bbr3", "l4s", "slow-start")
#: Parts of the seven studies.
PARTS = [
    file
    for study in _STUDIES
    for file in simulated(sorted((ROOT / "studies" / study).glob("*.yaml")))
    if file.stem != "study"
]
IDS = [file.stem for file in EXAMPLES]
PART_IDS = [f"{file.parent.name}-{file.stem}" for file in PARTS]


def example(file: Path) -> Results:
    """An example with a few repeats; shorter in `make test`."""
    return dumbbell.run(file, set={} if ALL else shorter(file), repeats=REPEATS)


def part(file: Path) -> Results:
    """One cell of a part of a study, that of the first levels, with a few repeats."""
    first = {name: levels[0] for name, levels in load(file).info.factors.items()}
    return dumbbell.run(file, set=first, repeats=REPEATS)


def drawn(numbers: Iterator[int] | range, folder: Path) -> Iterator[tuple[int, Results]]:
    """Random experiments by number, with time series; those that are refused are left out."""
    file = folder / "drawn.yaml"
    for number in numbers:
        asked = experiment(number) | {"repeats": REPEATS}
        asked.pop("sampling", None)
        file.write_text(json.dumps(asked), encoding="utf-8")
        try:
            yield number, dumbbell.run(file, allow=_LARGEST)
        except DumbbellError:
            continue  # what refusals say is asked in tests/trials
