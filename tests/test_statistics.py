"""Intervals and paired differences: hand values, coverage, determinism."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.metrics import bootstrap_means, interval, paired_difference
from dumbbell.metrics.statistics import weights

FLOATS = st.floats(-1e9, 1e9)


def test_one_repeat_has_a_mean_and_no_interval() -> None:
    found = interval([7.0])
    assert (found.mean, found.count) == (7.0, 1)
    assert math.isnan(found.low)
    assert found.widened(0.5) == (6.5, 7.5)


def test_nothing_measured_is_nan() -> None:
    assert interval([float("nan")]).count == 0
    with pytest.raises(ValueError, match="one value per repeat"):
        bootstrap_means([])


def test_equal_repeats_have_an_interval_of_no_width() -> None:
    found = interval([19.1] * 10)
    assert (found.mean, found.low, found.high) == (19.1, 19.1, 19.1)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.arange(10.0)
    assert interval(values) == interval(values)


@given(st.lists(FLOATS, min_size=2, max_size=12))
def test_an_interval_holds_its_mean_and_stays_within_the_values(values: list[float]) -> None:
    found = interval(values)
    assert min(values) <= found.low <= found.high <= max(values)
    slack = 1e-9 * (1 + abs(found.mean))
    assert found.low - slack <= found.mean <= found.high + slack


@pytest.mark.slow
@given(st.lists(FLOATS, min_size=2, max_size=8), st.floats(-1e6, 1e6))
def test_an_interval_moves_with_its_values(values: list[float], shift: float) -> None:
    moved = interval([value + shift for value in values])
    plain = interval(values)
    assert moved.low == pytest.approx(plain.low + shift, rel=1e-6, abs=1e-3)


def test_resampling_weights_are_shares() -> None:
    shares = weights(7, 500)
    assert shares.shape == (500, 7)
    assert np.allclose(shares.sum(axis=1), 1.0)


@pytest.mark.slow
def test_coverage_over_ten_normal_repeats_is_near_ninety_percent() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(1000):
        found = interval(rng.normal(5.0, 2.0, 10))
        hits += found.low <= 5.0 <= found.high
    assert 870 <= hits <= 935


def test_pairing_cancels_what_repeats_share() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(0.0, 10.0, 10)
    first = common + 1.0 + rng.normal(0.0, 0.1, 10)
    found = paired_difference(first, common)
    assert found.low > 0.8
    assert found.high < 1.2
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])
