"""The twin of a transfer: an experiment with the estimated path, ends and limits.

`sketch` takes the values from the estimates, `drawn` draws others within their intervals,
`experiment` makes the contents of an experiment file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from dumbbell.fit.ack_path import way_back
from dumbbell.fit.estimate import Estimate
from dumbbell.fit.observe import Observed
from dumbbell.fit.path import Path
from dumbbell.fit.writing import Writes, writes

#: Largest time of a twin, s; a longer transfer is simulated from its start up to this time.
TIME_MAX_S = 120.0
#: Rate of the twin, in what the ends sent, where no packet waited: any rate above it is alike.
UNSEEN = 2.0
#: Shortest part of an RTT that counts as a distance between the tap and an end.
_AT_END = 0.00015
_ACCURATE = 3
#: Segments below this size come from a smaller MTU than Ethernet's, not from more TCP options.
_SHORT = 1400
#: Full segments without timestamps.
_FULL = 1460
#: Frame of an ACK with timestamps.
_ACK_BYTES = 66.0
#: Bytes beyond a frame of a bucket that passes one frame of an idle transfer in an instant.
_SLACK = 86


@dataclass(frozen=True)
class Sketch:
    """Values of a twin.

    Attributes:
        near_s, far_s: Base RTT between the tap and the sender, the tap and the receiver.
        behind: True if the bottleneck stands between tap and receiver.
        steps: Rate of the bottleneck: (from s, bit/s).
        policer: Rate (bit/s) and burst (bytes) of a policer before the bottleneck.
        burst_bytes: Depth of the token bucket; None: a plain link.
        wait_s: Longest wait for a slot; None: no slots.
        queue: Kind of queue, as in `fit.queue`.
        limit_packets: Queue limit.
        loss: Share of packets that are lost at random.
        ecn: `none`, `classic` or `accurate`.
        window_bytes: Receive window; None: as the kernel tunes it. If the receiving application
            reads slowly, the largest window before data waits.
        reads_bps: Rate at which the receiving application reads, bit/s; None: at once.
        scaled: False if the receiver scales no window (RFC 7323 §2): it is at most 65 535 bytes.
        send_bytes: Send buffer; None: as the kernel tunes it.
        writes: Writes of the application; None: it always has data.
        initial_window: Segments.
        payload_bytes: Payload of a full segment.
        payload_total: Payload of the transfer; None: it did not end in the capture.
        duration_s: Time from the first to the last packet.
        spread: Relative spread of base RTT, rate, limit and burst.
        replayed: Numbers of the data packets that the twin loses as the capture did.
        rtt_known: False if the base RTT is only an upper bound.
        serialises: False if a frame of an idle transfer passes the bottleneck in an instant.
        ends: True if an end limited the transfer.
        plugins: Congestion controls in files: (name, path).
        back: Rate (bit/s) and queue (packets) of the way back; None: no ACK waits there.
        other: Kind (`steady`, `elastic`) and rate (bit/s) of competing traffic; None: none.
    """

    near_s: float
    far_s: float
    behind: bool
    steps: tuple[tuple[float, float], ...]
    policer: tuple[float, float] | None
    burst_bytes: float | None
    wait_s: float | None
    queue: str
    limit_packets: int
    loss: float
    ecn: str
    window_bytes: int | None
    reads_bps: float | None
    scaled: bool
    send_bytes: int | None
    writes: Writes | None
    initial_window: int | None
    payload_bytes: int
    payload_total: int | None
    duration_s: float
    spread: dict[str, float]
    other: tuple[str, float] | None = None
    replayed: tuple[int, ...] = ()
    rtt_known: bool = True
    serialises: bool = True
    ends: bool = False
    plugins: tuple[tuple[str, str], ...] = ()
    back: tuple[float, int] | None = None

    @property
    def frame_bytes(self) -> int:
        """Length of a full frame."""
        return self.payload_bytes + 66

    @property
    def rtt_s(self) -> float:
        """Base RTT of the path."""
        return self.near_s + self.far_s


def sketch(seen: Observed, path: Path) -> Sketch:
    """Values of the twin, from the estimates. Raises `ValueError` if the path is not known."""
    rate, far = path.rate.rate_bps.value, path.rtt.far.value
    if rate is None or far is None:
        raise ValueError("the capture shows neither a rate nor an RTT")
    near = path.rtt.near.value or 0.0
    policed = path.shaper.kind == "policer"
    top = max(rate, 1.5 * (path.shaper.rate_bps.value or 0.0)) if policed else rate
    if path.rate_unseen:
        top *= UNSEEN
    steps = path.rate.steps if path.rate.wanders else ((0.0, top),)
    ended = bool(seen.row.get("fins"))
    return Sketch(
        near_s=near if near > _AT_END else 0.0,
        far_s=far if far > _AT_END else 0.0,
        behind=path.behind,
        steps=steps,
        policer=(path.shaper.rate_bps.value or top, path.shaper.burst_bytes.value or 0.0)
        if policed
        else None,
        burst_bytes=path.shaper.burst_bytes.value if path.shaper.kind == "token bucket" else None,
        wait_s=path.shaper.wait_s.value,
        queue=path.queue.kind,
        limit_packets=_limit(path, near + far, top, seen.frame_bytes),
        loss=_loss(path),
        ecn=seen.ecn,
        window_bytes=_window(seen, path),
        reads_bps=path.limits.reads_bps.value if path.factor.name == "receive window" else None,
        scaled=seen.scaled,
        send_bytes=round(1.1 * path.limits.plateau_bytes)
        if path.factor.name in ("send buffer", "unknown")
        else None,
        writes=writes(seen, path) if path.factor.name == "application" else None,
        initial_window=_rounded(path.limits.initial_window),
        payload_bytes=seen.payload_bytes,
        payload_total=seen.row["unique_bytes"] if ended else None,
        duration_s=min(seen.duration_s, TIME_MAX_S),
        spread=_spread(path),
        other=(path.competing.kind, path.competing.rate_bps.value or 0.0)
        if path.competing.kind in ("steady", "elastic")
        else None,
        rtt_known=path.rtt.path.knowledge == "measured",
        serialises=path.rtt.serialises,
        ends=path.factor.ends,
        back=_back(seen, near + far),
    )


def _back(seen: Observed, base_s: float) -> tuple[float, int] | None:
    """Rate (bit/s) and queue (packets) of the way back; None: ACKs meet no queue there."""
    found = way_back(seen.ack_s, seen.left_s, seen.ack_wait_s, base_s)
    if found is None:
        return None
    peer = seen.row.get("peer")
    frame = max(64.0, peer["bytes"] / max(1, peer["packets"])) if peer else _ACK_BYTES
    return 8 * frame * found[0], max(2, round(found[0] * found[1]))


def _window(seen: Observed, path: Path) -> int | None:
    """Receive window; None: it was no limit."""
    if path.factor.name != "receive window":
        return None
    if path.limits.reads_bps.value is None:
        return _rounded(path.limits.window_bytes)
    return round(float((seen.edge_bytes - seen.ack_bytes).max()))


def _rounded(found: Estimate) -> int | None:
    return None if found.value is None else max(1, round(found.value))


def _limit(path: Path, rtt_s: float, rate: float, frame_bytes: float) -> int:
    """Queue limit; where none shows, so long that it never matters more than in the capture."""
    found = path.queue.limit_packets
    if found.knowledge == "measured" and found.value:
        return max(2, round(found.value))
    bdp = rate * rtt_s / 8 / frame_bytes
    return max(20, round(2 * (found.value or 0.0)), round(bdp))


def _loss(path: Path) -> float:
    """Random loss that is significant."""
    found = path.losses.random_share
    return found.value if found.value and (found.low or 0.0) > 0 else 0.0


def _spread(path: Path) -> dict[str, float]:
    """Relative standard deviations: a quarter of each interval, within bounds."""

    def share(found: Estimate, least: float) -> float:
        if not found.value or found.low is None or found.high is None:
            return 0.1
        return min(0.15, max(least, (found.high - found.low) / 4 / found.value))

    return {
        "rtt": share(path.rtt.path, 0.002),
        "rate": share(path.rate.rate_bps, 0.001),
        "limit": share(path.queue.limit_packets, 0.01),
        "burst": share(path.shaper.burst_bytes, 0.01),
    }


def drawn(one: Sketch, chance: Random) -> Sketch:
    """Values drawn within the uncertainty of the estimates."""

    def factor(name: str) -> float:
        return math.exp(chance.gauss(0.0, one.spread[name]))

    rtt, rate, limit, burst = (factor(name) for name in ("rtt", "rate", "limit", "burst"))
    policer = one.policer and (one.policer[0] * rate, one.policer[1] * burst)
    return replace(
        one,
        near_s=one.near_s * rtt,
        far_s=one.far_s * rtt,
        steps=tuple((at, bps * rate) for at, bps in one.steps),
        policer=policer,
        burst_bytes=one.burst_bytes and one.burst_bytes * burst,
        limit_packets=max(2, round(one.limit_packets * limit)),
    )


def experiment(one: Sketch, algorithm: str, *, sampled: bool = False) -> dict[str, Any]:
    """Contents of the experiment file of a twin with this congestion control."""
    fast = "10 Gbit/s" if max(bps for _, bps in one.steps) > 4e8 else "1 Gbit/s"
    wire = {"rate": fast, "buffer": "10000 packets"}
    bottleneck_s, other_s = (one.far_s, one.near_s) if one.behind else (one.near_s, one.far_s)
    ends = ("r", "d") if one.behind else ("s", "r")
    other = ("s", "r") if one.behind else ("r", "d")
    end = "s" if one.behind else "d"
    at_end = other_s == 0.0
    links = [
        {"name": "bottleneck", "between": list(ends), "delay": _ns(bottleneck_s / 2),
         "forward": _pipe(one), "backward": _way_back(one, wire)},
        {"name": "other", "between": list(other), "delay": _ns(other_s / 2), **wire},
    ]  # fmt: skip
    contents: dict[str, Any] = {
        "dumbbell": 1,
        "name": "twin",
        "hosts": {"s": {}, "d": {}},
        "routers": {"r": {}},
        "links": links,
        "flows": [{"name": "twin", "from": "s", "to": "d", "tcp": _tcp(one, algorithm)}],
        "taps": [{"name": "tap", "at": end if at_end else "r", "link": "other"}],
        "duration": f"{max(0.05, one.duration_s):.6f} s",
    }
    if algorithm in dict(one.plugins):
        contents["plugins"] = {algorithm: dict(one.plugins)[algorithm]}
    if one.other is not None:
        _add_competing(contents, one)
    if 40 <= one.payload_bytes < _SHORT or one.payload_bytes > _FULL:
        contents["hosts"]["defaults"] = {"mtu": f"{one.payload_bytes + 52} bytes"}
    if not sampled:
        contents["sampling"] = {"keep": [], "capture": True}
    return contents


def _way_back(one: Sketch, wire: dict[str, Any]) -> dict[str, Any]:
    """Fields of the bottleneck towards the sender."""
    if one.back is None:
        return dict(wire)
    rate, packets = one.back
    return {"rate": f"{rate:.0f} bit/s", "buffer": f"{packets} packets"}


def _add_competing(contents: dict[str, Any], one: Sketch) -> None:
    """Another flow through the bottleneck, which does not pass the tap."""
    kind, rate = one.other or ("steady", 0.0)
    contents["hosts"]["x"] = {}
    contents["links"].append(
        {"name": "x", "between": ["r", "x"], "rate": "10 Gbit/s", "buffer": "10000 packets"}
    )
    ends = {"from": "x", "to": "d"} if one.behind else {"from": "s", "to": "x"}
    # UDP's rate is that of the payload; a frame of 1490 bytes carries 1448.
    udp = {"udp": {"rate": f"{max(1000, rate) * 1448 / 1490:.0f} bit/s"}}
    what: dict[str, Any] = udp if kind == "steady" else {"tcp": "cubic"}
    contents["flows"].append({"name": "other", **ends, **what})


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _pipe(one: Sketch) -> dict[str, Any]:
    """Fields of the bottleneck towards the receiver."""
    first = one.steps[0][1]
    pipe: dict[str, Any] = {"rate": f"{first:.0f} bit/s"}
    frames = 1.4 * one.frame_bytes  # a frame that is longer than the bucket never passes
    if one.policer is not None:
        rate, most = one.policer
        pipe["policer"] = {"rate": f"{rate:.0f} bit/s", "burst": f"{max(frames, most):.0f} bytes"}
    queue = _queue(one)
    burst = None if one.burst_bytes is None else max(frames, one.burst_bytes)
    plain = one.policer is None and one.wait_s is None and len(one.steps) == 1
    plain = plain and "buffer" in queue
    if burst is None and not one.serialises and plain:
        burst = one.frame_bytes + _SLACK
    if burst is not None:
        del pipe["rate"]
        tbf = {"rate": f"{first:.0f} bit/s", "burst": f"{burst:.0f} bytes"}
        pipe["shaper"] = {"tbf": {**tbf, "initial": "full"}}
    if one.wait_s is not None:
        pipe["slots"] = {"max": _ns(one.wait_s)}
    pipe |= queue
    if one.replayed:
        pipe["loss"] = {"scripted": [{"flow": "twin", "nth": list(one.replayed)}]}
    elif one.loss > 0:
        pipe["loss"] = f"{100 * min(0.5, one.loss):.4f} %"
    if len(one.steps) > 1:
        pipe["changes"] = [{"at": _ns(at), "rate": f"{max(1e4, bps):.0f} bit/s"}
                           for at, bps in one.steps[1:] if at > 0]  # fmt: skip
    return pipe


def _queue(one: Sketch) -> dict[str, Any]:
    if one.queue in ("CoDel-like", "marks") and one.wait_s is None:
        ecn = one.ecn != "none" and one.queue == "marks"
        return {"queue": {"codel": {"limit": f"{max(100, one.limit_packets)} packets", "ecn": ecn}}}
    if one.queue == "RED-like" and one.wait_s is None:
        return {"queue": {"pie": {"limit": f"{max(100, one.limit_packets)} packets"}}}
    return {"buffer": f"{one.limit_packets} packets"}


def _tcp(one: Sketch, algorithm: str) -> dict[str, Any]:
    tcp: dict[str, Any] = {"congestion_control": algorithm}
    sender: dict[str, Any] = {}
    receiver: dict[str, Any] = {}
    if one.ecn in ("classic", "accurate"):
        number = 1 if one.ecn == "classic" else _ACCURATE
        sender["tcp_ecn"] = receiver["tcp_ecn"] = number
    if one.initial_window is not None and one.initial_window != 10:
        sender["initcwnd"] = min(1000, one.initial_window)
    if one.send_bytes is not None:
        size = max(5000, one.send_bytes)
        sender["tcp_wmem"] = f"4096 {size} {size}"
    if one.window_bytes is not None:
        # Half of the buffer is the window, whatever memory segments take (`tcp_adv_win_scale` = 1).
        # The ACK of a segment leaves before the application has read it.
        size = 2 * max(3000, one.window_bytes + one.payload_bytes)
        receiver["tcp_rmem"] = f"4096 {size} {size}"
        receiver |= {"scaling_ratio": False, "rcvbuf_grow": False}
    if one.writes is not None:
        tcp["source"] = one.writes.source
    elif one.payload_total is not None:
        tcp["bytes"] = f"{one.payload_total} bytes"
    if one.reads_bps is not None:
        tcp["sink"] = {"rate": f"{one.reads_bps:.0f} bit/s"}
    if not one.scaled:
        receiver["tcp_window_scaling"] = False
    if sender:
        tcp["sender"] = sender
    if receiver:
        tcp["receiver"] = receiver
    return tcp
