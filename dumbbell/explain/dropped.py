"""Cause of a drop: which stage of which link, and in which state it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Step, What
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet
from dumbbell.explain.queue_state import QueueState, queue_state
from dumbbell.explain.words import moment, rate, share, size, span
from dumbbell.limits.outages import outages
from dumbbell.metrics.start import in_slow_start

#: Time before a drop in which arrivals and new flows count, in RTTs and at least.
_RECENT_RTTS, _RECENT_NS = 10, 500_000_000
#: Flows named with their packets in a queue.
_FLOWS = 3
#: After every run.
_NEVER_NS = 2**63 - 1
#: Flows named that began before.
_NEW = 2


def drop_causes(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    """Links for drops at one place for one reason; the first drop is described."""
    first = drops[0]
    made = {
        "overflow": _overflow,
        "aqm": _managed,
        "random": _random,
        "scripted": _scripted,
        "policed": _policed,
        "corrupted": _corrupted,
        "queue": _overflow,
        "link_down": _link_down,
    }.get(first.dropped, _other)
    return made(seen, drops)


def loss_at(pipe: Any, at_ns: int) -> tuple[Any, int | None]:
    """Loss of a pipe in force at a time, and the time of the change that set it."""
    loss, since = pipe["loss"], None
    netem = pipe["queue"].get("netem") or {}
    if netem.get("words"):
        loss = netem["words"]["loss"]
    for change in pipe["changes"]:
        if change["at_ns"] <= at_ns and change["loss"] is not None:
            loss, since = change["loss"], change["at_ns"]
    return loss, since


def _overflow(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    state = queue_state(seen, first.dropped_at, first.dropped_ns, packet=first)
    limit = f" of {state.limit}" if state.limit else ""
    sentence = (
        f"The queue of {first.dropped_at} ({state.discipline}) was full: "
        f"{many(state.packets, 'packet')}, {size(state.bytes)}; its limit is"
        f"{limit.removeprefix(' of') or ' not known'}. {shares(state)}"
    )
    links = [
        Link(
            Step.CAUSE,
            What.FULL_QUEUE,
            first.dropped_ns,
            sentence,
            first,
            first.dropped_at,
            f"{many(state.packets, 'packet')} of {state.limit}",
            state.numbers,
        )
    ]
    return links + filling(seen, state, first.dropped_ns)


def shares(state: QueueState) -> str:
    """Sentence about whose packets wait."""
    if not state.known:
        return "Whose they were is not known: they arrived before the packets that are kept."
    if not state.by_flow:
        return "No packet of any flow waited."
    parts = [f"{count} of {flow}" for flow, count in list(state.by_flow.items())[:_FLOWS]]
    left = sum(list(state.by_flow.values())[_FLOWS:])
    parts += [f"{left} of others"] if left else []
    return f"Packets that waited: {', '.join(parts)}."


def filling(seen: Observed, state: QueueState, at: int) -> list[Link]:
    """Links about what filled a queue: a flow that began, a change of the rate, arrivals."""
    recent = max(_RECENT_NS, _RECENT_RTTS * seen.rtt_ns)
    links: list[Link] = []
    here = seen.hops.filter((pl.col("pipe") == state.pipe) & (pl.col("offered_ns") <= at))
    new = [
        (flow, count)
        for flow, count in state.by_flow.items()
        if flow != seen.flow and 0 <= at - seen.starts.get(flow, at + 1) <= recent
    ]
    waited = many(state.packets, "packet")
    for flow, count in new[:_NEW]:
        begin = seen.starts[flow]
        sentence = (
            f"{flow} had begun {span(at - begin)} before, at {moment(begin)}; it had {count} of the"
            f" {waited} that waited."
        )
        if len(new) > _NEW and flow == new[_NEW - 1][0]:
            others = many(len(new) - _NEW, "other flow")
            sentence += f" {others} with packets there began in the {span(min(recent, at))} before."
        numbers = {"begun_ns": begin, "queued_packets": count}
        links.append(
            Link(Step.CAUSE, What.COMPETITOR, begin, sentence, None, state.pipe, flow, numbers)
        )
    links += rate_changes(seen, state.pipe, at - recent, at)
    span_ns = min(seen.rtt_ns, at - seen.from_ns)
    if not links and span_ns > 0:
        late = here.filter(pl.col("offered_ns") > at - span_ns)
        offered = arrivals_bps(late, span_ns)
        own_bps = arrivals_bps(late.filter(pl.col("flow") == seen.flow), span_ns)
        line = rate_at(seen, state.pipe, at)
        slow = in_slow_start(seen.before(at), seen.before(at - span_ns))
        stretch = "RTT before"
        if line and offered < line and (since_ns := _oldest_ns(here, at)) < at:
            # A burst fills a queue, whatever the rate over an RTT.
            span_ns, stretch = at - since_ns, f"{span(at - since_ns)} since the first of them came"
            late = here.filter(pl.col("offered_ns") >= since_ns)
            offered = arrivals_bps(late, span_ns)
            own_bps = arrivals_bps(late.filter(pl.col("flow") == seen.flow), span_ns)
        sentence = (
            f"In the {stretch}, packets arrived there at {rate(offered)}"
            + (f", {rate(own_bps)} of {seen.flow}" if own_bps < offered else "")
            + (f"; its rate is {rate(line)}" if line else "")
            + (f"; {seen.flow} was in slow start." if slow else ".")
        )
        links.append(
            Link(
                Step.CAUSE,
                What.QUEUEING,
                at - span_ns,
                sentence,
                None,
                state.pipe,
                "slow start" if slow else "",
                {"arrivals_bps": offered, "rate_bps": line},
            )
        )
    return links


def _oldest_ns(rows: pl.DataFrame, at_ns: int) -> int:
    """Arrival of the first packet that waits at a time; the time itself if none does."""
    waits = (pl.col("leaves_ns") >= at_ns) | (pl.col("leaves_ns") < 0)
    inside = rows.filter(waits & ((pl.col("dropped") == "") | (pl.col("ended_ns") >= at_ns)))
    return min(inside["offered_ns"].to_list(), default=at_ns)


def arrivals_bps(rows: pl.DataFrame, span_ns: int) -> float:
    """Rate at which the frames of some rows of `hops` arrived."""
    return int(rows["frame_bytes"].sum()) * 8e9 / span_ns


def rate_at(seen: Observed, pipe: str, at_ns: int) -> int:
    """Rate of a pipe's shaper at a time; 0: none, or not constant."""
    if pipe not in seen.pipes:
        return 0
    shaper: Any = seen.pipes[pipe]["shaper"]
    held: Any = next(iter(shaper.values())) if isinstance(shaper, dict) else {}
    rate_bps = int(held.get("rate_bps", 0))
    for change in seen.pipes[pipe]["changes"]:
        if change["at_ns"] <= at_ns and change["rate_bps"] is not None:
            rate_bps = change["rate_bps"]
    return rate_bps


def rate_changes(seen: Observed, pipe: str, from_ns: int, to_ns: int) -> list[Link]:
    """Links for changes of a pipe's rate in a time."""
    if pipe not in seen.pipes:
        return []
    return [
        Link(
            Step.CAUSE,
            What.RATE_CHANGE,
            change["at_ns"],
            f"At {moment(change['at_ns'])} the rate of {pipe} had changed to"
            f" {rate(change['rate_bps'])}.",
            None,
            pipe,
            "",
            {"rate_bps": change["rate_bps"]},
        )
        for change in seen.pipes[pipe]["changes"]
        if change["rate_bps"] is not None and from_ns <= change["at_ns"] <= to_ns
    ][-1:]


def _managed(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    passage = next((one for one in first.path if one.pipe == first.dropped_at), None)
    wait = first.dropped_ns - passage.offered_ns if passage else 0
    return [managed_link(seen, first, first.dropped_at, first.dropped_ns, wait, What.AQM_DROP)]


def managed_link(
    seen: Observed, packet: Packet, pipe: str, at_ns: int, wait_ns: int, what: What
) -> Link:
    """Link for a drop or a mark by a discipline."""
    # A packet that is dropped on arrival finds those of the same instant there.
    arriving = packet if what is What.AQM_DROP and wait_ns == 0 else None
    state = queue_state(seen, pipe, at_ns, wait_ns, arriving, what)
    did = "marked the packet CE" if what is What.AQM_MARK else "dropped the packet"
    detail = f" {state.detail[0].upper()}{state.detail[1:]}." if state.detail else ""
    sentence = (
        f"{state.discipline} at {pipe} {did} to signal congestion; "
        f"{many(state.packets, 'packet')}, {size(state.bytes)} waited.{detail}"
    )
    return Link(
        Step.CAUSE,
        what,
        at_ns,
        sentence,
        packet,
        pipe,
        f"{state.discipline}: {state.detail}" if state.detail else state.discipline,
        state.numbers,
    )


def _random(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    pipe, at = first.dropped_at, first.dropped_ns
    loss, since = loss_at(seen.pipes[pipe], at) if pipe in seen.pipes else ("none", None)
    kind, spec = next(iter(loss.items())) if isinstance(loss, dict) else ("", {})
    when = f" since the change at {moment(since)}" if since is not None else ""
    numbers: dict[str, int | float | str] = {} if since is None else {"since_ns": since}
    if kind == "independent" and spec["probability"] >= 1:
        what = What.OUTAGE
        until = _until(seen, pipe, at)
        sentence = (
            f"{pipe} was down{when or ' since the start of the run'}{until}: it loses every packet."
        )
    elif kind == "gilbert_elliott":
        what = What.BURST_LOSS
        run = _row_of_drops(seen, pipe, at)
        every = spec.get("every_ns")
        step = "packet" if every is None else f"step of {span(every)}"
        numbers |= {name: float(value) for name, value in spec.items()} | {"in_a_row": run}
        sentence = (
            f"{pipe} has bursty loss (Gilbert-Elliott){when}: a burst begins with probability"
            f" {share(spec['good_to_bad'])} and ends with {share(spec['bad_to_good'])} per {step}."
            f" It dropped {many(run, 'packet')} in a row here."
        )
    elif kind in ("independent", "random"):
        what = What.RANDOM_LOSS
        numbers["probability"] = float(spec["probability"])
        sentence = (
            f"{pipe} loses packets at random with probability {share(spec['probability'])}{when},"
            f" whatever its queue holds."
        )
    else:
        what, sentence = What.RANDOM_LOSS, f"{pipe} lost the packet at random{when}."
    return [Link(Step.CAUSE, what, at, sentence, first, pipe, kind, numbers)]


def _until(seen: Observed, pipe: str, at_ns: int) -> str:
    """Words for the end of the loss that is in force."""
    later = [
        change["at_ns"]
        for change in seen.pipes[pipe]["changes"]
        if change["at_ns"] > at_ns and change["loss"] is not None
    ]
    return f" until {moment(min(later))}" if later else ""


def _row_of_drops(seen: Observed, pipe: str, at_ns: int) -> int:
    """Packets that a pipe dropped at random in a row around a time."""
    here = seen.hops.filter(pl.col("pipe") == pipe).sort("offered_ns", maintain_order=True)
    lost = (here["dropped"] == "random").to_list()
    times = here["offered_ns"].to_list()
    index = next((n for n, one in enumerate(times) if one >= at_ns and lost[n]), None)
    if index is None:
        return 1
    low = high = index
    while low > 0 and lost[low - 1]:
        low -= 1
    while high + 1 < len(lost) and lost[high + 1]:
        high += 1
    return high - low + 1


def _link_down(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    """Outage of a link that is down, or that goes down with the packet inside."""
    first = drops[0]
    pipe, at = first.dropped_at, first.dropped_ns
    found = outages(seen.pipes[pipe], _NEVER_NS) if pipe in seen.pipes else []
    down, up = next((one for one in found if one[0] <= at <= one[1]), (at, _NEVER_NS))
    ends = up < _NEVER_NS
    inside = at == down and any(one.pipe == pipe and one.offered_ns < at for one in first.path)
    what = "went down with the packet inside" if inside else "was down"
    sentence = (
        f"{pipe} {what}: an outage from {moment(down)}"
        f"{f' to {moment(up)}' if ends else ' on'}, in which no packet passes."
    )
    numbers: dict[str, int | float | str] = {"down_ns": down}
    if ends:
        numbers["up_ns"] = up
    return [Link(Step.CAUSE, What.OUTAGE, at, sentence, first, pipe, "", numbers)]


def _scripted(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    sentence = (
        f"The scripted loss of {first.dropped_at} names this packet of {seen.flow}; the queue has"
        " no part in it."
    )
    return [
        Link(Step.CAUSE, What.SCRIPTED_LOSS, first.dropped_ns, sentence, first, first.dropped_at)
    ]


def _policed(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    pipe, at = first.dropped_at, first.dropped_ns
    spec = seen.pipes[pipe]["policer"] if pipe in seen.pipes else None
    sentence = f"The policer of {pipe} had no tokens for the packet"
    numbers: dict[str, int | float | str] = {}
    if spec is not None:
        window = max(1, min(seen.rtt_ns, at - seen.from_ns))
        here = seen.hops.filter(
            (pl.col("pipe") == pipe) & pl.col("offered_ns").is_between(at - window, at)
        )
        offered = arrivals_bps(here, window)
        numbers = {
            "rate_bps": spec["rate_bps"],
            "burst_bytes": spec["burst_bytes"],
            "arrivals_bps": offered,
        }
        sentence += (
            f": it passes {rate(spec['rate_bps'])} with a burst of {size(spec['burst_bytes'])}, and"
            f" in the RTT before {rate(offered)} arrived"
        )
    return [Link(Step.CAUSE, What.POLICER, at, f"{sentence}.", first, pipe, "", numbers)]


def _corrupted(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    pipe = first.dropped_at
    part = seen.pipes[pipe]["corruption"] if pipe in seen.pipes else 0.0
    sentence = (
        f"{pipe} damaged the packet, as it damages {share(part)} of all, and its far end"
        " dropped it."
    )
    numbers = {"corruption": float(part)}
    return [Link(Step.CAUSE, What.CORRUPTION, first.dropped_ns, sentence, first, pipe, "", numbers)]


def _other(seen: Observed, drops: Sequence[Packet]) -> list[Link]:
    first = drops[0]
    if first.dropped == "unseen":
        sentence = f"The packet was not seen behind {first.dropped_at}; the reason is not known."
        row = seen.queue_before(first.dropped_at, first.dropped_ns)
        if row is not None and row["queued_packets"] >= 0:
            limit = queue_state(seen, first.dropped_at, first.dropped_ns).limit
            sentence += (
                f" The last sample of the queue, at {moment(row['time_ns'])}, had"
                f" {many(row['queued_packets'], 'packet')}"
                f"{f'; its limit is {limit}' if limit else ''}."
            )
    else:
        sentence = f"{first.dropped_at} dropped the packet; the reason recorded is {first.dropped}."
    return [Link(Step.CAUSE, What.OTHER_DROP, first.dropped_ns, sentence, first, first.dropped_at)]
