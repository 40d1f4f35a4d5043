"""What a capture file holds: totals, conversations, lengths of packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dumbbell import _core
from dumbbell.errors import DumbbellError

#: Conversations that the terminal shows, those with most bytes.
SHOWN = 20


class CaptureError(DumbbellError):
    """A capture that cannot be read."""


def survey(path: str | Path) -> dict[str, Any]:
    """What a capture holds: pcap or pcapng of any origin, plain, gzip or zstd; `-`: standard input.

    Returns:
        `file` (totals; `problems` with their offsets), `conversations` (one row per pair of hosts,
        and per pair of ends of TCP and UDP; `a` is the side that was seen first; bytes are lengths
        of frames on the wire), `lengths` (frames by length, in Wireshark's bins). A TCP connection
        between the ports of an earlier one is a conversation of its own. A UDP datagram in
        fragments counts once, with the frame that completes it.

    Raises:
        CaptureError: It cannot be read, or is no capture.
    """
    name = str(path)
    try:
        found: dict[str, Any] = json.loads(_core.survey(name))
    except OSError as error:
        raise CaptureError(f"{name}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise CaptureError(f"{name}: {error}") from None
    found["file"] = {"name": name, **found["file"]}
    return found


def shown(found: dict[str, Any]) -> RenderableType:
    """Totals, lengths and the largest conversations, for the terminal."""
    file = found["file"]
    lines = [Text(file["name"], style="bold"), Text(_totals(file))]
    lines += [Text(f"at byte {one['offset']}: {one['message']}") for one in file["problems"][:10]]
    if file["problem_count"] > 10:
        lines.append(Text(f"… and {file['problem_count'] - 10} more problems"))
    if file["broken"]:
        lines.append(Text(f"the file breaks off: {file['broken']}"))
    tables = [_lengths(found["lengths"])]
    tables += [_conversations(found["conversations"], name) for name in ("tcp", "udp", "ip")]
    return Group(*lines, *(table for table in tables if table.row_count))


def _totals(file: dict[str, Any]) -> str:
    words = [f"{file['packets']:,} packets".replace(",", " "), _bytes(file["bytes"])]
    if file["first_ns"] is not None:
        seconds = (file["last_ns"] - file["first_ns"]) / 1e9
        words.append(f"{seconds:.3f} s")
        if seconds > 0:
            words.append(f"{file['bytes'] * 8e-6 / seconds:.4g} Mbit/s")
    if file["truncated_packets"]:
        words.append(f"{file['truncated_packets']:,} cut short".replace(",", " "))
    if file["packets_without_ip"]:
        words.append(f"{file['packets_without_ip']:,} without IP".replace(",", " "))
    return ", ".join(words)


def _bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.4g} {unit}"
        number /= 1000
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
            table.add_row(*cells, "█" * max(1, round(share * 30)))
    return table


def _conversations(rows: list[dict[str, Any]], protocol: str) -> Table:
    mine = [row for row in rows if row["protocol"] == protocol]
    mine.sort(key=lambda row: -(row["bytes_a_to_b"] + row["bytes_b_to_a"]))
    rest = f", {SHOWN} largest of {len(mine)}" if len(mine) > SHOWN else ""
    title = {"tcp": "TCP", "udp": "UDP", "ip": "Hosts"}[protocol] + rest
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("a", "b"):
        table.add_column(heading, overflow="fold")
    for heading in ("a → b", "", "b → a", " ", "s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in mine[:SHOWN]:
        seconds = "–"
        if row["first_ns"] is not None:
            seconds = f"{(row['last_ns'] - row['first_ns']) / 1e9:.2f}"
        table.add_row(
            _end(row["address_a"], row["port_a"]),
            _end(row["address_b"], row["port_b"]),
            str(row["packets_a_to_b"]),
            _bytes(row["bytes_a_to_b"]),
            str(row["packets_b_to_a"]),
            _bytes(row["bytes_b_to_a"]),
            seconds,
        )
    return table


def _end(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
