"""Whole random experiments: a network, its traffic, what is recorded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from dumbbell.catalogue import typical_pages
from tests.helpers import KINDS
from tests.trials.draw import Draw, options, pipe


def experiment(number: int) -> dict[str, Any]:
    """The experiment of this number."""
    draw = Draw(number)
    network, sources, destinations = _network(draw)
    found: dict[str, Any] = {"dumbbell": 1, "name": f"trial {number}", **network}
    hosts: dict[str, Any] = {"defaults": options(draw)}
    if draw.chance(0.3):
        hosts[draw.one(*sources)] = draw.drawn("HostSpec", 0.04)
        _with_sack(hosts)
    found["hosts"] = {**found.get("hosts", {}), **hosts}
    found["flows"] = [_flow(draw, i, sources, destinations) for i in range(draw.whole(1, 5))]
    # `scripted` losses name the first flow.
    found["flows"][0] = {"name": "flow1", **_ends(draw, sources, destinations), "tcp": "cubic"}
    _more_traffic(draw, found, sources, destinations)
    found["duration"] = f"{draw.whole(100, 1000)} ms"
    # Hosts of a fabric are not at r1.
    if draw.chance(0.4) and not {"fat-tree", "leaf-spine"} & set(found.get("template", {})):
        found["taps"] = [{"at": sources[0], "link": f"{sources[0]}-r1"}]
    if draw.chance(0.5):
        found["sampling"] = _sampling(draw, taps="taps" in found)
    if draw.chance(0.1):
        found["neighbour_discovery"] = draw.drawn("NeighbourDiscoverySpec", 0.5) or True
    return found


def _with_sack(hosts: dict[str, Any]) -> None:
    for host in hosts.values():
        if host.get("tcp_fack"):
            host |= {"tcp_sack": True, "tcp_recovery": 0}


def _network(draw: Draw) -> tuple[dict[str, Any], list[str], list[str]]:
    """A network with its sources and destinations."""
    kind = draw.one("dumbbell", "dumbbell", "parallel-paths", "parking-lot", "fabric", "own")
    if kind == "own":
        return _own_network(draw)
    if kind == "fabric":
        return _fabric(draw)
    fields = pipe(draw) | {"rtt": draw.time(500, 100_000)}
    fields.pop("delay", None)
    if draw.chance(0.2):
        fields["access"] = {"rate": draw.rate(10_000_000, 1_000_000_000), "buffer": "200 packets"}
    if kind == "dumbbell":
        count = draw.whole(1, 3)
        fields["pairs"] = count
        if draw.chance(0.2):
            fields["rtt"] = {"from": "5 ms", "to": draw.time(5000, 80_000)}
        ends = [f"s{i + 1}" for i in range(count)], [f"d{i + 1}" for i in range(count)]
    elif kind == "parallel-paths":
        fields["paths"] = draw.whole(1, 4)
        if draw.chance(0.5):
            fields["spray"] = _spray(draw)
        if draw.chance(0.2):
            fields["use"] = [draw.whole(1, fields["paths"])]
        fields["sources"] = fields["destinations"] = draw.whole(1, 2)
        ends = (["s1", "s2"], ["d1", "d2"]) if fields["sources"] == 2 else (["s1"], ["d1"])
    else:
        fields["hops"] = draw.whole(1, 3)
        ends = ["s0", "s1"], ["d0", "d1"]
    return {"template": {kind: fields}}, *ends


def _fabric(draw: Draw) -> tuple[dict[str, Any], list[str], list[str]]:
    """A fat tree or a leaf-spine network of four hosts or more."""
    fields = pipe(draw)
    if draw.chance(0.5):
        fields["spray"] = _spray(draw)
    if draw.chance(0.5):
        fields["k"] = 4
        return {"template": {"fat-tree": fields}}, ["h1", "h2"], ["h4", "h16"]
    fields |= {"leaves": 2, "spines": draw.whole(1, 3), "hosts_per_leaf": 2}
    if draw.chance(0.3):
        fields["uplinks"] = {"delay": draw.time(1, 10_000)}
    return {"template": {"leaf-spine": fields}}, ["h1", "h2"], ["h3", "h4"]


def _spray(draw: Draw) -> Any:
    policy = draw.one("round_robin", "random", "per_flow")
    if draw.chance(0.5):
        return policy
    return {"policy": policy, "what": draw.one("data", "acks", "both")}


def _own_network(draw: Draw) -> tuple[dict[str, Any], list[str], list[str]]:
    """A line of hosts and routers, each link drawn by itself."""
    routers = [f"r{i + 1}" for i in range(draw.whole(1, 3))]
    nodes = ["a", *routers, "b"]
    links = []
    for ends in pairwise(nodes):
        limited = pipe(draw) if draw.chance(0.6) else {}
        links.append(
            {"name": f"{ends[0]}-{ends[1]}", "between": list(ends), "delay": "1 ms"} | limited
        )
    network = {"hosts": {"a": None, "b": None}, "routers": dict.fromkeys(routers), "links": links}
    return network, ["a"], ["b"]


def _ends(draw: Draw, sources: list[str], destinations: list[str]) -> dict[str, str]:
    return {"from": draw.one(*sources), "to": draw.one(*destinations)}


def _flow(draw: Draw, number: int, sources: list[str], destinations: list[str]) -> dict[str, Any]:
    kind = draw.one("tcp", "tcp", "tcp", "mptcp", *KINDS, "voice")
    found = {"name": f"flow{number + 1}", **_ends(draw, sources, destinations)}
    for name in ("start", "start_jitter", "dscp", "group"):
        if draw.chance(0.15):
            found[name] = draw.value("FlowSpec", name)
    specs = {one: f"{one.title().replace('_', '')}Spec" for one in ("tcp", "mptcp", *KINDS)}
    found[kind] = (
        draw.one("g711", {"codec": "g711"}) if kind == "voice" else draw.drawn(specs[kind], 0.2)
    )
    if kind in ("tcp", "mptcp"):
        if "source" in found[kind]:
            found[kind].pop("bytes", None)
        found[kind].pop("refill", None)
        if "subflows" in found[kind]:  # `fullmesh` finds one way between two hosts here
            found[kind]["path_manager"] = "ndiffports"
    if draw.chance(0.1):
        found |= {"name": f"flow{number + 1}-{{i}}", "count": draw.whole(2, 4)}
    if draw.chance(0.1) and kind != "mptcp":
        found["stop"] = draw.value("FlowSpec", "stop")
    return found


def _more_traffic(
    draw: Draw, found: dict[str, Any], sources: list[str], destinations: list[str]
) -> None:
    """Arrivals, a page, requests or a workload now and then."""
    ends = _ends(draw, sources, destinations)
    if draw.chance(0.12):
        spec = draw.drawn("ArrivalsSpec", 0.2) | ends | {"name": "web"}
        spec["tcp"] = draw.one("reno", "cubic", "bbr")
        spec["per_second"] = draw.value("ArrivalsSpec", "per_second")
        spec.pop("stop", None)
        found["arrivals"] = [spec]
    if draw.chance(0.12):
        found["pages"] = [_page(draw, ends)]
    if draw.chance(0.12):
        found["requests"] = [_requests(draw, ends)]
    if draw.chance(0.06):
        name = draw.one("rrul", "rrul_be", "tcp_nup", "tcp_ndown")
        fields = {"client": ends["from"], "server": ends["to"]}
        if name.startswith("tcp_n"):
            fields["streams"] = draw.whole(1, 4)
        else:
            fields |= {"up": draw.whole(1, 4), "down": draw.whole(1, 4)}
        found["workload"] = {name: fields | {"before": "50 ms", "length": "300 ms"}}


def _requests(draw: Draw, ends: dict[str, str]) -> dict[str, Any]:
    found = draw.drawn("RequestsSpec", 0.3)
    found |= {"name": "rpc", "client": ends["to"], "server": ends["from"]}
    found.pop("stop", None)
    loops = [name for name in ("think", "interval", "per_second") if name in found]
    for name in loops[1:]:
        found.pop(name)
    if loops[:1] in ([], ["think"]):
        found["response"] = draw.value("RequestsSpec", "response")
    if "response" not in found:
        for name in ("service", "response_writes"):
            found.pop(name, None)
    return found


def _page(draw: Draw, ends: dict[str, str]) -> dict[str, Any]:
    page = draw.drawn("PageSpec", 0.3)
    page.pop("start_jitter", None)
    page |= {"name": "page", "client": ends["to"], "server": ends["from"]}
    if page.get("protocol") == "http/2":
        page.pop("connections", None)
    if page.pop("page", None):
        return page | {"page": draw.one(*typical_pages())}
    objects = []
    for i in range(draw.whole(1, 5)):
        one = draw.drawn("ObjectSpec", 0.2, ("size",))
        one.pop("server", None)
        one.pop("after", None)
        one.pop("count", None)
        one["name"] = f"o{i}"
        if draw.chance(0.2):
            one |= {"name": f"o{i}-{{i}}", "count": draw.whole(2, 4)}
        if objects and draw.chance(0.5):
            one["after"] = draw.one(*objects)["name"].replace("{i}", "1")
        objects.append(one)
    return page | {"objects": objects}


def _sampling(draw: Draw, *, taps: bool) -> dict[str, Any]:
    kept = ["samples", "queues", "drops", "probes"]
    found: dict[str, Any] = {"interval": draw.time(5000, 100_000)}
    found["keep"] = draw.random.sample(kept, draw.random.randint(0, len(kept)))
    if draw.chance(0.2):
        found["hops"] = draw.drawn("TimeRangeSpec", 1)
    if taps and draw.chance(0.3):
        found["packets"] = draw.drawn("TimeRangeSpec", 1)
    if taps and draw.chance(0.3):
        found["capture"] = draw.drawn("CaptureSpec", 0.5) or True
    return found
