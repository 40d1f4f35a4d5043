"""Order, names and hosts that do nothing change no number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.results import Results
from dumbbell.summary.cells import cells
from tests.metamorphic.experiments import EXAMPLES, IDS, drawn, example
from tests.metamorphic.numbers import Numbers, differing, numbers
from tests.metamorphic.views import reversed_rows
from tests.scale import SCALE, tried

pytestmark = pytest.mark.slow

COUNT, AT_ONCE = tried(25, 50) * SCALE, 25

TWO = """\
dumbbell: 1
name: two
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
HOSTS
flows:
FLOWS
duration: 5 s
repeats: 2
"""
FIRST = "  - {name: one, from: s1, to: d1, tcp: cubic}\n"
SECOND = "  - {name: other, from: s2, to: d2, tcp: reno, start: 1 s}\n"
IDLE = (
    "hosts: {idle: , nobody: }\n"
    "links: [{between: [idle, nobody], delay: 3 ms, rate: 5 Mbit/s, buffer: 9 packets}]"
)


def by_cell(results: Results) -> dict[tuple[str, ...], Numbers]:
    return {tuple(sorted(cell.levels.items())): numbers(cell) for cell in cells(results)}


def unlike(one: Results, other: Results) -> list[str]:
    """Numbers of cells that differ."""
    first, second = by_cell(one), by_cell(other)
    assert first.keys() == second.keys()
    return [f"{cell}: {words}" for cell in first for words in differing(first[cell], second[cell])]


@pytest.mark.parametrize("file", EXAMPLES, ids=IDS)
def test_the_order_of_rows_of_an_example_changes_nothing(file: Path) -> None:
    results = example(file)
    assert unlike(results, reversed_rows(results)) == []


@pytest.mark.parametrize("begin", range(0, COUNT, AT_ONCE))
def test_the_order_of_rows_changes_nothing(begin: int, tmp_path: Path) -> None:
    found: list[str] = []
    for number, results in drawn(range(begin, begin + AT_ONCE), tmp_path):
        found += [f"{number}: {one}" for one in unlike(results, reversed_rows(results))]
    assert not found, "\n".join(found)


def ran(folder: Path, flows: str, hosts: str = "", **changes: Any) -> Results:
    text = TWO.replace("HOSTS\n", f"{hosts}\n" if hosts else "").replace("FLOWS\n", flows)
    for one, other in changes.items():
        text = text.replace(one, other)
    file = folder / "two.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file)


def test_the_order_of_flows_changes_nothing(tmp_path: Path) -> None:
    assert unlike(ran(tmp_path, FIRST + SECOND), ran(tmp_path, SECOND + FIRST)) == []


def test_a_host_that_does_nothing_changes_nothing(tmp_path: Path) -> None:
    found = unlike(ran(tmp_path, FIRST + SECOND), ran(tmp_path, FIRST + SECOND, IDLE))
    assert [one for one in found if "idle-nobody" not in one] == []


def test_the_order_of_factors_changes_no_cell(tmp_path: Path) -> None:
    flows = FIRST.replace("cubic", "$cc") + SECOND.replace("1 s", "$start")
    cc, start = "cc: [cubic, bbr]", "start: [0 s, 1 s]"
    one, other = (
        ran(tmp_path, flows + f"factors: {{{', '.join(order)}}}\n")
        for order in ((cc, start), (start, cc))
    )
    assert unlike(one, other) == []


def test_names_of_flows_are_but_names(tmp_path: Path) -> None:
    """A run without randomness: names also name the random streams of a run."""
    one = ran(tmp_path, FIRST + SECOND)
    other = ran(tmp_path, (FIRST + SECOND).replace("one", "zulu").replace("other", "alpha"))
    back = {"zulu": "one", "alpha": "other"}
    renamed = other.with_tables(
        **{
            name: getattr(other, name).with_columns(pl.col("flow").replace(back))
            for name in ("flows", "samples", "transfers")
        },
        runs=other.runs.with_columns(
            pl.col("scenario").str.replace_all("zulu", "one").str.replace_all("alpha", "other")
        ),
    )
    assert unlike(one, renamed) == []
