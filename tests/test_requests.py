"""Requests and messages: times by closed forms, and their metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS

RTT_MS = 20.0
#: Delayed ACK of a receiver that has just answered (TCP_ATO_MIN).
DELAYED_ACK_MS = 40.0
ONE = """\
dumbbell: 1
name: requests
template: {dumbbell: {rate: 1 Gbit/s, rtt: 20 ms, buffer: 1 BDP}}
requests: [{name: rpc, client: s1, server: d1, request: 200 bytes, response: 300 bytes, MORE}]
duration: 2 s
"""


def run(folder: Path, more: str, text: str = ONE) -> dumbbell.Results:
    file = folder / "e.yaml"
    file.write_text(text.replace("MORE", more), encoding="utf-8")
    return dumbbell.run(file)


def value(results: dumbbell.Results, metric: str) -> float:
    (found,) = METRICS[metric].measure(results)["value"]
    return float(found)


def took_ms(results: dumbbell.Results) -> list[float]:
    rows = results.transfers.sort("start_ns")
    return [float(ns) / 1e6 for ns in rows["end_ns"] - rows["start_ns"]]


def test_a_closed_loop_takes_a_round_trip_the_service_and_the_think_time(tmp_path: Path) -> None:
    results = run(tmp_path, "think: 50 ms, service: 5 ms, count: 10")
    assert took_ms(results) == pytest.approx([RTT_MS + 5] * 10, abs=0.01)
    starts = [ns / 1e6 for ns in results.transfers["start_ns"]]
    # The first is due when the connection is established.
    assert starts == pytest.approx([RTT_MS + (RTT_MS + 5 + 50) * i for i in range(10)], abs=0.1)
    assert value(results, "request_count") == 10
    assert value(results, "request_unfinished") == 0
    assert value(results, "request_median_ms") == pytest.approx(RTT_MS + 5, abs=0.01)
    # From the first request to the last response: 10 requests and 9 think times.
    assert value(results, "request_rate") == pytest.approx(10 / (10 * 0.025 + 9 * 0.05), rel=1e-3)


def test_a_closed_loop_ends_with_the_run_and_its_connections_are_independent(
    tmp_path: Path,
) -> None:
    results = run(tmp_path, "think: 80 ms, connections: 3")
    # From 20 ms on, a request each 100 ms, up to 2 s.
    assert value(results, "request_count") == 3 * 20
    assert sorted(results.transfers["flow"].unique()) == ["rpc-1", "rpc-2", "rpc-3"]


@pytest.mark.parametrize("writes, nodelay", [(1, False), (2, True), (2, False)])
def test_nagle_holds_the_second_write_until_the_delayed_ack(
    tmp_path: Path, writes: int, nodelay: bool
) -> None:
    more = f"think: 60 ms, count: 5, request_writes: {writes}, nodelay: {str(nodelay).lower()}"
    waits = RTT_MS + DELAYED_ACK_MS if writes == 2 and not nodelay else 0.0
    # The first segment of a connection is acknowledged at once (quick ACKs).
    found = took_ms(run(tmp_path, more))
    assert found[0] == pytest.approx(RTT_MS + min(waits, RTT_MS), abs=0.1)
    assert found[-1] == pytest.approx(RTT_MS + waits, abs=4.1)


def test_the_second_write_of_a_response_waits_too(tmp_path: Path) -> None:
    # After a long pause the client acknowledges at once, in a conversation only after 40 ms.
    for think, waits in (("60 ms", RTT_MS), ("10 ms", RTT_MS + DELAYED_ACK_MS)):
        more = f"think: {think}, count: 5, response_writes: 2"
        found = took_ms(run(tmp_path, more))
        assert found[-1] == pytest.approx(RTT_MS + waits, abs=4.1)
        found = took_ms(run(tmp_path, f"{more}, nodelay: true"))
        assert found[-1] == pytest.approx(RTT_MS, abs=0.1)


def test_an_open_loop_does_not_wait_for_responses(tmp_path: Path) -> None:
    # One connection serves a request in 30 ms; one is due each 25 ms: the k-th waits 5 k ms.
    results = run(tmp_path, "interval: 25 ms, start: 100 ms, count: 20, service: 10 ms")
    starts = [ns / 1e6 for ns in results.transfers["start_ns"]]
    assert starts == pytest.approx([100 + 25 * i for i in range(20)])
    # The first waits for the handshake.
    expected = [RTT_MS + 30 + 5 * i for i in range(20)]
    assert took_ms(results) == pytest.approx(expected, abs=0.3)
    assert value(results, "request_max_ms") == pytest.approx(expected[-1], abs=0.3)
    assert value(results, "request_wait_ms") == pytest.approx(RTT_MS + 5 * 9.5, abs=0.3)
    two = run(tmp_path, "interval: 25 ms, start: 100 ms, count: 20, service: 10 ms, connections: 2")
    assert took_ms(two)[1:] == pytest.approx([30] * 19, abs=16)


def test_overload_leaves_requests_unfinished(tmp_path: Path) -> None:
    results = run(tmp_path, "per_second: 200, times: fixed")
    # 400 are due; from 20 ms on, one connection completes one each 20 ms.
    assert value(results, "request_count") == pytest.approx(98, abs=1)
    assert value(results, "request_count") + value(results, "request_unfinished") == 400


MESSAGES = ONE.replace("response: 300 bytes, ", "").replace("200 bytes", "50 KB")


@pytest.mark.parametrize("after_idle", [True, False])
def test_a_message_after_a_pause_starts_anew(tmp_path: Path, after_idle: bool) -> None:
    """RFC 2861: after an idle time of the RTO the window starts anew."""
    hosts = f"hosts: {{s1: {{tcp_slow_start_after_idle: {str(after_idle).lower()}}}}}\n"
    text = MESSAGES.replace("duration: 2 s", "duration: 20 s")
    found = took_ms(run(tmp_path, "interval: 3 s, count: 5", hosts + text))
    # 36 segments from a window of 10: 10, 20 and 6, so two round trips and a half. In the window of
    # 40 that they leave, half a round trip.
    assert found[0] == pytest.approx(RTT_MS + 2.5 * RTT_MS, abs=1.5)
    later = 2.5 * RTT_MS if after_idle else RTT_MS / 2
    assert found[1:] == pytest.approx([later] * 4, abs=1.5)


def test_messages_follow_each_other(tmp_path: Path) -> None:
    results = run(tmp_path, "interval: 1 ms, start: 100 ms, count: 50", MESSAGES)
    assert value(results, "request_count") == 50
    ends = results.transfers["end_ns"].to_list()
    assert ends == sorted(ends)
    assert (results.transfers["first_byte_ns"] == -1).all()


def test_the_flow_of_messages_is_that_of_their_data(tmp_path: Path) -> None:
    """Its sender is the client: goodput, window and bottleneck are of the direction of the data."""
    (flow,) = run(tmp_path, "interval: 100 ms, count: 8", MESSAGES).flows.to_dicts()
    assert flow["delivered_bytes"] == 8 * 50 * 1024
    # Each 36 segments; the window is full once, at the start.
    assert flow["data_packets"] == 8 * 36
    assert flow["cwnd_max_packets"] >= 36


def test_drawn_times_and_sizes_have_their_means_and_the_seed_decides(tmp_path: Path) -> None:
    more = "per_second: 400, connections: 60, stop: 1900 ms, nodelay: true"
    text = ONE.replace("300 bytes", "{exponential: 2000 bytes}")
    one, again = (run(tmp_path, more, text).transfers for _ in range(2))
    assert one.equals(again)
    # Standard errors: 27 of 760 arrivals, 3.6 % of the mean size.
    assert one.height == pytest.approx(760, abs=110)
    sizes = one["transfer_bytes"].to_list()
    assert sum(sizes) / len(sizes) == pytest.approx(2000, rel=0.15)
