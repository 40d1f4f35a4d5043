"""Shares of a bottleneck, and the queueing delay, on runs whose answer is arithmetic."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell import scenario as scenario_module
from dumbbell.experiment.load import load_text
from dumbbell.limits import flows
from dumbbell.metrics import METRICS, jain_index
from dumbbell.scenario import Scenario, read_scenario
from tests.helpers import BASE

DATAGRAMS = """\
dumbbell: 1
name: datagrams
template:
  dumbbell: {pairs: 2, rtt: 20 ms, forward: {rate: 10 Mbit/s, buffer: 50 packets}}
flows:
  - {name: small, from: s1, to: d1, udp: {rate: $small, datagram: 958 bytes}}
  - {name: large, from: s2, to: d2, udp: {rate: 6 Mbit/s, datagram: 958 bytes}}
factors: {small: [2 Mbit/s, 20 Mbit/s]}
duration: 10 s
"""


def results(text: str, tmp_path: Path) -> dumbbell.Results:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file)


def values(results: dumbbell.Results, metric: str, key: str = "flow") -> dict[str, float]:
    return dict(METRICS[metric].measure(results).select(key, "value").iter_rows())


def test_shares_of_datagrams_are_those_of_their_rates(tmp_path: Path) -> None:
    found = results(DATAGRAMS.replace("[2 Mbit/s, 20 Mbit/s]", "[2 Mbit/s]"), tmp_path)
    shares = values(found, "share")
    assert shares == {
        "small": pytest.approx(0.25, abs=1e-3),
        "large": pytest.approx(0.75, abs=1e-3),
    }
    # Datagrams ask for no fair share: they are sent at a rate of their own.
    assert all(math.isnan(value) for value in values(found, "fair_share").values())
    (least,) = METRICS["fair_share_min"].measure(found)["value"]
    assert math.isnan(least)


def test_a_full_queue_delays_by_its_length_over_the_rate(tmp_path: Path) -> None:
    delays = METRICS["queue_delay_p95_ms"].measure(results(DATAGRAMS, tmp_path))
    (fits,), (full,) = (
        delays.filter(pipe="bottleneck/forward", small=rate)["value"].to_list()
        for rate in ("2 Mbit/s", "20 Mbit/s")
    )
    # A frame of 1000 bytes takes 0.8 ms; at most one waits for one of the other flow.
    assert 0 <= fits <= 0.8
    assert full == pytest.approx(50 * 0.8, abs=0.8)


def test_the_fair_share_is_that_of_an_equal_division(tmp_path: Path) -> None:
    found = results(BASE.replace("100 s", "20 s"), tmp_path)
    goodput, fair = values(found, "goodput_mbps"), values(found, "fair_share")
    mean = sum(goodput.values()) / 2
    assert fair == {flow: pytest.approx(rate / mean) for flow, rate in goodput.items()}
    assert METRICS["fair_share_min"].measure(found)["value"].to_list() == [min(fair.values())]


def test_the_share_is_of_the_bytes_that_a_bottleneck_carried(tmp_path: Path) -> None:
    """The second flow comes 5 s later: its rate is not its share."""
    found = results(BASE.replace("100 s", "20 s"), tmp_path)
    carried = dict(found.flows.select("flow", "delivered_bytes").iter_rows())
    shares = values(found, "share")
    assert shares == {flow: carried[flow] / sum(carried.values()) for flow in carried}
    goodput = values(found, "goodput_mbps")
    assert shares["flow2"] < goodput["flow2"] / sum(goodput.values()) - 0.05


TWO_PATHS = """\
dumbbell: 1
name: paths
hosts: {phone: {}, laptop: {}, server: {}}
routers: {wifi: {}, lte: {}}
links:
  - {between: [phone, wifi], rate: 100 Mbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [laptop, wifi], rate: 100 Mbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [phone, lte], rate: 10 Mbit/s, delay: 20 ms, buffer: 100 packets}
  - {between: [wifi, server], rate: 20 Mbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [lte, server], rate: 1 Gbit/s, delay: 5 ms, buffer: 1000 packets}
flows:
  - {name: both, from: phone, to: server, mptcp: lia}
  - {name: one, from: laptop, to: server, tcp: cubic}
duration: 10 s
"""


def test_multipath_tcp_has_of_a_link_what_its_subflow_has(tmp_path: Path) -> None:
    """What it gets over the path that it has alone is no share of the other."""
    found = results(TWO_PATHS, tmp_path)
    carried = dict(found.flows.select("flow", "delivered_bytes").iter_rows())
    shared = carried["both/1"] + carried["one"]
    assert values(found, "share") == {
        "both": carried["both/1"] / shared,
        "one": carried["one"] / shared,
    }
    rates = values(found, "goodput_mbps")
    joint = values(found, "joint_share")
    assert joint["both"] == pytest.approx(rates["both/1"] / (rates["both/1"] + rates["one"]))
    jain = values(found, "link_jain", "pipe")["wifi-server/forward"]
    assert jain == pytest.approx(jain_index([rates["both/1"], rates["one"]]))


def test_a_flow_alone_shares_nothing(tmp_path: Path) -> None:
    alone = BASE.replace("100 s", "2 s").replace(
        "  - {from: s2, to: d2, tcp: bbr, start: 5 s}\n", ""
    )
    found = results(alone, tmp_path)
    for metric in ("share", "fair_share"):
        assert [math.isnan(value) for value in values(found, metric).values()] == [True]


def test_cells_that_share_a_run_have_the_values_of_one(tmp_path: Path) -> None:
    """Two labels of one level: every metric is the same for both, and as with one of them."""
    text = """\
dumbbell: 1
name: twice
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: $rtt, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: cubic}, {from: s2, to: d2, tcp: reno}]
duration: 3 s
factors: {rtt: [{label: a, value: 20 ms}, {label: b, value: 20 ms}]}
repeats: 2
"""
    file = tmp_path / "twice.yaml"
    file.write_text(text, encoding="utf-8")
    both, one = dumbbell.run(file), dumbbell.run(file, set={"rtt": "a"})
    for metric in METRICS.values():
        alone = metric.measure(one).drop("rtt")
        for label in "ab":
            own = metric.measure(both).filter(pl.col("rtt") == label).drop("rtt")
            assert own.equals(alone, null_equal=True), (metric.name, label)


def test_a_scenario_is_read_once_for_all_its_flows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each metric asks for the limits of each flow: a hundred flows read a scenario 900 times."""
    found = results(DATAGRAMS.replace("name: datagrams", "name: read once"), tmp_path)
    read: list[str] = []

    def counted(text: str) -> Scenario:
        read.append(text)
        return read_scenario(text)

    monkeypatch.setattr(scenario_module, "read_scenario", counted)
    scenarios = found.runs["scenario"].unique().to_list()
    for scenario in scenarios:
        for name in ("small", "large", "small"):
            limits = flows.flow_limits(scenario, name)
            assert limits == flows.flow_limits(read_scenario(scenario), name)
            pipes = flows.narrowest_pipes(scenario, name)
            assert pipes == ["bottleneck/forward"]
            pipes.clear()  # The caller's own list.
    assert sorted(read) == sorted(scenarios)


def test_flows_of_arrivals_have_the_limits_of_their_process() -> None:
    """A million of them ask for one walk over the network."""
    text = """\
dumbbell: 1
name: arrivals
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{name: bulk, from: s2, to: d2, tcp: cubic}]
arrivals: [{name: web, from: s1, to: d1, per_second: 5, size: 20 kB, tcp: cubic}]
duration: 1 s
"""
    limits = flows.network_limits(load_text(text, Path("arrivals.yaml")).cells[0].scenario)
    assert limits.of("web.17") is limits.of("web.4")
    assert limits.of("bulk") is not limits.of("web.4")
    with pytest.raises(KeyError):
        limits.of("page.1")


def test_of_many_flows_each_has_its_own_bottleneck(tmp_path: Path) -> None:
    """Shares are of the flows at the same bottleneck, however many there are."""
    text = """\
dumbbell: 1
name: many
template:
  dumbbell:
    pairs: 2
    rtt: 20 ms
    access: {rate: 10 Mbit/s, buffer: 100 packets}
    rate: 1 Gbit/s
    buffer: 1 BDP
flows:
  - {from: s1, to: d1, udp: {rate: 10 kbit/s, datagram: 958 bytes}, count: 300}
  - {from: s2, to: d2, udp: {rate: 10 kbit/s, datagram: 958 bytes}, count: 150}
duration: 2 s
sampling: none
"""
    shares = values(results(text, tmp_path), "share")
    assert len(shares) == 450
    of_first, of_second = list(shares.values())[:300], list(shares.values())[300:]
    assert sum(of_first) == pytest.approx(1)
    assert sum(of_second) == pytest.approx(1)
