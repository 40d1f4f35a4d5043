"""Each example, run once: what it keeps, and what the terminal says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.console.output import Output
from dumbbell.summary import overview
from dumbbell.summary.cells import cells
from dumbbell.summary.findings import findings
from dumbbell.summary.fit import WIDTH
from tests.helpers import ROOT, simulated

#: Points in time that a figure can show, and most rows over time of a run (crates/experiment).
POINTS, MOST_ROWS = 500, 40_000
EXAMPLES = simulated(sorted((ROOT / "examples").glob("*.yaml")))


def printed(results: dumbbell.Results) -> list[str]:
    console = Output()
    console.width = WIDTH
    with console.capture() as found:
        console.print(overview.table(results, cells(results)))
    return found.get().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_an_example_is_recorded_and_told(file: Path) -> None:
    results = dumbbell.run(file, repeats=1)
    if "\nsampling" not in file.read_text(encoding="utf-8"):
        rows = results.samples.height + results.queues.height
        assert rows <= results.runs.height * MOST_ROWS
        assert POINTS // 5 <= results.queues["time_ns"].n_unique() <= POINTS
    lines = printed(results)
    assert max(map(len, lines)) <= WIDTH
    assert not [line for line in lines if "…" in line or "–  " in line]
    bottlenecks = [line for line in lines if {"→", "←"} & set(line.strip().split())]
    assert bottlenecks or any(line.strip()[:1] in ("→", "←") for line in lines)
    for finding in findings(cells(results)):
        assert finding.gravity >= 1 and finding.sentence.endswith(".")
