"""The E-model against worked values of the recommendations."""

from __future__ import annotations

import math

import pytest

from dumbbell.metrics import emodel
from dumbbell.metrics.latency import conversation


def test_defaults_give_the_rating_of_g_107() -> None:
    """G.107 clause 7.7: with all defaults, Ro is 94.77, Is 1.41, Id 0.15 and R 93.2."""
    assert emodel.basic_signal_to_noise() == pytest.approx(94.7688, abs=5e-4)
    assert emodel.simultaneous_impairment(0) == pytest.approx(1.4136, abs=5e-4)
    assert emodel.delay_impairment(0) == pytest.approx(0.149, abs=5e-4)
    assert emodel.rating(0, 0) == pytest.approx(93.2, abs=0.05)


@pytest.mark.parametrize(
    ("rating", "score"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)]
)
def test_opinions_are_those_of_g_107_table_b_1(rating: float, score: float) -> None:
    assert emodel.mean_opinion_score(rating) == pytest.approx(score, abs=0.01)


def test_ends_of_the_scale() -> None:
    assert emodel.mean_opinion_score(-5) == 1.0
    assert emodel.mean_opinion_score(120) == 4.5
    assert emodel.rating(10_000, 1) == 0.0


@pytest.mark.parametrize("one_way_ms", [50, 100, 150, 200, 300, 400])
def test_delay_counts_from_100_ms_on(one_way_ms: float) -> None:
    """G.107 eq. 7-27, 7-28: Idd is 0 up to 100 ms, then by X = log2(Ta / 100); echoes are small."""
    x = max(0.0, math.log2(one_way_ms / 100))
    idd = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    assert 0 < emodel.delay_impairment(one_way_ms) - idd < 8


def test_loss_of_g_711_with_concealment() -> None:
    """G.107 eq. 7-29 with G.113's Bpl of 25.1: 5 % cost 15.8 points, half of all 63.3."""
    assert emodel.effective_equipment_impairment(0) == 0
    assert emodel.effective_equipment_impairment(0.05) == pytest.approx(95 * 5 / 30.1)
    assert emodel.effective_equipment_impairment(0.5) == pytest.approx(95 * 50 / 75.1)


def test_a_call_waits_for_stragglers_only_if_that_pays() -> None:
    steady = [30.0] * 990
    best, ear_ms = conversation([*steady, *[400.0] * 10], lost=0)
    # Losing 1 % costs 3.6 points, waiting 400 ms would cost more than 30.
    assert ear_ms == 50.0
    assert best == pytest.approx(emodel.rating(50, 0.01))
    early, ear_ms = conversation([*[30.0] * 600, *[60.0] * 400], lost=0)
    assert ear_ms == 80.0
    assert early > emodel.rating(50, 0.4)
    assert conversation([], lost=100)[0] == 0.0
