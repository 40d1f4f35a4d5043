"""State cases of draft-ietf-ccwg-bbr (appendix, "BBR Example Test Cases"), seen in trajectories.

Every case is one experiment of one flow, or two: a first one that shows when a phase begins, and a
second one that is the same until then. `CASES` has all 22 in the order of the draft.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trajectory import (
    BDP,
    LINE,
    PAYLOAD,
    RATE_MBPS,
    RTT_S,
    STEP_S,
    Lab,
    Moment,
    Phase,
    between,
    cruise_gain,
    downs,
    drain,
    gain_at,
    goodput_mbps,
    least_cwnd,
    name_of,
    packet_rounds,
    phases,
    probe_rtts,
    startup_ends,
    typical,
    ups,
)

HOLDS = "as the draft"
PARTLY = "in part"
FAILS = "not"


@dataclass(frozen=True)
class Seen:
    """Observation of a case, and whether it is what the draft expects."""

    text: str
    verdict: str


def judged(text: str, holds: bool) -> Seen:
    """An observation that is as the draft expects, or is not."""
    return Seen(text, HOLDS if holds else FAILS)


def plateau(lab: Lab) -> Seen:
    """Case 1."""
    path = lab.path(12)
    end_s = startup_ends(path)
    in_startup = [one for one in path if one.time_s < end_s]
    # From 80 % of the bandwidth on, no round can bring a quarter more.
    rounds = packet_rounds([one for one in in_startup if one.gain > 0.8 * 2.77])
    bandwidth = in_startup[-1].gain / 2.77
    text = (
        f"bandwidth {bandwidth:.3f} of the line; gain 2.77, then {gain_at(path, end_s):.2f}; "
        f"{rounds:.1f} rounds of packets from 80 % of the bandwidth on"
    )
    # BBR counts ends of rounds: three are two rounds and a part of the one in which growth ended.
    return judged(text, abs(bandwidth - 1) <= 0.02 and 2 <= rounds <= 4)


#: An application with 40 of 100 Mbit/s.
LIMITED = "source: {periodic: {chunk: 5 KB, interval: 1 ms}}"
WIDE = "rate: 100 Mbit/s, rtt: 100 ms, forward: {buffer: 4 BDP%s}"
LOSS = ", changes: [{{at: {start} s, loss: {loss}}}, {{at: {end} s, loss: none}}]"


def startup_loss(lab: Lab) -> Seen:
    """Case 2."""
    loss = LOSS.format(start=2, loss="10 %", end=2.5)
    path = lab.path(5, WIDE % loss, LIMITED, 100.0)
    before, after = typical(path, 1.5, 2), typical(path, 3, 4)
    text = f"pacing {before:.2f} of the line before the losses, {after:.2f} after"
    return judged(text, before > 2 and after < 1.3)


def drain_inflight(lab: Lab) -> Seen:
    """Case 3."""
    path = lab.path(12)
    phase, found = drain(path), phases(path)
    after = next(one for one in found if one.start_s > phase.start_s)
    gain, flight = phase.moments[-1].gain, after.moments[0].flight
    text = f"gain {gain:.2f} (draft: 0.5); leaves with {flight} in flight, BDP {BDP}"
    # Linux takes off what leaves until the next departure.
    if after.name not in ("DOWN", "CRUISE") or flight > 1.3 * BDP:
        return Seen(text, FAILS)
    return Seen(text, HOLDS if abs(gain - 0.5) < 0.02 else PARTLY)


DEEP = "rate: 20 Mbit/s, rtt: 40 ms, forward: {buffer: 10 BDP%s}"


def drain_time(lab: Lab) -> Seen:
    """Case 4."""
    start_s = startup_ends(lab.path(4, DEEP % ""))
    found = [
        drain(lab.path(8, DEEP % f", changes: [{{at: {start_s:.3f} s, rate: {rate} Mbit/s}}]"))
        for rate in (18, 6)
    ]
    lengths = [f"{one.rounds:.1f} RTTs ({one.length_s:.1f} s)" for one in found]
    text = f"{lengths[0]} with 10 % less; {lengths[1]} with 70 % less"
    return judged(text, all(one.rounds <= 4 for one in found))


def up_plateau(lab: Lab) -> Seen:
    """Case 5."""
    path = lab.path(12)
    found = phases(path)
    # PROBE_RTT ends some.
    whole = [n for n in ups(path) if n + 1 < len(found) and found[n + 1].moments[0].cwnd > BDP]
    probes = [found[n] for n in whole]
    followed = all(found[n + 1].name == "DOWN" for n in whole)
    lengths = [one.rounds for one in probes]
    text = f"{len(probes)} probes of {min(lengths):.1f} to {max(lengths):.1f} RTTs, then DOWN"
    return judged(text, followed and len(probes) >= 2 and all(2.5 <= one <= 5 for one in lengths))


#: Full at first, then limited by the application (9.9 Mbit/s of payload) on a line of 100 Mbit/s.
OPENED = "rate: 8 Mbit/s, rtt: 40 ms, forward: {buffer: 60 packets, changes: [%s]}"
TEN = "source: {periodic: {chunk: 1240 bytes, interval: 1 ms}}"
OPEN_S = 3.0


def up_limited(lab: Lab) -> Seen:
    """Case 7."""
    phase = _limited_up(lab)
    text = f"gain 1.25 for {phase.rounds:.0f} RTTs, until {_why(lab, phase)}"
    return judged(text, phase.rounds > 10)


def _limited_path(lab: Lab, more: str = "") -> list[Moment]:
    changes = "{at: 3 s, rate: 100 Mbit/s}" + more
    path = lab.path(12, OPENED % changes, TEN)
    # The bandwidth is what the application gave: the gain of most samples in CRUISE is 1.
    late = sorted(one.gain for one in between(path, OPEN_S + 1, 12))
    base = late[len(late) // 4]
    return [Moment(**{**one.__dict__, "gain": one.gain / base}) for one in path]


def _limited_up(lab: Lab) -> Phase:
    """The longest phase UP while the application limits."""
    path = _limited_path(lab)
    return max((one for one in phases(path) if one.name == "UP" and one.start_s > OPEN_S),
               key=lambda one: one.length_s)  # fmt: skip


def _why(lab: Lab, phase: Phase) -> str:
    end_s = phase.start_s + phase.length_s
    if end_s > 11.9:
        return "the end"
    before, after = phase.moments[-1].cwnd, least_cwnd(_limited_path(lab), end_s, end_s + 0.1)
    return "PROBE_RTT" if after < 0.7 * before else "DOWN"


def up_limited_loss(lab: Lab) -> Seen:
    """Case 6."""
    start_s = _limited_up(lab).start_s + 0.2
    loss = f", {{at: {start_s:.3f} s, loss: 20 %}}, {{at: {start_s + 0.2:.3f} s, loss: none}}"
    path = _limited_path(lab, loss)
    phase = next(one for one in phases(path) if one.name == "UP" and one.start_s > start_s - 0.25)
    lasted = (phase.start_s + phase.length_s - start_s) / RTT_S
    cwnd = least_cwnd(path, start_s + 0.3, start_s + 1), phase.moments[0].cwnd
    text = f"UP ends {lasted:.1f} RTTs after the first loss; window {cwnd[1]}, then {cwnd[0]}"
    return judged(text, lasted < 8 and cwnd[0] < cwnd[1])


def down_inflight(lab: Lab) -> Seen:
    """Case 8."""
    found = phases(lab.path(12))
    at = [n for n, one in enumerate(found) if one.name == "DOWN" and found[n - 1].name == "UP"]
    ends = [found[n + 1] for n in at if n + 1 < len(found)]
    # PROBE_RTT ends a DOWN as well.
    ends = [one for one in ends if one.moments[0].cwnd > 0.6 * BDP]
    gains = [found[n].moments[1].gain for n in at]
    flights = [one.moments[0].flight for one in ends]
    text = f"gain {max(gains):.2f}; CRUISE with {max(flights)} in flight, BDP {BDP}"
    holds = all(one.name == "CRUISE" for one in ends) and max(flights) <= BDP + 12
    return judged(text, bool(ends) and holds and abs(max(gains) - 0.9) < 0.02)


def down_time(lab: Lab) -> Seen:
    """Case 9."""
    # PROBE_RTT comes every 5.2 s, whatever the phase: a DOWN that begins long enough before it.
    for seed in range(1, 13):
        for start_s in [one.start_s for one in downs(lab.path(12, seed=seed))]:
            if start_s < 2.95 or 5.5 < start_s < 8.1:
                seen = _long_down(lab, start_s, seed)
                if seen is not None:
                    return seen
    return judged("every DOWN ends with PROBE_RTT", False)


def _long_down(lab: Lab, start_s: float, seed: int) -> Seen | None:
    """A DOWN with less bandwidth; None if PROBE_RTT ended it."""
    changes = f"changes: [{{at: {start_s:.3f} s, rate: 18 Mbit/s}}]"
    line = f"rate: 20 Mbit/s, rtt: 40 ms, forward: {{buffer: 4 BDP, {changes}}}"
    path = lab.path(12, line, seed=seed)
    found = phases(path)
    down = next(one for one in downs(path) if one.start_s > start_s - 0.02)
    after = found[found.index(down) + 1 :][:2]
    if len(after) < 2 or least_cwnd(after[0].moments, 0, 12) < 0.6 * BDP:
        return None
    gains = after[0].moments[0].gain, after[1].moments[-1].gain
    text = (
        f"DOWN for {down.length_s:.1f} s, then gain {gains[0]:.2f} for {after[0].rounds:.1f} RTTs, "
        f"then {gains[1]:.2f}"
    )
    return judged(text, down.length_s >= 2 and after[0].rounds < 3 and after[1].name == "UP")


def probe_rtt(lab: Lab) -> Seen:
    """Case 10."""
    path = lab.path(21)
    found = probe_rtts(path, 2, BDP)
    starts = [one[0].time_s for one in found]
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    lengths = [STEP_S * len(one) for one in found]
    least = min(one.cwnd for stretch in found for one in stretch)
    text = (
        f"after {starts[0]:.1f} s, then every {min(gaps):.1f} to {max(gaps):.1f} s, for "
        f"{1000 * max(lengths):.0f} ms, window {least}"
    )
    holds = all(5 <= one <= 6.5 for one in gaps) and min(lengths) >= 0.2 and max(lengths) <= 0.5
    return judged(text, holds and abs(least - BDP / 2) <= 4)


def probe_rtt_skipped(lab: Lab) -> Seen:
    """Case 11."""
    source = "source: {on_off: {chunk: 15 KB, interval: 10 ms, on: 4 s, off: 8 s}}"
    line = "rate: 10 Mbit/s, rtt: 40 ms, buffer: 4 BDP"
    path = lab.path(16, line, source, 10.0)
    bdp = BDP / 2
    again_s = next(one.time_s for one in path if one.time_s > 11 and one.flight > 0)
    found = [one for one in probe_rtts(path, 2, bdp) if again_s <= one[0].time_s < again_s + 2]
    least = least_cwnd(path, again_s, again_s + 2)
    text = f"sends again at {again_s:.1f} s; smallest window in 2 s {least}, BDP {bdp:.0f}"
    return judged(text, not found)


#: ACKs arrive in batches, each 20 ms.
AGGREGATED = (
    "rate: 20 Mbit/s, rtt: 40 ms, forward: {buffer: 4 BDP}, backward: {rate: 100 Mbit/s, "
    "buffer: 1000 packets, slots: {min: 20 ms, max: 20 ms}}"
)


def startup_aggregated(lab: Lab) -> Seen:
    """Case 12."""
    path = lab.path(12, AGGREGATED)
    end_s = startup_ends(path)
    in_startup = between(path, 0, end_s)
    most = max(one.cwnd for one in in_startup)
    bandwidth = max(one.gain for one in in_startup) / 2.77
    text = (
        f"bandwidth {bandwidth:.2f} of the line; window up to {most} packets, 2 BDP are {2 * BDP}"
    )
    return judged(text, bandwidth > 0.95 and most > 2 * BDP)


def cruise_aggregated(lab: Lab) -> Seen:
    """Case 13."""
    path = lab.path(12, AGGREGATED)
    in_cruise = [one.cwnd for one in between(path, 2, 12) if name_of(one.gain) == "CRUISE"]
    rate = goodput_mbps(path, 2, 4.9)
    most = max(in_cruise, default=0)
    text = f"{rate:.1f} of 20 Mbit/s; window up to {most} packets, 2 BDP are {2 * BDP}"
    return judged(text, rate > 19 and most > 2 * BDP)


def sub_packet(lab: Lab) -> Seen:
    """Case 14."""
    line = "rate: 500 kbit/s, rtt: 5 ms, buffer: 20 packets"
    path = lab.path(10, line, "", 0.5)
    least = min(one.cwnd for one in between(path, 3, 10))
    rate, gain = goodput_mbps(path, 3, 9), typical(path, 3, 9)
    text = f"smallest window {least}; {1000 * rate:.0f} of 500 kbit/s; gain {gain:.2f}"
    return judged(text, least == 4 and rate > 0.9 * 0.5 and gain < 1.1)


TENFOLD = (
    "rate: %d Mbit/s, rtt: 40 ms, "
    "forward: {buffer: 250 packets, changes: [{at: 6 s, rate: %d Mbit/s}]}"
)


def tenfold_up(lab: Lab) -> Seen:
    """Case 15."""
    path = lab.path(14, TENFOLD % (10, 100), "", 100.0)
    found = next((one.time_s for one in path if one.time_s > 6 and one.gain > 0.95), None)
    if found is None:
        return judged("never", False)
    probe_s = next(one.time_s for one in path if one.time_s > 6 and one.gain > 0.115)
    rounds = (found - probe_s) / RTT_S
    text = (
        f"bandwidth of 95 Mbit/s {found - 6:.1f} s after the change, {rounds:.0f} base RTTs after "
        "the probe began"
    )
    return judged(text, rounds < 40)


def tenfold_down(lab: Lab) -> Seen:
    """Case 16."""
    path = lab.path(18, TENFOLD % (100, 10), "", 10.0)
    soon = next(one.time_s for one in path if one.time_s > 6 and one.gain < 5)
    late = typical(path, 14, 18)
    text = f"pacing halved {soon - 6:.2f} s after the change; from 8 s on gain {late:.2f}"
    return judged(text, soon - 6 < 2 and 0.85 < late < 1.3)


def policer(lab: Lab) -> Seen:
    """Case 17."""
    line = (
        "rate: 100 Mbit/s, rtt: 40 ms, "
        "forward: {buffer: 1 BDP, policer: {rate: 10 Mbit/s, burst: 100 KB}}"
    )
    path = lab.path(20, line, "", 10.0)
    part = between(path, 10, 20)
    again = part[-1].again - part[0].again
    share = again / (part[-1].delivered - part[0].delivered + again)
    rate = goodput_mbps(path, 10, 20)
    text = f"{rate:.1f} of 10 Mbit/s, {100 * share:.1f} % retransmitted (from 10 s on)"
    return judged(text, rate > 8 and share < 0.05)


#: The delay that changes is on a link of its own, behind the bottleneck. On the bottleneck itself
#: the simulator's packets pass the wire first, the kernel's the delay first.
LATE = "rate: 20 Mbit/s, rtt: 40 ms, forward: {buffer: 4 BDP, delay: 0 s}"
LATER = (
    # Packets behind the long delay overtake those in it.
    "[{name: r2-d1, forward: {delay: 20 ms, "
    "reordering: {probability: 0.0000001 %%, extra_delay: 1 us}, "
    "changes: [{at: 2 s, delay: %d ms}, {at: %.3f s, delay: 20 ms}]}}]"
)


def _spurious(lab: Lab, state: str, delay_ms: int, length_s: float) -> Seen:
    path = lab.path(6, LATE, links=LATER % (delay_ms, 2 + length_s))
    cut = [one for one in between(path, 2, 3.5) if one.state == state]
    if not cut:
        return judged(f"never in {state}", False)
    before = between(path, 1.9, 2)[0]
    last_s = cut[-1].time_s
    after = between(path, last_s, last_s + 0.5)
    window = max(one.cwnd for one in after)
    rate = goodput_mbps(path, last_s + 0.2, last_s + 0.7)
    text = (
        f"{1000 * STEP_S * len(cut):.0f} ms in {state}; window {before.cwnd} before, "
        f"{min(one.cwnd for one in cut)} in it, {window} after; gain {before.gain:.2f}, then "
        f"{typical(path, last_s + 0.1, last_s + 0.5):.2f}; {rate:.1f} of 20 Mbit/s"
    )
    return judged(text, window >= before.cwnd and rate > 19)


def spurious_recovery(lab: Lab) -> Seen:
    """Case 18."""
    return _spurious(lab, "Recovery", 45, 0.003)


def spurious_timeout(lab: Lab) -> Seen:
    """Case 19."""
    return _spurious(lab, "Loss", 620, 0.45)


def probe_rtt_startup(lab: Lab) -> Seen:
    """Case 20."""
    path = lab.path(8, WIDE % "", LIMITED, 100.0)
    before, after = typical(path, 4, 5), typical(path, 6.5, 7.5)
    bdp = 100 / 8 * 0.1 * 1e6 / 1514
    found = probe_rtts(path, 4, bdp)
    when = f"at {found[0][0].time_s:.1f} s" if found else "never"
    text = f"PROBE_RTT {when}; gain {before:.2f} before, {after:.2f} after"
    return judged(text, bool(found) and before > 2 and after > 2)


SHORT = "rate: 20 Mbit/s, rtt: 40 ms, forward: {buffer: 0.75 BDP%s}"


def up_loss(lab: Lab) -> Seen:
    """Case 21."""
    path = lab.path(12, SHORT % "")
    found = phases(path)
    first = found[ups(path, 1)[0]]
    start_s = first.start_s + RTT_S
    loss = LOSS.format(start=round(start_s, 3), loss="10 %", end=round(start_s + 0.06, 3))
    path = lab.path(12, SHORT % loss)
    phase = next(
        one for one in phases(path) if one.name == "UP" and one.start_s > first.start_s - 0.02
    )
    lasted = (phase.start_s + phase.length_s - start_s) / RTT_S
    most = max(one.cwnd for one in phase.moments)
    least = least_cwnd(path, start_s + 0.05, start_s + 0.3)
    text = f"UP ends {lasted:.1f} base RTTs after the first loss; window {most}, then {least}"
    return judged(text, 0 < lasted < 4 and least < most)


def refill_limited(lab: Lab) -> Seen:
    """Case 22."""

    def source(on_s: float, off_s: float) -> str:
        times = f"on: {on_s:.3f} s, off: {off_s:.3f} s"
        return f"source: {{on_off: {{chunk: 24 KB, interval: 10 ms, {times}}}}}"

    path = lab.path(12, LINE, source(11, 1))
    first = phases(path)[ups(path, 1)[0]]
    refill_s = first.start_s - RTT_S - 0.01
    # What is written and not sent yet goes on being sent.
    waiting_s = (
        next(one for one in path if one.time_s >= refill_s).unsent * 8 / (RATE_MBPS * PAYLOAD * 1e6)
    )
    path = lab.path(12, LINE, source(refill_s - waiting_s - 0.03, 0.3 + waiting_s))
    idle = [one.time_s for one in between(path, refill_s - 0.2, refill_s + 1) if one.flight == 0]
    if not idle:
        return judged("the sender did not pause", False)
    before, after = (
        cruise_gain(path, refill_s - 1, idle[0]),
        cruise_gain(path, idle[-1], idle[-1] + 3),
    )
    probes = [
        one for one in phases(path) if one.name == "UP" and idle[0] < one.start_s < idle[-1] + 0.5
    ]
    wait = f"UP {probes[0].start_s - idle[-1]:.2f} s later" if probes else "no UP in 0.5 s"
    text = (
        f"pause of {idle[-1] - idle[0]:.2f} s from {idle[0] - refill_s:.2f} s after REFILL on, "
        f"{wait}; bandwidth {after / before:.2f} of that before"
    )
    return judged(text, bool(probes) and abs(after / before - 1) < 0.05)


@dataclass(frozen=True)
class Case:
    """A case of the draft.

    Attributes:
        title: As in the draft.
        provoked: What brings it about here.
        see: What is seen on an engine.
    """

    title: str
    provoked: str
    see: Callable[[Lab], Seen]


CASES: Mapping[int, Case] = dict(
    enumerate(
        [
            Case("Exiting STARTUP on bandwidth plateau", "20 Mbit/s, 40 ms, 4 BDP", plateau),
            Case(
                "Exiting STARTUP on loss when application-limited",
                "application of 40 Mbit/s on 100 Mbit/s; 10 % loss for 0.5 s",
                startup_loss,
            ),
            Case("Exiting DRAIN based on inflight", "as 1", drain_inflight),
            Case(
                "Exiting DRAIN based on time",
                "10 % and 70 % less bandwidth from DRAIN on",
                drain_time,
            ),
            Case("Exiting PROBE_UP on bandwidth plateau", "as 1, 12 s", up_plateau),
            Case(
                "Exiting PROBE_UP on loss when application-limited",
                "as 7; 20 % loss for 0.2 s in UP",
                up_limited_loss,
            ),
            Case(
                "Never exiting PROBE_UP (or STARTUP) when application-limited with no loss",
                "application of 9.9 Mbit/s; 8 Mbit/s, from 3 s on 100 Mbit/s",
                up_limited,
            ),
            Case("Exiting PROBE_DOWN on inflight", "as 5", down_inflight),
            Case(
                "Exiting PROBE_DOWN after max time",
                "as 5; 10 % less bandwidth from the first DOWN after an UP on",
                down_time,
            ),
            Case("Entering and exiting PROBE_RTT", "as 1, 21 s", probe_rtt),
            Case(
                "Skipping PROBE_RTT due to application-limited sending",
                "4 s of data, 8 s of pause",
                probe_rtt_skipped,
            ),
            Case(
                "Achieving expected STARTUP bandwidth on a link with aggregation",
                "ACKs arrive every 20 ms",
                startup_aggregated,
            ),
            Case(
                "Achieving expected cruise bandwidth on a link with aggregation",
                "as 12",
                cruise_aggregated,
            ),
            Case("Correctly managing sub-packet BDPs", "500 kbit/s, 5 ms", sub_packet),
            Case(
                "Increasing bandwidth 10x and ensuring full bandwidth is reached",
                "10, then 100 Mbit/s",
                tenfold_up,
            ),
            Case(
                "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
                "100, then 10 Mbit/s",
                tenfold_down,
            ),
            Case(
                "Handling token bucket policers",
                "policer of 10 Mbit/s and 100 kB on 100 Mbit/s",
                policer,
            ),
            Case(
                "Handling spurious fast recovery",
                "packets of 3 ms come 25 ms late",
                spurious_recovery,
            ),
            Case(
                "Handling spurious RTO recovery",
                "packets of 0.45 s come 0.6 s late",
                spurious_timeout,
            ),
            Case(
                "Entering and exiting PROBE_RTT during STARTUP",
                "as 2 without loss, 8 s",
                probe_rtt_startup,
            ),
            Case(
                "Handling loss during PROBE_UP after inflight_longterm is set",
                "0.75 BDP of buffer; 10 % loss for 60 ms in UP",
                up_loss,
            ),
            Case(
                "Handling application-limited sending during PROBE_REFILL",
                "the application pauses when REFILL begins",
                refill_limited,
            ),
        ],
        start=1,
    )
)
