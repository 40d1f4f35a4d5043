"""Every field of a scenario can be reached, and what is not written has its documented value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _core
from dumbbell.catalogue import disciplines, tcp_options
from dumbbell.experiment import json_schema, load_text
from tests.helpers import BASE, loaded, message, scenario

EVERYTHING = """
dumbbell: 1
name: everything
hosts:
  defaults: {profile: linux-4.15, processing_jitter: 1 us}
  a: {tcp_sack: 0, mtu: 9000 bytes, rto_min: 300 ms, tcp_rmem: 4096 8192 16384}
  b: {processing_jitter: 0 us}
routers: {r: {spray: {policy: per_flow, what: acks, first: 1}, processing_jitter: 2 us}}
switches: {s: {spray: random}}
links:
  - name: ar
    between: [a, r]
    delay: 1 ms
    backward:
      rate: 1 Gbit/s
      queue: {fq_codel: {limit: 9 packets, flows: 2, quantum: 9014 bytes, target: 1 ms}}
  - name: rs1
    between: [r, s]
    policer: {rate: 9 Mbit/s, burst: 10 KiB}
    loss: {gilbert_elliott: {good_to_bad: 1 %, bad_to_good: 10 %, loss_good: 1 ppm, loss_bad: 50 %}}
    corruption: 0.1 %
    duplication: 0.2 %
    buffer: [50 packets, 64 KiB]
    rate: 10 Mbit/s
    framing: ethernet
    delay: 2 ms
    jitter: 1 ms
    reordering: {probability: 1 %, extra_delay: 3 ms}
    ack_aggregation: {max_wait: 4 ms, max_acks: 5}
    rewrites: [{flow: t, nth: [3], ecn: ce, clear_flags: cwr, set_flags: ece, strip_option: accecn}]
    changes:
      - {at: 1 s, rate: 5 Mbit/s, delay: 6 ms, loss: 7 %}
      - {at: 2 s, loss: none, state: down}
      - {at: 2.5 s, state: up}
    backward:
      loss: {scripted: [{flow: t, nth: 3}, {flow: t, nth: [5, 7]}]}
      shaper: {trace: {deliveries: [1, 2, 2]}}
      changes: []
  - name: rs2
    between: [r, s]
    shaper: {tbf: {rate: 8 Mbit/s, burst: 2 KiB, initial: 100 bytes, peak: {rate: 9 Mbit/s}}}
    netem: {delay: 1 ms, jitter: 2 ms, limit: 7 packets}
    loss: {independent: {probability: 1 %}}
  - name: sb
    between: [s, b]
    shaper: {serial: {rate: 1 Gbit/s}}
    forward:
      buffer: 1 BDP of t
      slots: {min: 1 ms, max: 2 ms, packets: 3, bytes: 4 KiB, pause: 5 ms, pause_every: 1 s}
    backward: {queue: {codel: {limit: 9 packets, target: 1 ms, interval: 20 ms}}}
  - name: sr
    between: [s, r]
    forward:
      queue:
        htb:
          rate: 1 Mbit/s
          burst: 2 KiB
          classes:
            - {dscp: [EF, 10], rate: 100 kbit/s, ceil: 200 kbit/s, burst: 3 KiB, cburst: 4 KiB,
               prio: 1, quantum: 9100 bytes, queue: {drr: {classes: [
                 {dscp: CS1, quantum: 9200 bytes, queue: {pfifo_head_drop: {limit: 3 packets}}},
                 {quantum: 9014 bytes, queue: {sfq: {limit: 8 packets, flows: 4, depth: 5,
                                                    quantum: 9014 bytes, headdrop: true}}}]}}}
            - {rate: 300 kbit/s, quantum: 9014 bytes, queue: {prio: {bands: [
                {dscp: 0, queue: {bfifo: {limit: 5 KiB}}},
                {queue: {fq: {limit: 8 packets, flow_limit: 4 packets, quantum: 9014 bytes,
                              initial_quantum: 9100 bytes}}}]}}}
    backward:
      queue: {red: {limit: 90000 bytes, min: 10000 bytes, max: 30000 bytes, avpkt: 500 bytes,
                    burst: 40, probability: 5 %, ecn: true, harddrop: true, adaptive: true}}
      rate: 1 Mbit/s
  - name: ra
    between: [r, a]
    rate: 1 Mbit/s
    framing: {overhead: -4 bytes, mpu: 60 bytes, atm: true}
    queue: {pie: {limit: 8 packets, target: 20 ms, tupdate: 10 ms, alpha: 3, beta: 30, ecn: true,
                  bytemode: true}}
    backward:
      queue: {fq_pie: {limit: 8 packets, target: 20 ms, tupdate: 10 ms, alpha: 3, beta: 30,
                       ecn: true, bytemode: true, flows: 7, quantum: 9014 bytes, ecn_prob: 20}}
routes: [{at: r, to: b, via: [rs2, rs1]}]
arrivals:
  - {name: fixed, group: short, from: a, to: b, start: 1 s, stop: 2 s, dscp: 8, load: 8 Mbit/s,
     size: 1000 bytes, tcp: {congestion_control: bbr, fq: false, sender: {initcwnd: 4}}}
  - {name: exp, from: a, to: b, per_second: 5, size: {exponential: 10 KB}, tcp: cubic}
  - {name: log, from: a, to: b, per_second: 5, size: {lognormal: {median: 1 KB, sigma: 1.5}},
     tcp: cubic}
  - {name: par, from: a, to: b, per_second: 5, tcp: reno,
     size: {pareto: {shape: 1.2, min: 1 KB, max: 1 MB}}}
  - {name: emp, from: a, to: b, per_second: 5, tcp: reno,
     size: {empirical: [{size: 1 KB, upto: 50 %}, {size: 9 KB, upto: 100 %}]}}
pages:
  - name: page
    client: b
    server: a
    start: 1 s
    start_jitter: 5 ms
    protocol: http/1.1
    connections: 2
    tls: "1.2"
    lookup: 3 ms
    congestion_control: bbr
    fq: false
    notsent_lowat: 16 KB
    request: 300 bytes
    objects:
      - {name: index, size: 10 KB, service: 7 ms}
      - {name: "image{i}", count: 2, size: 1 KB, request: 301 bytes, server: a, after: index,
         delay: 9 ms, group: images}
requests:
  - {name: closed, client: b, server: a, connections: 2, think: 2 ms, count: 9, request: 99 bytes,
     request_writes: 2, response: {exponential: 3 KB}, service: 5 ms, nodelay: true, dscp: EF}
  - {name: messages, group: g, client: a, server: b, start: 1 s, stop: 4 s, per_second: 20,
     request: 7 KB, congestion_control: bbr, fq: false}
flows:
  - name: m
    from: a
    to: b
    mptcp:
      congestion_control: olia
      path_manager: ndiffports
      scheduler: blest
      subflows: [{local: ar}, {local: ar, backup: true, start: 1 s}]
      opportunistic: true
      bytes: 1 MB
  - name: t
    from: a
    to: b
    start: 1 s
    stop: 2 s
    start_jitter: 2 RTT
    tcp:
      congestion_control: bbr
      fq: false
      source: {periodic: {chunk: 1 KiB, interval: 10 ms, bytes: 1 MiB}}
      sink: {lowat: 2 bytes, rate: 1 Mbit/s}
      sender: {initcwnd: 3}
      receiver: {profile: linux-6.1}
  - name: bursts
    from: b
    to: a
    tcp:
      congestion_control: reno
      source:
        on_off:
          {chunk: 2 KiB, interval: 10 ms, on: 1 s, off: 2 s, lengths: exponential, bytes: 3 KiB}
  - name: bulk
    from: b
    to: a
    tcp: {congestion_control: reno, fq: 1, source: {bulk: {bytes: 5 KiB, refill: 1 ms}}}
  - name: u
    from: a
    to: b
    udp: {rate: 1 Mbit/s, datagram: 8 KiB, interval: 1 ms, mtu: 1400 bytes, sleeps: true}
  - {name: p, from: a, to: b, dscp: AF41,
     ping: {interval: 2 s, payload: 100 bytes, protocol: udp}}
  - {name: v, from: a, to: b, voice: g711}
  - {name: w, from: a, to: b, video: {rate: 3 Mbit/s, off: 3 s, lengths: exponential}}
  - {name: q, from: a, to: b, quic: {congestion_control: bbr, bytes: 3 KiB}}
taps: [{name: here, at: r, link: ar}, {at: s, link: sb}]
sampling: {interval: 5 ms, keep: [samples, queues, drops, probes], packets: {from: 1 s, to: 2 s},
           hops: {from: 1 s, to: 2 s}}
neighbour_discovery: {reachable: 20 s, probe_delay: 4 s}
duration: 10 s
"""


def test_everything() -> None:
    found = scenario(EVERYTHING)
    nodes = {node["name"]: node for node in found["nodes"]}
    assert nodes["a"]["processing_jitter_ns"] == 1_000
    assert nodes["b"]["processing_jitter_ns"] == 0
    assert nodes["r"] == {
        "name": "r",
        "kind": "router",
        "spray": {"policy": "per_flow", "what": "acks", "first": 1},
        "processing_jitter_ns": 2_000,
        "tcp": None,
    }
    assert nodes["s"]["kind"] == "switch"
    assert nodes["s"]["spray"] == {"policy": "random", "what": "both", "first": None}
    options = nodes["a"]["tcp"]
    assert (options["tcp_sack"], options["tcp_dsack"]) == (False, False)
    assert (options["mtu_bytes"], options["rto_min_ns"]) == (9000, 300_000_000)
    assert options["tcp_rmem"] == [4096, 8192, 16384]
    assert options["tcp_comp_sack_nr"] == 0  # of linux-4.15
    assert found["links"][1]["forward"] == {
        "policer": {"rate_bps": 9_000_000, "burst_bytes": 10_240},
        "loss": {
            "gilbert_elliott": {
                "good_to_bad": 0.01, "bad_to_good": 0.1, "loss_good": 1e-6, "loss_bad": 0.5
            }
        },
        "corruption": 0.001,
        "duplication": 0.002,
        "queue": {"drop_tail": {"limit_packets": 50, "limit_bytes": 65_536}},
        "shaper": {"serial": {"rate_bps": 10_000_000}},
        "framing": {"overhead_bytes": 24, "mpu_bytes": 84, "atm": False},
        "delay_ns": 2_000_000,
        "jitter_ns": 1_000_000,
        "reordering": {"probability": 0.01, "extra_delay_ns": 3_000_000},
        "ack_aggregation": {"max_wait_ns": 4_000_000, "max_acks": 5},
        "rewrites": [
            {
                "flow": "t",
                "nth": [3],
                "ecn": "ce",
                "clear_flags": ["cwr"],
                "set_flags": ["ece"],
                "strip_accecn": True,
            }
        ],
        "changes": [
            {
                "at_ns": 10**9,
                "rate_bps": 5_000_000,
                "delay_ns": 6_000_000,
                "loss": {"independent": {"probability": 0.07}},
            },
            {
                "at_ns": 2 * 10**9,
                "rate_bps": None,
                "delay_ns": None,
                "loss": "none",
                "state": "down",
            },
            {
                "at_ns": 2_500_000_000,
                "rate_bps": None,
                "delay_ns": None,
                "loss": None,
                "state": "up",
            },
        ],
    }  # fmt: skip
    backward = found["links"][1]["backward"]
    drops = [{"flow": "t", "nth": n} for n in (3, 5, 7)]
    assert backward["loss"] == {"scripted": {"drops": drops}}
    assert backward["shaper"] == {"trace": {"deliveries_ms": [1, 2, 2]}}
    assert backward["changes"] == []
    second = found["links"][2]["forward"]
    netem = {"delay_ns": 1_000_000, "jitter_ns": 2_000_000, "limit_packets": 7}
    assert second["queue"] == {"netem": netem}
    peak = {"rate_bps": 9_000_000, "burst_bytes": 1514}
    tbf = {"rate_bps": 8_000_000, "burst_bytes": 2048, "initial_bytes": 100, "peak": peak}
    assert second["shaper"] == {"tbf": tbf}
    check_disciplines(found)
    assert found["routes"] == [{"at": "r", "to": "b", "via": ["rs2", "rs1"]}]
    check_flows(found)
    (sb,) = (link for link in found["links"] if link["name"] == "sb")
    assert sb["forward"]["slots"] == {
        "min_ns": 1_000_000, "max_ns": 2_000_000, "packets": 3, "bytes": 4096,
        "pause_ns": 5_000_000, "pause_every_ns": 10**9,
    }  # fmt: skip
    assert "slots" not in sb["backward"]
    assert found["taps"] == [
        {"name": "here", "node": "r", "link": "ar"},
        {"name": "s:sb", "node": "s", "link": "sb"},
    ]
    assert found["sampling"] == {
        "interval_ns": 5_000_000, "samples": True, "queues": True, "drops": True,
        "probes": True,
        "packets": {"from_ns": 10**9, "to_ns": 2 * 10**9}, "capture": None,
        "hops": {"from_ns": 10**9, "to_ns": 2 * 10**9},
    }  # fmt: skip


def check_disciplines(found: dict[str, Any]) -> None:
    links = {link["name"]: link for link in found["links"]}
    htb = links["sr"]["forward"]["queue"]["htb"]
    assert links["sr"]["forward"]["shaper"] == "none"
    assert (htb["rate_bps"], htb["burst_bytes"]) == (1_000_000, 2048)
    first, second = htb["classes"]
    assert {name: value for name, value in first.items() if name != "queue"} == {
        "dscp": [46, 10], "rate_bps": 100_000, "ceil_bps": 200_000, "burst_bytes": 3072,
        "cburst_bytes": 4096, "priority": 1, "quantum_bytes": 9100,
    }  # fmt: skip
    # A class may borrow all of the parent's rate.
    assert (second["dscp"], second["ceil_bps"]) == ([], 1_000_000)
    turns = first["queue"]["drr"]["classes"]
    assert [turn["quantum_bytes"] for turn in turns] == [9200, 9014]
    assert turns[0]["queue"] == {"head_drop": {"limit_packets": 3}}
    assert turns[1]["queue"]["sfq"]["headdrop"] is True
    bands = second["queue"]["prio"]["bands"]
    assert bands[0]["queue"] == {"drop_tail": {"limit_packets": None, "limit_bytes": 5120}}
    assert bands[1]["queue"]["fq"]["flow_limit_packets"] == 4
    assert links["sr"]["backward"]["queue"]["red"] == {
        "limit_bytes": 90_000, "min_bytes": 10_000, "max_bytes": 30_000,
        "average_packet_bytes": 500, "burst_packets": 40, "probability": 0.05, "ecn": True,
        "harddrop": True, "nodrop": False, "adaptive": True,
    }  # fmt: skip
    pie = {
        "limit_packets": 8, "target_ns": 20_000_000, "tupdate_ns": 10_000_000, "alpha": 3,
        "beta": 30, "ecn": True, "bytemode": True,
    }  # fmt: skip
    assert links["ra"]["forward"]["queue"] == {"pie": pie}
    assert links["ra"]["backward"]["queue"] == {
        "fq_pie": {"pie": pie, "flows": 7, "quantum_bytes": 9014, "ecn_prob_percent": 20}
    }
    framing = {"overhead_bytes": -4, "mpu_bytes": 60, "atm": True}
    assert links["ra"]["forward"]["framing"] == framing


def test_disciplines_have_linux_defaults() -> None:
    def of(queue: str) -> Any:
        text = DEFAULTS.replace("buffer: BUFFER", f"queue: {queue}")
        (bottleneck,) = [link for link in scenario(text)["links"] if link["name"] == "bottleneck"]
        return bottleneck["forward"]["queue"]

    assert of("pfifo") == {"drop_tail": {"limit_packets": 1000, "limit_bytes": None}}
    assert of("codel")["codel"]["target_ns"] == 5_000_000
    assert of("fq_codel")["fq_codel"]["limit_packets"] == 10_240
    assert of("pie")["pie"]["tupdate_ns"] == 15_000_000
    red = of("{red: {min: 30000 bytes, max: 90000 bytes, avpkt: 1000 bytes}}")["red"]
    assert (red["burst_packets"], red["probability"]) == (50, 0.02)  # tc-red(8)
    # A third of the maximum, which is a quarter of the limit.
    assert of("red")["red"]["min_bytes"] == 33_333
    assert of("choke")["choke"] == {
        "limit_packets": 1000, "min_packets": 83, "max_packets": 250, "burst_packets": 138,
        "probability": 0.02, "ecn": False,
    }  # fmt: skip


def test_neighbour_discovery() -> None:
    def of(text: str) -> Any:
        return scenario(BASE + text)["neighbour_discovery"]

    assert scenario(EVERYTHING)["neighbour_discovery"] == {
        "reachable_ns": 20 * 10**9, "probe_delay_ns": 4 * 10**9
    }  # fmt: skip
    linux = {"reachable_ns": 30 * 10**9, "probe_delay_ns": 5 * 10**9}
    assert of("neighbour_discovery: true\n") == linux
    assert of("neighbour_discovery: false\n") is of("") is None


def check_flows(found: dict[str, Any]) -> None:
    flows = {flow["name"]: flow for flow in found["flows"]}
    # There: ar, the longer of rs1 and rs2 (spraying), sb; back likewise.
    rtt_ns = (1_000_000 + 2_000_000) * 2
    assert loaded(EVERYTHING).cells[0].rtt_ns["t"] == rtt_ns
    flow = flows["t"]
    assert (flow["start_ns"], flow["stop_ns"]) == (10**9, 2 * 10**9)
    assert flow["start_jitter_ns"] == 2 * rtt_ns
    tcp = flow["traffic"]["tcp"]
    assert tcp["fq"] is False
    periodic = {"chunk_bytes": 1024, "interval_ns": 10_000_000, "bytes": 1_048_576}
    assert tcp["source"] == {"periodic": periodic}
    assert tcp["sink"] == {"lowat_bytes": 2, "rate_bps": 1_000_000}
    assert (tcp["sender"]["initcwnd"], tcp["sender"]["mtu_bytes"]) == (3, 9000)
    assert tcp["receiver"] == json.loads(_core.profiles()["linux-6.1"])
    bursts = {"chunk_bytes": 2048, "interval_ns": 10**7, "on_ns": 10**9, "off_ns": 2 * 10**9}
    bursts |= {"exponential": True, "bytes": 3072}
    assert flows["bursts"]["traffic"]["tcp"]["source"] == {"on_off": bursts}
    bulk = {"bulk": {"bytes": 5120, "refill_ns": 1_000_000}}
    assert flows["bulk"]["traffic"]["tcp"]["source"] == bulk
    assert flows["bulk"]["traffic"]["tcp"]["fq"] is True
    assert flows["u"]["traffic"]["udp"] == {
        "rate_bps": 1_000_000, "datagram_bytes": 8192, "interval_ns": 1_000_000, "mtu_bytes": 1400,
        "sleeps": True, "codec": None,
    }  # fmt: skip
    ping = {"interval_ns": 2 * 10**9, "payload_bytes": 100, "protocol": "udp"}
    assert flows["p"]["traffic"]["ping"] == ping
    assert flows["w"]["traffic"]["video"] == {
        "rate_bps": 3_000_000, "frame_ns": 40_000_000, "datagram_bytes": 1200, "on_ns": 2 * 10**9,
        "off_ns": 3 * 10**9, "lengths": "exponential",
    }  # fmt: skip
    assert flows["q"]["traffic"]["quic"] == {
        "stack": "quinn", "congestion_control": "bbr", "streams": 1, "bytes": 3072,
        "encryption": "none",
    }  # fmt: skip
    assert (flows["p"]["dscp"], flows["t"]["dscp"]) == (34, 0)
    # 160 bytes of speech and RTP's header, 50 times a second.
    assert flows["v"]["traffic"]["udp"] == {
        "rate_bps": 68_800, "datagram_bytes": 172, "interval_ns": 0, "mtu_bytes": 1500,
        "sleeps": False, "codec": "g711",
    }  # fmt: skip
    bdp = 10**9 * rtt_ns // (8 * 10**9)
    assert found["links"][3]["forward"]["queue"]["drop_tail"]["limit_bytes"] == bdp


def test_arrivals_carry_their_load_in_flows_of_the_mean_size() -> None:
    fixed, exponential, *_, empirical = scenario(EVERYTHING)["arrivals"]
    assert fixed["per_second"] == 8_000_000 / 8 / 1000
    assert (fixed["group"], fixed["dscp"]) == ("short", 8)
    assert (fixed["start_ns"], fixed["stop_ns"]) == (10**9, 2 * 10**9)
    assert fixed["tcp"]["sender"]["initcwnd"] == 4
    assert exponential["size"] == {"exponential": {"mean_bytes": 10_240}}
    assert empirical["size"] == {"empirical": {"points": [[1024, 0.5], [9216, 1.0]]}}


@pytest.mark.parametrize(
    ("size", "mean"),
    [
        ("2000 bytes", 2000),
        ("{exponential: 1 KB}", 1024),
        ("{lognormal: {median: 1000 bytes, sigma: 1}}", 1000 * math.exp(0.5)),
        # a / (a − 1) · m for a tail that is hardly cut off.
        ("{pareto: {shape: 3, min: 1000 bytes, max: 1 GB}}", 1500),
        ("{empirical: [{size: 1000 bytes, upto: 50 %}, {size: 3000 bytes, upto: 100 %}]}", 1500),
    ],
)
def test_a_load_becomes_flows_by_the_mean_of_sizes(size: str, mean: float) -> None:
    text = DEFAULTS.replace("BUFFER", "1 BDP")
    text += f"arrivals: [{{name: w, from: s1, to: d1, load: 1 Mbit/s, tcp: cubic, size: {size}}}]\n"
    (arrivals,) = scenario(text)["arrivals"]
    assert arrivals["per_second"] == pytest.approx(1e6 / 8 / mean, rel=1e-5)


def test_a_page_is_a_session_over_its_connections() -> None:
    found = scenario(EVERYTHING)
    connections = [flow for flow in found["flows"] if flow["name"].startswith("page-")]
    assert [flow["name"] for flow in connections] == ["page-a-1", "page-a-2"]
    assert {(flow["from"], flow["to"]) for flow in connections} == {("a", "b")}
    tcp = connections[0]["traffic"]["tcp"]
    assert (tcp["source"], tcp["congestion_control"], tcp["fq"]) == ("session", "bbr", False)
    assert (tcp["notsent_lowat_bytes"], "nodelay" in tcp) == (16 * 1024, False)
    (session,) = found["sessions"]
    assert (session["start_ns"], session["start_jitter_ns"]) == (10**9, 5_000_000)
    (origin,) = session["origins"]
    assert origin["connections"] == ["page-a-1", "page-a-2"]
    assert (origin["protocol"], origin["lookup_ns"]) == ("http1", 3_000_000)
    assert len(origin["setup"]) == 2
    index, image, last = session["objects"]
    assert (index["after"], index["service_ns"], index["group"]) == ([], 7_000_000, "")
    assert (image["name"], last["name"], last["after"]) == ("image1", "image2", [0])
    assert (image["delay_ns"], image["group"]) == (9_000_000, "images")
    assert image["exchange"] == {"request_bytes": 301, "response_bytes": 1024}
    assert index["exchange"] == {"request_bytes": 300, "response_bytes": 10_240}


def test_requests_are_flows_from_the_server_and_a_load() -> None:
    found = scenario(EVERYTHING)
    flows = {flow["name"]: flow for flow in found["flows"]}
    (closed, messages) = found["requests"]
    assert closed["connections"] == ["closed-1", "closed-2"]
    assert {(flows[name]["from"], flows[name]["to"]) for name in closed["connections"]} == {
        ("a", "b")
    }
    tcp = flows["closed-1"]["traffic"]["tcp"]
    assert (tcp["source"], tcp["nodelay"], flows["closed-1"]["dscp"]) == ("session", True, 46)
    assert closed["load"] == {"closed": {"think_ns": 2_000_000, "exponential": False}}
    assert closed["request"] == {"fixed": {"bytes": 99}}
    assert closed["response"] == {"exponential": {"mean_bytes": 3072}}
    assert (closed["count"], closed["request_writes"], closed["response_writes"]) == (9, 2, 1)
    assert messages["load"] == {"open": {"interval_ns": 50_000_000, "exponential": True}}
    assert (messages["response"], messages["stop_ns"]) == (None, 4 * 10**9)
    tcp = flows["messages-1"]["traffic"]["tcp"]
    assert (tcp["nodelay"], tcp["congestion_control"], tcp["fq"]) == (False, "bbr", False)


def test_every_option_of_a_profile_can_be_written() -> None:
    for text in _core.profiles().values():
        assert set(json.loads(text)) == {one.parameter.field for one in tcp_options().values()}
    written = json_schema()["$defs"]["TcpOptionsSpec"]["properties"]
    assert set(tcp_options()) == set(written) - {"profile"}


def fields(value: Any) -> Iterator[str]:
    """The name of every field and variant in a scenario."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


def test_everything_is_everything() -> None:
    """Asks the scenario's reader which fields it knows beside each of ours: we write them all."""
    text = loaded(EVERYTHING).cells[0].scenario
    written = set(fields(json.loads(text)))
    known = set[str]()
    for name in written:
        with pytest.raises(_core.ScenarioError) as raised:
            _core.validate(text.replace(f'"{name}":', f'"{name}?":', 1))
        known |= set(re.findall(r"`(\w+)`", raised.value.message.partition("expected ")[2]))
    assert len(known) > 100
    # Variants without fields stand as values.
    # Queue disciplines: tests/test_catalogue.py.
    listed = {one.key for one in disciplines().values()}
    # Programs: absent without any (tests/experiment/test_programs.py).
    # Words of netem: tests/linux/test_netem_words.py.
    absent = {"every_ns", "distribution", "words"}
    named = {"none", "session", "messages", "subflow", "programs"}
    assert known <= written | named | absent | listed


DEFAULTS = """
dumbbell: 1
name: d
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: BUFFER}}
flows:
  - {from: s1, to: d1, tcp: cubic}
  - {from: s1, to: d1, tcp: bbr}
  - {from: s1, to: d1, udp: 1 Mbit/s}
  - {from: s1, to: d1, ping: 1 s}
duration: 10 s
"""


def test_what_is_not_written() -> None:
    found = scenario(DEFAULTS.replace("BUFFER", "1 BDP"))
    assert [flow["name"] for flow in found["flows"]] == ["flow1", "flow2", "flow3", "flow4"]
    first = found["flows"][0]
    assert (first["start_ns"], first["stop_ns"], first["start_jitter_ns"]) == (0, None, 0)
    assert first["traffic"]["tcp"] == {
        "congestion_control": "cubic",
        "fq": False,
        "source": {"bulk": {"bytes": None, "refill_ns": 0}},
        "sink": {"lowat_bytes": 1, "rate_bps": None},
        "sender": None,
        "receiver": None,
    }
    assert found["flows"][1]["traffic"]["tcp"]["fq"] is True
    udp: dict[str, Any] = {
        "rate_bps": 1_000_000,
        "datagram_bytes": 1448,
        "interval_ns": 0,
        "mtu_bytes": 1500,
        "sleeps": False,
        "codec": None,
    }
    assert found["flows"][2]["traffic"]["udp"] == udp
    ping = {"interval_ns": 10**9, "payload_bytes": 56, "protocol": "icmp"}
    assert found["flows"][3]["traffic"]["ping"] == ping
    none = scenario(DEFAULTS.replace("BUFFER", "1 BDP") + "sampling: none\n")["sampling"]
    assert none == {
        "interval_ns": 20_000_000, "samples": False, "queues": False, "drops": False,
        "probes": False,
        "packets": None, "hops": None, "capture": None,
    }  # fmt: skip
    profile = json.loads(_core.profiles()["linux-6.12"])
    assert all(node["tcp"] == profile for node in found["nodes"] if node["kind"] == "host")
    info = loaded(DEFAULTS.replace("BUFFER", "1 BDP")).info
    assert (info.repeats, info.seed, info.factors) == (1, 1, {})


@pytest.mark.parametrize(
    ("buffer", "limits"),
    [
        ("100 packets", (100, None)),
        ("64 KiB", (None, 65_536)),
        ("1 BDP", (None, 50_000)),
        ("0.5 BDP", (None, 25_000)),
        ("20 ms", (None, 25_000)),
        ("0.001 BDP", (None, 1_514)),  # room for one frame at least
        ("[7 packets, 1 BDP]", (7, 50_000)),
    ],
)
def test_buffers(buffer: str, limits: tuple[int | None, int | None]) -> None:
    queue = scenario(DEFAULTS.replace("BUFFER", buffer))["links"][1]["forward"]["queue"]
    assert queue == {"drop_tail": {"limit_packets": limits[0], "limit_bytes": limits[1]}}


TAPPED = """\
repeats: 2
taps: [{at: s1, link: s1-r1}]
sampling: {packets: {to: 1 s}, repeats: 1}
"""


def test_sampling_of_the_first_repeats_only() -> None:
    text = BASE + "repeats: 3\nsampling: {keep: [samples], repeats: 1}\n"
    cell = loaded(text).cells[0]
    kept = [json.loads(cell.scenario_of(k))["sampling"]["samples"] for k in range(3)]
    assert kept == [True, False, False]
    short = scenario(BASE + "sampling: 1 ms\n")["sampling"]
    assert short["interval_ns"] == 1_000_000 and short["samples"] and short["queues"]
    assert not short["drops"] and short["packets"] is None
    packets = loaded(BASE + TAPPED).cells[0]
    kept = [json.loads(packets.scenario_of(k))["sampling"]["packets"] for k in range(2)]
    assert kept == [{"from_ns": 0, "to_ns": 10**9}, None]


def test_a_host_has_its_profile_then_the_defaults_then_its_own_options() -> None:
    text = BASE + (
        "hosts: {defaults: {tcp_frto: 0, initcwnd: 4}, s1: {profile: linux-4.15, initcwnd: 9}}\n"
    )
    nodes = {node["name"]: node["tcp"] for node in scenario(text)["nodes"]}
    assert (nodes["s1"]["tcp_frto"], nodes["s1"]["initcwnd"]) == (0, 9)
    assert (nodes["s1"]["tcp_comp_sack_nr"], nodes["s2"]["tcp_comp_sack_nr"]) == (0, 44)
    assert nodes["s2"]["initcwnd"] == 4


def test_traces_are_files_beside_the_experiment(tmp_path: Path) -> None:
    text = BASE + "links: [{name: s1-r1, shaper: {trace: {file: t}}, buffer: 9 packets}]\n"
    trace = tmp_path / "t"
    trace.write_text("1\n5\n\n5\n")
    found = json.loads(load_text(text, tmp_path / "e.yaml").cells[0].scenario)
    assert found["links"][0]["forward"]["shaper"] == {"trace": {"deliveries_ms": [1, 5, 5]}}
    trace.write_text("1\nfive\n")
    with pytest.raises(Exception, match="line 2 of t is not a time in milliseconds; found five"):
        load_text(text, tmp_path / "e.yaml")
    trace.write_text("5\n1\n")
    with pytest.raises(Exception, match="1 after 5: times must ascend"):
        load_text(text, tmp_path / "e.yaml")


def test_counted_flows() -> None:
    text = BASE.replace("{from: s1, to: d1,", '{name: "x{i}", from: "s{i}", to: "d{i}", count: 2,')
    flows = scenario(text)["flows"]
    assert [(f["name"], f["from"], f["to"]) for f in flows[:2]] == [
        ("x1", "s1", "d1"),
        ("x2", "s2", "d2"),
    ]
    same = BASE.replace("{from: s1, to: d1,", "{name: x, from: s1, to: d1, count: 2,")
    assert message(same) == (
        "e.yaml:5: flows[0].name: two flows are named x; with count, write {i} in the name"
    )
