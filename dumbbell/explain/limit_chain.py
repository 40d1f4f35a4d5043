"""Chain of a stretch in which the receive window or the application limited a flow."""

from __future__ import annotations

from typing import Any

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.limited import endless
from dumbbell.explain.observed import Observed, Row
from dumbbell.explain.words import moment, rate, size, span
from dumbbell.metrics.stretch import smallest_window


def limit_links(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    """Links for a stretch without loss in which the congestion window was not the limit."""
    row = min(incident.limit, key=lambda one: abs(one["time_ns"] - at_ns))
    length = incident.end_ns - incident.start_ns
    until = f"from {moment(incident.start_ns)} to {moment(incident.end_ns)}, {span(length)}"
    by = {
        What.RECEIVE_WINDOW: "the receive window",
        What.SEND_BUFFER: "the send buffer",
        What.CONNECTION: f"its connection {seen.totals['connection']}",
    }.get(incident.what, "its application")
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
    if incident.what is What.SEND_BUFFER:
        return [first, _full_buffer(seen, incident), *_end(seen, incident, "it had memory again")]
    if incident.what is What.CONNECTION:
        return [first, _scheduler(seen, row), *_end(seen, incident, "the connection gave it data")]
    return [first, _source(seen, incident), *_end(seen, incident, "data of the application waited")]


def _tcp(seen: Observed) -> Any:
    return seen.spec["traffic"].get("tcp") if seen.spec is not None else None


def _window(seen: Observed, incident: Incident) -> list[Link]:
    rows = incident.limit
    least = smallest_window(rows)
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
    return _buffer(seen, str(seen.totals["to_host"]), own, "tcp_rmem")


def _buffer(seen: Observed, host: str, own: Any, option: str) -> int | None:
    """Largest buffer that the options of a side or its host allow; None: not known."""
    options: Any = own or next(
        (one["tcp"] for one in seen.scenario["nodes"] if one["name"] == host), None
    )
    return int(options[option][2]) if options else None


def _full_buffer(seen: Observed, incident: Incident) -> Link:
    spec = _tcp(seen)
    host = str(seen.totals["from_host"])
    buffer = _buffer(seen, host, spec["sender"] if spec else None, "tcp_wmem")
    limit = f"; tcp_wmem allows {size(buffer)}" if buffer else ""
    sentence = (
        f"The application on {host} always has data, but the send buffer took no more: segments"
        f" that are not acknowledged yet fill it{limit}."
    )
    return Link(Step.CAUSE, What.FULL_BUFFER, incident.start_ns, sentence, place=host)


def _scheduler(seen: Observed, row: Row) -> Link:
    name, at = str(seen.totals["connection"]), row["time_ns"]
    spec = next((one for one in seen.scenario["connections"] if one["name"] == name), None)
    unsent = seen.connection_unsent.get(at, -1)
    if unsent > 0:
        words = f"{name} had {size(unsent)} unsent at {moment(at)}"
    elif spec is not None and endless(spec["source"]):
        words = f"the application of {name} always has data"
    else:
        words = f"how much {name} had unsent is not known"
    by = f" ({spec['scheduler']})" if spec is not None else ""
    sentence = (
        f"Multipath TCP's scheduler{by} gave no data to {seen.flow}; {words}. A connection sends"
        f" within one receive window, {size(row['rwnd_bytes'])} here, and one send buffer: data"
        " outstanding on another subflow takes part of both."
    )
    numbers: dict[str, Number] = {"rwnd_bytes": row["rwnd_bytes"], "unsent_bytes": unsent}
    return Link(Step.CAUSE, What.SCHEDULER, at, sentence, None, name, numbers=numbers)


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
    after = (one for one in seen.life if one["time_ns"] > incident.end_ns)
    row = next(after, None)
    if row is None or row["unsent_bytes"] == row["in_flight_packets"] == 0:
        return []
    when = f", when {words}" if row["unsent_bytes"] > 0 else ""
    sentence = f"It ended at {moment(incident.end_ns)}{when}."
    return [Link(Step.REPAIR, What.RESUMED, incident.end_ns, sentence)]
