"""Ranges over cells go from the smallest to the largest value, and rows left out are counted."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import dumbbell
from dumbbell.report import write_report
from dumbbell.results import Results
from dumbbell.summary import changes, outages
from dumbbell.summary.cells import cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.differences import _spread, reasons

TEXT = """\
dumbbell: 1
name: told
template: {dumbbell: {rate: RATE, rtt: 20 ms, buffer: $buffer}}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
duration: 500 ms
factors: {buffer: [BUFFERS]}
"""


def ran(folder: Path, buffers: str, rate: str = "10 Mbit/s", more: str = "") -> Results:
    file = folder / "told.yaml"
    file.write_text(TEXT.replace("BUFFERS", buffers).replace("RATE", rate) + more)
    return dumbbell.run(file, workers=1, store=folder / "store")


@pytest.mark.parametrize(
    ("buffers", "said"),
    [
        # A full frame takes 1.2112 ms at 10 Mbit/s. The largest is neither first nor last.
        (
            "20 packets, 60 packets, 10 packets",
            "10 to 60 packets: 12.11 to 72.67 ms of full frames.",
        ),
        ("60 packets, 10 packets", "60 / 10 packets: 72.67 / 12.11 ms of full frames."),
    ],
)
def test_the_range_of_limits_is_that_of_all_cells(buffers: str, said: str, tmp_path: Path) -> None:
    assert f"The queue limit is {said}" in reasons(cells(ran(tmp_path, buffers)))


def test_limits_of_a_link_whose_rate_changes_are_those_of_all_its_rates(tmp_path: Path) -> None:
    slower = "links: [{name: bottleneck, changes: [{at: 200 ms, rate: 5 Mbit/s}]}]\n"
    said = reasons(cells(ran(tmp_path, "20 packets, 60 packets, 10 packets", more=slower)))
    # 10 packets at 10 Mbit/s, and 60 at 5 Mbit/s.
    assert "The queue limit is 10 to 60 packets: 12.11 to 145.3 ms of full frames." in said


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([3.0, 9.0, 1.0], "1 to 9"),
        ([9.0, 1.0], "9 / 1"),
        ([2.0011, 2.0012], "2.00"),
        ([2.0011, 2.0013, 2.0012], "2.00"),
    ],
)
def test_a_spread_has_its_ends(values: list[float], text: str) -> None:
    assert _spread(values) == text


def test_rows_of_outages_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """A flow in each of 32 cells: 30 rows are shown."""
    down = "links: [{name: bottleneck, changes: [{at: 200 ms, state: down}]}]\n"
    buffers = ", ".join(f"{10 + one} packets" for one in range(32))
    results = ran(tmp_path, buffers, more=down)
    assert len(outages.rows(results)) == 32
    out = StringIO()
    Console(file=out, width=100).print(outages.table(results, 100))
    page = tmp_path / "report.html"
    write_report(tmp_path / "store", page)
    for text in (out.getvalue(), page.read_text(encoding="utf-8")):
        assert "2 more rows are not shown." in text


def test_rows_of_changes_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """Eight cells of two phases and two directions: six cells are shown, 24 of 32 rows."""
    slower = "links: [{name: bottleneck, changes: [{at: 200 ms, rate: 5 Mbit/s}]}]\n"
    results = ran(tmp_path, ", ".join(f"{10 * one} packets" for one in range(1, 9)), more=slower)
    every = cells(results)
    _, shown = changes.rows(every)
    all_rows = sum(len(changes.rows([one])[1]) for one in every)
    assert all_rows > len(shown) > 0
    said = f"{all_rows - len(shown)} more rows are not shown."
    assert changes.left_out(every) == said
    out = StringIO()
    Console(file=out, width=100).print(changes.table(every, 100))
    assert said in out.getvalue()
    page = tmp_path / "report.html"
    write_report(tmp_path / "store", page)
    assert said in re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    assert changes.left_out(every[:2]) == ""


NEVER_UP = """\
dumbbell: 1
name: never
template:
  dumbbell:
    rate: 5 Mbit/s
    rtt: 20 ms
    buffer: 30 packets
    forward: {changes: [{at: 1 ms, state: down}, {at: $up, state: up}]}
flows: [{name: f, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 100 KiB}}]
duration: 5 s
factors: {up: [500 ms, 2 s, 4.9 s]}
"""


def test_a_level_at_which_nothing_finishes_is_named(tmp_path: Path) -> None:
    """The SYN is sent again after 1, 3 and 7 s: with the third link, no transfer begins."""
    (tmp_path / "e.yaml").write_text(NEVER_UP, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml")
    every = cells(results)
    assert [cell.transfer_s is None for cell in every] == [False, False, True]
    (said,) = contrasts(every, results)
    assert said.startswith("up 500 ms / 2 s: transfer time ")
    assert " s (not known at 4.9 s), " in said
