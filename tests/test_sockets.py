"""TCP sockets of programs: their names, the table and the lines of report and explorer."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, cast

import polars as pl
import pytest

from dumbbell.explore.series import Lines
from dumbbell.explore.sources import Source
from dumbbell.figures import plot
from dumbbell.metrics.sockets import senders
from dumbbell.report.programs import programs_part
from dumbbell.results import Results
from dumbbell.summary.sockets import named, sockets
from tests.synthetic import results

S1, D1 = "10.0.0.1", "10.0.0.2"


def row(
    time_ms: int, host: str, local: str, remote: str, acked: int, **more: object
) -> dict[str, object]:
    """A row of `sockets` of run `r`."""
    return {
        "run": "r", "repeat": 0, "seed": 1, "time_ns": time_ms * 1_000_000, "host": host,
        "local": local, "remote": remote, "tcp_state": "ESTABLISHED", "congestion_control": "cubic",
        "state": "Open", "cwnd_packets": 10, "ssthresh_packets": 2**31 - 1, "in_flight_packets": 1,
        "srtt_ns": 20_000_000, "rttvar_ns": 1, "rtt_min_ns": 20_000_000, "rto_ns": 1,
        "pacing_bps": 1, "delivery_rate_bps": 1, "receive_queue_bytes": 0, "send_queue_bytes": 0,
        "acked_bytes": acked, "received_bytes": 0, "retransmitted_packets": 0, **more,
    }  # fmt: skip


def transfer(
    port: int, bytes_per_s: int, begin_ms: int = 1000, **more: object
) -> list[dict[str, object]]:
    """Both ends of a transfer of s1 to the port 5201 of d1, every 100 ms for 2 s."""
    ends = f"{S1}:{port}", f"{D1}:5201"
    rows = []
    for time_ms in range(begin_ms, begin_ms + 2001, 100):
        acked = 1 + bytes_per_s * (time_ms - begin_ms + 100) // 1000
        rows.append(row(time_ms, "s1", *ends, acked, **more))
        rows.append(row(time_ms, "d1", *reversed(ends), 0, received_bytes=acked, srtt_ns=-1))
    return rows


def made(rows: Sequence[dict[str, object]]) -> Results:
    run = {"run": "r", "repeat": 0, "seed": 1, "engine": "linux", "scenario": '{"duration_ns": 1}'}
    program = {
        "run": "r", "repeat": 0, "seed": 1, "program": "p", "host": "s1", "command": "iperf3",
        "outcome": "exited", "exit_code": 0, "start_ns": 0, "end_ns": 5, "output": "", "errors": "",
    }  # fmt: skip
    return results({}, {"sockets": list(rows), "runs": [run], "programs": [program]})


def names(rows: Sequence[dict[str, object]], column: str = "title") -> list[str]:
    return named(made(rows).sockets).unique("socket", maintain_order=True)[column].to_list()


def test_both_ends_have_names_and_ports() -> None:
    assert names(transfer(40000, 1000), "socket") == ["s1:40000→d1:5201", "d1:5201→s1:40000"]
    # The end that only receives is told by its full name.
    assert names(transfer(40000, 1000))[0] == "CUBIC s1→d1:5201"


def test_ports_of_clients_are_told_only_where_two_would_be_alike() -> None:
    control = transfer(40000, 10)  # As that of iperf3: it sends less than 1 % of the other.
    one = [*control, *transfer(40002, 100_000)]
    assert "CUBIC s1→d1:5201" in names(one)
    two = [*one, *transfer(40004, 100_000)]
    assert "CUBIC s1→d1:5201" not in names(two)
    assert {"CUBIC s1:40002→d1:5201", "CUBIC s1:40004→d1:5201"} <= set(names(two))


def test_loopback_and_unknown_hosts() -> None:
    rows = [
        row(0, "s1", "127.0.0.1:40000", "127.0.0.1:80", 5),
        row(0, "d1", "127.0.0.1:40000", "127.0.0.1:80", 5),
        row(0, "d1", f"{D1}:40000", "10.9.9.9:80", 5),
    ]
    assert names(rows, "socket") == ["s1:40000→s1:80", "d1:40000→d1:80", "d1:40000→10.9.9.9:80"]


def test_built_in_flows_are_left_out() -> None:
    flow = [
        row(0, "s1", f"{S1}:20003", f"{D1}:5003", 900),
        row(0, "d1", f"{D1}:5003", f"{S1}:20003", 900),
    ]
    assert names([*flow, *transfer(40000, 1000)], "socket")[0] == "s1:40000→d1:5201"
    assert not sockets(made(flow))
    # Other ports in the same ranges are a program's.
    assert len(names([row(0, "s1", f"{S1}:20003", f"{D1}:5004", 900)])) == 1


def test_those_that_sent_little_are_not_drawn() -> None:
    frame = named(made([*transfer(40000, 10), *transfer(40002, 100_000)]).sockets)
    assert senders(frame, 6)["socket"].unique().to_list() == ["s1:40002→d1:5201"]
    assert senders(frame.clear(), 6).is_empty()


def test_the_table_has_rates_and_means() -> None:
    rows = transfer(40000, 1_250_000)
    for number, one in enumerate(rows):
        one["cwnd_packets"] = 10 + number // 2
    (one,) = sockets(made(rows))
    assert (one.name, one.congestion_control) == ("s1:40000→d1:5201", "cubic")
    assert (one.from_s, one.to_s) == (1.0, 3.0)
    assert one.rate_mbps == pytest.approx(10.0)
    assert (one.cwnd_mean, one.cwnd_max) == (20.0, 30)
    assert (one.rtt_mean_ms, one.rtt_min_ms) == (20.0, 20.0)
    (alone,) = sockets(
        made([row(0, "s1", f"{S1}:40000", f"{D1}:80", 99, srtt_ns=-1, rtt_min_ns=-1)])
    )
    assert (alone.rate_mbps, alone.rtt_mean_ms, alone.rtt_min_ms) == (None, None, None)


def test_the_report_has_a_table_of_them() -> None:
    part = "".join(map(str, programs_part(made(transfer(40000, 1_250_000)))))
    assert "TCP sockets of programs" in part and "s1:40000→d1:5201" in part
    assert "d1:5201→s1:40000" not in part  # It sent nothing.
    many = [one for port in range(40000, 40050) for one in transfer(port, 1000)]
    assert "TCP sockets of programs (50)" in "".join(map(str, programs_part(made(many))))
    assert "TCP sockets" not in "".join(map(str, programs_part(made([]))))


def test_the_figure_over_time_has_their_windows_rates_and_rtts() -> None:
    figure = plot(made(transfer(40000, 1_250_000)), "series")
    spec: Any = figure.spec
    points = list(csv.DictReader(io.StringIO(spec["data"]["values"])))
    panels = list(dict.fromkeys(point["panel"] for point in points))
    assert panels == ["Window (packets)", "Goodput (Mbit/s)", "RTT (ms)"]
    assert {point["line"] for point in points} == {"CUBIC s1→d1:5201"}
    rates = [float(one["value"]) for one in points if one["panel"] == "Goodput (Mbit/s)"]
    # Also in the first stretch that is drawn: what was sent before the first row has no rate.
    assert rates and all(rate == pytest.approx(10.0, rel=1e-3) for rate in rates)


class _Shown:
    """A source of the explorer with tables in memory."""

    def __init__(self, tables: Results) -> None:
        self.results = tables

    def rows(self, table: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        return self.results.of_runs(table, runs, columns)


def test_the_explorer_draws_them_as_flows() -> None:
    rows = [*transfer(40000, 10), *transfer(40002, 1_250_000, pacing_bps=2_000_000)]
    lines = Lines(cast(Source, _Shown(made(rows))))
    for quantity, value in {"cwnd": 10.0, "rtt": 20.0, "goodput": 10.0, "pacing": 2.0}.items():
        (line,) = lines.of(["r"], quantity)
        assert line.name == "s1:40002→d1:5201"
        assert line.values[-1] == pytest.approx(value)
    assert not lines.of(["r"], "lost")  # `ss` has no such column in this table.
    assert lines.algorithms(["r"])["s1:40002→d1:5201"] == "cubic"
