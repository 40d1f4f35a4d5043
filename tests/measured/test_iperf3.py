"""Reports of iperf3: what is read of them, and what is said of their sums."""

from __future__ import annotations

import copy

import pytest

from dumbbell.measured import iperf3
from dumbbell.measured.formats import format_of
from dumbbell.measured.values import MeasuredError
from dumbbell.summary.programs import said
from tests.measured.reports import encoded, events, head, tcp, udp

TWO = tcp([[1_000_000, 2_000_000], [500_000, 250_000]], lost=1000)


def test_a_stream_is_a_flow_and_an_interval_a_sample() -> None:
    found = iperf3.read(encoded(TWO))
    first, second = found.flows
    assert (first["flow"], first["kind"], first["congestion_control"]) == ("tcp-1", "tcp", "cubic")
    assert (first["delivered_bytes"], second["delivered_bytes"]) == (2_999_000, 749_000)
    assert (first["start_ns"], first["end_ns"]) == (0, 2_000_000_000)
    assert (first["retransmitted_packets"], first["cwnd_max_packets"]) == (1, 20)
    assert first["srtt_mean_ns"] == 21e6
    own = [one for one in found.samples if one["flow"] == "tcp-1"]
    assert [one["time_ns"] for one in own] == [1_000_000_000, 2_000_000_000]
    assert [one["delivered_bytes"] for one in own] == [1_000_000, 3_000_000]
    assert [one["cwnd_packets"] for one in own] == [10, 10]
    assert [one["retransmitted_packets"] for one in own] == [0, 1]
    # The least of smoothed RTTs is not the least RTT; frames on the line are not known.
    assert not first.keys() & {"rtt_min_ns", "sent_bytes", "sent_packets", "data_packets"}
    assert found.notes == ["bytes over time are those written at the sender: tcp-1, tcp-2"]


def test_a_stream_of_events_is_the_same() -> None:
    assert iperf3.read(events(TWO)) == iperf3.read(encoded(TWO))
    assert iperf3.looks(events(TWO)) and iperf3.looks(encoded(TWO))
    cut = events(TWO).splitlines(keepends=True)
    broken = b"".join([cut[0], cut[1][:50] + b"\n", *cut[2:]])
    found = iperf3.read(broken)
    assert "line 2: not a whole event, left out" in found.notes
    assert len(found.flows) == 2 and len(found.samples) == 2
    with pytest.raises(MeasuredError, match="did not finish"):
        iperf3.read(b"".join(cut[:-1]))


def test_sums_that_are_not_those_of_the_streams_are_said() -> None:
    report = copy.deepcopy(TWO)
    report["end"]["sum_received"]["bytes"] = 1
    report["end"]["sum_sent"]["bits_per_second"] /= 2
    report["intervals"][1]["sum"]["bits_per_second"] *= 1.01
    notes = iperf3.read(encoded(report)).notes
    assert "end.sum_received.bytes is 1; its streams have 3748000" in notes
    assert any(one.startswith("end.sum_sent.bits_per_second is 7.5e+06; ") for one in notes)
    assert any(one.startswith("intervals[1].sum.bits_per_second is 1.818e+07; ") for one in notes)
    # The flows are those of the streams all the same.
    assert iperf3.read(encoded(report)).flows == iperf3.read(encoded(TWO)).flows


def test_omitted_intervals_are_left_out() -> None:
    report = copy.deepcopy(TWO)
    for one in report["intervals"][0]["streams"]:
        one["omitted"] = True
    report["intervals"][0]["sum"]["omitted"] = True
    for one in (*report["intervals"][1]["streams"], report["intervals"][1]["sum"]):
        one |= {"start": 0.0, "end": 1.0}
    found = iperf3.read(encoded(report))
    assert [one["time_ns"] for one in found.samples] == [1_000_000_000] * 2
    assert not any("sum" in one for one in found.notes)
    assert "intervals omitted by -O are left out; time 0 is their end" in found.notes
    # iperf3 3.12 counts the first interval from before time 0: half the rate.
    report["intervals"][1]["sum"]["bits_per_second"] /= 2
    assert any("intervals[1].sum.bits" in one for one in iperf3.read(encoded(report)).notes)


def test_datagrams_of_a_server_and_of_a_client() -> None:
    report = udp(1000, 50, 5)
    (flow,) = iperf3.read(encoded(report)).flows
    assert (flow["kind"], flow["delivered_bytes"]) == ("udp", 45_000)
    assert (flow["data_packets"], flow["received_packets"]) == (50, 45)
    report["end"]["streams"][0]["udp"]["bytes"] = 0  # which a server writes
    assert iperf3.read(encoded(report)).flows == [flow]
    del report["start"]["test_start"]["blksize"]
    assert "delivered_bytes" not in iperf3.read(encoded(report)).flows[0]


def test_a_server_that_sends_does_not_know_what_was_received() -> None:
    report = copy.deepcopy(TWO)
    for one in report["end"]["streams"]:
        one["receiver"]["bytes"] = 0
    report["start"]["accepted_connection"] = {"host": "10.0.0.1", "port": 1}
    assert all("delivered_bytes" not in one for one in iperf3.read(encoded(report)).flows)
    del report["start"]["accepted_connection"]
    assert [one["delivered_bytes"] for one in iperf3.read(encoded(report)).flows] == [0, 0]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda r: r.update(error="unable to connect", end={}), "iperf3 says: unable to connect"),
        (
            lambda r: r["end"]["streams"][0]["receiver"].update(bytes=-1),
            "a number of 0 or more: -1",
        ),
        (lambda r: r["end"]["streams"][0]["receiver"].update(bytes="x"), "not a number: 'x'"),
        (lambda r: r["end"]["streams"][0]["receiver"].update(end=1e99), "a number of 0 or more"),
        (lambda r: r["end"]["streams"][0]["receiver"].update(end=1e12), "a time of 1e+12 s"),
        (lambda r: r["end"].update(streams=[1]), "not an object: 1"),
        (lambda r: r["end"].update(streams={}), "not a list: dict"),
        (lambda r: r["end"]["streams"].append(r["end"]["streams"][0]), "two streams of one socket"),
        (lambda r: r["start"]["test_start"].update(protocol="SCTP"), "neither TCP nor UDP: SCTP"),
    ],
)
def test_what_cannot_be_is_refused(change, error: str) -> None:  # type: ignore[no-untyped-def]
    report = copy.deepcopy(TWO)
    change(report)
    with pytest.raises(MeasuredError) as raised:
        iperf3.read(encoded(report)).checked()
    assert error in str(raised.value)
    assert raised.value.place


def test_a_test_without_streams_has_nothing() -> None:
    with pytest.raises(MeasuredError, match="nothing measured in it"):
        iperf3.read(encoded({**head("TCP"), "intervals": [], "end": {}})).checked()


def test_a_run_says_what_its_iperf3_said() -> None:
    """The same reader, where iperf3 runs as a program on the kernel."""
    text = encoded(TWO).decode()
    assert said(text, "") == "14.99 Mbit/s, 2 retransmissions"
    assert said(encoded(udp(1000, 50, 5)).decode(), "") == "0.36 Mbit/s, 10 % lost"
    refused = {"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}
    assert said(encoded(refused).decode(), "") == "unable to connect"
    assert said(text[:500], "").startswith('"')  # cut off: its last line


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_what_an_interrupted_client_did_not_hear_is_unknown(protocol: str) -> None:
    """iperf3 then writes 0 received bytes of TCP, and no lost datagram of UDP."""
    report = tcp([[1_000_000, 2_000_000]], lost=0) if protocol == "tcp" else udp(1000, 50, 0)
    report["error"] = "interrupt - the client has terminated"
    (stream,) = report["end"]["streams"]
    if protocol == "tcp":
        stream["receiver"]["bytes"] = 0
    else:
        stream["udp"]["sender"] = True
    found = iperf3.read(encoded(report))
    (flow,) = found.flows
    assert not flow.keys() & {"delivered_bytes", "received_packets"}
    assert any("before the receiver reported" in note for note in found.notes)


def test_the_text_of_iperf3_names_the_option_for_json() -> None:
    text = b"Connecting to host a\n[ ID] Interval           Transfer     Bitrate\n"
    with pytest.raises(MeasuredError, match="iperf3 -J"):
        format_of(text)
