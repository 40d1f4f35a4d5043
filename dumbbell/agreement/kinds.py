"""Classes of cells. Each draws flows and a network; all have as many cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dumbbell.agreement.cells import (
    PACKET_BITS,
    PACKETS,
    PACKETS_OF_CHANCE,
    Cell,
    Draw,
    rate_text,
    time_text,
)
from dumbbell.agreement.queues import RANDOM, disciplines
from dumbbell.catalogue import congestion_controls

#: Congestion controls of unpatched kernels. DCTCP has marks in data centres alone.
CONTROLS = tuple(
    one.name
    for one in congestion_controls().values()
    if one.linux is not None and one.linux.since and not one.coupled and one.name != "dctcp"
)
#: Controls that draw: BBR the phase of its cycle, CDG and NV within their rules. LP takes the
#: offset of timestamps for a delay.
_RANDOM_CONTROLS = ("bbr", "cdg", "lp", "nv")
#: Rates and RTTs of data centres.
_FAST, _SHORT = (1e9, 10e9), (20e-6, 500e-6)


def draw_cells(count: int, seed: int = 1) -> list[Cell]:
    """Draws cells, a class after the other. Raises `ValueError` below one cell."""
    if count < 1:
        raise ValueError(f"at least one cell is drawn; found {count}")
    makers = list(KINDS.items())
    found = []
    for number in range(1, count + 1):
        kind, make = makers[(number - 1) % len(makers)]
        draw = Draw(seed, number)
        words, network, flows, duration_s, is_random = make(draw)
        packets_s = tuple(PACKET_BITS / path.rate for path in draw.paths)
        found.append(
            Cell(number, kind, words, network, tuple(flows), duration_s, is_random, packets_s)
        )
    return found


#: Words, network, flows, duration (s), and whether chance decides.
_Drawn = tuple[str, dict[str, Any], list[dict[str, Any]], float, bool]


def _flow(control: str, end: int = 1, **fields: Any) -> dict[str, Any]:
    tcp: Any = {"congestion_control": control, **fields} if fields else control
    return {"name": f"flow{end}", "from": f"s{end}", "to": f"d{end}", "tcp": tcp}


def _control(draw: Draw) -> str:
    return str(draw.one(*CONTROLS))


def _draws(control: str) -> bool:
    return control in _RANDOM_CONTROLS


def _tail_drop(draw: Draw) -> _Drawn:
    path, control = draw.path(PACKETS), _control(draw)
    words = f"{control}, {path.words}, {path.limit} packets"
    return words, path.dumbbell(), [_flow(control)], path.duration(PACKETS), _draws(control)


def _transfer(draw: Draw) -> _Drawn:
    path, control = draw.path(PACKETS), _control(draw)
    size = draw.whole(2_000, 4_000_000)
    words = f"{size} bytes by {control}, {path.words}, {path.limit} packets"
    flows = [_flow(control, bytes=f"{size} bytes")]
    return words, path.dumbbell(), flows, path.duration(3 * PACKETS), _draws(control)


def _discipline(draw: Draw) -> _Drawn:
    path, control = draw.path(PACKETS_OF_CHANCE, (1e6, 1e9), (0.5e-3, 0.3)), _control(draw)
    queues = disciplines(path)
    name = draw.one(*queues)
    ecn = draw.one(0, 1)
    ends = ("sender", "receiver") if ecn else ()
    options: dict[str, Any] = {end: {"tcp_ecn": 1} for end in ends}
    words = f"{control}{' with ECN' if ecn else ''}, {name}, {path.words}, {path.limit} packets"
    is_random = name in RANDOM or _draws(control)
    network = path.dumbbell(forward={"queue": {name: queues[name]}})
    duration = path.duration(PACKETS_OF_CHANCE if is_random else PACKETS)
    return words, network, [_flow(control, 1, **options)], duration, is_random


def _shaped(draw: Draw) -> _Drawn:
    path, control = draw.path(PACKETS, (0.5e6, 1e9), (1e-3, 0.45)), _control(draw)
    duration = path.duration(PACKETS)
    burst = f"{draw.whole(1600, max(3200, round(path.rate / 8 * 0.02)))} bytes"
    form = draw.one("token bucket", "policer", "htb", "changing rate")
    rate = rate_text(path.rate)
    if form == "token bucket":
        shaper = {"tbf": {"rate": rate, "burst": burst}}
        network = path.dumbbell(rate=None, forward={"shaper": shaper})
    elif form == "policer":
        policer = {"rate": rate_text(0.6 * path.rate), "burst": burst}
        network = path.dumbbell(forward={"policer": policer})
    elif form == "htb":
        below = {"pfifo": {"limit": f"{path.limit} packets"}}
        queue = {"htb": {"rate": rate, "burst": burst, "queue": below}}
        network = path.dumbbell(rate=None, forward={"queue": queue})
    else:
        changes = [
            {"at": time_text(part * duration), "rate": rate_text(path.rate * draw.between(0.2, 1))}
            for part in (0.4, 0.7)
        ]
        network = path.dumbbell(forward={"changes": changes})
    words = f"{control}, {form}, {path.words}, {path.limit} packets"
    return words, network, [_flow(control)], duration, _draws(control)


def _impaired(draw: Draw) -> _Drawn:
    path, control = draw.path(PACKETS_OF_CHANCE, (0.5e6, 1e9), (1e-3, 0.45)), _control(draw)
    share = f"{draw.between(0.01, 3):g} %"
    form = draw.one("loss", "bursts", "jitter", "duplication", "corruption", "reordering", "ACKs")
    forward: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    if form == "loss":
        forward["loss"] = share
    elif form == "bursts":
        forward["loss"] = {
            "gilbert_elliott": {"good_to_bad": share, "bad_to_good": f"{draw.whole(10, 90)} %"}
        }
    elif form == "jitter":
        # On a link without a rate: docs/linux-engine.md says why.
        jitter = draw.between(0.01, 0.3) * path.rtt
        fields["access"] = {"delay": time_text(2 * jitter), "jitter": time_text(jitter)}
    elif form == "reordering":
        extra = time_text(draw.between(0.05, 1) * path.rtt)
        forward["reordering"] = {"probability": share, "extra_delay": extra}
    elif form == "ACKs":
        wait = time_text(draw.between(0.05, 0.5) * path.rtt)
        fields["backward"] = {
            "buffer": "10000 packets",
            "ack_aggregation": {"max_wait": wait, "max_acks": draw.whole(2, 20)},
        }
    else:
        forward[form] = share
    words = f"{control}, {form}, {path.words}, {path.limit} packets"
    network = path.dumbbell(forward=forward, **fields)
    return words, network, [_flow(control)], path.duration(PACKETS_OF_CHANCE), True


def _several(draw: Draw) -> _Drawn:
    path = draw.path(PACKETS_OF_CHANCE, (0.5e6, 1e9), (1e-3, 0.45))
    count = draw.whole(2, 32)
    pair = (_control(draw), _control(draw))
    flows = _jittered([_flow(pair[end % 2], end) for end in range(1, count + 1)])
    words = f"{count} flows of {pair[1]} and {pair[0]}, {path.words}, {path.limit} packets"
    duration = path.duration(max(PACKETS_OF_CHANCE, 400 * count))
    return words, path.dumbbell(count), flows, duration, True


def _several_disciplines(draw: Draw) -> _Drawn:
    path = draw.path(PACKETS_OF_CHANCE, (1e6, 1e9), (0.5e-3, 0.3))
    queues = disciplines(path)
    name = draw.one(*queues)
    count = draw.whole(2, 16)
    pair = (_control(draw), _control(draw))
    flows = _jittered([_flow(pair[end % 2], end) for end in range(1, count + 1)])
    network = path.dumbbell(count, forward={"queue": {name: queues[name]}})
    words = f"{count} flows of {pair[1]} and {pair[0]}, {name}, {path.words}"
    return words, network, flows, path.duration(max(PACKETS_OF_CHANCE, 400 * count)), True


def _data_centre(draw: Draw) -> _Drawn:
    path = draw.path(PACKETS_OF_CHANCE, _FAST, _SHORT)
    count, limit = draw.whole(2, 32), draw.whole(20, 500)
    control = draw.one("cubic", "reno", "dctcp", "bbr")
    size = draw.whole(20_000, 1_000_000)
    queue: dict[str, Any] = {"pfifo": {"limit": f"{limit} packets"}}
    if control == "dctcp":
        mark = time_text(max(20 * 12_000 / path.rate, 24e-6))
        queue = {"codel": {"limit": f"{limit} packets", "ce_threshold": mark}}
    flows = _jittered(
        [_flow(control, end, bytes=f"{size} bytes") for end in range(1, count + 1)], "1 RTT"
    )
    words = f"{count} answers of {size} bytes by {control}, {path.words}, {limit} packets"
    return words, path.dumbbell(count, forward={"queue": queue}), flows, 2.0, True


def _multipath(draw: Draw) -> _Drawn:
    paths = [draw.path(PACKETS_OF_CHANCE, (1e6, 100e6), (5e-3, 0.2)) for _ in range(2)]
    control = draw.one("cubic", "reno", "bbr")
    links = []
    for path, router in zip(paths, ("r1", "r2"), strict=True):
        links += [
            {
                "between": ["s1", router],
                "rate": rate_text(path.rate),
                "delay": time_text(path.rtt / 2),
                "buffer": f"{path.limit} packets",
            },
            {"between": [router, "d1"], "rate": "1 Gbit/s", "buffer": "10000 packets"},
        ]
    flow = {"name": "flow1", "from": "s1", "to": "d1", "mptcp": control, "start_jitter": "10 ms"}
    both = " and ".join(f"{path.words}, {path.limit} packets" for path in paths)
    duration = max(path.duration(PACKETS_OF_CHANCE) for path in paths)
    return f"{control} over {both}", {"links": links}, [flow], min(duration, 20.0), True


def _jittered(flows: list[dict[str, Any]], span: str = "1 RTT") -> list[dict[str, Any]]:
    return [flow | {"start_jitter": span} for flow in flows]


#: Class → its drawing.
KINDS: dict[str, Callable[[Draw], _Drawn]] = {
    "one flow, tail drop": _tail_drop,
    "one transfer, tail drop": _transfer,
    "one flow, a discipline": _discipline,
    "one flow, shaped or policed": _shaped,
    "one flow, impairments": _impaired,
    "2 to 32 flows, tail drop": _several,
    "2 to 16 flows, a discipline": _several_disciplines,
    "answers in a data centre": _data_centre,
    "Multipath TCP, two paths": _multipath,
}
