"""Agreement over drawn cells: what is drawn, and what a comparison says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.agreement import Cell, compare_drawn, draw_cells
from dumbbell.agreement.cells import PACKET_BITS
from dumbbell.agreement.display import line, markdown
from dumbbell.agreement.experiments import experiments
from dumbbell.agreement.kinds import KINDS
from dumbbell.agreement.verdict import QUANTITIES, Verdict, compare_tables, compared
from dumbbell.cli import app

CELLS = draw_cells(90)
GOODPUT, _, RETRANSMISSIONS = QUANTITIES


def test_the_same_seed_draws_the_same_cells_and_more_cells_change_none() -> None:
    assert draw_cells(18) == CELLS[:18]
    assert draw_cells(18, seed=2) != CELLS[:18]


def test_every_class_has_as_many_cells() -> None:
    count = {kind: sum(cell.kind == kind for cell in CELLS) for kind in KINDS}
    assert set(count.values()) == {10}


def test_a_cell_of_a_dumbbell_carries_a_bounded_number_of_packets() -> None:
    for cell in CELLS:
        template = cell.network.get("template")
        if template is None or "rate" not in template["dumbbell"]:
            continue
        number, unit = template["dumbbell"]["rate"].split()
        rate = float(number) * {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3}[unit]
        if cell.kind != "answers in a data centre":
            assert rate * cell.duration_s / PACKET_BITS < 50_000, cell.words
        assert cell.duration_s <= 60


def test_all_cells_are_accepted_and_run_on_the_simulator(tmp_path: Path) -> None:
    cells = CELLS[:18]
    runs = [
        dumbbell.run(file, store=tmp_path).runs.height
        for file in experiments(cells, "linux-7.3", seeds=2).values()
    ]
    assert sum(runs) == sum(2 if cell.is_random else 1 for cell in cells)


def test_an_engine_compared_with_itself_is_equal() -> None:
    cells = [cell for cell in CELLS if not cell.is_random][:6]
    (file,) = experiments(cells, "linux-6.12").values()
    tables = dumbbell.run(file)
    found = list(compare_tables({cell.name: cell for cell in cells}, tables, tables))
    assert len(found) >= 2 * len(cells)
    assert {one.verdict for one in found} == {Verdict.EQUAL}


def test_a_doubled_rtt_is_outside_in_most_cells() -> None:
    # Where the queue is many BDPs long, the RTT is that of the queue.
    cells = [cell for cell in CELLS if cell.kind == "one flow, tail drop" and not cell.is_random]
    names = {cell.name: cell for cell in cells}
    (file,) = experiments(cells, "linux-6.12").values()
    (longer,) = experiments([_doubled(cell) for cell in cells], "linux-6.12").values()
    found = list(compare_tables(names, dumbbell.run(file), dumbbell.run(longer)))
    outside = {one.cell.name for one in found if not one.verdict.agrees}
    assert len(outside) > len(names) / 2


def _doubled(cell: Cell) -> Cell:
    template = dict(cell.network["template"]["dumbbell"])
    number, unit = template["rtt"].split()
    template["rtt"] = f"{2 * float(number):g} {unit}"
    return replace(cell, network={"template": {"dumbbell": template}}, is_random=False)


@pytest.mark.parametrize(
    ("ours", "kernel", "verdict"),
    [
        ((10.0,), (10.0,), Verdict.EQUAL),
        ((10.4,), (10.0,), Verdict.CLOSE),
        ((10.6,), (10.0,), Verdict.OUTSIDE),
        ((9.0, 10.0, 11.0, 12.2), (9.1, 9.9, 10.4, 10.0), Verdict.CHANCE),
        ((12.0, 12.1, 12.2, 12.3), (10.0, 10.1, 10.2, 10.3), Verdict.OUTSIDE),
    ],
)
def test_verdicts(ours: tuple[float, ...], kernel: tuple[float, ...], verdict: Verdict) -> None:
    assert compared(CELLS[0], "cubic", GOODPUT, ours, kernel).verdict is verdict


def test_few_retransmissions_are_a_share_of_twenty() -> None:
    found = compared(CELLS[0], "cubic", RETRANSMISSIONS, (4.0,), (0.0,))
    assert found.difference == 0.2
    assert found.verdict is Verdict.CLOSE


def test_a_cell_outside_that_agrees_with_jitter_is_a_matter_of_phase() -> None:
    apart = compared(CELLS[0], "cubic", GOODPUT, (12.0,), (10.0,))
    near = compared(CELLS[0], "cubic", GOODPUT, (12.0, 10.0, 11.0), (10.0, 11.0, 12.0))
    far = compared(CELLS[0], "cubic", GOODPUT, (12.0, 12.1, 12.2), (10.0, 10.1, 10.2))
    assert apart.beside(near).verdict is Verdict.PHASE
    assert apart.beside(far).verdict is Verdict.OUTSIDE
    assert apart.beside(far).difference == pytest.approx(0.2)


def test_jitter_of_acks_is_half_a_packet_time_and_keeps_their_order() -> None:
    cell = next(one for one in CELLS if "template" in one.network and not one.is_random).with_jitter
    _has_jitter(cell.network["template"]["dumbbell"]["access"]["backward"], cell.packets_s[0])
    assert cell.is_random
    (file,) = experiments([cell], "linux-6.12", 2).values()
    assert dumbbell.run(file).runs.height == 2


def test_each_path_of_multipath_tcp_has_jitter_of_its_own() -> None:
    drawn = next(one for one in CELLS if "links" in one.network)
    cell = drawn.with_jitter
    for number, packet_s in enumerate(cell.packets_s):
        bottleneck, behind = cell.network["links"][2 * number : 2 * number + 2]
        assert bottleneck == drawn.network["links"][2 * number]
        _has_jitter(behind["backward"], packet_s)
    (file,) = experiments([cell], "linux-6.12", 2).values()
    assert dumbbell.run(file).runs.height == 2


def _has_jitter(fields: Mapping[str, str], packet_s: float) -> None:
    delay_ns, jitter_ns = (int(fields[name].split()[0]) for name in ("delay", "jitter"))
    assert delay_ns == pytest.approx(packet_s * 1e9, rel=0.01)
    assert jitter_ns == pytest.approx(delay_ns / 2, rel=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("agreement", "--part", "x"), "--part is not for agreement"),
        (("agreement", "--repeats", "2"), "--repeats is not for agreement"),
        (("agreement", "--engine", "linux"), "--engine is not for agreement"),
        (("agreement", "--dry-run"), "--dry-run is not for agreement"),
        (("agreement", "--cc", "bbr"), "--cc is for the scorecards"),
        (("agreement", "--against", "linux:none"), "none"),
        (("l4s", "--cells", "4"), "--cells is not for l4s, but for agreement"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["study", "run", *words, "--store", str(tmp_path / "s")])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (tmp_path / "s").exists()


@pytest.mark.kernel
def test_four_cells_agree_with_the_kernel(tmp_path: Path) -> None:
    found = compare_drawn(4, engine="linux", store=tmp_path)
    assert [one.verdict for one in found.compared if not one.verdict.agrees] == []
    assert len(found.compared) == 12
    assert line(found).startswith("12 of 12 comparisons agree; 0 cells of 4 have")
    assert "| all | 4 |" in markdown(found)
