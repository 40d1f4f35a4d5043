"""Warm-up by MSER-5: series whose truncation is known, and a flow in slow start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.warm_up import BATCH, truncation

SLOW = """\
dumbbell: 1
name: slow
template: {dumbbell: {rate: 100 Mbit/s, rtt: 200 ms, buffer: 1 BDP}}
flows: [{name: f, from: s1, to: d1, tcp: {congestion_control: cubic}}]
duration: $duration
factors: {duration: [3 s, 40 s]}
"""


def by_definition(values: list[float]) -> int:
    """The statistic as White, Cobb and Spratt write it, batch by batch."""
    means = [sum(values[i : i + BATCH]) / BATCH for i in range(0, len(values) - BATCH + 1, BATCH)]

    def error(d: int) -> float:
        rest = means[d:]
        mean = sum(rest) / len(rest)
        return sum((one - mean) ** 2 for one in rest) / len(rest) ** 2

    return min(range(len(means) // 2 + 1), key=error) * BATCH


def test_a_ramp_before_a_constant_is_cut_off() -> None:
    ramp, steady = list(range(30)), [30.0] * 170
    assert truncation(ramp + steady) == 30
    assert truncation(steady) == 0
    assert truncation([1.0] * (10 * BATCH - 1)) is None
    # Values whose squares have no exact sum.
    for value, count in ((12_500_003.0, 3000), (1448 * 8631.0, 1000)):
        assert truncation([value] * count) == 0
        assert truncation([0.0] * 30 + [value] * count) == 30


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_statistic_of_the_paper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([20 * np.exp(-np.arange(40) / 10), np.zeros(200)])
    values = values + rng.normal(5, 1, 240)
    assert truncation(values) == by_definition(list(values))


def test_a_flow_s_slow_start_is_its_warm_up(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text(SLOW, encoding="utf-8")
    results = dumbbell.run(file)
    short, long = METRICS["warm_up_s"].measure(results)["value"]
    # From 10 packets to 1 BDP of 1725: log2(172.5) = 7.4 RTTs.
    assert 5 * 0.2 < long < 15
    assert 1.2 < short <= 1.5 + 0.1  # as much as it can be: the run is too short
    none = METRICS["warm_up_s"].measure(dumbbell.run(file, set={"sampling": "none"}))
    assert none["value"].is_nan().all()
