"""What a link can carry, by hand; and metrics of runs that had left their bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.limits.pipes import capacity_bits, least_time_s, surplus_bits, wire_bytes
from dumbbell.metrics import METRICS

SECOND = 1_000_000_000


def pipe(**fields: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "shaper": {"serial": {"rate_bps": 1_000_000}},
        "queue": {"drop_tail": {"limit_packets": 50, "limit_bytes": None}},
        "framing": {"overhead_bytes": 0, "mpu_bytes": 0, "atm": False},
        "policer": None,
        "delay_ns": 0,
        "jitter_ns": 0,
        "reordering": None,
        "duplication": 0.0,
        "changes": [],
    }
    return plain | fields


def change(at_ns: int, *, rate_bps: int | None = None, delay_ns: int | None = None) -> Any:
    return {"at_ns": at_ns, "rate_bps": rate_bps, "delay_ns": delay_ns, "loss": None}


def test_a_changing_rate_is_added_up_piece_by_piece() -> None:
    found = pipe(changes=[change(SECOND, rate_bps=50_000_000), change(3 * SECOND, rate_bps=10**6)])
    assert capacity_bits(found, 0, SECOND) == 1e6
    assert capacity_bits(found, 0, 5 * SECOND) == 1e6 + 2 * 50e6 + 2 * 1e6
    assert capacity_bits(found, SECOND // 2, 3 * SECOND // 2) == 0.5e6 + 25e6
    assert capacity_bits(pipe(shaper="none"), 0, SECOND) == float("inf")


def test_a_trace_carries_its_opportunities() -> None:
    trace = pipe(shaper={"trace": {"deliveries_ms": [1, 2, 3, 1000]}})
    assert capacity_bits(trace, 0, SECOND) == 8 * 1504 * 4
    assert capacity_bits(trace, 2_500_000, SECOND + 1_000_000) == 8 * 1504 * 3
    # Three within 2 ms; the fourth is 997 ms later, or 1 ms before the first of the next period.
    assert least_time_s(trace, 1 * 1504) == 0
    assert least_time_s(trace, 3 * 1504) == 0.002
    assert least_time_s(trace, 4 * 1504) == 0.003
    assert least_time_s(trace, 5 * 1504) == 1.0


def test_a_frame_takes_its_cells_on_the_wire() -> None:
    """PPPoE over AAL5 takes 33 cells; PTM adds a byte for each 64, as CAKE counts them."""
    adsl = pipe(framing={"overhead_bytes": 26, "mpu_bytes": 0, "atm": True})
    assert wire_bytes(adsl, 1514) == 33 * 53
    ethernet = pipe(framing={"overhead_bytes": 24, "mpu_bytes": 84, "atm": False})
    assert (wire_bytes(ethernet, 1514), wire_bytes(ethernet, 54)) == (1538, 84)
    cake = {"bandwidth_bps": 10**7, "overhead_bytes": 30, "mpu_bytes": 0, "atm": "ptm"}
    assert wire_bytes(pipe(queue={"cake": cake}), 1514) == 1530 + 24
    assert wire_bytes(pipe(queue={"cake": {**cake, "atm": "atm"}}), 1514) == 32 * 53


TRACE = """\
dumbbell: 1
name: trace
template:
  dumbbell: {rtt: 20 ms, buffer: 100 packets, forward: {shaper: {trace: {deliveries: TIMES}}}}
flows: [{from: s1, to: d1, udp: {rate: 200 Mbit/s}}]
duration: 2 s
"""


@pytest.mark.parametrize("times", [[1, 1], [1] * 8, [10] * 4, [3, 5, 7, 10], [0, 4, 10, 10]])
def test_a_trace_lets_through_all_its_opportunities(times: list[int], tmp_path: Path) -> None:
    """Each is 1504 bytes, also several at the last time, with which the next round begins."""
    file = tmp_path / "trace.yaml"
    file.write_text(TRACE.replace("TIMES", str(times)), encoding="utf-8")
    pipes = dumbbell.run(file).pipes.filter(pipe="bottleneck/forward")
    opportunities = 2000 / times[-1] * len(times)
    assert pipes["left_bytes"].item() == pytest.approx(1504 * opportunities, rel=0.02)


def test_a_bucket_may_pass_its_burst_beyond_its_rate() -> None:
    tbf = {"rate_bps": 1_000_000, "burst_bytes": 5000, "initial_bytes": None, "peak": None}
    found = pipe(shaper={"tbf": tbf})
    assert surplus_bits(found, 1514) == 8 * (1514 + 5000)
    assert least_time_s(found, 5000) == 0
    assert least_time_s(found, 5000 + 125_000) == 1.0
    # A wire below a discipline is a bucket of one frame.
    codel = pipe(queue={"codel": {"limit_packets": 1000}})
    assert least_time_s(codel, 1514 + 125_000) == 1.0
    assert least_time_s(pipe(), 125_000) == 1.0
    policed = pipe(policer={"rate_bps": 500_000, "burst_bytes": 5000})
    assert least_time_s(policed, 5000 + 125_000) == 2.0


def test_a_delay_that_shrinks_sets_free_what_was_under_way() -> None:
    falls = [change(SECOND, delay_ns=1_000_000), change(2 * SECOND, delay_ns=9_000_000)]
    found = pipe(delay_ns=21_000_000, jitter_ns=5_000_000, changes=falls)
    assert surplus_bits(found, 1514) == 8 * 1514 + 1e6 * 0.025


#: Experiments whose numbers had left their bounds, with the metric and what it was.
BEYOND = {
    "copies": (
        "spurious_share",
        "rate: 5 Mbit/s, rtt: 20 ms, buffer: 50 packets, duplication: 10 %",
        "flows: [{from: s1, to: d1, tcp: cubic}]",
    ),
    "a rate that changes": (
        "utilisation",
        "rate: 100 kbit/s, rtt: 20 ms, buffer: 50 packets, changes: [{at: 1 s, rate: 50 Mbit/s}]",
        "flows: [{from: s1, to: d1, tcp: cubic}]\nsampling: {interval: 20 ms, keep: [queues]}",
    ),
    "copies and loss": (
        "flow_loss_ratio",
        "rate: 5 Mbit/s, rtt: 20 ms, buffer: 50 packets, loss: 80 %, duplication: 50 %",
        "flows: [{from: s1, to: d1, tcp: cubic}, {from: s1, to: d1, udp: 1 Mbit/s}]",
    ),
    "a trace of bursts": (
        "fct_slowdown",
        "shaper: {trace: {deliveries: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,1000]}}, "
        "rtt: 20 ms, buffer: 50 packets",
        "arrivals: [{name: web, from: s1, to: d1, per_second: 2, size: 20 KiB, tcp: cubic}]",
    ),
    "a bucket with a burst": (
        "fct_slowdown",
        "shaper: {tbf: {rate: 500 kbit/s, burst: 20 KiB}}, rtt: 1 ms, buffer: 50 packets",
        "arrivals: [{name: web, from: s1, to: d1, per_second: 2, size: 5 KiB, tcp: cubic}]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BEYOND)
def test_numbers_stay_within_their_bounds(name: str, tmp_path: Path) -> None:
    metric, network, traffic = BEYOND[name]
    file = tmp_path / "bounds.yaml"
    file.write_text(
        f"dumbbell: 1\nname: bounds\ntemplate: {{dumbbell: {{{network}}}}}\n{traffic}\n"
        "duration: 5 s\n"
    )
    results = dumbbell.run(file)
    values = METRICS[metric].measure(results)["value"].drop_nans()  # a breach is an error in tests
    assert values.len() > 0
    if metric == "utilisation":
        # A window that grows in congestion avoidance is far below 50 Mbit/s at first; not 397.
        assert 0.1 < max(values) <= 1.05
