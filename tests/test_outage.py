"""Outages of links: what is lost, metrics of stalls and recoveries, where they are shown."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dumbbell
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.figures.over_time import over_time
from dumbbell.limits.outages import outages, union, within
from dumbbell.limits.pipes import admitted_bits, capacity_bits, policed_bits
from dumbbell.metrics import METRICS, Metric
from dumbbell.metrics.outage import Life, recover_s, resume_s, stall_s
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.summary import changes
from dumbbell.summary import outages as table
from dumbbell.summary.cells import cells
from tests.helpers import loaded

MS = 1_000_000
TEXT = """\
dumbbell: 1
name: outage
hosts: {s: {}, d: {}}
routers: {r: {}, q: {}}
links:
  - {between: [s, r], delay: 1 ms}
  - {name: line, between: [r, q], rate: 10 Mbit/s, delay: 9 ms, buffer: 40 packets}
  - {name: failing, between: [q, d], delay: 1 ms,
     changes: [{at: 4 s, state: down}, {at: 6.5 s, state: up}]}
flows: [{name: f, from: s, to: d, tcp: cubic}]
sampling: {interval: 20 ms, keep: [samples, queues]}
duration: 12 s
"""


def spec(text: str) -> Scenario:
    return read_scenario(loaded(text).cells[0].scenario)


def life(
    delivered: list[int],
    out: list[tuple[int, int]] | None = None,
    pending: list[int] | None = None,
) -> Life:
    """Samples every 100 ms from 0 on, and outages in ms."""
    count = len(delivered)
    return Life(
        np.arange(count) * 100 * MS,
        np.array(delivered),
        np.array(pending if pending is not None else [1] * count) > 0,
        [(begin * MS, end * MS) for begin, end in out or []],
        0,
        0.02,
    )


def test_a_stall_is_the_longest_time_without_new_data_while_data_is_to_come() -> None:
    delivered = [0, 10, 20, 20, 20, 20, 30, 30, 40]
    assert stall_s(life(delivered)) == pytest.approx(0.3)
    # Nothing to send in between: a pause of the application is no stall.
    paused = life(delivered, pending=[1, 1, 0, 0, 0, 0, 1, 1, 1])
    assert stall_s(paused) == pytest.approx(0.1)
    assert stall_s(life([0, 10, 20])) == 0
    assert math.isnan(stall_s(life([0, -1, 20])))


def test_recovery_counts_from_the_end_of_the_outage() -> None:
    # 10 per sample before; down from 1 s to 1.5 s; new data 0.3 s later, half as fast for 1 s.
    before = [10 * n for n in range(11)]
    flat, slow = [100] * 7, [105 + 5 * n for n in range(10)]
    fast = [slow[-1] + 10 * n for n in range(1, 20)]
    one = life(before + flat + slow + fast, [(1000, 1500)])
    assert resume_s(one) == pytest.approx(0.3)
    # Of the last five samples at least four are fast: 45 of 50. The first fast one is at 2.8 s.
    assert recover_s(one) == pytest.approx(2.8 + 0.3 - 1.5)
    assert math.isnan(resume_s(life(before)))
    assert math.isnan(resume_s(life(before + [100] * 9, [(1000, 1500)])))
    # Of several outages the longest.
    two = life(before + flat + slow + fast, [(500, 600), (1000, 1500)])
    assert resume_s(two) == pytest.approx(0.3)


def test_a_repaired_hole_is_no_recovery() -> None:
    """40 late bytes at once make one window fast; the goodput of before is back 2 s later."""
    before = [10 * n for n in range(11)]
    hole = [100] * 7 + [140] + [142 + 2 * n for n in range(19)]
    fast = [hole[-1] + 10 * n for n in range(1, 40)]
    recovered = life(before + hole + fast, [(1000, 1500)])
    # At 2.2 s the last five samples have 48 bytes, at 4.2 s and from then on 50.
    assert recover_s(recovered) == pytest.approx(4.2 - 1.5)
    # A life that ends before the goodput has stayed tells nothing.
    assert math.isnan(recover_s(life(before + hole + fast[:10], [(1000, 1500)])))


def test_times_of_outages() -> None:
    failing = spec(TEXT)["links"][2]["forward"]
    assert outages(failing, 12_000 * MS) == [(4000 * MS, 6500 * MS)]
    assert outages(failing, 5000 * MS) == [(4000 * MS, 5000 * MS)]
    assert union([(5, 7), (1, 3), (2, 4)]) == [(1, 4), (5, 7)]
    assert within([(1, 4), (5, 7)], 2, 6) == [(2, 4), (5, 6)]


def test_a_link_that_is_down_can_carry_nothing() -> None:
    text = TEXT.replace("delay: 1 ms,\n", "delay: 1 ms, rate: 8 Mbit/s, buffer: 9 packets,\n")
    pipe = spec(text)["links"][2]["forward"]
    assert capacity_bits(pipe, 0, 12_000 * MS) == pytest.approx(8e6 * (12 - 2.5))
    assert capacity_bits(pipe, 4000 * MS, 5000 * MS) == 0


POLICED = """\
dumbbell: 1
name: policed
template:
  dumbbell:
    rate: 20 Mbit/s
    rtt: 20 ms
    buffer: 100 packets
    forward:
      policer: {rate: 4 Mbit/s, burst: 10000 bytes}
      changes: [{at: 4 s, state: down}, {at: 6 s, state: up}]
flows: [{from: s1, to: d1, udp: 6 Mbit/s}]
sampling: {interval: 20 ms, keep: [samples, queues]}
duration: 10 s
"""


def test_a_policer_admits_nothing_while_its_link_is_down(tmp_path: Path) -> None:
    pipe = next(one for one in spec(POLICED)["links"] if one["name"] == "bottleneck")["forward"]
    # A full bucket at the beginning, and one when the link comes up.
    assert policed_bits(pipe, 0, 10_000 * MS) == pytest.approx(4e6 * 8 + 2 * 8e4)
    assert policed_bits(pipe, 1000 * MS, 2000 * MS) == pytest.approx(4e6 + 8e4)
    assert admitted_bits(pipe, 4500 * MS, 5500 * MS) == 0
    (tmp_path / "e.yaml").write_text(POLICED, encoding="utf-8")
    found = dumbbell.run(tmp_path / "e.yaml")
    for metric in ("link_use", "utilisation"):
        frame = METRICS[metric].measure(found).filter(pl.col("pipe") == "bottleneck/forward")
        assert 0.95 < frame["value"].item() <= 1
    (cell,) = cells(found)
    # Of each phase, too: 4 of 20 Mbit/s are all that its policer admits.
    used = [phase.used.get("bottleneck/forward") for phase in cell.phases]
    assert len(used) == 3 and used[1] is None
    assert all(share is not None and 0.95 < share <= 1 for share in (used[0], used[2]))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    file = tmp_path_factory.mktemp("outage") / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    return dumbbell.run(file)


def value(results: dumbbell.Results, name: str) -> float:
    return float(METRICS[name].measure(results)["value"].item())


def test_a_flow_stalls_until_its_time_out_finds_the_link_up(results: dumbbell.Results) -> None:
    assert value(results, "outage_s") == 2.5
    stall, resume = value(results, "stall_s"), value(results, "resume_s")
    # Time-outs double: the stall is at most twice the outage and the first time-out.
    assert 2.5 <= stall <= 2 * 2.5 + 0.5
    assert stall == pytest.approx(2.5 + resume, abs=0.1)
    assert value(results, "recover_s") >= resume
    pipes = {row["pipe"]: row for row in results.pipes.iter_rows(named=True)}
    failing = pipes["failing/forward"]
    assert failing["dropped_link_down_packets"] > 20
    lost = failing["arrived_packets"] - failing["left_packets"]
    assert failing["dropped_link_down_packets"] == lost - failing["remaining_packets"]
    assert failing["dropped_random_packets"] == 0


def test_tables_name_the_path_that_failed(results: dumbbell.Results) -> None:
    head, rows = changes.rows(cells(results))
    assert head[:3] == ["phase", "link", "change"]
    failed = [row[1:3] for row in rows if row[1] == "→ failing"]
    assert failed == [["→ failing", "down"], ["→ failing", "up"]]
    (row,) = table.rows(results)
    assert row[0:2] == ["f", "2.50"]


def test_a_file_without_outages_has_no_table(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    text = TEXT.replace("changes: [{at: 4 s, state: down}, {at: 6.5 s, state: up}]", "jitter: 0 s")
    file.write_text(text.replace("duration: 12 s", "duration: 1 s"), encoding="utf-8")
    found = dumbbell.run(file)
    assert table.rows(found) == []
    assert value(found, "outage_s") == 0


ACCESS = """\
dumbbell: 1
name: access
links:
  - {name: line, between: [a, b], access: TYPE, CHANGES}
hosts: {a: {}, b: {}}
flows: [{name: f, from: b, to: a, tcp: cubic}]
duration: 40 s
"""


@pytest.mark.parametrize("kind", ["wifi", "starlink", "lte", "5g", "docsis", "gpon", "geo"])
def test_an_access_link_can_fail_beside_its_own_changes(kind: str) -> None:
    fails = "changes: [{at: 20 s, state: down}, {at: 25 s, state: up}]"
    plain = spec(ACCESS.replace("TYPE", kind).replace(", CHANGES", ""))
    made = spec(ACCESS.replace("TYPE", kind).replace("CHANGES", fails))
    for way in ("forward", "backward"):
        own = made["links"][0][way]["changes"]  # type: ignore[literal-required]
        states = [(one["at_ns"], one["state"]) for one in own if one.get("state")]
        assert states == [(20_000 * MS, "down"), (25_000 * MS, "up")]
        others = [one for one in own if not one.get("state")]
        assert others == plain["links"][0][way]["changes"]  # type: ignore[literal-required]
        assert [one["at_ns"] for one in own] == sorted(one["at_ns"] for one in own)


def test_an_access_link_keeps_its_own_values() -> None:
    text = ACCESS.replace("TYPE", "starlink").replace("CHANGES", "changes: [{at: 2 s, loss: 1 %}]")
    with pytest.raises(ExperimentError, match="type starlink has its own loss") as refused:
        loaded(text)
    assert "changes[0].loss" in str(refused.value)
    assert refused.value.code is Code.ACCESS
    spec(text.replace("starlink", "wifi"))


def test_what_is_lost_is_lost_by_the_link(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("[samples, queues]", "[drops]"), encoding="utf-8")
    drops = dumbbell.run(file).drops.filter(pl.col("pipe").str.starts_with("failing"))
    assert set(drops["reason"]) == {"link_down"}
    assert drops["time_ns"].min() == 4000 * MS and drops["time_ns"].max() < 6500 * MS


SHORT = """\
dumbbell: 1
name: short outage
hosts: {s: {}, d: {}}
routers: {r: {}, q: {}}
links:
  - {between: [s, r], delay: 1 ms}
  - {name: line, between: [r, q], rate: 10 Mbit/s, delay: 9 ms, buffer: 40 packets,
     changes: [{at: 4 s, state: down}, {at: 8 s, state: up}]}
  - {between: [q, d], delay: 1 ms}
flows: [{name: f, from: s, to: d, udp: 12 Mbit/s}]
sampling: {interval: 20 ms, keep: [samples, queues]}
duration: 12 s
"""


def test_a_link_that_is_down_has_no_queueing_delay(tmp_path: Path) -> None:
    """UDP keeps the queue full while the link is up: no tenth of the samples has no delay."""
    file = tmp_path / "e.yaml"
    file.write_text(SHORT, encoding="utf-8")
    found = METRICS["queue_delay_p10_ms"].measure(dumbbell.run(file))
    (p10,) = found.filter(pipe="line/forward")["value"]
    full_ms = 40 * 1514 * 8 / 1e4
    assert 0.9 * full_ms < p10 <= full_ms + 1.3


def test_a_line_of_a_queueing_delay_breaks_off_in_an_outage(tmp_path: Path) -> None:
    """It was drawn straight through, or at 0: there is no queue."""
    file = tmp_path / "e.yaml"
    file.write_text(SHORT, encoding="utf-8")
    data = over_time(dumbbell.run(file)).spec["data"]["values"]
    rows = [row for row in csv.DictReader(io.StringIO(data)) if row["line"] == "line/forward"]
    inside = [row["value"] for row in rows if 4.03 < float(row["s"]) < 8]
    assert inside == ["NaN"]
    assert all(float(row["value"]) > 0 for row in rows if 1 < float(row["s"]) < 4)


def test_a_time_of_some_runs_says_of_how_many(
    results: dumbbell.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean of those that recovered hid those that did not."""

    def some(_: object, metric: Metric) -> pl.DataFrame:
        count = 2 if metric.name == "recover_s" else 3
        row = {"flow": "f", "kind": "tcp", "mean": 2.5, "low": math.nan, "high": math.nan}
        return pl.DataFrame([{**row, "count": count}])

    monkeypatch.setattr(table, "over_repeats", some)
    assert table.rows(results) == [["f", "2.50", "2.50", "2.50", "2.50 in 2 of 3 runs"]]
    assert "–" not in table.caption(table.rows(results))
