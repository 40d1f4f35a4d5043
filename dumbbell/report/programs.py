"""Programs of an experiment on its page: how each ended, what it said, and its TCP sockets."""

from __future__ import annotations

from dumbbell.console.words import left_out, many
from dumbbell.errors import shortened
from dumbbell.face.markup import Markup, details, table, tag
from dumbbell.metrics import Tables
from dumbbell.metrics.numbers import number
from dumbbell.summary.programs import programs, seconds
from dumbbell.summary.sockets import HEADINGS, Socket, sockets

#: Rows of a table, and those of sockets that are seen without a click.
_MOST_ROWS, _OPEN_SOCKETS = 400, 30
#: Letters of a cell of a table; outputs of programs, and letters of one.
_MOST_LETTERS, _MOST_OUTPUTS, _MOST_OUTPUT = 80, 40, 20_000
_SOCKETS_NOTE = (
    "A row per socket that was connected at a sampling time; a connection that begins and ends "
    "between two is not seen. cwnd in packets, RTT as the sender smoothed it. The kB were "
    "acknowledged; Mbit/s are their rate from the first row to the last."
)


def programs_part(results: Tables) -> list[Markup]:
    """Programs of the first repeat, what each said, and their TCP sockets."""
    found = programs(results)
    every = found[:_MOST_ROWS]
    if not every:
        return []
    factors = list(results.experiment.factors)
    head = [*factors, "program", "on", "command", "end", "said", "from s", "to s"]
    rows = []
    for one in every:
        levels = [one.levels[name] for name in factors]
        texts = [shortened(text, _MOST_LETTERS) for text in (one.command, one.end, one.said)]
        rows.append([*levels, one.name, one.host, *texts, *map(seconds, (one.from_s, one.to_s))])
    parts = [table(head, rows, left=len(factors) + 5)]
    if more := left_out(len(found), _MOST_ROWS):
        parts.append(tag("p", more, class_="caption"))
    for one in every[:_MOST_OUTPUTS]:
        text = "\n".join(part.rstrip() for part in (one.output, one.errors) if part.strip())
        files = ", ".join(f"{path} ({many(size, 'byte')})" for path, size in one.files)
        shown = [tag("pre", text[:_MOST_OUTPUT])] if text else []
        shown += [tag("p", f"Files: {files}", class_="caption")] if files else []
        if shown:
            where = "".join(f", {name} {level}" for name, level in one.levels.items())
            parts.append(details(f"Output of {one.name}{where}", *shown))
    return [*parts, *_sockets(results)]


def _sockets(results: Tables) -> list[Markup]:
    """TCP sockets of programs in the first repeat of each cell."""
    every = sockets(results)
    if not every:
        return []
    factors = list(results.experiment.factors)
    rows = [[*(one.levels[name] for name in factors), *_socket(one)] for one in every[:_MOST_ROWS]]
    note = _SOCKETS_NOTE
    if len(every) > _MOST_ROWS:
        note += f" {len(every) - _MOST_ROWS} more: table sockets."
    shown = [
        table([*factors, *HEADINGS], rows, left=len(factors) + 2),
        tag("p", note, class_="caption"),
    ]
    title = "TCP sockets of programs"
    if len(rows) > _OPEN_SOCKETS:
        return [details(f"{title} ({len(every)})", *shown)]
    return [tag("h3", title), *shown]


def _socket(one: Socket) -> list[str]:
    """Texts of a row, as :data:`HEADINGS` names them."""
    known = (one.rate_mbps, one.cwnd_mean, one.cwnd_max, one.rtt_mean_ms, one.rtt_min_ms)
    return [
        one.name,
        one.congestion_control,
        *map(seconds, (one.from_s, one.to_s)),
        number(one.sent_bytes * 1e-3),
        *("" if value is None else number(value) for value in known),
        str(one.retransmissions),
    ]
