"""Reaction of a sender: its state, window and slow-start threshold before and after."""

from __future__ import annotations

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.observed import Observed, Row
from dumbbell.explain.words import moment
from dumbbell.metrics.stretch import is_restored

#: Slow-start threshold before the first loss (Linux's `TCP_INFINITE_SSTHRESH`).
_INFINITE_SSTHRESH = 0x7FFF_FFFF
#: Reductions that are told; those after them are counted.
_TOLD = 3


def reactions(seen: Observed, incident: Incident) -> list[Link]:
    """Links for each reduction of the window, and for its undoing."""
    links = [_reduction(seen, incident, *pair) for pair in incident.reduced[:_TOLD]]
    if not incident.reduced:
        row = seen.after(incident.start_ns)
        window = f", its window stayed {many(row['cwnd_packets'], 'packet')}" if row else ""
        # A stack from outside may not tell its window.
        known = any(row["cwnd_packets"] >= 0 for row in seen.samples)
        links.append(
            Link(
                Step.REACTION,
                What.UNCHANGED if known else What.UNKNOWN,
                incident.start_ns,
                f"{seen.flow} did not reduce its window{window}."
                if known
                else f"The window of {seen.flow} is not known.",
            )
        )
    elif undone := _undone(seen, incident):
        links.append(undone)
    return links


def _reduction(seen: Observed, incident: Incident, before: Row, after: Row) -> Link:
    lowest = lowest_after(seen, incident, after)
    old, new = _threshold(before), _threshold(after)
    if after["state"] != before["state"]:
        head = f"State {before['state']} → {after['state']} by {moment(after['time_ns'])}:"
    else:
        head = f"In state {after['state']}, up to {moment(after['time_ns'])}:"
    sentence = (
        f"{head} cwnd {before['cwnd_packets']} → {lowest['cwnd_packets']}, ssthresh"
        f" {old} → {new} (packets)."
    )
    numbers: dict[str, Number] = {
        "cwnd_before_packets": before["cwnd_packets"],
        "cwnd_after_packets": lowest["cwnd_packets"],
        "ssthresh_before_packets": before["ssthresh_packets"],
        "ssthresh_after_packets": after["ssthresh_packets"],
    }
    return Link(
        Step.REACTION,
        What.STATE,
        after["time_ns"],
        sentence,
        state=f"{before['state']} → {after['state']}",
        numbers=numbers,
    )


def lowest_after(seen: Observed, incident: Incident, after: Row) -> Row:
    """Sample with the smallest window, from a reduction to the end of its state."""
    lowest = after
    for row in seen.within(after["time_ns"], incident.end_ns):
        if row["state"] != after["state"]:
            break
        if 0 <= row["cwnd_packets"] < lowest["cwnd_packets"]:
            lowest = row
    return lowest


def _threshold(row: Row) -> str:
    value = row["ssthresh_packets"]
    return "none" if value == _INFINITE_SSTHRESH else str(value)


def _undone(seen: Observed, incident: Incident) -> Link | None:
    """Link if the window and the threshold are back where they were."""
    before, first = incident.reduced[0]
    if first["ssthresh_packets"] >= before["ssthresh_packets"]:
        return None
    for row in seen.within(first["time_ns"], incident.end_ns + 2 * seen.rtt_ns):
        if is_restored(row, before):
            sentence = (
                f"The sender took it that nothing was lost and undid the reduction at"
                f" {moment(row['time_ns'])}: cwnd {row['cwnd_packets']} packets, ssthresh"
                f" {_threshold(row)}, state {row['state']}."
            )
            return Link(
                Step.REACTION,
                What.UNDONE,
                row["time_ns"],
                sentence,
                state=row["state"],
                numbers={"cwnd_packets": row["cwnd_packets"]},
            )
    return None
