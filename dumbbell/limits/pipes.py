"""Capacity of a direction of a link, read from its scenario."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from dumbbell.limits.buckets import least_delay_ns, longest_delay_s
from dumbbell.limits.outages import outages, within
from dumbbell.scenario import Pipe, Scenario, shaper_of

#: Bytes that may leave at one delivery opportunity of a packet-delivery trace (mahimahi).
OPPORTUNITY_BYTES = 1504
#: What CAKE does not count of a frame.
ETHERNET_HEADER_BYTES = 14
#: What a wire's bucket holds.
FULL_FRAME_BYTES = 1514
_NS = 1e9


def pipes_of(spec: Scenario) -> dict[str, Pipe]:
    """Both directions of each link by name, as `bottleneck/forward`."""
    found = {}
    for link in spec["links"]:
        found[f"{link['name']}/forward"] = link["forward"]
        found[f"{link['name']}/backward"] = link["backward"]
    return found


def rate_of(pipe: Pipe) -> float | None:
    """Rate of its shaper at the beginning, bit/s; None: it has none."""
    shaper = shaper_of(pipe)
    if "serial" in shaper:
        return float(shaper["serial"]["rate_bps"])
    if "tbf" in shaper:
        return float(shaper["tbf"]["rate_bps"])
    return None if shaper else own_rate_of(pipe)


def own_rate_of(pipe: Pipe) -> float | None:
    """Rate of its queue, if that shapes (htb, cake with a bandwidth), bit/s."""
    queue = pipe["queue"]
    if "htb" in queue:
        return float(queue["htb"]["rate_bps"])
    bandwidth = queue["cake"]["bandwidth_bps"] if "cake" in queue else 0
    return float(bandwidth) if bandwidth else None


def rate_steps(pipe: Pipe) -> list[tuple[int, float]]:
    """Times (ns) from which on its shaper has which rate (bit/s); empty: it has none."""
    rate = rate_of(pipe)
    if rate is None:
        return []
    changes = ((one["at_ns"], one["rate_bps"]) for one in pipe["changes"])
    return [(0, rate), *((at_ns, float(to)) for at_ns, to in changes if to is not None)]


def delay_ns(pipe: Pipe) -> int:
    """Propagation delay at the beginning, with that of a netem as the queue, ns."""
    return pipe["delay_ns"] + int(pipe["queue"].get("netem", {}).get("delay_ns", 0))


def capacity_bits(pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    """Bits that its shaper lets through while the link is up, between two times.

    Infinite without a shaper.
    """
    bits = _shaped_bits(pipe, begin_ns, end_ns)
    if bits == float("inf"):
        return bits
    down = within(outages(pipe, end_ns), begin_ns, end_ns)
    return max(0.0, bits - sum(_shaped_bits(pipe, *one) for one in down))


def _shaped_bits(pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    """Bits that its shaper lets through, whether the link is up or not."""
    if deliveries := _deliveries_ms(pipe):
        count = _opportunities(deliveries, end_ns) - _opportunities(deliveries, begin_ns)
        return 8.0 * OPPORTUNITY_BYTES * count
    steps = rate_steps(pipe)
    if not steps:
        return float("inf")
    bits = 0.0
    for (start, rate), (end, _) in zip(steps, [*steps[1:], (end_ns, 0.0)], strict=True):
        bits += rate * max(0, min(end, end_ns) - max(start, begin_ns)) / _NS
    return bits


def policed_bits(pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    """Bits of frames that its policer lets through while the link is up, between two times.

    Infinite without one. Its bucket is full when the link comes up.
    """
    policer = pipe["policer"]
    if not policer:
        return float("inf")
    down = within(outages(pipe, end_ns), begin_ns, end_ns)
    up_ns = end_ns - begin_ns - sum(last - first for first, last in down)
    bursts = 1 + sum(last < end_ns for _, last in down)
    return float(policer["rate_bps"] * up_ns / _NS + 8.0 * bursts * policer["burst_bytes"])


def admitted_bits(pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    """Bits that its shaper and its policer let through while the link is up, between two times."""
    # A policer below the link's rate is what limits it.
    return min(capacity_bits(pipe, begin_ns, end_ns), policed_bits(pipe, begin_ns, end_ns))


def burst_bits(pipe: Pipe) -> float:
    """Bits that its token buckets may let through at once."""
    found = 0.0
    shaper = shaper_of(pipe)
    if "serial" in shaper and not _is_serialised(pipe):
        found += 8.0 * FULL_FRAME_BYTES
    if "tbf" in shaper:
        found += 8.0 * shaper["tbf"]["burst_bytes"]
    slots = pipe.get("slots")
    if slots and "drop_tail" not in pipe["queue"]:  # The bucket of a discipline in front of slots.
        found += 8.0 * FULL_FRAME_BYTES + _most_bps(pipe) * slots["max_ns"] / _NS
    if "htb" in pipe["queue"]:
        htb = pipe["queue"]["htb"]
        found += 8.0 * (htb["burst_bytes"] + sum(one["cburst_bytes"] for one in htb["classes"]))
    return found


def _is_serialised(pipe: Pipe) -> bool:
    """Every frame takes its time on the wire; elsewhere a bucket of one frame stands for it."""
    queue = pipe["queue"]
    if "drop_tail" not in queue:
        return "netem" in queue
    rates = [one["rate_bps"] for one in pipe["changes"]]
    plain = pipe["duplication"] == 0 and pipe["framing"]["mpu_bytes"] == 0
    return plain and queue["drop_tail"]["limit_bytes"] is None and not any(rates)


def surplus_bits(pipe: Pipe, longest_frame_bytes: int) -> float:
    """Bits that may come out beyond its capacity in any stretch of time.

    That is the frame on the wire when the time begins, a burst, and all that was under way where
    the delay may shrink.
    """
    netem = pipe["queue"].get("netem", {})
    delays = [pipe["delay_ns"] + netem.get("delay_ns", 0)]
    delays += [one["delay_ns"] for one in pipe["changes"] if one["delay_ns"] is not None]
    shrinks_ns = sum(max(0, one - other) for one, other in pairwise(delays))
    shrinks_ns += pipe["jitter_ns"] + netem.get("jitter_ns", 0)
    if netem.get("words"):
        shrinks_ns += round(1e9 * longest_delay_s(pipe)) - least_delay_ns(netem)
    if reordering := pipe["reordering"]:
        shrinks_ns += reordering["extra_delay_ns"]
    if slots := pipe.get("slots"):
        shrinks_ns += slots["max_ns"] + slots["pause_ns"]
    under_way = _most_bps(pipe) * shrinks_ns / _NS if shrinks_ns else 0.0
    if slots and (slots["packets"] or slots["bytes"]):  # A queue of what the wire has sent.
        under_way += _queue_bits(pipe, longest_frame_bytes)
    # A link that comes up has full buckets.
    ups = sum(one.get("state") == "up" for one in pipe["changes"])
    return 8.0 * longest_frame_bytes + burst_bits(pipe) * (1 + ups) + under_way


def _most_bps(pipe: Pipe) -> float:
    """The highest rate that its shaper ever has; infinite without one."""
    return max((rate for _, rate in rate_steps(pipe)), default=float("inf"))


def _queue_bits(pipe: Pipe, longest_frame_bytes: int) -> float:
    """Bits that a drop-tail queue holds; infinite for others."""
    limits = pipe["queue"].get("drop_tail", {})
    packets, size = limits.get("limit_packets"), limits.get("limit_bytes")
    found = [8.0 * longest_frame_bytes * packets] if packets is not None else []
    return min([*found, *([8.0 * size] if size is not None else [])], default=float("inf"))


def is_in_cells(pipe: Pipe) -> bool:
    """Frames take cells on the wire, or bytes of CAKE's own, which frames alone do not tell."""
    cake = pipe["queue"].get("cake")
    if cake is not None and cake["bandwidth_bps"]:
        return bool(cake["atm"] != "noatm" or cake["overhead_bytes"] > ETHERNET_HEADER_BYTES)
    return bool(pipe["framing"]["atm"])


def frames_exceed_wire(pipe: Pipe) -> bool:
    """Frames are longer than what they take on its wire."""
    cake = pipe["queue"].get("cake")
    if cake is not None and cake["bandwidth_bps"]:
        return bool(cake["overhead_bytes"] < ETHERNET_HEADER_BYTES and cake["atm"] != "atm")
    framing = pipe["framing"]
    return bool(framing["overhead_bytes"] < 0 and not framing["atm"])


#: A cell of ATM, and what it carries (ITU-T I.361).
_CELL_BYTES, _CELL_PAYLOAD_BYTES = 53, 48
#: Bytes of a packet between two bytes of sync (ITU-T G.992.3, PTM).
_PTM_BYTES = 64


def wire_bytes(pipe: Pipe, frame_bytes: int) -> int:
    """Bytes that a frame takes on the wire of a link, with its overhead, padding and cells."""
    framing, cake = pipe["framing"], pipe["queue"].get("cake")
    overhead, least, cells = framing["overhead_bytes"], framing["mpu_bytes"], framing["atm"]
    if cake is not None and cake["bandwidth_bps"]:
        # CAKE counts from the IP packet on.
        overhead, least = cake["overhead_bytes"] - ETHERNET_HEADER_BYTES, cake["mpu_bytes"]
        cells = cake["atm"] == "atm"
    framed = max(frame_bytes + overhead, least)
    if cake is not None and cake["bandwidth_bps"] and cake["atm"] == "ptm":
        framed += -(-framed // _PTM_BYTES)  # A byte of sync for each 64 (`cake_calc_overhead`).
    return int(-(-framed // _CELL_PAYLOAD_BYTES) * _CELL_BYTES if cells else framed)


def least_time_s(pipe: Pipe, frames_bytes: float) -> float:
    """Least time in which so many bytes of frames pass, whatever its rate just is."""
    least = 0.0
    if deliveries := _deliveries_ms(pipe):
        least = _shortest_ms(deliveries, int(frames_bytes / OPPORTUNITY_BYTES)) / 1e3
    bits = 8.0 * frames_bytes
    if rates := [rate for _, rate in rate_steps(pipe)]:
        least = max(0.0, bits - burst_bits(pipe)) / max(rates)
    if policer := pipe["policer"]:
        admitted = max(0.0, bits - 8.0 * policer["burst_bytes"]) / policer["rate_bps"]
        least = max(least, admitted)
    return least


def _deliveries_ms(pipe: Pipe) -> list[int]:
    shaper = shaper_of(pipe)
    return shaper["trace"]["deliveries_ms"] if "trace" in shaper else []


def _opportunities(deliveries_ms: list[int], until_ns: int) -> int:
    """Opportunities of a repeated trace from 0 to a time, this included."""
    period, rest_ns = divmod(until_ns, deliveries_ms[-1] * 1_000_000)
    return period * len(deliveries_ms) + bisect_right(deliveries_ms, rest_ns // 1_000_000)


def _shortest_ms(deliveries_ms: list[int], count: int) -> int:
    """The shortest time in which so many opportunities of a repeated trace come."""
    if count <= 1:
        return 0
    period, length = deliveries_ms[-1], len(deliveries_ms)
    rounds, more = divmod(count - 1, length)
    twice = [*deliveries_ms, *(period + at for at in deliveries_ms)]
    return rounds * period + min(twice[i + more] - twice[i] for i in range(length))
