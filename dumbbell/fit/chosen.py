"""The connection of a capture to fit, and what the capture lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dumbbell.capture import CaptureError, survey
from dumbbell.capture.damage import damage
from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError
from dumbbell.fit.observe import Observed

#: Least data packets and ACKs from which anything is estimated.
_PACKETS_LEAST = 10
_CLOCK_GAP_S = 60.0
#: Coarsest clock that shows gaps between packets.
_TICK_S = 50e-6
_FRAME_MAX = 9000
#: Data packets per ACK beyond which ACKs are missing.
_ACKS_FEW = 20


def chosen(path: str | Path, connection: int | None) -> tuple[dict[str, Any], list[str]]:
    """Row of the direction with the most data, and what to say about the choice.

    Raises:
        CaptureError: The file cannot be read, or has no TCP connection with data.
        DumbbellError: It has no such connection.
    """
    found = survey(path)
    rows = [row for row in found["connections"] if row["data_packets"]]
    if not rows:
        raise CaptureError(f"{path}: {_without(found)}")
    if connection is not None:
        known = sorted({row["connection"] for row in rows})
        if connection not in known:
            shown = ", ".join(map(str, known[:20])) + (", …" if len(known) > 20 else "")
            raise DumbbellError(
                f"{path}: --connection {connection}: with data there are {shown}",
                code=Code.SELECTION,
            )
        rows = [row for row in rows if row["connection"] == connection]
    row = max(rows, key=lambda one: (one["unique_bytes"], -one["connection"]))
    peers = (
        one
        for one in found["connections"]
        if one["connection"] == row["connection"] and one["direction"] != row["direction"]
    )
    row = {**row, "peer": next(peers, None)}
    notes = damage(found["file"]) + found["file"]["notes"]
    others = len({one["connection"] for one in found["connections"]}) - 1
    if connection is None and others:
        notes.append(
            f"connection {row['connection']} has the most data of {others + 1}; each other one is "
            "fitted with --connection N"
        )
    return row, notes


def _without(found: dict[str, Any]) -> str:
    """Why there is nothing to fit."""
    kinds = {one["protocol"] for one in found["conversations"]}
    if found["connections"]:
        return (
            "its connections have ACKs but no data: a capture of one side. The direction of the "
            "data is needed"
        )
    if "udp" in kinds:
        return (
            "no TCP connection. QUIC and other UDP traffic hide acknowledgements and losses, so "
            "only `dumbbell capture` says something about it"
        )
    if found["file"]["truncated_packets"]:
        return (
            "no TCP connection; the snap length cuts frames, so TCP headers may be missing. At "
            "least 128 bytes of each frame are needed"
        )
    return "no TCP connection; an encrypted tunnel hides those in it"


def lacking(seen: Observed) -> list[str]:
    """Gaps of the capture, and the estimates that suffer."""
    row, notes = seen.row, []
    if row["handshake_rtt_ns"] is None:
        notes.append(
            "no handshake: window scale, initial window and ECN are unknown, and the base RTT "
            "comes from data alone"
        )
    if seen.cut_packets:
        notes.append(
            f"the snap length cuts the TCP options of {many(seen.cut_packets, 'packet')}: "
            f"{' and '.join(_cut(seen))} are unknown; capture at least 128 bytes of each frame"
        )
    if not len(seen.ack_s):
        notes.append("no ACKs: RTT, queue and delivery rate are unknown")
    elif len(seen.ack_s) < len(seen.sent_s) / _ACKS_FEW:
        notes.append(
            f"{len(seen.ack_s)} ACKs for {len(seen.sent_s)} data packets: the tap dropped ACKs, or "
            "an offload merged them; RTTs and windows are rough"
        )
    if row["unseen_bytes"]:
        notes.append(
            f"{row['unseen_bytes']} acknowledged bytes are missing: the tap dropped packets, or "
            "the capture is cut; losses at these places are not counted"
        )
    if seen.backward_steps:
        notes.append(
            f"the clock goes back {many(seen.backward_steps, 'time')}; it goes on from where it "
            "was, and RTTs there are wrong"
        )
    if seen.ahead_s:
        notes.append(
            f"the clock jumps ahead by {seen.ahead_s:.4g} s while data is in flight and no "
            "time-out follows; the jump was taken out"
        )
    if seen.tick_s > _TICK_S and not seen.ack_wait_s:
        notes.append(
            f"times are multiples of {seen.tick_s * 1e3:.3g} ms: gaps between packets do not show"
        )
    if seen.ack_wait_s > 0:
        notes.append(
            f"ACKs wait on their way back, {seen.ack_wait_s * 1e3:.3g} ms: for other packets, for "
            "slots or on a longer path. RTTs and rates are those without it, by the ends' clocks"
        )
    if seen.gap_s > _CLOCK_GAP_S:
        notes.append(f"a gap of {seen.gap_s:.0f} s: a pause, or a jump of the clock")
    if row["segment_max_bytes"] > _FRAME_MAX:
        notes.append("frames hold several segments (offload): gaps on the wire do not show")
    if row["copied_packets"]:
        notes.append(f"{many(row['copied_packets'], 'duplicate frame')} left out")
    if not seen.timed and not seen.cut_packets:
        notes.append("no TCP timestamps: in flight and RTT to the sender are those at the tap")
    return notes


def _cut(seen: Observed) -> list[str]:
    """What the cut options would have shown."""
    found = ["SACKed data"]
    if not seen.timed:
        found.append("the RTT to the sender")
    if not seen.windowed:
        found.append("receive windows")
    return found


def too_short(seen: Observed) -> bool:
    """True if there is too little to estimate anything."""
    return len(seen.sent_s) < _PACKETS_LEAST or len(seen.ack_s) < _PACKETS_LEAST
