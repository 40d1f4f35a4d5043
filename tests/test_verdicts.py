"""Verdicts of claims: at their boundaries, over cases, and where repeats decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.metrics import METRICS
from dumbbell.metrics.statistics import DRAWS, draws_of_mean
from dumbbell.metrics.student import student_quantile
from dumbbell.results import Results
from dumbbell.studies import (
    StudyError,
    Verdict,
    load_study,
)
from dumbbell.studies.definition import Claim, Expectation, Study
from dumbbell.studies.quantities import Cells, Drawn
from dumbbell.studies.verdicts import Case, case_of, judge
from tests import synthetic


def made_up(values: list[float], other: list[float] | None = None) -> Results:
    rows: list[dict[str, object]] = []
    for cc, series in (("reno", values), ("bbr", other or [])):
        for repeat, value in enumerate(series):
            key = {"run": f"{cc}{repeat}", "cc": cc, "repeat": repeat, "seed": repeat}
            rows.append({**key, **synthetic.flow(congestion_control=cc, cwnd_mean_packets=value)})
    return synthetic.results({"cc": ["reno", "bbr"]}, {"flows": rows}, repeats=len(values))


def study_with(claim: dict[str, Any]) -> Study:
    base = {"id": "X", "text": "x", "part": "p", "source": "s"}
    data = {"study": "s", "title": "t", "question": "q", "sources": [], "claims": [base | claim]}
    return Study.model_validate({**data, "parts": {"p": {"title": "p", "experiment": "p.yaml"}}})


def verdict_on(claim: dict[str, Any], results: Results) -> str:
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(results)})
    assert found is not None
    return str(found.verdict)


RENO = {"metric": "cwnd_mean", "where": {"cc": "reno"}}


GAP = {"difference": [RENO, {"metric": "cwnd_mean", "where": {"cc": "bbr"}}]}


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (100.0, "reproduced"),
        (102.3, "reproduced"),
        (102.6, "not reproduced"),
        (97.7, "reproduced"),
    ],
)
def test_near_widens_the_interval_by_the_tolerance(published: float, expected: str) -> None:
    claim = {"quantity": RENO, "published": published, "expect": {"near": True, "tolerance": 2.0}}
    assert verdict_on(claim, made_up([99.0, 100.0, 101.0] * 4 + [100.0])) == expected


def test_near_is_noise_if_the_interval_is_wider_than_the_tolerance() -> None:
    claim = {"quantity": RENO, "published": 100, "expect": {"near": True, "tolerance": "2 %"}}
    assert verdict_on(claim, made_up([60.0, 140.0] * 5)) == "within noise"
    assert verdict_on(claim, made_up([100.0])) == "within noise"  # one repeat: no interval


def test_near_is_noise_if_the_opposite_lies_in_the_interval() -> None:
    expect = {"near": True, "tolerance": 50, "opposite": 100.0}
    claim = {"quantity": RENO, "published": 120, "expect": expect}
    assert verdict_on(claim, made_up([90.0, 115.0] * 5)) == "within noise"
    assert verdict_on(claim, made_up([119.0, 121.0] * 5)) == "reproduced"


def test_an_ordering_needs_ninety_five_percent_of_the_draws() -> None:
    claim = {"quantity": GAP, "expect": {"below": 0}}
    ten = [10.0, 10.1] * 5
    assert verdict_on(claim, made_up(ten, [11.0, 11.1] * 5)) == "reproduced"
    assert verdict_on(claim, made_up(ten, [9.0, 9.1] * 5)) == "not reproduced"
    assert verdict_on(claim, made_up(ten, [9.0, 11.2] * 5)) == "within noise"


def test_an_ordering_over_cases_must_hold_in_all_at_once() -> None:
    claim = {
        "quantity": {"metric": "cwnd_mean"},
        "each": {"cc": ["reno", "bbr"]},
        "expect": {"above": 10},
    }
    good, doubtful = [12.0, 13.0] * 5, [8.0, 13.0] * 5
    assert verdict_on(claim, made_up(good, good)) == "reproduced"
    assert verdict_on(claim, made_up(good, doubtful)) == "within noise"
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(made_up(good, doubtful))})
    assert found is not None
    assert found.deciding.where == {"cc": "bbr"}


def test_what_repeats_share_cancels_in_a_difference() -> None:
    common = list(np.random.default_rng(1).normal(100, 30, 10))
    claim = {"quantity": GAP, "expect": {"above": 0}}
    assert verdict_on(claim, made_up([x + 0.1 for x in common], common)) == "reproduced"


def test_a_claim_of_cells_that_were_not_run_is_left_out_or_says_so() -> None:
    claim = {
        "quantity": {"metric": "cwnd_mean"},
        "each": {"cc": ["reno", "bbr"]},
        "expect": {"above": 10},
    }
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(made_up([20.0, 21.0]))})
    assert found is not None
    assert "1 of 2 cases" in found.note
    assert judge(study, study.claims[0], {}) is None


@pytest.mark.slow
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=8), st.floats(0, 1e6))
def test_a_published_mean_is_never_refuted(values: list[float], tolerance: float) -> None:
    claim = {
        "quantity": RENO,
        "published": float(np.mean(values)),
        "expect": {"near": True, "tolerance": tolerance},
    }
    assert verdict_on(claim, made_up(values)) != "not reproduced"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"quantity": {"metric": "goodput"}, "expect": {"above": 1}}, "goodput_mbps"),
        ({"quantity": {}, "expect": {"above": 1}}, "one of metric"),
        ({"quantity": RENO, "expect": {}}, "one of near"),
        ({"quantity": RENO, "expect": {"near": True}}, "near what"),
        ({"quantity": RENO, "published": [1, 2], "expect": {"above": 1}}, "1 cases, 2 published"),
        (
            {"quantity": RENO, "published": 1, "expect": {"near": True, "tolerance": "3"}},
            "a number or a share",
        ),
    ],
)
def test_claims_that_make_no_sense_are_refused(claim: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study_with(claim)


def test_a_cell_must_be_named_fully() -> None:
    cells = Cells(made_up([1.0, 2.0], [3.0, 4.0]))
    with pytest.raises(StudyError, match="which cc"):
        cells.drawn("cwnd_mean", {})
    with pytest.raises(StudyError, match="no factor 'delay'"):
        cells.drawn("cwnd_mean", {"delay": "10 ms"})
    assert cells.drawn("cwnd_mean", {"cc": "vegas"}) is None
    drawn = cells.drawn("cwnd_mean", {"cc": "reno"})
    assert drawn is not None
    assert drawn.draws.shape == (DRAWS,)
    assert np.array_equal(drawn.draws, draws_of_mean([1.0, 2.0], METRICS["cwnd_mean"].bounds))


def test_tolerances_are_absolute_or_shares() -> None:
    assert Expectation(near=True, tolerance="3 %").tolerance_around(20) == pytest.approx(0.6)
    assert Expectation(near=True, tolerance=2).tolerance_around(20) == 2


def test_claims_name_cases_as_a_product_or_a_list() -> None:
    base = {"id": "X", "text": "x", "part": "p", "quantity": RENO, "expect": {"above": 1}}
    product = Claim.model_validate({**base, "each": {"a": [1, 2], "b": ["x", "y"]}})
    assert len(product.each) == 4
    assert product.each[0] == {"a": "1", "b": "x"}
    points = Claim.model_validate({**base, "each": [{"a": 1, "b": "x"}]})
    assert points.each == [{"a": "1", "b": "x"}]


class ConstantRate:
    """A sender that is no TCP: fills the paths at a constant rate, whatever happens there."""

    def drawn(self, metric: str, where: Mapping[str, str]) -> Drawn:
        shared = "cc_1" in where or "udp_rate" in where
        goodput = 9.564 if shared or where.get("routing") == "single" else 19.128
        delay = float(where.get("delay", "10 ms").removesuffix(" ms"))
        value = {
            "goodput_mbps": goodput,
            "sending_rate_mbps": goodput,
            "rtt_mean_ms": delay,
            "cwnd_mean": 100.0,
            "cwnd_max": 100.0,
            "jain": 1.0,
        }.get(metric, 0.0)
        return Drawn(value, np.full(DRAWS, value), 10)


def test_a_sender_that_is_no_tcp_fails_every_group_of_claims() -> None:
    study = load_study("multipath")
    fake = dict.fromkeys(study.parts, ConstantRate())
    failed = set()
    for claim in study.claims:
        result = judge(study, claim, fake)
        assert result is not None
        if result.verdict in (Verdict.NOT_REPRODUCED, Verdict.WITHIN_NOISE):
            failed.add(claim.id.partition(".")[0])
    assert {f"M{number}" for number in range(2, 10)} <= failed


@pytest.mark.parametrize("spread", [0.001, 0.1, 0.3])
def test_more_repeats_are_asked_for_where_a_verdict_is_close(spread: float) -> None:
    values = 10.0 + spread * np.linspace(-1.0, 1.0, 10)
    needed = bounded_case(Expectation(above=9.95), values).repeats_needed
    assert needed is not None
    # Student's interval within the margin of 0.05, and not with a repeat less.
    reach = values.std(ddof=1) * student_quantile(0.95, needed - 1) / np.sqrt(needed)
    assert reach <= 0.05 * 1.02
    if needed > 2:
        before = values.std(ddof=1) * student_quantile(0.95, needed - 2) / np.sqrt(needed - 1)
        assert before > 0.05 * 0.98


def test_no_number_of_repeats_decides_what_lies_on_the_edge() -> None:
    assert bounded_case(Expectation(above=10.0), np.full(10, 10.0)).repeats_needed is None


def bounded_case(expect: Expectation, values: np.ndarray) -> Case:
    drawn = Drawn(float(values.mean()), draws_of_mean(values), values.size)
    return case_of(expect, {}, None, drawn)
