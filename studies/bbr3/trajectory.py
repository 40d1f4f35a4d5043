"""Trajectory of one flow of BBR version 3, divided into phases.

Phases are known by the pacing rate over the bandwidth.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

import dumbbell

#: Payload of a full frame, over its length.
PAYLOAD = 1448 / 1514
#: Pacing leaves 1 % of the bandwidth (draft, BBRPacingMarginPercent).
MARGIN = 0.99
STEP_S = 0.005
EXPERIMENT = """\
dumbbell: 1
name: case
template: {{dumbbell: {{{line}}}}}
hosts: {{defaults: {{profile: linux-6.12}}}}
{links}flows: [{{name: f, from: s1, to: d1, tcp: {{congestion_control: bbr3{tcp}}}}}]
sampling: {{interval: 5 ms, keep: [samples]}}
duration: {duration_s} s
seed: {seed}
"""
#: The line of most cases: a BDP of 66 packets.
RATE_MBPS = 20.0
RTT_S = 0.04
BDP = 66
LINE = "rate: 20 Mbit/s, rtt: 40 ms, buffer: 4 BDP"


@dataclass(frozen=True)
class Moment:
    """One sample of the sender."""

    time_s: float
    #: Pacing rate over the rate of the line, without the margin.
    gain: float
    cwnd: int
    flight: int
    srtt_s: float
    state: str
    delivered: int
    unsent: int
    again: int


@dataclass(frozen=True)
class Phase:
    """Samples in a row with the same name."""

    name: str
    moments: list[Moment]

    @property
    def start_s(self) -> float:
        """Time of its first sample."""
        return self.moments[0].time_s

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return len(self.moments) * STEP_S

    @property
    def rounds(self) -> float:
        """Length in smoothed RTTs."""
        return sum(STEP_S / one.srtt_s for one in self.moments if one.srtt_s > 0)


def name_of(gain: float) -> str:
    """The phase with that pacing gain; CRUISE and REFILL look alike."""
    for name, low, high in (
        ("DRAIN", 0.25, 0.6), ("DOWN", 0.86, 0.955), ("CRUISE", 0.955, 1.08), ("UP", 1.15, 1.4),
        ("STARTUP", 2.0, 3.0),
    ):  # fmt: skip
        if low <= gain < high:
            return name
    return ""


@dataclass
class Lab:
    """Runs cases on an engine; each experiment once.

    `store`: folder in which runs are kept; None: they are not kept.
    """

    engine: str = "sim"
    store: Path | None = None
    _ran: dict[str, list[Moment]] = field(default_factory=dict)

    def path(
        self,
        duration_s: float,
        line: str = LINE,
        tcp: str = "",
        rate_mbps: float = RATE_MBPS,
        seed: int = 1,
        links: str = "",
    ) -> list[Moment]:
        """The trajectory of the flow. `links`: changes of links other than the bottleneck."""
        text = EXPERIMENT.format(
            line=line,
            links=f"links: {links}\n" if links else "",
            tcp=f", {tcp}" if tcp else "",
            duration_s=duration_s,
            seed=seed,
        )
        if text not in self._ran:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "case.yaml"
                file.write_text(text, encoding="utf-8")
                found = dumbbell.run(file, engine=self.engine, store=self.store)
                self._ran[text] = list(_moments(found.samples))
        return [_scaled(one, rate_mbps) for one in self._ran[text]]


def _moments(samples: pl.DataFrame) -> Iterator[Moment]:
    columns = (
        "time_ns", "pacing_bps", "cwnd_packets", "in_flight_packets", "srtt_ns", "state",
        "delivered_packets", "unsent_bytes", "retransmitted_packets",
    )  # fmt: skip
    for row in samples.sort("time_ns").select(columns).iter_rows():
        time_ns, pacing_bps, cwnd, flight, srtt_ns, *others = row
        yield Moment(time_ns / 1e9, pacing_bps, cwnd, flight, srtt_ns / 1e9, *others)


def _scaled(one: Moment, rate_mbps: float) -> Moment:
    gain = one.gain / MARGIN / PAYLOAD / rate_mbps / 1e6
    return Moment(**{**one.__dict__, "gain": gain})


def phases(path: list[Moment]) -> list[Phase]:
    """Phases in order. A gain between those of two phases belongs to none."""
    named = itertools.groupby(path, key=lambda one: name_of(one.gain))
    return [Phase(name, list(moments)) for name, moments in named]


def between(path: list[Moment], start_s: float, end_s: float) -> list[Moment]:
    """Samples of a stretch of time."""
    return [one for one in path if start_s <= one.time_s < end_s]


def packet_rounds(path: list[Moment]) -> float:
    """Rounds in a stretch: each ends when what was in flight at its start is delivered."""
    count, start, flight = 0.0, path[0].delivered, path[0].flight
    for one in path:
        if one.delivered >= start + flight:
            count, start, flight = count + 1, one.delivered, one.flight
    return count + (path[-1].delivered - start) / flight


def goodput_mbps(path: list[Moment], start_s: float, end_s: float) -> float:
    """Rate of delivery, in frames: that of the line if it is full."""
    part = between(path, start_s, end_s)
    packets = part[-1].delivered - part[0].delivered
    return packets * 1514 * 8e-6 / (part[-1].time_s - part[0].time_s)


def ups(path: list[Moment], after_s: float = 0.0) -> list[int]:
    """Places of the phases UP of three samples and more in `phases(path)`."""
    found = enumerate(phases(path))
    return [
        n for n, one in found
        if one.name == "UP" and len(one.moments) >= 3 and one.start_s > after_s
    ]  # fmt: skip


def drain(path: list[Moment]) -> Phase:
    """DRAIN: the first phase of its gain after STARTUP had its full gain."""
    started = False
    for one in phases(path):
        started |= one.name == "STARTUP"
        if started and one.name == "DRAIN":
            return one
    raise ValueError("STARTUP did not end")


def startup_ends(path: list[Moment]) -> float:
    """Time of the first sample of DRAIN."""
    return drain(path).start_s


def gain_at(path: list[Moment], time_s: float) -> float:
    """The gain from a moment on."""
    return next(one.gain for one in path if one.time_s >= time_s - 1e-9)


def typical(path: list[Moment], start_s: float, end_s: float) -> float:
    """The median gain."""
    gains = sorted(one.gain for one in between(path, start_s, end_s))
    return gains[len(gains) // 2]


def least_cwnd(path: list[Moment], start_s: float, end_s: float) -> int:
    """The smallest window in a stretch of time."""
    return min(one.cwnd for one in between(path, start_s, end_s))


def downs(path: list[Moment]) -> list[Phase]:
    """Phases DOWN that follow an UP."""
    found = phases(path)
    return [
        after
        for before, after in itertools.pairwise(found)
        if (before.name, after.name) == ("UP", "DOWN")
    ]


def probe_rtts(path: list[Moment], after_s: float, bdp: float) -> list[list[Moment]]:
    """Stretches with a window of half a BDP."""
    low = itertools.groupby(path, key=lambda one: one.cwnd <= 0.6 * bdp)
    found = [list(moments) for is_low, moments in low if is_low]
    return [one for one in found if one[0].time_s > after_s and len(one) > 10]


def cruise_gain(path: list[Moment], start_s: float, end_s: float) -> float:
    """The median gain of CRUISE."""
    gains = sorted(
        one.gain for one in between(path, start_s, end_s) if name_of(one.gain) == "CRUISE"
    )
    return gains[len(gains) // 2]
