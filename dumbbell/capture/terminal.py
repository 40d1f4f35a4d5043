"""View of a capture for the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dumbbell.capture.notes import header_notes
from dumbbell.console.words import many, noun
from dumbbell.metrics.numbers import number

#: Maximum number of conversations and connections; the largest are shown.
SHOWN = 20
#: Characters for a rate over time.
_BARS = "▁▂▃▄▅▆▇█"
_BARS_MAX = 60


def shown(found: dict[str, Any]) -> RenderableType:
    """Totals, rate, lengths, size classes, the largest conversations and connections."""
    file = found["file"]
    lines = [Text(file["name"], style="bold"), Text(_totals(file))]
    lines += [Text(words) for words in header_notes(found, SHOWN)]
    lines += [Text(f"at byte {one['offset']}: {one['message']}") for one in file["problems"][:10]]
    if file["problem_count"] > 10:
        lines.append(Text(f"… and {file['problem_count'] - 10} more problems"))
    if file["broken"]:
        lines.append(Text(f"the file breaks off: {file['broken']}"))
    lines += [Text(words) for words in file["notes"]]
    lines += _rate(found["rates"])
    tables = [_interfaces(found["interfaces"]), _lengths(found["lengths"])]
    tunnels = dict.fromkeys(row["tunnel"] for row in found["conversations"] if row["tunnel"])
    numbers = {tunnel: str(number) for number, tunnel in enumerate(tunnels, 1)}
    tables.append(_tunnels(numbers))
    for name in ("tcp", "udp", "ip"):
        tables.append(_conversations(found["conversations"], name, numbers))
    if any(row["connections"] for row in found["classes"]):
        tables.append(_classes(found["classes"]))
    tables.append(_together(found["together"]))
    tables += _connections(found["connections"])
    tables.append(_pings(found["pings"]))
    tables.append(_icmp(found))
    return Group(*lines, *(table for table in tables if table.row_count))


def _totals(file: dict[str, Any]) -> str:
    words = [
        f"{file['packets']:,} {noun(file['packets'], 'packet')}".replace(",", " "),
        _bytes(file["bytes"]),
    ]
    if file["first_ns"] is not None:
        words.append(f"{(file['last_ns'] - file['first_ns']) / 1e9:.3f} s")
    if file["duration_s"] is not None:
        words.append(f"{plain(file['packets_per_s'])} packets/s")
        words.append(f"{plain(file['bits_per_s'] / 1e6)} Mbit/s")
    if file["packet_mean_bytes"] is not None:
        words.append(f"mean {file['packet_mean_bytes']:.1f} bytes")
    if file["truncated_packets"]:
        words.append(f"{file['truncated_packets']:,} cut short".replace(",", " "))
    return ", ".join(words)


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} bytes" if unit == "bytes" else f"{number(size)} {unit}"
        size /= 1000
    raise AssertionError("the last unit takes all")


def _lengths(bins: list[dict[str, Any]]) -> Table:
    table = Table(title="Lengths", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("bytes", "packets", "share"):
        table.add_column(heading, justify="right")
    table.add_column("")
    total = sum(one["packets"] for one in bins)
    for one in bins:
        if one["packets"]:
            end = "" if one["to_bytes"] is None else str(one["to_bytes"])
            share = one["packets"] / total
            cells = (f"{one['from_bytes']}–{end}", str(one["packets"]), f"{share:.1%}")
            _add(table, *cells, "█" * max(1, round(share * 30)))
    return table


def _tunnels(numbers: dict[str, str]) -> Table:
    rest = f", {SHOWN} first of {len(numbers)}" if len(numbers) > SHOWN else ""
    table = Table(title=f"Tunnels{rest}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("#", justify="right")
    table.add_column("identifier, outer addresses", overflow="fold")
    for tunnel, place in list(numbers.items())[:SHOWN]:
        _add(table, place, tunnel)
    return table


def _conversations(rows: list[dict[str, Any]], protocol: str, tunnels: dict[str, str]) -> Table:
    mine = [row for row in rows if row["protocol"] == protocol]
    mine.sort(key=lambda row: -(row["bytes_a_to_b"] + row["bytes_b_to_a"]))
    rest = f", {SHOWN} largest of {len(mine)}" if len(mine) > SHOWN else ""
    title = {"tcp": "TCP", "udp": "UDP", "ip": "Hosts"}[protocol] + rest
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("a", "b"):
        table.add_column(heading, overflow="fold")
    for heading in ("a → b", "", "b → a", " ", "s"):
        table.add_column(heading, justify="right", no_wrap=True)
    if tunnels:
        table.add_column("tunnel", justify="right")
    for row in mine[:SHOWN]:
        seconds = "–"
        if row["first_ns"] is not None:
            seconds = f"{(row['last_ns'] - row['first_ns']) / 1e9:.2f}"
        _add(
            table,
            _end(row["address_a"], row["port_a"]),
            _end(row["address_b"], row["port_b"]),
            str(row["packets_a_to_b"]),
            _bytes(row["bytes_a_to_b"]),
            str(row["packets_b_to_a"]),
            _bytes(row["bytes_b_to_a"]),
            seconds,
            *([tunnels.get(row["tunnel"], "")] if tunnels else []),
        )
    return table


def _end(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _rate(rates: dict[str, Any]) -> list[Text]:
    """Rate of all traffic over time, as bars."""
    bits = [8 * value for value in rates["bytes"]]
    if len(bits) < 2:
        return []
    per_bar = -(-len(bits) // _BARS_MAX)
    groups = [bits[at : at + per_bar] for at in range(0, len(bits), per_bar)]
    means = [sum(group) / per_bar for group in groups]
    most = max(means)
    if most == 0:
        return []
    bars = "".join(_BARS[round((len(_BARS) - 1) * value / most)] for value in means)
    width = per_bar * rates["width_ns"] / 1e9
    peak = most * 1e3 / rates["width_ns"]
    return [Text(f"{bars} up to {plain(peak)} Mbit/s, {width:g} s a bar")]


def _interfaces(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Interfaces", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    for heading in ("packets", "bytes"):
        table.add_column(heading, justify="right")
    if len(rows) > 1:
        for row in rows[:SHOWN]:
            name = row["name"] or str(row["interface"])
            _add(table, name, str(row["packets"]), _bytes(row["bytes"]))
    return table


def _classes(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="TCP connections by size", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("class")
    for heading in ("bytes", "connections", "share", "bytes in all"):
        table.add_column(heading, justify="right")
    for row in rows:
        end = "" if row["to_bytes"] is None else str(row["to_bytes"])
        cells = (str(row["connections"]), f"{row['share']:.2%}", _bytes(row["bytes"]))
        _add(table, row["class"], f"{row['from_bytes']}–{end}", *cells)
    return table


def _together(found: dict[str, Any]) -> Table:
    """Statistics over all TCP connections."""
    table = Table(
        title="TCP connections together",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=False,
    )
    table.add_column("", overflow="fold")
    table.add_column("", overflow="fold")
    for name, words in (("syn_rtt_ns", "SYN to SYN/ACK"), ("handshake_rtt_ns", "handshake")):
        times = found[name]
        if times["connections"]:
            minimum, median, maximum = (
                _milliseconds(times[one]) for one in ("min", "median", "max")
            )
            known = f"{many(times['connections'], 'connection')}: "
            _add(table, words, f"{known}{minimum} to {maximum}, median {median}")
    if found["requests"]:
        counts = [f"{one['requests']} in {one['connections']}" for one in found["requests"][:SHOWN]]
        rest = ", …" if len(found["requests"]) > SHOWN else ""
        last = 2 if rest else found["requests"][len(counts) - 1]["connections"]
        _add(table, "requests", f"{', '.join(counts)}{rest} {noun(last, 'connection')}")
        of_all = many(found["connections"], "connection")
        _add(table, "more than one", f"{found['persistent_connections']} of {of_all}")
    for one in found["acknowledges"]:
        if not one["streams"]:
            continue
        acks = [one[f"acks_of_{segments}"] for segments in _SEGMENTS]
        covered = ", ".join(
            f"{_share(count, sum(acks))} of {words}"
            for count, words in zip(acks, _SEGMENTS.values(), strict=True)
        )
        policies = ", ".join(f"{policy} {count}" for policy, count in one["streams"].items())
        _add(table, f"{one['by']}'s ACKs", f"{sum(acks)}: {covered}")
        _add(table, "by streams", policies)
    return table


_SEGMENTS = {"one_segment": "one segment", "two_segments": "two", "more_segments": "more"}


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


#: Counts of packets in the table of TCP data: heading and column.
_LOSS = {
    "retrans-\nmitted": "retransmitted_packets",
    "fast": "fast_retransmitted_packets",
    "RTO": "timeout_retransmitted_packets",
    "TLP": "probe_retransmitted_packets",
    "path\nMTU": "path_mtu_retransmitted_packets",
    "un-\nreach.": "unreachable_retransmitted_packets",
    "spuri-\nous": "spurious_retransmitted_packets",
    "reor-\ndered": "reordered_packets",
    "dupli-\ncates": "copied_packets",
    "SYN": "retransmitted_syns",
    "FIN": "retransmitted_fins",
}
#: Columns that are shown only if a count is not zero, and what the caption says of them.
_RARE = {
    "path_mtu_retransmitted_packets": "path MTU, unreach.: retransmitted after ICMP errors",
    "unreachable_retransmitted_packets": "path MTU, unreach.: retransmitted after ICMP errors",
    "retransmitted_syns": "SYN, FIN: retransmitted, without data",
    "retransmitted_fins": "SYN, FIN: retransmitted, without data",
}


def _connections(rows: list[dict[str, Any]]) -> list[Table]:
    """Retransmissions, timing and behaviour of the largest connections, a row per direction."""
    mine = [row for row in rows if row["data_packets"]]
    mine.sort(key=lambda row: -row["payload_bytes"])
    many = len({row["interface"] for row in mine}) > 1
    rest = f", {SHOWN} largest of {len(mine)} streams" if len(mine) > SHOWN else ""
    loss = Table(
        title=f"TCP data{rest}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    timing = Table(title=f"TCP timing{rest}", title_justify="left", box=box.SIMPLE_HEAD)
    for table in (loss, timing):
        table.add_column("#", justify="right", no_wrap=True)
    loss.add_column("from > to", min_width=16, overflow="fold")
    counts = _loss_columns(loss, mine[:SHOWN])
    for heading in ("handshake", "RTT min", "mean", "max", "in flight", "ACKs", "SACK"):
        timing.add_column(heading, justify="right", no_wrap=True)
    behaviour = Table(title=f"TCP ends{rest}", title_justify="left", box=box.SIMPLE_HEAD)
    behaviour.add_column("#", justify="right")
    for heading in ("delayed ACKs", "slow start ended by", "closed"):
        behaviour.add_column(heading)
    for row in mine[:SHOWN]:
        at = f" @{row['interface']}" if many else ""
        ends = (_end(row[f"{end}_address"], row[f"{end}_port"]) for end in ("from", "to"))
        number = f"{row['connection']} {'→' if row['direction'] == 'a_to_b' else '←'}"
        _add(
            loss,
            number,
            " > ".join(ends).replace(" > ", "\n> ") + at,
            _bytes(row["unique_bytes"]),
            *(_count(row[column]) for column in counts),
        )
        times = ("handshake_rtt_ns", "rtt_min_ns", "rtt_mean_ns", "rtt_max_ns")
        _add(
            timing,
            number,
            *(_milliseconds(row[time]) for time in times),
            _bytes(row["in_flight_max_bytes"]),
            str(row["acks"]),
            _count(row["acks_with_sack"]),
        )
        ended = row["slow_start_end"]
        _add(
            behaviour,
            number,
            row["acknowledges"] or "–",
            "–" if ended is None else f"{ended}, {_bytes(row['slow_start_end_bytes'])} in flight",
            row["closed"],
        )
    return [loss, timing, behaviour]


def _loss_columns(table: Table, rows: list[dict[str, Any]]) -> list[str]:
    """Adds the columns of TCP data and their caption. Returns the counts that have a column."""
    table.add_column("bytes", justify="right", no_wrap=True)
    captions = ["RTO, TLP: retransmitted by them; duplicates: frames captured twice"]
    shown = []
    for heading, column in _LOSS.items():
        if column in _RARE and not any(row[column] for row in rows):
            continue
        table.add_column(heading, justify="right", no_wrap=True)
        shown.append(column)
        if column in _RARE and _RARE[column] not in captions:
            captions.append(_RARE[column])
    table.caption = "\n".join(captions)
    table.caption_justify = "left"
    return shown


def _icmp(found: dict[str, Any]) -> Table:
    """ICMP errors, a row per sender, message and connection."""
    groups: dict[tuple[str, ...], int] = {}
    for row in found["icmp"]:
        arrow = "→" if row["direction"] == "a_to_b" else "←"
        about = "–" if row["connection"] is None else f"{row['connection']} {arrow}"
        ends = (
            _end(row[f"quoted_{end}_address"], row[f"quoted_{end}_port"]) for end in ("from", "to")
        )
        mtu = "" if row["mtu_bytes"] is None else f", MTU {row['mtu_bytes']}"
        key = (row["from_address"], row["what"] + mtu, about, " > ".join(ends))
        groups[key] = groups.get(key, 0) + 1
    kept, count = len(found["icmp"]), found["file"]["icmp_errors"]
    rest = f", {SHOWN} first of {len(groups)} kinds" if len(groups) > SHOWN else ""
    title = f"ICMP errors{rest}" + (f" (of the first {kept} of {count})" if count > kept else "")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("from", "says", "connection", "of packets"):
        table.add_column(heading, overflow="fold")
    table.add_column("errors", justify="right")
    for cells, errors in list(groups.items())[:SHOWN]:
        _add(table, *cells, str(errors))
    return table


def _pings(rows: list[dict[str, Any]]) -> Table:
    """Echo requests and replies by odd and even number, to show the effect of spraying."""
    table = Table(title="Pings", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("interface", justify="right")
    table.add_column("from > to", overflow="fold")
    for heading in ("requests odd", "even", "replies odd", "even", "RTT min", "mean", "max"):
        table.add_column(heading, justify="right")
    for row in rows[:SHOWN]:
        counts = ("requests_odd", "requests_even", "replies_odd", "replies_even")
        times = ("rtt_min_ns", "rtt_mean_ns", "rtt_max_ns")
        _add(
            table,
            str(row["interface"]),
            f"{row['from_address']} > {row['to_address']}",
            *(str(row[name]) for name in counts),
            *(_milliseconds(row[name]) for name in times),
        )
    return table


def _count(number: int | None) -> str:
    if number is None:
        return "–"
    return str(number) if number else "·"


def _milliseconds(ns: float | None) -> str:
    return "–" if ns is None else f"{plain(ns / 1e6)} ms"


def _add(table: Table, *cells: str) -> None:
    """Adds a row of plain text, without markup: the cells come from files."""
    table.add_row(*(Text(cell) for cell in cells))


def plain(value: float) -> str:
    """Number without an exponent, however small."""
    return "< 0.001" if 0 < value < 1e-3 else number(value)
