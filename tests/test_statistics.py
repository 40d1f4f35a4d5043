"""Intervals and paired differences: hand values, coverage, determinism."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.metrics import draws_of_mean, interval, paired_difference
from dumbbell.metrics.statistics import percentiles, weights
from dumbbell.metrics.student import student_quantile
from tests.coverage import PAGE, measured, table

FLOATS = st.floats(-1e9, 1e9)


def test_one_repeat_has_a_mean_and_no_interval() -> None:
    found = interval([7.0])
    assert (found.mean, found.count) == (7.0, 1)
    assert math.isnan(found.low)
    assert found.widened(0.5) == (6.5, 7.5)


def test_nothing_measured_is_nan() -> None:
    assert interval([float("nan")]).count == 0
    with pytest.raises(ValueError, match="one value per repeat"):
        draws_of_mean([])


def test_equal_repeats_have_an_interval_of_no_width() -> None:
    found = interval([19.1] * 10)
    assert (found.mean, found.low, found.high) == (19.1, 19.1, 19.1)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.arange(10.0)
    assert interval(values) == interval(values)


def test_the_interval_is_students() -> None:
    """Mean 2, standard deviation 1, three values: t of two degrees of freedom is 4.3027."""
    found = interval([1.0, 2.0, 3.0])
    assert found.high - found.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.low == pytest.approx(2 - 4.302653 / math.sqrt(3), rel=1e-6)
    # Abramowitz and Stegun, table 26.10.
    known = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042, 120: 1.980}
    for freedom, value in known.items():
        assert student_quantile(0.95, freedom) == pytest.approx(value, abs=6e-4)
    with pytest.raises(ValueError, match="0 degrees of freedom"):
        student_quantile(0.95, 0)


@given(st.lists(FLOATS, min_size=2, max_size=12))
def test_an_interval_holds_its_mean_in_its_middle(values: list[float]) -> None:
    found = interval(values)
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert found.low <= found.mean <= found.high
    assert found.high - found.mean == pytest.approx(found.mean - found.low, abs=slack)


@pytest.mark.slow
@given(st.lists(FLOATS, min_size=2, max_size=8), st.floats(-1e6, 1e6))
def test_an_interval_moves_with_its_values(values: list[float], shift: float) -> None:
    moved = interval([value + shift for value in values])
    plain = interval(values)
    assert moved.low == pytest.approx(plain.low + shift, rel=1e-6, abs=1e-3)


def test_draws_of_a_mean_have_the_distribution_of_student() -> None:
    """Their ends are those of the interval; a difference has the one of the paired differences."""
    shares = weights(7, 500)
    assert shares.shape == (500, 7)
    assert np.allclose(shares.sum(axis=1), 1.0)
    first, second = [3.0, 5.0, 4.5, 4.0], [2.0, 4.5, 3.0, 3.5]
    for drawn, exact in (
        (draws_of_mean(first), interval(first)),
        (draws_of_mean(first) - draws_of_mean(second), paired_difference(first, second)),
    ):
        low, high = percentiles(drawn)
        assert float(drawn.mean()) == pytest.approx(exact.mean)
        half = exact.high - exact.mean
        assert low == pytest.approx(exact.low, abs=0.05 * half)
        assert high == pytest.approx(exact.high, abs=0.05 * half)
    assert draws_of_mean(first, (3.5, 4.5)).min() == 3.5


@pytest.mark.slow
def test_coverage_is_95_percent_from_two_repeats_on() -> None:
    """Normal repeats: within three standard errors (1 %). Skewed ones: as the page says."""
    found = measured()
    assert table(found) in PAGE.read_text(encoding="utf-8")
    for count, ((normal, exponential, lognormal), ratio) in found.items():
        assert normal == pytest.approx(0.95, abs=0.0105)
        assert exponential > 0.87 and lognormal > 0.8
        # With two repeats, a ratio whose denominator may be 0 has no interval.
        assert ratio > (0.88 if count == 2 else 0.93)


def test_pairing_cancels_what_repeats_share() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(0.0, 10.0, 10)
    first = common + 1.0 + rng.normal(0.0, 0.1, 10)
    found = paired_difference(first, common)
    assert found.low > 0.8
    assert found.high < 1.2
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])
