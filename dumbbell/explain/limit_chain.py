"""Chain of a stretch in which the receive window or the application limited a flow."""

from __future__ import annotations

from typing import Any

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.observed import Observed
from dumbbell.explain.words import moment, rate, size, span


def limit_links(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    """Links for a stretch without loss in which the congestion window was not the limit."""
    row = min(incident.limit, key=lambda one: abs(one["time_ns"] - at_ns))
    length = incident.end_ns - incident.start_ns
    until = f"from {moment(incident.start_ns)} to {moment(incident.end_ns)}, {span(length)}"
    by = "the receive window" if incident.what is What.RECEIVE_WINDOW else "its application"
    numbers: dict[str, Number] = {
        "in_flight_packets": row["in_flight_packets"],
        "cwnd_packets": row["cwnd_packets"],
        "unsent_bytes": row["unsent_bytes"],
        "rwnd_bytes": row["rwnd_bytes"],
        "time_ns": length,
    }
    sentence = (
        f"{seen.flow} was limited by {by} {until}. At {moment(row['time_ns'])} it had"
        f" {many(row['in_flight_packets'], 'packet')} in flight, and its congestion window was"
        f" {row['cwnd_packets']}."
    )
    first = Link(
        Step.INCIDENT,
        incident.what,
        incident.start_ns,
        sentence,
        state=row["state"],
        numbers=numbers,
    )
    if incident.what is What.RECEIVE_WINDOW:
        return [first, *_window(seen, incident), *_end(seen, incident, "the window opened")]
    return [first, _source(seen, incident), *_end(seen, incident, "the application wrote again")]


def _tcp(seen: Observed) -> Any:
    return seen.spec["traffic"].get("tcp") if seen.spec is not None else None


def _window(seen: Observed, incident: Incident) -> list[Link]:
    rows = incident.limit
    least = min(rows, key=lambda one: one["rwnd_bytes"])
    spec = _tcp(seen)
    reads = spec["sink"]["rate_bps"] if spec else None
    host = seen.totals["to_host"]
    buffer = _receive_buffer(seen, spec)
    limit = f"; tcp_rmem allows a buffer of {size(buffer)}" if buffer else ""
    if reads is not None:
        sentence = (
            f"The application on {host} reads only {rate(reads)}, and its buffer filled{limit}."
        )
        cause = Link(
            Step.CAUSE,
            What.SLOW_READER,
            rows[0]["time_ns"],
            sentence,
            place=str(host),
            numbers={"reads_bps": reads},
        )
    else:
        sentence = f"The receive buffer of {host} allows no larger window{limit}."
        cause = Link(Step.CAUSE, What.SMALL_BUFFER, rows[0]["time_ns"], sentence, place=str(host))
    shown = f"{size(least['rwnd_bytes'])} at {moment(least['time_ns'])}"
    notice = Link(
        Step.NOTICE,
        What.ADVERTISED_WINDOW,
        least["time_ns"],
        f"The window in the ACKs told the sender; the smallest of this time was {shown}.",
        numbers={"rwnd_bytes": least["rwnd_bytes"]},
    )
    return [cause, notice]


def _receive_buffer(seen: Observed, spec: Any) -> int | None:
    """Largest receive buffer that the options of the receiver allow; None: not known."""
    own = spec["receiver"] if spec else None
    host = seen.totals["to_host"]
    of_host = next((one["tcp"] for one in seen.scenario["nodes"] if one["name"] == host), None)
    options = own or of_host
    return int(options["tcp_rmem"][2]) if options else None


def _source(seen: Observed, incident: Incident) -> Link:
    spec = _tcp(seen)
    source = spec["source"] if spec else None
    kind, held = next(iter(source.items())) if isinstance(source, dict) else (str(source), {})
    host = seen.totals["from_host"]
    if kind in ("periodic", "on_off"):
        words = f"it writes {size(held['chunk_bytes'])} every {span(held['interval_ns'])}"
        if kind == "on_off":
            words += f", on for {span(held['on_ns'])} and off for {span(held['off_ns'])}"
    elif kind == "bulk" and held.get("bytes") is not None:
        words = f"it has written all of its {size(held['bytes'])}"
    elif kind == "bulk" and held.get("refill_ns"):
        words = f"it fills the send buffer again every {span(held['refill_ns'])}"
    else:
        words = "no byte that it wrote waited to be sent"
    sentence = f"The application on {host} had nothing to send: {words}."
    return Link(Step.CAUSE, What.SOURCE, incident.start_ns, sentence, place=str(host), state=kind)


def _end(seen: Observed, incident: Incident, words: str) -> list[Link]:
    row = seen.after(incident.end_ns)
    if row is None or row["unsent_bytes"] + row["in_flight_packets"] == 0:
        return []
    sentence = f"It ended at {moment(incident.end_ns)}, when {words}."
    return [Link(Step.REPAIR, What.RESUMED, incident.end_ns, sentence)]
