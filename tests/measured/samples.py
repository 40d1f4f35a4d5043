"""A sound file of each format, made by hand."""

from __future__ import annotations

import json
from typing import Any

from tests.measured.reports import encoded, tcp
from tests.measured.test_flent import file

SS = """\
1700000000.000000
State Recv-Q Send-Q Local Address:Port Peer Address:Port Process
ESTAB 0      90000  10.0.0.1:40000    10.0.0.2:5201
\t cubic wscale:7,7 rto:224 rtt:20.5/1.25 ato:40 mss:1448 pmtu:1500 cwnd:10 ssthresh:7 \
bytes_sent:5000 bytes_acked:1001 bytes_received:10 segs_out:9 send 5.6Mbps pacing_rate 12.5Mbps \
delivery_rate 8Mbps delivered:3 app_limited busy:100ms(2.0%) unacked:4 retrans:1/3 lost:1 \
sacked:2 reordering:5 notsent:70000 minrtt:19.5
ESTAB 0 0 [::1]:22 [::1]:5555
\t bbr wscale:7,7 rto:204 rtt:0.05/0.01 mss:1448 cwnd:10 bytes_acked:7 bytes_received:9
Time: 1700000001.000000
ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5201
\t cubic wscale:7,7 rto:230 rtt:30/2 mss:1448 cwnd:20 bytes_acked:1001001 bytes_received:50 \
retrans:0/7 pacing_rate 1Gbps delivery_rate 9Mbps
ESTAB 0 0 [::1]:22 [::1]:5555
\t bbr wscale:7,7 rto:204 rtt:0.05/0.01 mss:1448 cwnd:10 bytes_acked:7 bytes_received:9
"""
FLOWMONITOR = """\
<?xml version="1.0" ?>
<FlowMonitor>
  <FlowStats>
    <Flow flowId="1" timeFirstTxPacket="+1e+09ns" timeFirstRxPacket="+1.01e+09ns" \
timeLastTxPacket="+3e+09ns" timeLastRxPacket="+3.0e+09ns" delaySum="+1e+09ns" \
txBytes="120000" rxBytes="118000" txPackets="100" rxPackets="98" lostPackets="2"/>
    <Flow flowId="2" timeFirstTxPacket="+1e+09ns" timeLastRxPacket="+3e+09ns" \
txBytes="4000" rxBytes="4000" txPackets="100" rxPackets="100"/>
    <Flow flowId="3" timeFirstTxPacket="+0ns" timeLastRxPacket="+2e+09ns" \
txBytes="10280" rxBytes="5140" txPackets="10" rxPackets="5"/>
    <Flow flowId="4" timeFirstTxPacket="+0ns" timeLastRxPacket="+0ns" \
txBytes="10" rxBytes="0" txPackets="1" rxPackets="0"/>
  </FlowStats>
  <Ipv4FlowClassifier>
    <Flow flowId="1" sourceAddress="10.1.1.1" destinationAddress="10.1.2.2" protocol="6" \
sourcePort="49153" destinationPort="80"><Dscp value="0x0" packets="100"/></Flow>
    <Flow flowId="2" sourceAddress="10.1.2.2" destinationAddress="10.1.1.1" protocol="6" \
sourcePort="80" destinationPort="49153"/>
    <Flow flowId="3" sourceAddress="10.1.1.1" destinationAddress="10.1.2.2" protocol="17" \
sourcePort="49153" destinationPort="9"/>
  </Ipv4FlowClassifier>
</FlowMonitor>
"""


def trip(number: int, sent_ns: int, rtt_ns: int | None) -> dict[str, Any]:
    """A round trip of irtt."""
    sent = {"wall": 1_700_000_000_000_000_000 + sent_ns, "monotonic": 5_000_000 + sent_ns}
    return {
        "seqno": number,
        "lost": "true" if rtt_ns is None else "false",
        "timestamps": {"client": {"receive": {}, "send": sent}},
        "delay": {} if rtt_ns is None else {"rtt": rtt_ns},
    }


IRTT = {
    "version": {"irtt": "0.9.0", "protocol": 1, "json_format": 1},
    "config": {"remote_address": "10.0.0.2:2112", "duration": 1_000_000_000},
    "stats": {"start_time": "2026-11-30T01:00:00Z", "rtt": {"mean": 21_000_000}},
    "round_trips": [
        trip(0, 0, 20_000_000),
        trip(1, 10_000_000, None),
        trip(2, 20_000_000, 22_000_000),
    ],
}
EVENTS: list[dict[str, Any]] = [
    {"time": 5, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}}},
    {"time": 100, "name": "recovery:metrics_updated",
     "data": {"smoothed_rtt": 20.5, "rtt_variance": 2, "min_rtt": 19, "congestion_window": 12000,
              "ssthresh": 24000, "packets_in_flight": 4, "pacing_rate": 1_000_000}},
    {"time": 150, "name": "recovery:packet_lost", "data": {}},
    {"time": 150, "name": "recovery:congestion_state_updated", "data": {"new": "recovery"}},
    {"time": 200, "name": "recovery:metrics_updated", "data": {"congestion_window": 6000}},
]  # fmt: skip
QLOG = {
    "qlog_version": "0.3",
    "qlog_format": "JSON",
    "title": "a log",
    "traces": [{"vantage_point": {"type": "client"}, "common_fields": {}, "events": EVENTS}],
}
SAMPLES = {
    "iperf3": encoded(tcp([[1_000_000, 2_000_000], [500_000, 250_000]], lost=1000)),
    "flent": json.dumps(file(4), indent=1).encode(),
    "irtt": json.dumps(IRTT, indent=1).encode(),
    "qlog": json.dumps(QLOG).encode(),
    "ss": SS.encode(),
    "flowmonitor": FLOWMONITOR.encode(),
    "csv": b"time_s,flow,goodput_mbps,rtt_ms\n1,a,8,20\n2,a,9,21\n2,b,4,22\n3,a,8.5,20\n",
}
