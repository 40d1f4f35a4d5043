"""Smoothness, convergence and fairness of RFC 5166, beside closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dumbbell
from dumbbell.metrics import dynamics
from dumbbell.metrics.dynamics import gained, variation
from dumbbell.metrics.fairness import jain_index, min_max_ratio, product_index

TEXT = """\
dumbbell: 1
name: two
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: first, from: s1, to: d1, FIRST}
  - {name: last, from: s2, to: d2, start: 5 s, LAST}
duration: 30 s
"""


def measured(folder: Path, flows: tuple[str, str], metric: str) -> dict[str, float]:
    text = TEXT.replace("FIRST", flows[0]).replace("LAST", flows[1])
    (folder / "e.yaml").write_text(text, encoding="utf-8")
    rows = dumbbell.METRICS[metric].measure(dumbbell.run(folder / "e.yaml"))
    if "flow" not in rows.columns:
        return {"": rows["value"][0]}
    return dict(zip(rows["flow"], rows["value"], strict=True))


def test_bytes_between_edges_are_those_of_the_samples() -> None:
    times, delivered = np.array([0, 10, 20]), np.array([0, 100, 400])
    assert gained(times, delivered, [0, 5, 10, 15, 20]).tolist() == [50, 50, 150, 150]


def test_variation_is_that_of_its_definition() -> None:
    assert variation([5.0] * 20) == 0
    # Half of the stretches have 1, half 3: mean 2, variance 20/19.
    assert variation([1.0, 3.0] * 10) == pytest.approx(math.sqrt(20 / 19) / 2)
    assert math.isnan(variation([1.0] * 9)) and math.isnan(variation([0.0] * 20))


def test_indices_of_fairness() -> None:
    assert min_max_ratio([3.0, 3.0]) == product_index([3.0, 3.0]) == 1
    assert min_max_ratio([1.0, 4.0]) == 0.25
    assert product_index([1.0, 4.0]) == pytest.approx(2 / 2.5)
    assert min_max_ratio([0.0, 4.0]) == product_index([0.0, 4.0]) == 0
    assert min_max_ratio([0.0, 0.0]) == product_index([0.0, 0.0]) == 1
    assert math.isnan(min_max_ratio([])) and math.isnan(product_index([]))
    # None depends on the unit.
    for index in (jain_index, min_max_ratio, product_index):
        assert index([1e-300, 3e-300, 2e-300]) == pytest.approx(index([1.0, 3.0, 2.0]))


def test_constant_rates_are_smooth_and_have_their_share_at_once(tmp_path: Path) -> None:
    # Without a queue in the way both rates are as offered: 2 and 4 of 6 Mbit/s.
    rates = ("udp: 4 Mbit/s", "udp: 2 Mbit/s")
    found = measured(tmp_path, rates, "convergence_s")
    # A third is less than (1 − 0.2)/2.
    assert all(math.isnan(value) for value in found.values())
    found = measured(tmp_path, rates[::-1], "convergence_s")
    # Two thirds are reached in the first stretch of ten base RTTs.
    assert found["last"] == pytest.approx(0.2) and math.isnan(found["first"])
    assert measured(tmp_path, rates, "min_max_ratio")[""] == pytest.approx(0.5, rel=0.01)
    product = measured(tmp_path, rates, "product_fairness")[""]
    assert product == pytest.approx(math.sqrt(8) / 3, rel=0.01)


def test_a_fair_share_of_one_stretch_is_not_yet_reached() -> None:
    """The last flow has its share in stretch 2 alone, and from stretch 6 on."""
    step = 10**8
    edges = np.arange(21) * step
    shares = np.array([0.1, 0.1, 0.5, 0.1, 0.1, 0.1] + [0.45] * 14)
    samples = {
        flow: pl.DataFrame({"time_ns": edges, "delivered_bytes": np.append(0, sent)})
        for flow, sent in (
            ("first", np.cumsum(1000 - 1000 * shares).astype(int)),
            ("last", np.cumsum(1000 * shares).astype(int)),
        )
    }
    found = dynamics._until_fair(samples, ["first", "last"], "last", 0, step)
    assert found == pytest.approx(0.7)
    short = {flow: one[:11] for flow, one in samples.items()}
    assert math.isnan(dynamics._until_fair(short, ["first", "last"], "last", 0, step))


def test_controls_converge_and_oscillate_as_known(tmp_path: Path) -> None:
    reno = measured(tmp_path, ("tcp: reno", "tcp: reno"), "convergence_s")
    # Two Reno flows of one RTT share equally in time; not before the new one has left slow start.
    assert 0.2 <= reno["last"] < 15
    # Windows of Reno saw.
    saw = measured(tmp_path, ("tcp: reno", "tcp: reno"), "goodput_variation")
    assert 0.01 < saw["first"] < 1
    # Who starts together has no last flow.
    text = TEXT.replace("start: 5 s, ", "").replace("FIRST", "tcp: reno")
    (tmp_path / "t.yaml").write_text(text.replace("LAST", "tcp: reno"), encoding="utf-8")
    rows = dumbbell.METRICS["convergence_s"].measure(dumbbell.run(tmp_path / "t.yaml"))
    assert rows["value"].is_nan().all()


def test_a_path_without_delay_has_no_more_stretches_than_memory() -> None:
    assert dynamics._edges(0, 60 * 10**9, 1).size <= dynamics.MOST_STRETCHES + 2
    assert list(dynamics._edges(0, 100, 40)) == [0, 40, 80]
