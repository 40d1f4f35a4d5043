"""CSV with units in the names of its columns."""

from __future__ import annotations

import pytest

from dumbbell.measured import csv_columns
from dumbbell.measured.values import Measured, MeasuredError


def read(text: str) -> Measured:
    return csv_columns.read(text.encode())


def test_units_are_those_of_the_names() -> None:
    found = read("time_ms,flow,goodput_mbps,rtt_ms,cwnd_packets\n100,a,8,20,10\n200,a,16,21.5,12\n")
    assert csv_columns.looks(b"time_ms,flow,goodput_mbps\n")
    (flow,) = found.flows
    # 8 Mbit/s in 100 ms are 100 kB, 16 Mbit/s 200 kB.
    assert flow["delivered_bytes"] == 300_000
    assert flow["end_ns"] == 200_000_000
    assert flow["srtt_mean_ns"] == 20.75e6
    assert (flow["cwnd_mean_packets"], flow["cwnd_max_packets"]) == (11, 12)
    assert found.samples[1] == {
        "time_ns": 200_000_000,
        "flow": "a",
        "delivered_bytes": 300_000,
        "srtt_ns": 21_500_000,
        "cwnd_packets": 12,
    }
    assert found.notes == []


def test_probes() -> None:
    found = read("time_s;ping_ms\n0.1;20\n0.2;\n0.3;40\n")
    (flow,) = found.flows
    assert (flow["flow"], flow["kind"], flow["rtt_mean_ns"]) == ("ping", "ping", 30e6)
    assert [one["delay_ns"] for one in found.probes] == [20_000_000, 40_000_000]
    assert "delivered_bytes" not in flow


def test_what_is_not_read_is_named() -> None:
    found = read("time_s,goodput_mbit,cwnd_bytes,loss,goodput_kbps\n1,2,3,4,x\n2,,,,1000\n3,4\n")
    assert found.notes == [
        "line 1: column 'goodput_mbit' is not read; did you mean goodput_bps?",
        "line 1: column 'cwnd_bytes' is not read; did you mean cwnd_packets?",
        "line 1: column 'loss' is not read; did you mean lost_packets?",
        "line 2: goodput is no number ≥ 0: 'x'",
        "line 4: 2 values, not 5; left out",
    ]
    # 1000 kbit/s of the second between the rows.
    assert found.flows[0]["delivered_bytes"] == 125_000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: no column of time"),
        ("seconds,goodput_mbps\n1,2\n", "line 1: no column of time"),
        ("time_s,loss\n1,2\n", "line 1: nothing with a unit"),
        ("time_s,rtt_ms,rtt_us\n1,2,3\n", "line 1: two columns of rtt"),
        ("time_s,rtt_ms\n2,1\n1,1\n", "line 3: the time of tcp goes back"),
        ("time_s,rtt_ms,kind\n2,1,sctp\n", "line 2: kind is none of tcp"),
        ("time_s,rtt_ms\n0,1\n", "nothing measured in it"),
    ],
)
def test_errors_have_their_line(text: str, error: str) -> None:
    with pytest.raises(MeasuredError, match=error):
        read(text).checked()
