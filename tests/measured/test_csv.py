"""CSV with units in the names of its columns."""

from __future__ import annotations

import pytest

from dumbbell.measured import csv_columns
from dumbbell.measured.formats import format_of, read_as
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
    # 1000 kbit/s of the second between the rows; before, the rate is unknown.
    assert found.flows[0]["delivered_bytes"] == 125_000
    assert found.flows[0]["start_ns"] == 1_000_000_000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: no column of time"),
        ("seconds,goodput_mbps\n1,2\n", "line 1: no column of time"),
        ("time_s,loss\n1,2\n", "line 1: no known column beside the time; there are cwnd_packets"),
        ("time_s,rtt_ms,rtt_us\n1,2,3\n", "line 1: two columns of rtt"),
        ("time_s,rtt_ms\n2,1\n1,1\n", "line 3: the time of tcp goes back"),
        ("time_s,rtt_ms,kind\n2,1,sctp\n", "line 2: kind is none of tcp"),
        ("time_s,rtt_ms\n0,1\n", "nothing measured in it"),
        ("time_s,rtt_ms\n0,1\n1732950000,1\n", "line 3: a time of 1.73295e\\+09 s after the begin"),
    ],
)
def test_errors_have_their_line(text: str, error: str) -> None:
    with pytest.raises(MeasuredError, match=error):
        read(text).checked()


@pytest.mark.parametrize(
    ("begin_s", "note"),
    [
        ("1732950000", "times begin at 1732950000 s; time 0 is the first of them"),
        ("5", "times begin at 5 s; time 0 is the first of them"),
    ],
)
def test_times_of_a_clock_are_relative_to_the_first(begin_s: str, note: str) -> None:
    rows = [f"{int(begin_s) + step / 2},8,20" for step in range(3)]
    found = read("\n".join(["time_s,goodput_mbps,rtt_ms", *rows]))
    (flow,) = found.flows
    assert (flow["start_ns"], flow["end_ns"]) == (0, 10**9)
    # 8 Mbit/s for 1 s; the rate of the first row is that of an unknown time.
    assert flow["delivered_bytes"] == 1_000_000
    assert [one["time_ns"] for one in found.samples] == [0, 5 * 10**8, 10**9]
    assert found.notes == [note]


def test_a_late_flow_counts_from_its_first_row() -> None:
    first, second = ["0,a,0", "1,a,100", "9,a,900", "10,a,1000"], ["8,b,500", "9,b,600", "10,b,700"]
    a, b = read("\n".join(["time_s,flow,delivered_bytes", *first, *second])).flows
    assert (a["start_ns"], a["delivered_bytes"]) == (0, 1000)
    # 500 bytes were delivered before the first row, in a time that nobody knows.
    assert (b["start_ns"], b["end_ns"], b["delivered_bytes"]) == (8 * 10**9, 10**10, 200)


@pytest.mark.parametrize("column", ["delivered_bytes", "retransmitted_packets", "acked_bytes"])
def test_a_count_that_falls_is_refused(column: str) -> None:
    said = f"line 4: {column} of tcp falls: found 900; allowed: ≥ 1000"
    with pytest.raises(MeasuredError, match=said):
        read(f"time_s,{column}\n1,0\n2,1000\n3,900\n")


def test_a_decimal_comma_between_semicolons() -> None:
    """As spreadsheets write it where the comma is decimal; one with a point is no number."""
    found = read("time_s;flow;rtt_ms\n0,5;a;20,25\n1,0;a;1.020,5\n")
    assert [one.get("srtt_ns") for one in found.samples] == [20_250_000]
    assert found.notes == ["line 3: rtt is no number ≥ 0: '1.020,5'"]


def test_a_file_without_a_time_says_why_nothing_was_measured() -> None:
    with pytest.raises(MeasuredError, match=r"nothing measured.*line 2: time is no number"):
        read_as(csv_columns.FORMAT, b"time_s,rtt_ms\n12:00:01,20\n")


@pytest.mark.parametrize("gap", ["", "NaN", "-5"])
def test_what_a_flow_delivered_is_unknown_behind_an_unknown_rate(gap: str) -> None:
    found = read(f"time_s,goodput_mbps,rtt_ms\n1,8,20\n2,{gap},20\n3,8,20\n")
    assert "delivered_bytes" not in found.flows[0]
    assert [one.get("delivered_bytes") for one in found.samples] == [10**6, None, None]
    assert "line 3: goodput of tcp is unknown, and so is what it delivered" in found.notes


def test_a_probe_between_two_rates_does_not_shorten_the_interval() -> None:
    found = read("time_s,goodput_mbps,ping_ms\n1,8,\n1.5,,20\n2,8,\n")
    assert (found.flows[0]["end_ns"], found.flows[0]["delivered_bytes"]) == (10**9, 10**6)


def test_two_rates_at_one_time_are_noted() -> None:
    found = read("time_s,goodput_mbps\n1,8\n1,4\n2,8\n")
    assert found.notes == ["line 3: tcp has a row of this time before; its goodput is left out"]


def test_a_flow_of_probes_beside_flows_of_data_is_a_ping() -> None:
    found = read("time_s,flow,goodput_mbps,ping_ms\n1,a,8,\n1,p,,20\n2,a,8,\n2,p,,30\n")
    assert [(one["flow"], one["kind"]) for one in found.flows] == [("a", "tcp"), ("p", "ping")]
    assert found.flows[1]["rtt_mean_ns"] == 25e6


def test_what_looks_like_csv_is_told_how_columns_are_named() -> None:
    with pytest.raises(MeasuredError, match="names columns with their units"):
        format_of(b"Time (s),Throughput (Mbps)\n1,10\n")


def test_a_second_json_text_in_a_file_is_told() -> None:
    """`iperf3 -s -J --logfile` writes a report per test into one file."""
    report = b'{"start": {"connected": []}, "end": {}}\n'
    with pytest.raises(MeasuredError, match="line 2, column 1: a second JSON text begins"):
        read_as(format_of(report), report * 2)
