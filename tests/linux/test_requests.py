"""Requests and messages on both engines: when each is due, sent, answered and complete."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

REQUESTS = """
dumbbell: 1
name: requests
template: {dumbbell: {rate: 20 Mbit/s, rtt: $rtt, buffer: 100 packets, forward: {loss: $loss}}}
requests:
  - name: rpc
    client: s1
    server: d1
    request: $request
    response: $response
    think: 7 ms
    count: 5
    request_writes: $writes
    nodelay: $nodelay
duration: 20 s
factors:
  grid:
    rtt: [1 ms, 20 ms, 300 ms]
    loss:
      - none
      - {label: some, value: {scripted: [{flow: rpc-1, nth: [2, 5, 20, 21, 60]}]}}
  points:
    - {request: 100 B, response: 100 B, writes: 1, nodelay: false}
    - {request: 100 B, response: 100 B, writes: 2, nodelay: false}
    - {request: 100 B, response: 100 B, writes: 2, nodelay: true}
    - {request: 2000 B, response: 20 kB, writes: 3, nodelay: false}
    - {request: 2000 B, response: 20 kB, writes: 3, nodelay: true}
    - {request: 50 kB, response: 300 B, writes: 1, nodelay: false}
"""
OPEN = """
dumbbell: 1
name: open loops
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 20 ms, buffer: 100 packets}}
requests:
  - {name: api, client: s1, server: d1, connections: 3, per_second: 100, count: 100,
     request: 1 KiB, response: {lognormal: {median: 4 KiB, sigma: 1}}, service: 2 ms}
  - {name: blocks, client: s2, server: d2, interval: 100 ms, request: 40 KiB, stop: 3 s}
duration: 5 s
"""
KEYS = ("rtt", "loss", "request", "response", "writes", "nodelay", "session", "object")
#: Time of a request that the guest's program takes beside the simulator's: it reads the clock, 256
#: ns each, where it wakes up, and asks for the state of its sockets.
PROGRAM_NS = 6_000
#: Timers of TCP end with ticks, so that the program's time of earlier requests counts.
TICKS_NS = 5 * PROGRAM_NS


def runs(text: str, folder: Path) -> tuple[dumbbell.Results, dumbbell.Results]:
    """Results of the simulator and of the kernel."""
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, engine="sim"), dumbbell.run(file, engine="linux")


def both(text: str, folder: Path) -> pl.DataFrame:
    """Rows of `transfers` of both engines side by side."""
    ours, kernel = (found.transfers for found in runs(text, folder))
    assert ours.height == kernel.height
    keys = [name for name in KEYS if name in ours.columns]
    both = ours.join(kernel, on=keys, suffix="_linux", maintain_order="left")
    took, on_linux = (pl.col(f"end_ns{at}") - pl.col(f"start_ns{at}") for at in ("", "_linux"))
    return both.with_columns(took.alias("took"), (on_linux - took).alias("apart"))


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return both(REQUESTS, tmp_path_factory.mktemp("requests"))


def test_every_request_is_answered(requests: pl.DataFrame) -> None:
    assert requests.height == 36 * 5
    assert requests.filter((pl.col("end_ns") < 0) | (pl.col("end_ns_linux") < 0)).is_empty()


@pytest.mark.parametrize(("loss", "most_ns"), [("none", PROGRAM_NS), ("some", TICKS_NS)])
def test_requests_take_as_long_as_on_the_kernel(
    requests: pl.DataFrame, loss: str, most_ns: int
) -> None:
    found = requests.filter(pl.col("loss") == loss)
    worst = found.sort(pl.col("apart").abs(), descending=True).row(0, named=True)
    assert abs(worst["apart"]) <= most_ns, worst


def test_nagle_and_losses_are_seen(requests: pl.DataFrame) -> None:
    """What the grid compares differs by more than what it allows."""

    def median_ms(**where: str) -> float:
        found = requests.filter(*(pl.col(name) == level for name, level in where.items()))
        return float(found["took"].median()) / 1e6  # type: ignore[arg-type]

    small = {"rtt": "20 ms", "request": "100 B", "loss": "none"}
    assert median_ms(**small, writes="2", nodelay="false") > 2 * 20 + 15
    assert median_ms(**small, writes="2", nodelay="true") < 21
    assert requests.filter((pl.col("loss") == "some") & (pl.col("took") > 200e6)).height > 10


def test_an_open_loop_and_messages_are_those_of_the_kernel(tmp_path: Path) -> None:
    found = both(OPEN, tmp_path)
    assert found.group_by("session").len().sort("session").rows() == [("api", 100), ("blocks", 30)]
    assert (found["start_ns"] == found["start_ns_linux"]).all()
    assert (found["flow"] == found["flow_linux"]).all()
    assert (found["transfer_bytes"] == found["transfer_bytes_linux"]).all()
    # Requests wait for each other: what the program took adds up.
    assert found["apart"].abs().max() <= 20 * PROGRAM_NS  # type: ignore[operator]


#: Columns of a flow that both engines have alike; times differ by what the program takes.
FLOW = ("delivered_bytes", "data_packets", "cwnd_max_packets", "retransmitted_packets")


def test_the_flow_of_messages_is_that_of_their_data_on_both_engines(tmp_path: Path) -> None:
    ours, kernel = (found.flows.sort("flow") for found in runs(OPEN, tmp_path))
    assert ours.select("flow", *FLOW).equals(kernel.select("flow", *FLOW))
    blocks = ours.filter(pl.col("flow") == "blocks-1")
    assert blocks["delivered_bytes"].to_list() == [30 * 40 * 1024]
    for column in ("established_ns", "last_delivery_ns"):
        apart = (ours[column] - kernel[column]).abs().max()
        assert apart <= 20 * PROGRAM_NS, column  # type: ignore[operator]


#: Request in two writes: Nagle's algorithm holds the second until the server's delayed ACK.
DELAYED = """
dumbbell: 1
name: delayed ACKs
template: {dumbbell: {rate: 1 Gbit/s, rtt: 1 ms, buffer: 1 BDP}}
hosts: {d1: {rto_min: $least}}
requests:
  - {name: rpc, client: s1, server: d1, count: 20, think: 10 ms, request: 400 B, request_writes: 2,
     response: 400 B}
duration: 5 s
factors: {least: [5 ms, 20 ms, 200 ms]}
"""


def test_an_ack_is_delayed_by_less_than_the_least_rto(tmp_path: Path) -> None:
    """`tcp_delack_max`: a tick less than `rto_min`, and 40 ms where the estimate says so."""
    took: dict[str, list[float]] = {}
    for found in runs(DELAYED, tmp_path):
        times = found.transfers.with_columns(took=pl.col("end_ns") - pl.col("start_ns"))
        for level, median in times.group_by("least").agg(pl.col("took").median()).rows():
            took.setdefault(level, []).append(median / 1e6)
    for level, most_ms in {"5 ms": 4, "20 ms": 19, "200 ms": 40}.items():
        ours, kernel = took[level]
        assert ours == pytest.approx(kernel, abs=PROGRAM_NS / 1e6), level
        # Two round trips, and a delay that ends with a tick.
        assert most_ms <= ours <= most_ms + 3.5, level
