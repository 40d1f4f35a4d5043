"""Metrics: golden values, each beside the physical bound it must respect."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dumbbell
from dumbbell.errors import DefectWarning
from dumbbell.levels import number_of, scale_of
from dumbbell.metrics import (
    METRICS,
    RENAMED,
    flow_limits,
    jain_index,
    losses,
    metric_named,
    summary,
)
from dumbbell.metrics.reference import markdown
from dumbbell.results import Results
from dumbbell.runs import column_names
from tests import synthetic
from tests.helpers import BASE, loaded

ROOT = Path(__file__).resolve().parents[1]
KEY = {"run": "r1", "cc": "cubic", "repeat": 0, "seed": 1}


def one(name: str, **changes: object) -> float:
    found = synthetic.results({"cc": ["cubic"]}, {"flows": [{**KEY, **synthetic.flow(**changes)}]})
    return float(METRICS[name].measure(found)["value"][0])


def test_rates_count_different_bytes_over_stated_windows() -> None:
    assert one("goodput_mbps") == pytest.approx(19.128)
    assert one("throughput_mbps") == pytest.approx(8 * 250_000_000 / 100.01 / 1e6)
    assert one("sending_rate_mbps") == pytest.approx(8 * 250_300_000 / 100.01 / 1e6)
    assert one("goodput_mbps") <= one("throughput_mbps") <= one("sending_rate_mbps")


def test_goodput_at_capacity_is_what_headers_leave() -> None:
    limits = flow_limits(synthetic.multipath_scenario(), "flow1")
    assert limits.goodput_limit_mbps == pytest.approx(20 * 1448 / 1514)
    assert one("goodput_mbps") <= limits.goodput_limit_mbps


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"delivered_bytes": 0}, 0.0),
        ({"established_ns": -1, "delivered_bytes": 0}, 0.0),
        ({"established_ns": 5, "end_ns": 5}, 0.0),
    ],
)
def test_goodput_of_a_flow_that_never_lived_is_zero(
    changes: dict[str, object], expected: float
) -> None:
    assert one("goodput_mbps", **changes) == expected


def test_what_does_not_apply_is_nan() -> None:
    assert math.isnan(one("rtt_mean_ms", kind="udp"))
    assert math.isnan(one("rtt_mean_ms", tap_rtt_samples=0))
    assert math.isnan(one("rtt_min_ms", tap_rtt_min_ns=-1))
    assert math.isnan(one("reordering_extent_mean", reordered_packets=0))
    assert math.isnan(one("sack_blocks", kind="ping"))
    assert math.isnan(one("goodput_mbps", kind="ping"))


def test_rtt_is_at_least_the_base_rtt() -> None:
    base = flow_limits(synthetic.multipath_scenario(delay_ms=10), "flow1").base_rtt_s * 1e3
    assert base == pytest.approx(10.0)
    assert one("rtt_mean_ms") == pytest.approx(105.0)
    assert base <= one("rtt_min_ms") <= one("rtt_mean_ms") <= one("rtt_max_ms")


def test_shares_stay_between_zero_and_one() -> None:
    assert one("sack_share", tap_acks_with_sack=45_000) == pytest.approx(0.5)
    assert one("reordered_ratio", reordered_packets=16_530) == pytest.approx(0.1)
    assert one("spurious_share", retransmitted_packets=4, spurious_retransmitted_packets=1) == 0.25
    none = {"retransmitted_packets": 0, "spurious_retransmitted_packets": 0}
    assert one("spurious_share", **none) == 0.0


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {
            "delivered_bytes": st.integers(0, 10**12),
            "received_packets": st.integers(1, 10**9),
            "established_ns": st.integers(-1, 10**11),
            "end_ns": st.integers(-1, 10**12),
        }
    ),
    st.integers(0, 100),
)
def test_every_metric_respects_its_bounds(changes: dict[str, object], percent: int) -> None:
    received = changes["received_packets"]
    assert isinstance(received, int)
    row = synthetic.flow(**changes, reordered_packets=received * percent // 100)
    found = synthetic.results({"cc": ["cubic"]}, {"flows": [{**KEY, **row}]})
    for metric in METRICS.values():
        low, high = metric.bounds
        for value in metric.measure(found)["value"]:
            assert math.isnan(value) or low <= value <= high, metric.name


def test_a_number_that_cannot_be_is_told_as_a_defect() -> None:
    row = synthetic.flow(retransmitted_packets=2, spurious_retransmitted_packets=5)
    found = synthetic.results({"cc": ["cubic"]}, {"flows": [{**KEY, **row}]})
    with pytest.warns(DefectWarning) as told:
        METRICS["spurious_share"].measure(found)
    (one,) = {str(warning.message) for warning in told}
    for part in (
        "spurious_share of flow1",
        "2.5",
        "outside 0 to 1",
        "run r1",
        "cc=cubic",
        "seed 1",
    ):
        assert part in one


def test_jain_index_by_hand() -> None:
    assert jain_index([5, 5]) == 1.0
    assert jain_index([1, 0, 0, 0]) == 0.25
    assert jain_index([10.61, 8.27]) == pytest.approx(0.985, abs=5e-4)  # Table 5.2, row 1
    assert math.isnan(jain_index([]))
    assert jain_index([0, 0]) == 1.0


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=20))
def test_jain_index_lies_between_one_nth_and_one(shares: list[float]) -> None:
    assert 1 / len(shares) - 1e-9 <= jain_index(shares) <= 1 + 1e-9


def test_jain_is_measured_per_run_over_tcp_and_udp() -> None:
    rows = [
        {**KEY, **synthetic.flow(flow="a")},
        {**KEY, **synthetic.flow(flow="b", kind="udp", delivered_bytes=0)},
        {**KEY, **synthetic.flow(flow="c", kind="ping")},
    ]
    found = synthetic.results({"cc": ["cubic"]}, {"flows": rows})
    assert METRICS["jain"].measure(found)["value"].to_list() == [0.5]


def pipes(**changes: object) -> Results:
    row: dict[str, object] = {
        "pipe": "path1-out/forward",
        "arrived_packets": 1000,
        "dropped_overflow_packets": 10,
    }
    row |= {"dropped_random_packets": 5, "left_packets": 980, "remaining_packets": 5}
    row |= {
        f"dropped_{reason}_packets": 0 for reason in ("scripted", "policed", "corrupted", "aqm")
    }
    row |= changes
    return synthetic.results({"cc": ["cubic"]}, {"pipes": [{**KEY, **row}]})


def test_losses_by_pipe_and_reason() -> None:
    found = losses(pipes()).filter(pl.col("dropped_packets") > 0)
    assert found["reason"].to_list() == ["overflow", "random"]
    assert found["loss_ratio"].to_list() == [0.01, 0.005]
    assert METRICS["loss_ratio"].measure(pipes())["value"].to_list() == [0.015]


def test_the_loss_of_a_pipe_needs_no_reasons_but_all_that_was_dropped() -> None:
    def loss(**changes: object) -> float:
        return float(METRICS["loss_ratio"].measure(pipes(**changes))["value"][0])

    assert loss(dropped_overflow_packets=-1, dropped_random_packets=-1) == pytest.approx(0.015)
    assert math.isnan(loss(dropped_corrupted_packets=-1)), "dropped behind the pipe"
    assert math.isnan(loss(dropped_policed_packets=-1, arrived_packets=-1))


def test_bdp_of_single_and_multi_path() -> None:
    multi = flow_limits(synthetic.multipath_scenario(delay_ms=100), "flow1")
    assert (multi.paths, multi.rate_bps, multi.buffer_packets) == (2, 20e6, 200.0)
    assert multi.bdp_packets == pytest.approx(20e6 * 0.1 / 8 / 1514)
    single = flow_limits(synthetic.multipath_scenario(multi=False), "flow1")
    assert (single.paths, single.rate_bps) == (1, 10e6)


def test_bdp_follows_explicit_routes_and_names_what_is_unknown() -> None:
    scenario = synthetic.multipath_scenario()
    scenario["routes"] = [{"at": "r1", "to": "d1", "via": ["path2-in"]}]
    assert flow_limits(scenario, "flow1").paths == 1
    with pytest.raises(KeyError):
        flow_limits(scenario, "nobody")
    scenario["links"] = scenario["links"][:2]
    with pytest.raises(ValueError, match="no path"):
        flow_limits(scenario, "flow1")


def test_levels_are_numbers_with_units_or_words() -> None:
    assert number_of("10 ms") == (10.0, "ms")
    assert number_of("1 %") == (1.0, "%")
    assert number_of("cubic") is None
    scale = scale_of(["500 us", "1 ms"])
    assert scale is not None
    assert scale.values == pytest.approx({"500 us": 500.0, "1 ms": 1000.0})
    assert scale_of(["10 ms", "cubic"]) is None
    assert scale_of(["10 ms", "10 packets"]) is None


def test_a_metric_has_the_name_of_its_column() -> None:
    """No metric differs from a column of `flows` by the unit at its end alone."""
    columns = column_names()
    ends = ("packets", "bytes", "ns", "bps")
    assert not {f"{name}_{end}" for name in METRICS for end in ends} & columns
    assert set(RENAMED.values()) <= columns & set(METRICS)


def test_an_unknown_metric_is_answered_with_the_nearest() -> None:
    with pytest.raises(KeyError, match=r"no metric 'goodput'; did you mean .*goodput_mbps"):
        METRICS["goodput"]


def test_former_names_are_read_and_not_listed() -> None:
    assert not set(RENAMED) & set(METRICS)
    for old, name in RENAMED.items():
        assert old in METRICS and METRICS[old] is metric_named(old) is METRICS[name]
        bound = "expect: [{metric: METRIC, above: 1}]\n"
        (expect,) = loaded(BASE + bound.replace("METRIC", old)).expect
        assert expect.metric == name
    assert "absent" not in METRICS
    with pytest.raises(KeyError):
        METRICS["absent"]
    assert dumbbell.METRICS is METRICS


def test_an_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="goodput_mbps"):
        metric_named("goodput")


def test_summary_averages_within_a_run_before_over_repeats() -> None:
    rows = []
    for repeat, bytes_ in ((0, 100), (1, 300)):
        for flow in ("a", "b"):
            key = {**KEY, "run": f"r{repeat}", "repeat": repeat}
            rows.append({**key, **synthetic.flow(flow=flow, tap_sack_blocks=bytes_)})
    found = synthetic.results({"cc": ["cubic"]}, {"flows": rows}, repeats=2)
    pooled = summary(found, METRICS["sack_blocks"], by=["cc"])
    # Student's t of one degree of freedom is 12.7062; no number of blocks lies below 0.
    assert pooled.row(0) == ("cubic", 200.0, 0.0, pytest.approx(200 + 12.7062 * 100), 2)
    assert summary(found, METRICS["sack_blocks"]).height == 2
    assert summary(found, METRICS["sack_blocks"], by=[])["mean"].to_list() == [200.0]


def test_every_table_is_documented() -> None:
    from tests.write_tables_page import PAGE
    from tests.write_tables_page import markdown as tables

    page = PAGE.read_text(encoding="utf-8")
    assert page == tables(), "write it anew: python -m tests.write_tables_page"


def test_every_metric_is_documented() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert page == markdown(), "write it anew: python -m tests.write_metrics_page"
    for metric in METRICS.values():
        assert f"`{metric.name}`" in page
        assert metric.formula
        assert metric.place
        assert metric.window
        assert metric.source
