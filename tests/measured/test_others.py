"""What is read of ss, irtt, qlog and FlowMonitor."""

from __future__ import annotations

import copy
import json

import pytest

from dumbbell.measured import flowmonitor, irtt, qlog, ss
from dumbbell.measured.values import MeasuredError
from tests.measured.samples import EVENTS, FLOWMONITOR, IRTT, QLOG, SS
from tests.measured.write_columns import table, written


def test_the_page_has_the_columns_of_each_format() -> None:
    assert written() == table(), "python -m tests.measured.write_columns"


def test_ss() -> None:
    found = ss.read(SS.encode())
    out, back = found.flows
    assert out["flow"] == "10.0.0.1:40000→10.0.0.2:5201"
    assert (out["congestion_control"], out["delivered_bytes"]) == ("cubic", 1_000_000)
    assert (out["start_ns"], out["end_ns"], out["retransmitted_packets"]) == (0, 10**9, 4)
    assert (back["from_host"], back["delivered_bytes"]) == ("10.0.0.2:5201", 40)
    first, second = [one for one in found.samples if one["flow"] == out["flow"]]
    assert first == {
        "time_ns": 0, "flow": out["flow"], "delivered_bytes": 0, "cwnd_packets": 10,
        "ssthresh_packets": 7, "sacked_packets": 2, "lost_packets": 1, "reordering_packets": 5,
        "delivered_packets": 0, "unsent_bytes": 70_000, "rto_ns": 224_000_000,
        "rtt_min_ns": 19_500_000, "busy_ns": 0, "srtt_ns": 20_500_000,
        "rttvar_ns": 1_250_000, "pacing_bps": 12_500_000, "delivery_rate_bps": 8_000_000,
        "app_limited": 1, "retransmitted_packets": 0, "in_flight_packets": 4 + 1 - 2 - 1,
    }  # fmt: skip
    assert (second["pacing_bps"], second["app_limited"]) == (10**9, 0)
    assert found.notes == ["[::1]:22→[::1]:5555: nothing was acknowledged or received, left out"]


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (("2026-11-30T01:00:00,500000000+00:00", "2026-11-30T01:00:02,000000000+00:00"), 1.5),
        (("23:59:59.5", "00:00:01"), 1.5),
        (("1700000000", "1700000003"), 3.0),
        (("1700000000500", "1700000002000"), 1.5),
        (("1700000000500000000", "1700000002000000000"), 1.5),
        (("# 1700000000.5", "timestamp: 1700000002"), 1.5),
        (("Mon Nov 30 23:59:59 UTC 2026", "Tue Dec  1 00:00:01 UTC 2026"), 2.0),
        (("Mon Nov 30 11:59:59 AM UTC 2026", "Mon Nov 30 12:00:01 PM UTC 2026"), 2.0),
        (("2026-11-30 01:00:00.5 UTC", "2026-11-30 01:00:02 UTC"), 1.5),
    ],
)
def test_times_of_ss(times: tuple[str, str], seconds: float) -> None:
    text = SS.replace("1700000000.000000", times[0]).replace("Time: 1700000001.000000", times[1])
    assert ss.read(text.encode()).flows[0]["end_ns"] == seconds * 1e9


def test_times_before_each_line_of_ss() -> None:
    """`ss -tin | ts '%.s'`, and logs with a time before each socket."""
    first, second = SS.split("Time: 1700000001.000000\n")
    first = first.removeprefix("1700000000.000000\n")
    whole = "".join(
        f"{time} {line}\n"
        for time, part in (("1700000000.5", first), ("2023-11-14T22:13:22.5+00:00", second))
        for line in part.splitlines()
    )
    found = ss.read(whole.encode())
    assert found.flows[0]["end_ns"] == 2 * 10**9
    assert found.flows[0]["delivered_bytes"] == 1_000_000


def test_congestion_control_behind_the_memory_of_a_socket() -> None:
    memory = "skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) ts sack cubic wscale"
    found = ss.read(SS.replace(" cubic wscale", f" {memory}").encode())
    assert found.flows[0]["congestion_control"] == "cubic"


def test_a_count_of_ss_that_falls_is_noted() -> None:
    again = SS[SS.index("Time: 1700000001") :].replace("bytes_acked:1001001", "bytes_acked:7")
    found = ss.read((SS + again.replace("1700000001", "1700000002")).encode())
    assert found.flows[0]["delivered_bytes"] == 1_000_000
    assert "bytes_acked falls from 1001001 to 7" in found.notes[0]


def test_ss_without_times() -> None:
    text = SS.replace("1700000000.000000\n", "").encode()
    with pytest.raises(MeasuredError, match="line 3: no time before it: print one before each ss"):
        ss.read(text)


def test_irtt() -> None:
    found = irtt.read(json.dumps(IRTT).encode())
    (flow,) = found.flows
    assert (flow["kind"], flow["rtt_mean_ns"], flow["rtt_min_ns"]) == ("ping", 21e6, 20_000_000)
    assert [one["delay_ns"] for one in found.probes] == [20_000_000, -1, 22_000_000]
    assert [one["time_ns"] for one in found.probes] == [0, 10_000_000, 20_000_000]
    assert found.notes == []
    other = copy.deepcopy(IRTT)
    other["stats"]["rtt"]["mean"] = 30_000_000  # type: ignore[index]
    other["version"]["json_format"] = 2  # type: ignore[index]
    with pytest.raises(MeasuredError, match=r"version.json_format: 2 is newer than 1"):
        irtt.read(json.dumps(other).encode())
    del other["version"]
    assert irtt.read(json.dumps(other).encode()).notes == [
        "stats.rtt.mean is 30 ms; its round trips give 21 ms"
    ]


def sequence(separator: str) -> bytes:
    trace = {name: value for name, value in QLOG["traces"][0].items() if name != "events"}  # type: ignore[index]
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "a log", "trace": trace}
    return "".join(f"{separator}{json.dumps(one)}\n" for one in (head, *EVENTS)).encode()


def test_qlog_in_each_form() -> None:
    found = qlog.read(json.dumps(QLOG).encode())
    (flow,) = found.flows
    assert (flow["flow"], flow["kind"], flow["retransmitted_packets"]) == ("client", "quic", 1)
    first, state, second = found.samples
    assert first == {
        "time_ns": 100_000_000, "flow": "client", "srtt_ns": 20_500_000, "rttvar_ns": 2_000_000,
        "rtt_min_ns": 19_000_000, "cwnd_packets": 10, "ssthresh_packets": 20,
        "in_flight_packets": 4, "pacing_bps": 1_000_000,
    }  # fmt: skip
    assert (state["state"], second["cwnd_packets"]) == ("recovery", 5)
    # What was delivered is not in these events, and is unknown.
    assert "delivered_bytes" not in flow
    assert qlog.read(sequence("\x1e")).samples == found.samples
    assert qlog.read(sequence("")).samples == found.samples
    assert qlog.looks(sequence("\x1e"))


def test_older_and_other_times_of_qlog() -> None:
    old = {
        "qlog_version": "draft-02",
        "traces": [
            {
                "vantage_point": {"type": "client"},
                "configuration": {"time_units": "us"},
                "event_fields": ["relative_time", "category", "event", "data"],
                "events": [
                    [1000 * one["time"], *one["name"].split(":"), one["data"]] for one in EVENTS
                ],
            }
        ],
    }
    for event in old["traces"][0]["events"]:  # type: ignore[index]
        for name in ("smoothed_rtt", "rtt_variance", "min_rtt"):
            if name in event[3]:
                event[3] = {**event[3], name: 1000 * event[3][name]}
    found = qlog.read(json.dumps(QLOG).encode())
    assert qlog.read(json.dumps(old).encode()).samples == found.samples
    late = copy.deepcopy(QLOG)
    late["traces"][0]["common_fields"]["time_format"] = "absolute"  # type: ignore[index]
    for event in late["traces"][0]["events"]:  # type: ignore[index]
        event["time"] += 1_700_000_000_000
    assert len(qlog.read(json.dumps(late).encode()).samples) == 3
    found = qlog.read(json.dumps(late).encode())
    assert found.flows[0]["end_ns"] == 195_000_000
    assert found.notes[0].startswith("client: times begin at 1700000000 s; ")


def test_the_initial_rtt_of_qlog_is_no_measurement() -> None:
    """quiche writes 333 ms and a least RTT of 0 before the first sample (RFC 9002)."""
    log = copy.deepcopy(QLOG)
    initial = {"smoothed_rtt": 333.0, "rtt_variance": 166.5, "min_rtt": 0.0}
    event = {"time": 20, "name": "recovery:metrics_updated", "data": initial}
    log["traces"][0]["events"].insert(1, event)
    found = qlog.read(json.dumps(log).encode())
    assert found.notes == []
    assert [one["srtt_ns"] for one in found.samples if "srtt_ns" in one] == [20_500_000]
    assert found.flows[0]["srtt_mean_ns"] == 20.5e6


def test_a_record_that_is_cut_off_is_left_out() -> None:
    found = qlog.read(sequence("\x1e")[:-10])
    assert len(found.samples) == 2
    assert found.notes == ["record 6: not JSON, or cut off; left out"]


def test_a_flow_of_flowmonitor_whose_packets_are_all_lost_delivers_nothing() -> None:
    lost = (
        'timeFirstTxPacket="+0ns" timeLastTxPacket="+2e+09ns" timeLastRxPacket="+0ns" '
        'txBytes="10280" rxBytes="0" txPackets="10" rxPackets="0"'
    )
    text = FLOWMONITOR.replace(
        'timeFirstTxPacket="+0ns" timeLastRxPacket="+2e+09ns" '
        'txBytes="10280" rxBytes="5140" txPackets="10" rxPackets="5"',
        lost,
    )
    flow = next(one for one in flowmonitor.read(text.encode()).flows if one["kind"] == "udp")
    assert (flow["delivered_bytes"], flow["received_packets"], flow["end_ns"]) == (0, 0, 2 * 10**9)


def test_flowmonitor() -> None:
    found = flowmonitor.read(FLOWMONITOR.encode())
    tcp, udp = found.flows
    assert (tcp["flow"], tcp["kind"]) == ("10.1.1.1:49153→10.1.2.2:80", "tcp")
    assert (tcp["start_ns"], tcp["end_ns"]) == (10**9, 3 * 10**9)
    assert (tcp["sent_packets"], tcp["received_packets"]) == (100, 98)
    assert tcp["received_bytes"] == 118_000 + 98 * 14
    # IP packets of TCP have retransmissions: the payload in order is unknown.
    assert "delivered_bytes" not in tcp
    assert udp["delivered_bytes"] == 5 * 1000
    assert found.notes == ["line 7: flow 4 has no length, or no addresses; left out"]


ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE FlowMonitor [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<FlowMonitor><FlowStats><Flow flowId="&b;"/></FlowStats></FlowMonitor>
"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (ENTITIES, "line 2: a document type"),
        (FLOWMONITOR[:500], "line 6, column 5: not XML, or cut off: unclosed token"),
        (FLOWMONITOR.replace('rxBytes="118000"', 'rxBytes="-1"'), "line 4: rxBytes is no count"),
        (FLOWMONITOR.replace("+1e+09ns", "+1e+99ns", 1), "line 4: timeFirstTxPacket is no time"),
        (FLOWMONITOR.replace('flowId="2"', 'flowId="1"', 1), "flow 1 twice"),
        ("<html><FlowMonitor/></html>", "not a file of FlowMonitor: <html>"),
    ],
)
def test_hostile_xml(text: str, error: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        flowmonitor.read(text.encode())
    assert error in str(raised.value)
