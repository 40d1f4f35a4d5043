"""What a capture shows of one transfer, as arrays: sent and delivered bytes, RTTs, losses, windows.

All times are seconds since the first packet of the connection in the capture. Quantities that the
tap cannot see are NaN, or None.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell import _core
from dumbbell.fit.ack_path import CLOCK_S, WAITS, near_without_waits, without_waits
from dumbbell.fit.clock import straightened
from dumbbell.fit.lost import losses_of
from dumbbell.fit.rounds import duplicates, full_rtt, near_rtt, rtt_of_segments

Floats = NDArray[np.float64]
#: Maximum of packets of a connection that are read.
PACKETS_MAX = 5_000_000
_UNKNOWN = np.iinfo(np.int64).min
_ECE, _SYN, _AE = 0x40, 0x02, 0x100
_NEW, _TIMEOUT = 1, 2
#: Longest frame that a length field of IP can state, and beyond; options of timestamps; least MSS.
_MOST, _STAMPS, _LEAST = 70_000, 12, 40
#: Fewest ticks of the sender's clock that show its rate.
_TICKS_FEW = 20


@dataclass(frozen=True)
class Observed:
    """One direction of a TCP connection, as its tap sees it.

    Attributes:
        row: Row of this direction in the table `connections` of `dumbbell.capture.survey`; `peer`
            is the row of the other one, if it is known.
        start_ns: Time stamp of time 0.
        duration_s: Time of the last packet.
        header_bytes: Bytes of a data frame beside its payload.
        payload_bytes: Payload of a full segment.
        sent_s, sent_end_bytes, sent_len_bytes: Data packets: time, end in the stream, payload.
        sent_new: True if the packet carries new data.
        ack_s, ack_bytes, edge_bytes: ACKs: time, acknowledged bytes, right edge of the window.
        left_s: When each ACK would pass the tap if it met no queue on its way.
        ack_wait_s: Time that ACKs wait in queues on their way: the longest, but for a tenth. 0:
            too short to show beside the RTT, or unknown.
        delivered_bytes: Acknowledged or SACKed bytes after each ACK.
        echoes: True if an ACK has ECE.
        ecn: What the SYN of the sender asks for: `none`, `classic` (RFC 3168), `accurate` (RFC
            9768), `unknown` without its SYN.
        ect: Shares of packets with ECT(0), ECT(1) or CE of the sender: of new data, of
            retransmissions, of others; and the share of ECT(1) of new data (NaN: no such packet).
        flight_bytes: In flight at the sender as each new packet leaves it.
        far_s: RTT from tap to receiver and back of each data packet (NaN: no sample).
        near_s: RTT from tap to sender and back, at each data packet (NaN: no sample).
        rtt_s: RTT of the whole path at each data packet (NaN: no sample).
        lost_s: Time of each lost packet: when it passed, or when the packet before its hole passed.
        lost_end_bytes: Its end in the stream.
        lost_nth: Its number among all data packets that the sender sent; the first is 1.
        timeouts: Number of retransmissions by time-out.
        backward_steps: Number of times that the clock went back.
        ahead_s: Jumps of the clock ahead, which were taken out.
        tick_s: Resolution of the clock.
        gap_s: Longest time between two packets.
        timed: True if both sides send timestamps.
        scaled: False if the receiver's SYN has no window scale, or the sender's.
        windowed: True if the scale of the receive window is known, or there is none.
        cut_packets: Packets whose TCP options the snap length cuts.
        stamp_s: Time at which the sender sent each data packet, by its timestamps (RFC 7323 §5.4):
            since the first packet, in its clock's resolution (NaN: no timestamps).
        seen_lost_share: Share of the lost packets that the tap saw before they were lost.
    """

    row: dict[str, Any]
    start_ns: int
    duration_s: float
    header_bytes: float
    payload_bytes: int
    sent_s: Floats
    sent_end_bytes: Floats
    sent_len_bytes: Floats
    sent_new: NDArray[np.bool_]
    ack_s: Floats
    left_s: Floats
    ack_wait_s: float
    ack_bytes: Floats
    edge_bytes: Floats
    delivered_bytes: Floats
    echoes: NDArray[np.bool_]
    ecn: str
    ect: Floats
    flight_bytes: Floats
    far_s: Floats
    near_s: Floats
    rtt_s: Floats
    lost_s: Floats
    lost_end_bytes: Floats
    lost_nth: NDArray[np.int64]
    timeouts: int
    seen_lost_share: float
    backward_steps: int
    ahead_s: float
    tick_s: float
    gap_s: float
    timed: bool
    scaled: bool
    windowed: bool
    cut_packets: int
    stamp_s: Floats

    @property
    def frame_bytes(self) -> float:
        """Length of a full frame."""
        return self.payload_bytes + self.header_bytes

    @property
    def marked(self) -> bool:
        """True if packets were marked, or the receiver reported marks (RFC 3168)."""
        told = self.ecn == "classic" and int(self.echoes.sum()) > 2
        return bool(self.row["ecn_congested_packets"]) or told

    @property
    def data_s(self) -> float:
        """Time of the first data packet."""
        return float(self.sent_s[0])


def observe(source: str | Path | bytes, row: dict[str, Any]) -> Observed:
    """Reads one direction of a connection.

    Args:
        source: Capture: a path, or its bytes.
        row: Row of the direction in `connections` of the survey of this capture.

    Raises:
        ValueError: The direction has no data packet with a time.
    """
    name = source if isinstance(source, bytes) else str(source)
    found = _core.capture_series(name, row["connection"], PACKETS_MAX)
    columns = {key: np.frombuffer(data, kind) for key, (kind, data) in found.items()}
    return from_columns(columns, row)


def from_columns(columns: dict[str, NDArray[Any]], row: dict[str, Any]) -> Observed:
    """Observation from the columns of `_core.capture_series`."""
    side = 0 if row["direction"] == "a_to_b" else 1
    times = columns["time_ns"]
    own = (columns["side"] == side) & (columns["payload_bytes"] > 0) & (columns["what"] < 4)
    if not own.any():
        raise ValueError("no data packet")
    clock = straightened(times, _continues(columns, own))
    seconds = clock.seconds
    acks = (columns["side"] != side) & (columns["ack_bytes"] != _UNKNOWN)
    acks &= (columns["flags"] & _SYN) == 0
    end = (columns["position_bytes"] + columns["payload_bytes"])[own].astype(float)
    length = columns["payload_bytes"][own].astype(float)
    new = columns["what"][own] == _NEW
    sent = seconds[own]
    highest = np.maximum.accumulate(np.where(own, _ends(columns), 0.0))
    ack_s = seconds[acks]
    ack = columns["ack_bytes"][acks].astype(float)
    known = columns["in_flight_bytes"][acks] != _UNKNOWN
    flight_at_ack = np.where(known, columns["in_flight_bytes"][acks], np.nan).astype(float)
    delivered = np.fmax.accumulate(np.fmax(ack, highest[acks] - flight_at_ack)) if len(ack) else ack
    cut = int(row["cut_options_packets"] + row["acks_with_cut_options"])
    if len(ack) and (cut or not (delivered > ack + 0.5).any()):
        pure = columns["payload_bytes"][acks] == 0
        repeated = duplicates(ack, columns["window_bytes"][acks], pure)
        size = float(np.median(length))
        behind = np.minimum(ack + size * repeated, highest[acks])
        delivered = np.maximum(delivered, np.maximum.accumulate(behind))
    stamps = (columns["stamp"][acks], columns["echo"][own])
    stamp_s = _sender_times(columns["stamp"][own], sent)
    near = near_rtt(sent, stamps[1], ack_s, stamps[0], new, stamp_s)
    stated = _sender_times(stamps[0], ack_s) if len(ack_s) else ack_s
    left = without_waits(ack_s, stated, clock.tick_s)
    far = rtt_of_segments(sent, end, length, new, left, ack, delivered)
    near, near_wait = near_without_waits(near, sent, stamp_s, clock.tick_s)
    waits = float(np.quantile(ack_s - left, WAITS)) if len(ack_s) else 0.0
    unscaled = columns["window_bytes"][acks] == _UNKNOWN
    lost = losses_of(columns, own, seconds)
    flight = _flight(columns, own, new, ack_s, delivered, stamps, end)
    return Observed(
        row=row,
        start_ns=int(times[0]),
        duration_s=float(seconds[-1]),
        header_bytes=_header(row),
        payload_bytes=_segment(row, length),
        sent_s=sent,
        sent_end_bytes=end,
        sent_len_bytes=length,
        sent_new=new,
        ack_s=ack_s,
        left_s=left,
        ack_wait_s=waits + near_wait,
        ack_bytes=ack,
        edge_bytes=ack + np.where(unscaled, np.nan, columns["window_bytes"][acks]),
        delivered_bytes=delivered,
        echoes=(columns["flags"][acks] & _ECE) != 0,
        ecn=_ecn(columns["flags"][(columns["flags"] & _SYN) != 0]),
        ect=_ect(columns, side),
        flight_bytes=flight,
        far_s=far,
        near_s=near,
        rtt_s=full_rtt(sent, far, near, sender_handshake(row), lost.seen_share),
        lost_s=lost.at_s,
        lost_end_bytes=lost.end_bytes,
        lost_nth=lost.nth,
        timeouts=int((columns["kind"][own] == _TIMEOUT).sum()),
        seen_lost_share=lost.seen_share,
        backward_steps=clock.backward_steps,
        ahead_s=clock.ahead_s,
        tick_s=max(clock.tick_s, CLOCK_S) if waits > 0 else clock.tick_s,
        gap_s=float(np.diff(seconds).max()) if len(seconds) > 1 else 0.0,
        scaled=_scaled(row),
        windowed=not unscaled.any(),
        cut_packets=cut,
        timed=bool((stamps[1] != _UNKNOWN).all()) if len(stamps[1]) else False,
        stamp_s=stamp_s,
    )


def sender_handshake(row: dict[str, Any]) -> float | None:
    """RTT of the handshake between the tap and the sender, s; None: not in the capture."""
    if row["handshake_rtt_ns"] is None or row["syn_rtt_ns"] is None:
        return None
    first, whole = float(row["syn_rtt_ns"]) / 1e9, float(row["handshake_rtt_ns"]) / 1e9
    return whole - first if row["opened_it"] else first


def _scaled(row: dict[str, Any]) -> bool:
    """False if a SYN of either end has no window scale: none is scaled then (RFC 7323 §2.2)."""
    ends = [one for one in (row, row.get("peer")) if one and one.get("syns")]
    return all(one["window_scale"] is not None or one["cut_options_packets"] for one in ends)


def _segment(row: dict[str, Any], lengths: Floats) -> int:
    """Payload of a full segment: the most frequent one, and not more than the MSS permits.

    Offload merges segments into frames that are longer (TSO, GRO): the MSS counts header options
    of TCP (RFC 9293 §3.7.1).
    """
    ends = (row, row.get("peer"))
    known = [one["mss_bytes"] for one in ends if one and one.get("mss_bytes")]
    most = min(known, default=0) - (_STAMPS if row.get("timestamps") else 0)
    usual = int(np.bincount(lengths.astype(int)).argmax()) if lengths.max() < _MOST else 0
    if _LEAST < most < (usual or np.inf):
        return most
    return usual or int(lengths.max())


def _continues(columns: dict[str, NDArray[Any]], own: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for packets after which data is in flight, and the next data follows in the stream."""
    begins = columns["position_bytes"]
    reach = np.maximum.accumulate(np.where(own, _ends(columns), 0.0))
    rows = np.flatnonzero(own)
    place = np.searchsorted(rows, np.arange(len(own)), side="right")
    after = rows[np.minimum(place, len(rows) - 1)]
    follows = (place < len(rows)) & (columns["what"][after] == _NEW)
    found: NDArray[np.bool_] = follows & (begins[after] <= reach) & (columns["in_flight_bytes"] > 0)
    return found


def _ecn(flags: NDArray[Any]) -> str:
    """ECN as the SYN and its answer negotiate it."""
    if not len(flags):
        return "unknown"
    if (flags & _AE).any():
        return "accurate"
    return "classic" if (flags & _ECE).all() else "none"


def _ect(columns: dict[str, NDArray[Any]], side: int) -> Floats:
    """Shares of the sender's packets with ECT; all NaN if the path clears it (RFC 3168 §6.1)."""
    own, field = columns["side"] == side, columns["ecn"]
    data = own & (columns["payload_bytes"] > 0)
    groups = (data & (columns["what"] == _NEW), data & (columns["what"] != _NEW), own & ~data)
    shares = [float((field[one] > 0).mean()) if one.any() else np.nan for one in groups]
    first = float((field[groups[0]] == 1).mean()) if groups[0].any() else np.nan
    found = np.array([*shares, first])
    return found if found[0] > 0 else np.full(4, np.nan)


def _sender_times(stamps: NDArray[np.int64], sent_s: Floats) -> Floats:
    """Times of the sender's clock, with a power of ten ticks per s (Linux and others: 1 ms)."""
    ticks, span = int(stamps[-1]) - int(stamps[0]), float(sent_s[-1] - sent_s[0])
    if (stamps == _UNKNOWN).any() or ticks < _TICKS_FEW or span <= 0:
        return np.full(len(sent_s), np.nan)
    per_s = 10.0 ** round(np.log10(ticks / span))
    found: Floats = (stamps - stamps[0]) / per_s
    return found


def _ends(columns: dict[str, NDArray[Any]]) -> Floats:
    ends = columns["position_bytes"] + columns["payload_bytes"]
    return np.where(columns["position_bytes"] == _UNKNOWN, 0, ends).astype(float)


def _header(row: dict[str, Any]) -> float:
    """Bytes of headers per frame: all bytes of the direction less its payload."""
    return float(max(40.0, (row["bytes"] - row["payload_bytes"]) / max(1, row["packets"])))


def _flight(
    columns: dict[str, NDArray[Any]],
    own: NDArray[np.bool_],
    new: NDArray[np.bool_],
    ack_s: Floats,
    delivered: Floats,
    stamps: tuple[NDArray[np.int64], NDArray[np.int64]],
    end: Floats,
) -> Floats:
    """In flight as each packet left the sender: what the ACK that it echoes had not yet reported.

    The echoed timestamp (RFC 7323 §4) says which ACKs the sender had received, at any tap. Without
    timestamps: in flight at the tap.
    """
    at_tap = columns["in_flight_bytes"][own].astype(float)
    if not len(ack_s) or (stamps[0] == _UNKNOWN).any() or (stamps[1] == _UNKNOWN).any():
        return at_tap
    count = np.searchsorted(np.maximum.accumulate(stamps[0]), stamps[1], side="right")
    highest = np.maximum.accumulate(end)
    told = np.where(count > 0, delivered[np.maximum(count - 1, 0)], 0.0)
    # Near the sender both agree; the echo lags behind by the ticks of the receiver's clock.
    return np.where(new, np.maximum(at_tap, highest - told), at_tap)
