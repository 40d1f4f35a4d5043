"""Rate of the bottleneck over time, in bit/s of frames.

While packets wait in the queue, they are delivered at the rate of the bottleneck (BBR's BtlBw,
Cardwell et al. 2016). A window without waiting packets gives a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.estimate import Estimate, at_least, measured, unknown
from dumbbell.fit.observe import Observed

Floats = NDArray[np.float64]
#: Share of the time in which packets wait that is seldom.
SELDOM = 0.1
#: Ratio of the quantiles of busy windows above which the rate is said to wander.
WANDERS = 1.25
#: Fewest frames of a window: a frame more or less is a small error.
_FRAMES = 60
_WINDOWS_MAX = 400
#: Trains beyond so many times the delivered rate are ACKs that were bunched on their way.
_BUNCHED = 50.0
#: A window below this share of the rate had an idle link.
_IDLE = 0.95
#: Shortest train in ticks of a coarse clock.
_TICKS = 20
#: Logarithms of the rates of alike trains differ by less; fewest such trains.
_ALIKE, _TRAINS = 0.005, 8
#: Frames that a packet waits for at least behind others, and delays that are noise of hosts, s.
_HELD, _NOISE_S = 0.8, 0.0001
#: Most that a rate is above that of a sender which paces below it.
_PACED = 1.06
_NONE = unknown("too few ACKs")


@dataclass(frozen=True)
class Rate:
    """Rate of the bottleneck.

    Attributes:
        rate_bps: Rate; of a wandering link the mean.
        wanders: True if the rate changes over time.
        from_s, window_bps: Start of each window, and what was delivered in it (NaN: unknown).
        busy: True where packets waited all through the window.
        busy_share: Share of the time in which packets waited.
        steps: Piecewise constant rate: (start in s, bit/s).
    """

    rate_bps: Estimate
    wanders: bool
    from_s: Floats
    window_bps: Floats
    busy: NDArray[np.bool_]
    busy_share: float
    steps: tuple[tuple[float, float], ...]


def rate(seen: Observed) -> Rate:
    """Rate of the bottleneck over time."""
    edges, bps = windows(seen)
    if not len(bps):
        empty = np.empty(0)
        return Rate(_NONE, False, empty, empty, np.empty(0, bool), 0.0, ())
    busy = busy_windows(seen, edges, bps)
    share = float(busy.mean())
    rates = bps[busy]
    low, middle, high = np.quantile(rates, (0.25, 0.5, 0.75)) if len(rates) else (0.0, 0.0, 0.0)
    alike = len(rates) >= 3 and (share > 0.3 or high < 1.05 * low)
    train = train_rate(seen)
    if train is not None and not _waited(seen, train):
        train = None  # the sender spaced them
    if not alike or (train is not None and share < 0.6 and 1.08 * high < train < _BUNCHED * high):
        waits = (
            "seldom wait" if share < SELDOM else f"wait {share:.0%} of the time, at several rates"
        )
        said = f"packets {waits}, so the path carries at least this"
        return _of_trains(train, Rate(_NONE, False, edges[:-1], bps, busy, share, ()), said)
    wanders = bool(high > WANDERS * low)
    steps = _steps(edges[:-1][busy], rates) if wanders else ((0.0, float(middle)),)
    wanders = wanders and len(steps) > 1
    if wanders and _follows_window(seen, edges[:-1][busy], edges[1:][busy], rates):
        top = float(np.quantile(bps, 0.95))
        said = "the delivery rate follows the bytes in flight, so the path carries more"
        return Rate(
            at_least(top, said),
            False,
            edges[:-1],
            bps,
            np.zeros(len(bps), bool),
            0.0,
            ((0.0, top),),
        )
    value = float(rates.mean() if wanders else middle)
    if not wanders and _paced(value, train, rates):
        value, steps = train or value, ((0.0, train or value),)
    spread = max(float(high - low) / np.sqrt(len(rates)), 0.005 * value)
    said = f"delivered while packets waited, {share:.0%} of the time"
    return Rate(measured(value, spread, said), wanders, edges[:-1], bps, busy, share, tuple(steps))


def _of_trains(train: float | None, found: Rate, said: str) -> Rate:
    """The rate of trains of packets; else, a lower bound for the reason `said`."""
    top = float(np.nanquantile(found.window_bps, 0.95))
    if train is not None and 0.95 * top < train < _BUNCHED * top:
        mean = f"{np.nanmean(found.window_bps) * 1e-6:.3g} Mbit/s"
        shown = f"trains of packets are delivered at this rate; on average {mean}"
        value = Estimate(train, 0.99 * train, 1.01 * train, "measured", shown)
    else:
        value = at_least(top, said)
    return replace(found, rate_bps=value, wanders=False, steps=((0.0, value.value or 0.0),))


def without_queue(seen: Observed, found: Rate) -> Rate:
    """The rate if long RTTs are no queue's: ACKs wait for the receiving application."""
    train = train_rate(seen)
    if train is not None and not _waited(seen, train):
        train = None
    idle = replace(found, busy=np.zeros(len(found.busy), bool), busy_share=0.0)
    return _of_trains(
        train, idle, "ACKs wait for the application, so the path carries at least this"
    )


def _paced(value: float, train: float | None, rates: Floats) -> bool:
    """True if the sender paces below the rate: its bursts wait behind each other alone."""
    if train is None or not value < train < _PACED * value:
        return False
    return float(np.quantile(rates, 0.9)) > 0.995 * train


def _waited(seen: Observed, train: float) -> bool:
    """True if packets waited behind each other in trains of this rate.

    A link spaces packets that wait in its queue (Keshav 1991). Packets that it never held are
    spaced by their sender.
    """
    spans = seen.left_s[5:] - seen.left_s[:-5]
    bytes_ = seen.delivered_bytes[5:] - seen.delivered_bytes[:-5]
    wire = 8 * seen.frame_bytes / seen.payload_bytes
    with np.errstate(invalid="ignore", divide="ignore"):
        near = np.abs(np.log(bytes_ * wire / spans / train)) < _ALIKE
    ends = np.searchsorted(
        np.maximum.accumulate(seen.sent_end_bytes), seen.delivered_bytes[5:][near]
    )
    rtt = seen.rtt_s[np.minimum(ends, len(seen.rtt_s) - 1)]
    known = np.sort(seen.rtt_s[~np.isnan(seen.rtt_s)])
    if len(known) < _TRAINS:
        return False
    held = max(_HELD * seen.frame_bytes * 8 / train, _NOISE_S, seen.tick_s)
    return int((rtt - known[3] > held).sum()) >= _TRAINS


def underused(found: Rate) -> bool:
    """True if the link was idle at times, so that some packet met no queue."""
    known = found.window_bps[~np.isnan(found.window_bps)][:-1]
    top = found.rate_bps.value
    return bool(len(known) and top and known.min() < _IDLE * top)


def windows(seen: Observed) -> tuple[Floats, Floats]:
    """Edges of equal windows, and bit/s of frames delivered in each."""
    if len(seen.left_s) < 10:
        return np.empty(0), np.empty(0)
    wire = 8 * seen.frame_bytes / seen.payload_bytes
    begin, end = float(seen.left_s[0]), float(seen.left_s[-1])
    total = seen.delivered_bytes[-1] - seen.delivered_bytes[0]
    if end <= begin or total <= 0:
        return np.empty(0), np.empty(0)
    known = seen.rtt_s[~np.isnan(seen.rtt_s)]
    least = float(known.min()) if len(known) else 0.0
    width = max(_FRAMES * seen.payload_bytes * (end - begin) / total, 2 * least)
    count = int(np.clip((end - begin) / width, 4, _WINDOWS_MAX))
    edges = np.linspace(begin, end, count + 1)
    # Between two ACKs delivery is linear; the last ACK at or before an edge counts in full.
    ack_s, first = np.unique(seen.left_s[::-1], return_index=True)
    delivered = seen.delivered_bytes[::-1][first]
    at = np.searchsorted(ack_s, edges, side="right") - 1
    at = np.clip(at, 0, len(ack_s) - 1)
    bytes_ = np.diff(delivered[at])
    spans = np.diff(ack_s[at])
    with np.errstate(invalid="ignore", divide="ignore"):
        bps = np.where(spans > 0, bytes_ * wire / spans, 0.0)
    return edges, bps


def busy_windows(seen: Observed, edges: Floats, bps: Floats) -> NDArray[np.bool_]:
    """True for windows in which every RTT is longer than the base RTT by two frames and more."""
    known = ~np.isnan(seen.rtt_s)
    busy = np.zeros(len(bps), bool)
    if known.sum() < 10:
        return busy
    rtt, at = seen.rtt_s[known], seen.sent_s[known]
    least = float(np.partition(rtt, min(3, len(rtt) - 1))[min(3, len(rtt) - 1)])
    typical = float(np.nanquantile(bps, 0.8)) or 1.0
    over = least + max(
        2.5 * seen.frame_bytes * 8 / typical, 0.02 * least, 0.0003, 1.5 * seen.tick_s
    )
    # ACKs of a window answer packets sent up to an RTT earlier.
    arrives = at + seen_far(seen, known)
    order = np.argsort(arrives, kind="stable")
    arrives, rtt = arrives[order], rtt[order]
    place = np.searchsorted(arrives, edges)
    for number in range(len(bps)):
        inside = rtt[place[number] : place[number + 1]]
        if len(inside) >= 3:
            busy[number] = inside.min() > over
    return busy


def _follows_window(seen: Observed, begin: Floats, end: Floats, rates: Floats) -> bool:
    """True if the rate follows the bytes in flight while the RTT stays: there is no queue."""
    known = ~np.isnan(seen.rtt_s)
    at, rtt = seen.sent_s[known], seen.rtt_s[known]
    low, high = np.searchsorted(at, begin), np.searchsorted(at, end)
    means = np.array([rtt[a:b].mean() if b > a else np.nan for a, b in zip(low, high, strict=True)])
    good = ~np.isnan(means) & (rates > 0)
    if good.sum() < 4:
        return False
    return bool(np.log(means[good]).std() < 0.4 * np.log(rates[good]).std())


def seen_far(seen: Observed, known: NDArray[np.bool_]) -> Floats:
    """RTT to the receiver of packets with a known RTT."""
    return np.nan_to_num(seen.far_s[known])


def train_rate(seen: Observed) -> float | None:
    """Rate at which trains of packets are delivered, bit/s (Carter, Crovella 1996); None: no train.

    The greatest rate that many trains of five ACKs share: nothing is delivered faster than the
    bottleneck sends, if ACKs keep their distances. If pairs of ACKs share a greater rate, the
    trains had pauses, and say nothing.
    """
    long, short = common_rate(seen, 5), common_rate(seen, 2)
    if long is None or (short is not None and short > 1.06 * long):
        return None
    return long


def common_rate(
    seen: Observed, length: int, where: NDArray[np.bool_] | None = None
) -> float | None:
    """Greatest rate that at least 4 % of the trains of this many ACKs share within 0.5 %.

    `where`: True for the ACKs that may end a train.
    """
    if len(seen.left_s) < 40:
        return None
    wire = 8 * seen.frame_bytes / seen.payload_bytes
    spans = seen.left_s[length:] - seen.left_s[:-length]
    bytes_ = seen.delivered_bytes[length:] - seen.delivered_bytes[:-length]
    known = (spans > 20 * seen.tick_s * (seen.tick_s > 1e-6)) & (
        bytes_ >= max(2, length // 2) * seen.payload_bytes
    )
    if where is not None:
        known &= where[length:]
    if known.sum() < 20:
        return None
    logs = np.sort(np.log(bytes_[known] * wire / spans[known]))
    alike = np.searchsorted(logs, logs + _ALIKE) - np.searchsorted(logs, logs - _ALIKE)
    common = np.flatnonzero(alike >= max(_TRAINS, 0.04 * len(logs)))
    if not len(common):
        return None
    near = logs[np.abs(logs - logs[common[-1]]) < _ALIKE]
    return float(np.exp(np.median(near)))


def _steps(from_s: Floats, rates: Floats) -> list[tuple[float, float]]:
    """Piecewise constant fit by binary segmentation (Scott, Knott 1974) on logarithms."""
    logs = np.log(np.maximum(rates, 1.0))
    cuts = [0, len(logs)]
    spread = float(np.median(np.abs(np.diff(logs)))) if len(logs) > 2 else 0.0
    price = max(9 * spread * spread, 0.005) * np.log(max(2, len(logs)))
    pending = [(0, len(logs))]
    while pending and len(cuts) < 200:
        low, high = pending.pop()
        best, where = 0.0, -1
        part = logs[low:high]
        if len(part) < 4:
            continue
        sums = np.cumsum(part)
        count = np.arange(1, len(part))
        left, right = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(part) - count)
        gain = count * (len(part) - count) / len(part) * (left - right) ** 2
        gain[:1], gain[-1:] = 0.0, 0.0
        where = int(gain.argmax())
        best = float(gain[where])
        if best > price:
            cut = low + where + 1
            cuts.append(cut)
            pending += [(low, cut), (cut, high)]
    cuts.sort()
    return [
        (float(from_s[low]), float(np.exp(np.median(logs[low:high]))))
        for low, high in pairwise(cuts)
    ]
