"""Agreement with a reference: the criteria at their edges, and all 134 cells of study 1."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dumbbell.catalogue import congestion_controls
from dumbbell.compare import engines
from dumbbell.compare.agreement import Criterion, agree, cells_of, compare, read_reference
from dumbbell.metrics import metric_named
from dumbbell.results import Results
from dumbbell.studies import load_study, renderables, run_study
from dumbbell.studies.references import ReferencePart
from tests import synthetic, write_agreement

LAYOUT = load_study("multipath").references["kernel"].layout
CRITERIA = LAYOUT.criteria
GOODPUT, RTT, RETRANSMISSIONS, SACK, WINDOW = CRITERIA


@pytest.mark.parametrize(
    ("criterion", "ours", "reference", "agrees"),
    [
        (GOODPUT, 19.0, [20.0, 20.0, 20.0], True),
        (GOODPUT, 18.99, [20.0, 20.0, 20.0], False),
        (RTT, 115.0, [100.0], True),
        (RTT, 115.2, [100.0], False),
        (RETRANSMISSIONS, 21, [2.0], True),  # 20 packets are always allowed
        (RETRANSMISSIONS, 23, [2.0], False),
        (RETRANSMISSIONS, 125, [100.0], True),
        (RETRANSMISSIONS, 126, [100.0], False),
        (SACK, 50, [100.0], True),
        (SACK, 200, [100.0], True),
        (SACK, 201, [100.0], False),
        (SACK, 0, [0.0], True),
        (SACK, 1, [0.0], False),
        (WINDOW, 85.0, [100.0], True),
    ],
)
def test_criteria_at_their_edges(
    criterion: Criterion, ours: float, reference: list[float], agrees: bool
) -> None:
    assert (compare(criterion, [ours], reference) <= 1 + 1e-9) is agrees


def test_a_reference_that_spreads_widens_what_agrees() -> None:
    seeds = [8.485, 8.98, 12.471]  # kernel, BBR against BIC: far beyond 5 %
    assert compare(GOODPUT, [12.6], seeds) <= 1
    assert compare(GOODPUT, [8.1], seeds) <= 1
    assert compare(GOODPUT, [12.471 + 0.11 * (12.471 - 8.485)], seeds) > 1
    narrow = [9.9, 10.0, 10.1]
    assert compare(GOODPUT, [10.6], narrow) > 1


def test_ours_are_averaged_first() -> None:
    assert compare(GOODPUT, [18.0, 22.0], [20.0]) == 0.0
    assert math.isinf(compare(GOODPUT, [math.nan], [20.0]))
    with pytest.raises(ValueError, match="nothing"):
        compare(GOODPUT, [], [1.0])


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=5))
def test_the_reference_agrees_with_itself(seeds: list[float]) -> None:
    for criterion in CRITERIA:
        assert compare(criterion, seeds, seeds) <= 1


def test_the_kernel_agrees_with_itself_in_all_134_cells() -> None:
    reference = read_reference(synthetic.KERNEL, LAYOUT)
    assert len(reference) == 134
    found = agree(reference, reference, LAYOUT)
    assert found.share == 1.0
    assert len(found.to_json()["rows"]) == sum(map(len, reference.values()))


def test_udp_is_compared_by_goodput_alone() -> None:
    cells = read_reference(synthetic.KERNEL, LAYOUT)
    udp = cells[("udp", "multi", "10", "0", "reno", "udp:2")]
    assert {column for flow, column in udp if flow == "2"} == {"goodput_mbps"}
    assert {column for flow, column in udp if flow == "1"} == {one.column for one in CRITERIA}


def test_the_largest_difference_comes_first_and_missing_cells_before_all() -> None:
    keys = [("delay", "multi", str(ms), "0", "reno", "-") for ms in (10, 20, 30)]
    reference = cells_of((key, "1", "goodput_mbps", 20.0) for key in keys)
    rows = [(keys[0], "1", "goodput_mbps", 19.9), (keys[1], "1", "goodput_mbps", 15.0)]
    found = agree(cells_of(rows), reference, LAYOUT)
    assert [cell.place["delay_ms"] for cell in found.cells] == ["30", "20", "10"]
    assert [cell.agrees for cell in found.cells] == [False, False, True]
    assert found.share == pytest.approx(1 / 3)
    assert found.cells[1].comparisons[0].relative == pytest.approx(-0.25)


def kernel_like(path: Path, _: Mapping[str, str]) -> Results:
    assert path.parent.name == "agreement"
    return synthetic.multipath(path.stem, samples=False)


def test_a_study_run_against_the_kernel_matches_cells_by_name() -> None:
    found = run_study(
        "multipath", parts=["single-vs-multi", "delay"], against="kernel", runner=kernel_like
    )
    assert found.agreement is not None
    assert len(found.agreement.cells) == 48
    assert not any(cell.missing for cell in found.agreement.cells)
    assert found.agreement.share > 0.9
    assert found.claims == []
    data = found.to_json()["agreement"]
    assert data["cells"] == 48
    assert data["criteria"]["goodput_mbps"] == "within 5 %"
    for width in (80, 200):
        console = Console(width=width, record=True, file=io.StringIO())
        for one in renderables(found):
            console.print(one)
        text = console.export_text()
        assert "cells agree" in text
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text


def test_every_part_of_the_reference_names_an_experiment() -> None:
    study = load_study("multipath")
    reference = study.references["kernel"]
    assert set(reference.parts) == {"single-vs-multi", "delay", "loss", "fairness", "udp"}
    assert set(reference.parts) <= set(study.parts)
    for part in reference.parts.values():
        assert (study.folder / part.experiment).is_file()


def test_a_name_of_a_cell_is_made_of_its_columns() -> None:
    key = ("fairness", "multi", "10", "0", "reno", "bic")
    reference = cells_of([(key, "1", "goodput_mbps", 20.0)])
    (cell,) = agree(reference, reference, LAYOUT).cells
    assert cell.name == "fairness multi 10 ms reno / bic"
    with pytest.raises(ValueError, match="a cell has part, delay"):
        ReferencePart(experiment="x.yaml", cell={"delay": "{delay}"}, name="{part} {nonesuch}")


def test_the_criteria_of_engines_are_those_that_study_1_was_judged_by() -> None:
    judged = [replace(one, metric=metric_named(one.metric).name, without=()) for one in CRITERIA]
    # Its flows have no size, so no transfer time.
    assert judged == [one for one in engines.CRITERIA if one.metric != "transfer_s"]


@pytest.mark.parametrize("page", write_agreement.PAGES, ids=lambda page: page.name)
def test_pages_name_the_kernel_that_judged_each_part(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == write_agreement.renewed(text), "write it anew: python -m tests.write_agreement"
    named = {row["algorithm"] for row in write_agreement.controls()}
    judged = [one for one in congestion_controls().values() if one.linux is not None]
    assert {one.title for one in judged if not one.coupled} <= named
