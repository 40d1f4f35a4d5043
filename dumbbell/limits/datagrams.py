"""Packets of datagrams."""

from __future__ import annotations

import math

from dumbbell.scenario import Udp

_IP_BYTES, _UDP_BYTES = 20, 8


def packets_of(udp: Udp) -> int:
    """IP packets that each of its datagrams makes: one above the MTU is fragmented."""
    part_bytes = (udp["mtu_bytes"] - _IP_BYTES) // 8 * 8  # RFC 791 §3.1: fragment offsets
    whole = udp["datagram_bytes"] + _UDP_BYTES + _IP_BYTES <= udp["mtu_bytes"]
    return 1 if whole else math.ceil((udp["datagram_bytes"] + _UDP_BYTES) / part_bytes)


def burst_packets(udp: Udp) -> float:
    """Packets of the datagrams of one interval."""
    datagrams = udp["rate_bps"] * udp["interval_ns"] / 8e9 / udp["datagram_bytes"]
    return datagrams * packets_of(udp)
