"""Paired comparison of cells: closed forms, tables of Student's t, Holm's procedure."""

from __future__ import annotations

import math

import pytest

from dumbbell.metrics.paired import compared, holm
from dumbbell.metrics.student import student_p


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [
        # Two-sided 5 % and 1 % points of Student's t, as tables have them.
        (12.7062, 1, 0.05), (4.30265, 2, 0.05), (2.77645, 4, 0.05), (2.26216, 9, 0.05),
        (2.04523, 29, 0.05), (63.6567, 1, 0.01), (3.24984, 9, 0.01), (2.62589, 100, 0.01),
        (0.0, 7, 1.0),
    ],
)  # fmt: skip
def test_p_is_that_of_the_tables(t: float, freedom: int, p: float) -> None:
    assert student_p(t, freedom) == pytest.approx(p, rel=2e-5)
    assert student_p(-t, freedom) == student_p(t, freedom)


def test_p_with_one_degree_of_freedom_is_that_of_cauchy() -> None:
    for t in (0.1, 1.0, 7.5):
        assert student_p(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(t), abs=1e-12)


def test_a_pair_in_numbers() -> None:
    # Differences 1, 2, 3: mean 2, standard deviation 1, t = 2√3.
    found = compared([1, 1, 1], [2, 3, 4])
    assert (found.difference.mean, found.effect) == (2.0, 2.0)
    assert found.p == pytest.approx(student_p(2 * math.sqrt(3), 2))
    # The interval is of the same t, 4.3027: where p is above 5 %, it holds 0.
    assert found.difference.low == pytest.approx(2 - 4.302653 / math.sqrt(3))
    assert found.difference.low < 0 < found.p - 0.05


def test_equal_differences_are_certain_and_no_difference_is_none() -> None:
    assert (compared([1, 2, 3], [2, 3, 4]).p, compared([1, 2, 3], [2, 3, 4]).effect) == (
        0.0,
        math.inf,
    )
    assert (compared([1, 2], [1, 2]).p, compared([1, 2], [1, 2]).effect) == (1.0, 0.0)
    one = compared([1.0], [2.0])
    assert (one.difference.mean, math.isnan(one.p), math.isnan(one.effect)) == (1.0, True, True)


def test_what_does_not_apply_is_left_out() -> None:
    nan = math.nan
    assert compared([1, nan, 1, 1], [2, 9, 3, nan]).difference.mean == 1.5
    with pytest.raises(ValueError, match="equal lengths"):
        compared([1, 2], [1])


def test_holm_s_procedure() -> None:
    # Smallest times 4, next times 3 …, never less than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    found = holm([0.5, math.nan, 0.9])
    assert (found[0], math.isnan(found[1]), found[2]) == (1.0, True, 1.0)
