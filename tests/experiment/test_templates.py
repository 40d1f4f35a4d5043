from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import loaded, message, scenario

NO_LIMIT = {"drop_tail": {"limit_packets": None, "limit_bytes": None}}
TAIL = "flows: [{from: s1, to: d1, tcp: cubic}]\nduration: 10 s\n"


def of_template(text: str, tail: str = TAIL) -> dict[str, Any]:
    return scenario(f"dumbbell: 1\nname: t\ntemplate: {text}\n{tail}")


def links(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in found["links"]}


def test_dumbbell() -> None:
    found = of_template("{dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms}}")
    kinds = {node["name"]: node["kind"] for node in found["nodes"]}
    assert kinds == {
        "s1": "host", "s2": "host", "d1": "host", "d2": "host", "r1": "router", "r2": "router"
    }  # fmt: skip
    by_name = links(found)
    assert list(by_name) == ["s1-r1", "s2-r1", "bottleneck", "r2-d1", "r2-d2"]
    middle = by_name["bottleneck"]
    assert (middle["a"], middle["b"]) == ("r1", "r2")
    for way in ("forward", "backward"):
        assert middle[way]["delay_ns"] == 20_000_000
        assert middle[way]["shaper"] == {"serial": {"rate_bps": 10_000_000}}
        limits = {"limit_packets": None, "limit_bytes": 50_000}
        assert middle[way]["queue"] == {"drop_tail": limits}
        assert by_name["s1-r1"][way]["shaper"] == "none"
        assert by_name["s1-r1"][way]["queue"] == NO_LIMIT


@pytest.mark.parametrize(
    ("rtt", "expected"),
    [
        ("[10 ms, 50 ms, 31 ms]", [10_000_000, 50_000_000, 31_000_000]),
        ("{from: 20 ms, to: 120 ms}", [20_000_000, 70_000_000, 120_000_000]),
        ("7 ms", [7_000_000] * 3),
    ],
)
def test_round_trips_of_pairs(rtt: str, expected: list[int]) -> None:
    text = f"""
dumbbell: 1
name: t
template: {{dumbbell: {{pairs: 3, rate: 10 Mbit/s, rtt: {rtt}}}}}
flows: [{{from: "s{{i}}", to: "d{{i}}", count: 3, tcp: cubic}}]
duration: 1 s
"""
    assert list(loaded(text).cells[0].rtt_ns.values()) == expected


def test_round_trips_must_fit_the_pairs() -> None:
    text = "dumbbell: 1\nname: t\ntemplate: {dumbbell: {pairs: 3, rtt: [1 ms]}}\n" + TAIL
    assert message(text) == ("e.yaml:3: template.dumbbell.rtt: 3 round trips are needed; found 1")


def test_parking_lot() -> None:
    text = """
dumbbell: 1
name: t
template: {parking-lot: {hops: 3, rate: 10 Mbit/s, rtt: 31 ns, buffer: 9 packets}}
flows:
  - {name: long, from: s0, to: d0, tcp: cubic}
  - {from: s2, to: d2, tcp: cubic}
duration: 1 s
"""
    found = loaded(text).cells[0]
    assert found.rtt_ns["long"] == 31
    assert found.rtt_ns["flow2"] == 10  # 5 of 16 ns there, 5 of 15 ns back
    names = list(links(scenario(text)))
    assert names[:3] == ["hop1", "hop2", "hop3"]


PARALLEL = """
dumbbell: 1
name: testbed
template:
  parallel-paths:
    sources: 2
    paths: 2
    rtt: 10 ms
    shaper: {tbf: {rate: 10 Mbit/s, burst: 5 KiB}}
    netem: {limit: 100 packets}
    forward: {loss: 1 %}
    access: {delay: 0.05 ms}
    USE
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
"""
WRITTEN_OUT = """
dumbbell: 1
name: testbed
hosts: {s1: , s2: , d1: , d2: }
routers:
  r1: {spray: round_robin}
  r2: {spray: {policy: round_robin, what: both}}
switches: {p1: , p2: }
links:
  - {between: [s1, r1], delay: 0.05 ms}
  - {between: [s2, r1], delay: 0.05 ms}
  - between: [r1, p1]
    backward: &shaped
      shaper: {tbf: {rate: 10 Mbit/s, burst: 5120 bytes}}
      netem: {delay: 5 ms, limit: 100 packets}
  - between: [p1, r2]
    forward: {<<: *shaped, loss: 1 %}
  - {between: [r1, p2], backward: *shaped}
  - {between: [p2, r2], forward: {<<: *shaped, loss: 1 %}}
  - {between: [r2, d1], delay: 50 us}
  - {between: [r2, d2], delay: 50 us}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
"""


def test_the_testbed_of_study_1_by_template_and_written_out() -> None:
    assert scenario(PARALLEL.replace("USE", "")) == scenario(WRITTEN_OUT)
    assert loaded(WRITTEN_OUT).cells[0].rtt_ns == {"flow1": 10_200_000}


def test_one_of_the_parallel_paths() -> None:
    by_template = scenario(PARALLEL.replace("USE", "use: [1]"))
    routes = """
routes:
  - {at: r1, to: [d1, d2], via: p1}
  - {at: r2, to: [s1, s2], via: p1}
"""
    text = WRITTEN_OUT.replace("{spray: round_robin}", "").replace(
        "{spray: {policy: round_robin, what: both}}", ""
    )
    assert by_template == scenario(text + routes)


def test_unequal_paths() -> None:
    found = of_template(
        "{parallel-paths: {paths: [{rate: 5 Mbit/s}, {rtt: 30 ms, forward: {loss: 2 %}}], "
        "rate: 10 Mbit/s, rtt: 10 ms, spray: {policy: random, what: data}}}"
    )
    by_name = links(found)
    assert by_name["p1-r2"]["forward"]["shaper"] == {"serial": {"rate_bps": 5_000_000}}
    assert by_name["p2-r2"]["forward"]["loss"] == {"independent": {"probability": 0.02}}
    assert by_name["p2-r2"]["forward"]["delay_ns"] == 15_000_000
    assert by_name["r1-p2"]["backward"]["shaper"] == {"serial": {"rate_bps": 10_000_000}}
    spray = {node["name"]: node["spray"] for node in found["nodes"]}
    assert spray["r1"] == {"policy": "random", "what": "data", "first": None}


def test_links_of_a_template_can_be_changed() -> None:
    tail = TAIL + "links: [{name: r2-d1, delay: 3 ms, backward: {loss: 1 %}}]\n"
    found = of_template("{dumbbell: {rate: 10 Mbit/s, rtt: 40 ms}}", tail)
    link = links(found)["r2-d1"]
    assert link["forward"]["delay_ns"] == link["backward"]["delay_ns"] == 3_000_000
    assert link["forward"]["loss"] == "none"
    assert link["backward"]["loss"] == {"independent": {"probability": 0.01}}


def test_routers_of_a_template_can_be_changed() -> None:
    tail = TAIL + "routers: {r1: {spray: none}, r2: {processing_jitter: 1 us}}\n"
    found = of_template("{parallel-paths: {rate: 1 Mbit/s, rtt: 4 ms}}", tail)
    nodes = {node["name"]: node for node in found["nodes"]}
    assert nodes["r1"]["spray"] is None
    assert nodes["r2"]["spray"]["policy"] == "round_robin"
    assert nodes["r2"]["processing_jitter_ns"] == 1_000


def test_only_one_template() -> None:
    text = "dumbbell: 1\nname: t\ntemplate: {dumbbell: {rtt: 1 ms}, parking-lot: {rtt: 1 ms}}\n"
    assert message(text + TAIL).startswith(
        "e.yaml:3: template: exactly one template is needed; found dumbbell and parking-lot"
    )


@pytest.mark.parametrize(
    ("template", "hosts", "buffer"),
    [
        ("{paths: 2, rtt: 10 ms}", "{}", "copied"),
        ("{paths: 2, rtt: 10 ms}", "{defaults: {rx_segment: pages}}", "pages"),
        ("{paths: 2, rtt: 10 ms}", "{d1: {rx_segment: 2304 bytes}}", {"own": {"bytes": 2304}}),
        ("{paths: 2, rtt: 10 ms, use: [2]}", "{}", "small_head"),
        ("{paths: 2, rtt: 10 ms, spray: per_flow}", "{}", "small_head"),
        ("{paths: 2, rtt: 10 ms, spray: {policy: round_robin, what: acks}}", "{}", "small_head"),
    ],
)
def test_what_is_sprayed_was_copied(template: str, hosts: str, buffer: object) -> None:
    found = of_template(f"{{parallel-paths: {template}}}", f"hosts: {hosts}\n{TAIL}")
    (node,) = (node for node in found["nodes"] if node["name"] == "d1")
    assert node["tcp"]["rx_segment"] == buffer


def test_a_buffer_that_is_none_is_refused_with_what_is_allowed() -> None:
    text = "dumbbell: 1\nname: t\ntemplate: {dumbbell: {rate: 1 Mbit/s, rtt: 1 ms}}\n"
    found = message(f"{text}hosts: {{defaults: {{rx_segment: page}}}}\n{TAIL}")
    assert "rx_segment" in found and "pages" in found and "copied" in found


@pytest.mark.parametrize(
    ("more", "senders"),
    [(0, ["s1", "s2"]), (1, ["s2", "s1"]), (2, ["s3", "s4"]), (3, ["s4", "s5"])],
)
def test_numbers_from_count_on_are_those_of_other_hosts(more: int, senders: list[str]) -> None:
    """Below `count` they are a permutation. Beyond, one would get the same hosts again."""
    flow = f'{{from: "s{{i+{more}}}", to: "d{{i}}", count: 2, tcp: cubic}}'
    found = of_template(
        "{dumbbell: {pairs: 5, rate: 10 Mbit/s, rtt: 40 ms}}", f"flows: [{flow}]\nduration: 1 s\n"
    )
    assert [flow["from"] for flow in found["flows"]] == senders
