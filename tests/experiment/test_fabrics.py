"""Fat trees and leaf-spine networks by their laws: sizes, equal paths, load of links, capacity."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from typing import Any

import polars as pl
import pytest

from dumbbell import _core
from tests.helpers import loaded, message, scenario

HEAD = "dumbbell: 1\nname: t\ntemplate: "
ONE_FLOW = "\nflows: [{from: h1, to: h2, tcp: cubic}]\nduration: 1 ms\n"


def counts(found: dict[str, Any]) -> Counter[str]:
    """Nodes by name without its number."""
    return Counter(node["name"].rstrip("0123456789") for node in found["nodes"])


def shortest_paths(found: dict[str, Any], source: str, to: str) -> int:
    """Number of shortest paths between two hosts."""
    links = [(link["a"], link["b"]) for link in found["links"]]
    nodes = [(node["name"], node["kind"] != "host", True) for node in found["nodes"]]
    network = _core.Network(nodes, links, [(0, 0)] * len(links), [])

    def paths(node: str) -> int:
        if node == to:
            return 1
        return sum(paths(network.leads_to(pipe)) for pipe in network.next_hops(node, to))

    return paths(source)


@cache
def read(text: str) -> str:
    """Scenario of an experiment."""
    return loaded(text).cells[0].scenario


def tables_of(text: str, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables `flows` and `pipes` of a run."""
    tables = _core.run(read(text), seed, None).tables
    return pl.read_ipc_stream(tables["flows"]), pl.read_ipc_stream(tables["pipes"])


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_has_the_nodes_links_and_paths_of_its_ports(k: int) -> None:
    found = scenario(f"{HEAD}{{fat-tree: {{k: {k}, rate: 1 Gbit/s}}}}{ONE_FLOW}")
    half = k // 2
    expected = {"h": k**3 // 4, "edge": k * half, "agg": k * half, "core": half**2}
    assert counts(found) == expected
    assert len(found["links"]) == 3 * k**3 // 4
    ports = Counter(end for link in found["links"] for end in (link["a"], link["b"]))
    routers = [node["name"] for node in found["nodes"] if node["kind"] == "router"]
    assert {ports[name] for name in routers} == {k}
    hosts = k**3 // 4
    for to in range(2, hosts + 1):
        same_edge, same_pod = to <= half, to <= half**2
        paths = 1 if same_edge else half if same_pod else half**2
        assert shortest_paths(found, "h1", f"h{to}") == paths
        assert shortest_paths(found, f"h{to}", "h1") == paths


def test_a_leaf_spine_has_a_path_per_spine() -> None:
    shape = (
        "{leaves: 3, spines: 5, hosts_per_leaf: 4, rate: 10 Gbit/s, delay: 2 us, buffer: 9 packets"
    )
    text = f"{HEAD}{{leaf-spine: {shape}, uplinks: {{rate: 40 Gbit/s}}}}}}{ONE_FLOW}"
    found = scenario(text)
    assert counts(found) == {"h": 12, "leaf": 3, "spine": 5}
    assert len(found["links"]) == 12 + 3 * 5
    assert [shortest_paths(found, "h1", to) for to in ("h4", "h5", "h12")] == [1, 5, 5]
    links = {link["name"]: link for link in found["links"]}
    for name, rate_bps in (("h5-leaf2", 10**10), ("leaf2-spine5", 4 * 10**10)):
        for direction in ("forward", "backward"):
            pipe = links[name][direction]
            assert pipe["shaper"] == {"serial": {"rate_bps": rate_bps}}
            assert pipe["delay_ns"] == 2000
            assert pipe["queue"]["drop_tail"]["limit_packets"] == 9
    assert {node["spray"]["policy"] for node in found["nodes"] if node["spray"]} == {"per_flow"}


def test_uplinks_and_one_direction_of_links_differ_as_written() -> None:
    text = (
        f"{HEAD}{{leaf-spine: {{leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 1 Gbit/s, "
        f"buffer: 5 packets, forward: {{loss: 1 %}}, uplinks: {{queue: codel, "
        f"backward: {{delay: 3 us}}}}}}}}{ONE_FLOW}"
    )
    links = {link["name"]: link for link in scenario(text)["links"]}
    up, host = links["leaf2-spine1"], links["h1-leaf1"]
    assert "codel" in up["forward"]["queue"] and "codel" in up["backward"]["queue"]
    assert (up["forward"]["delay_ns"], up["backward"]["delay_ns"]) == (0, 3000)
    assert "drop_tail" in host["forward"]["queue"]
    lost = {"independent": {"probability": 0.01}}
    assert up["forward"]["loss"] == host["forward"]["loss"] == lost
    assert up["backward"]["loss"] == host["backward"]["loss"] == "none"


SPRAYED = """
  fat-tree: {{k: {k}, rate: 1 Gbit/s, delay: 1 us, buffer: 200 packets, spray: {spray}}}
flows:
{flows}
duration: {duration}
"""


def permutations(shifts: list[int], k: int, duration: str, spray: str, rate: str) -> str:
    """Experiment in which each host sends to the hosts that many numbers further on."""
    line = '  - {{from: "h{{i}}", to: "h{{i+{0}}}", count: {1}, udp: {2}}}'
    flows = "\n".join(line.format(shift, k**3 // 4, rate) for shift in shifts)
    return HEAD + SPRAYED.format(k=k, spray=spray, flows=flows, duration=duration)


def packets_up(shifts: list[int], seed: int) -> dict[str, int]:
    """Packets from each aggregation router to each core router, in a fat tree with k = 8."""
    _, pipes = tables_of(permutations(shifts, 8, "1 ms", "per_flow", "10 Mbit/s"), seed)
    up = pipes.filter(pl.col("pipe").str.contains("^agg.*/forward$"))
    return dict(zip(up["pipe"], up["arrived_packets"], strict=True))


@pytest.mark.parametrize("shifts", [[64], [16, 64], [16, 32, 40, 48, 64, 80, 96, 112]])
def test_flows_use_the_links_to_the_core_like_balls_in_bins(shifts: list[int]) -> None:
    # Every pod sends `balls` flows over 16 links, each flow over one of them, independently.
    bins, balls, runs = 16, 16 * len(shifts), 4
    idle = (1 - 1 / bins) ** balls
    both_idle = (1 - 2 / bins) ** balls
    variance = bins * idle * (1 - idle) + bins * (bins - 1) * (both_idle - idle**2)
    idle_links, sigma = 8 * bins * idle * runs, math.sqrt(8 * variance * runs)
    found = [packets_up(shifts, seed) for seed in range(1, runs + 1)]
    assert all(len(packets) == 128 for packets in found)
    unused = sum(count == 0 for packets in found for count in packets.values())
    assert abs(unused - idle_links) < 4 * sigma + 2, f"{unused} of {128 * runs}: {idle_links}"


def test_paths_follow_from_the_seed() -> None:
    one, again, other = (packets_up([64], seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_flow_and_its_echoes_stay_on_one_path() -> None:
    text = HEAD + SPRAYED.format(
        k=4,
        spray="per_flow",
        flows="  - {from: h1, to: h9, ping: 10 us}",
        duration="1 ms",
    )
    _, pipes = tables_of(text)
    used = pipes.filter(pl.col("arrived_packets") > 0)["pipe"]
    # Six pipes there and six back. Routers differ, so that the way back may have other links.
    assert len(used) == 12


def test_a_permutation_fills_all_links_if_each_packet_is_sprayed() -> None:
    # 1448 bytes of payload in frames of 1490: 96.7 % of the rate on every link, at full bisection.
    offered_packets = 16 * 940e6 / 8 / 1448 * 0.02
    shares, drops = {}, {}
    for spray in ("round_robin", "random", "per_flow"):
        flows, pipes = tables_of(permutations([8], 4, "20 ms", spray, "940 Mbit/s"))
        assert abs(flows["sent_packets"].sum() - offered_packets) <= 16
        shares[spray] = flows["received_packets"].sum() / offered_packets
        drops[spray] = pipes["dropped_overflow_packets"].sum()
    assert drops["round_robin"] == drops["random"] == 0
    assert shares["round_robin"] > 0.99
    assert shares["random"] > 0.97
    # All eight edge routers give their two flows different links with probability 2⁻⁸.
    assert shares["per_flow"] < 0.9
    assert drops["per_flow"] > 0


def test_oversubscribed_uplinks_are_the_limit() -> None:
    text = f"""{HEAD}
  leaf-spine: {{leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 1 Gbit/s, delay: 1 us,
                buffer: 100 packets, spray: random}}
flows: [{{from: "h{{i}}", to: "h{{i+4}}", count: 8, udp: 900 Mbit/s}}]
duration: 20 ms
"""
    flows, _ = tables_of(text)
    delivered_bps = flows["delivered_bytes"].sum() * 8 / 0.02
    # Two uplinks per leaf and direction for four hosts.
    assert 0.97 < delivered_bps / (4e9 * 1448 / 1490) < 1.0


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "{fat-tree: {k: 5}}",
            "e.yaml:3: template.fat-tree.k: should be an even number from 2 to 32; found 5",
        ),
        (
            "{fat-tree: {k: true}}",
            "e.yaml:3: template.fat-tree.k: should be an even number from 2 to 32; found true",
        ),
        ("{fat-tree: {rate: 1 Gbit/s}}", "e.yaml:3: template.fat-tree.k: is missing"),
        (
            "{leaf-spine: {leaves: 2, spines: 2, hosts: 4}}",
            "e.yaml:3: template.leaf-spine.hosts: unknown field",
        ),
        (
            "{leaf-spine: {leaves: 200, spines: 20, hosts_per_leaf: 200}}",
            "e.yaml:3: template.leaf-spine: at most 25000 links: "
            "leaves × (hosts_per_leaf + spines); found 44000",
        ),
        ("{fat_tree: {k: 4}}", "e.yaml:3: template.fat_tree: unknown field"),
    ],
)
def test_what_is_wrong_is_named(template: str, expected: str) -> None:
    found = message(HEAD + template + ONE_FLOW)
    assert found.startswith(expected)
    if "_tree" in template:
        assert "did you mean fat-tree?" in found


def test_numbers_further_on_begin_again_after_the_last() -> None:
    text = f"""{HEAD}{{fat-tree: {{k: 4, rate: 1 Gbit/s}}}}
flows: [{{name: "f{{i}}-{{i+15}}", from: "h{{i}}", to: "h{{i+15}}", count: 16, tcp: cubic}}]
duration: 1 ms
"""
    flows = json.loads(loaded(text).cells[0].scenario)["flows"]
    assert [(flow["from"], flow["to"]) for flow in flows] == [
        ("h1", "h16"),
        *((f"h{i}", f"h{i - 1}") for i in range(2, 17)),
    ]
    assert flows[1]["name"] == "f2-1"
