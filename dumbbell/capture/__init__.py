"""Analysis of captures of any origin: totals, conversations, connections."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from dumbbell import _core
from dumbbell.capture import pieces
from dumbbell.capture.classes import DEFAULT_CLASSES, SizeClass, classified
from dumbbell.capture.notes import order_notes
from dumbbell.capture.together import needed, together
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, nearest_name

__all__ = ["CaptureError", "packets", "survey", "survey_json"]

#: Default maximum of packets per connection that `packets` returns.
PACKETS_MAX = 100_000


_Read = TypeVar("_Read")


class CaptureError(DumbbellError):
    """Capture that cannot be read."""

    code = Code.CAPTURE


#: Start and end, ns after the first timestamp of a file; None: start or end of the file.
Window = tuple[int | None, int | None]


def survey(
    path: str | Path,
    classes: Iterable[SizeClass] = DEFAULT_CLASSES,
    window: Window = (None, None),
) -> dict[str, Any]:
    """Analyses a capture: pcap or pcapng, plain, gzip or zstd; `-`: standard input.

    Args:
        path: The file.
        classes: Size classes for the table `classes` (bytes on the wire in both directions), the
            smallest first.
        window: Time range of the analysed frames.

    Returns:
        Tables by name, see docs/captures.md: `file` (totals; `problems` with their offsets),
        `interfaces`, `link_types` (number of frames), `skipped` (protocols of frames without IP),
        `conversations` (one row per pair of hosts, and per pair of TCP and UDP endpoints; `a`: the
        side that sent the first frame; `tunnel`: names of the tunnels, the outermost first; bytes
        are lengths of frames on the wire), `connections` (one row per TCP connection, interface
        and direction: its data, and the ACKs of the other side), `together` (statistics over all
        connections: RTT of handshakes, requests, delayed ACKs), `classes`, `lengths` (frames by
        length, in Wireshark's bins), `rates` (packets and bytes over time), `pings`, `icmp` (ICMP
        errors, with the connection of the packet that each quotes). A new TCP
        connection between the ports of an earlier one is a separate conversation. A fragmented
        UDP datagram counts once, with the frame that completes it.

    Raises:
        CaptureError: The file cannot be read, or is not a capture.
    """
    read = _read(path, lambda name: _core.survey(name, *window))
    conversations = list(pieces.rows(pieces.conversations(read)))
    connections = list(pieces.rows(pieces.connections(read)))
    small = _small(path, read, window, classified(conversations, classes), together(connections))
    return {**small, "conversations": conversations, "connections": connections}


def survey_json(
    path: str | Path, classes: Iterable[SizeClass] = DEFAULT_CLASSES, window: Window = (None, None)
) -> Iterator[str]:
    """Result of `survey` as JSON text, piece by piece: no large table is in memory at once.

    Raises:
        CaptureError: The file cannot be read, or is not a capture.
    """
    read = _read(path, lambda name: _core.survey(name, *window))
    counted = classified(pieces.rows(pieces.conversations(read)), classes)
    common = together(needed(row) for row in pieces.rows(pieces.connections(read)))
    return pieces.as_json(_small(path, read, window, counted, common), read)


def _small(
    path: str | Path,
    read: _core.Survey,
    window: Window,
    classes: list[dict[str, Any]],
    common: dict[str, Any],
) -> dict[str, Any]:
    """All tables except the large ones."""
    found: dict[str, Any] = json.loads(read.small)
    found["file"] = {"name": str(path), **_totals(found["file"])}
    found["file"] |= {"window_from_ns": window[0], "window_to_ns": window[1]}
    found["lengths"] = [_shared(row, found["file"]) for row in found["lengths"]]
    return {**found, "classes": classes, "together": common}


def _totals(file: dict[str, Any]) -> dict[str, Any]:
    """Totals of a file, with derived values; None: undefined."""
    seconds = None
    if file["first_ns"] is not None and file["last_ns"] > file["first_ns"]:
        seconds = (file["last_ns"] - file["first_ns"]) / 1e9
    packets, size = file["packets"], file["bytes"]
    return {
        **file,
        "duration_s": seconds,
        "packets_per_s": packets / seconds if seconds else None,
        "bits_per_s": 8 * size / seconds if seconds else None,
        "packet_mean_bytes": size / packets if packets else None,
        "notes": order_notes(file),
    }


def _shared(row: dict[str, Any], file: dict[str, Any]) -> dict[str, Any]:
    """Length bin with its share and rate, as Wireshark shows them."""
    rate, all_packets = file["packets_per_s"], file["packets"]
    share = row["packets"] / all_packets if all_packets else 0.0
    return {**row, "share": share, "packets_per_ms": share * rate / 1e3 if rate else None}


def packets(
    path: str | Path,
    connections: Iterable[int] = (),
    most: int = PACKETS_MAX,
    window: Window = (None, None),
) -> dict[str, Any]:
    """Packets of TCP connections, with their classification.

    Args:
        path: The file.
        connections: Numbers of connections, as in `survey`; none: all.
        most: Maximum of packets per connection that are returned. All are counted.
        window: Time range of the survey with these numbers of connections.

    Returns:
        Columns of equal length: `frame` (number in the file, from 1), `time_ns`, `connection`,
        `side` (0: sent by `a`), `flags`, `position_bytes` (offset of its first byte in the stream),
        `payload_bytes`, `ack_bytes` (position in the other stream), `window_bytes`,
        `sack_ranges_bytes`, `in_flight_bytes` (of its own stream for data, else of the acknowledged
        stream), `what` (new, reordered, retransmitted, duplicate, keep-alive; empty without
        data),
        `evidence`, `kind` (of a retransmission: fast, time-out, tail loss probe, path MTU,
        unreachable, handshake), `spurious`; and
        `packets_of_connections`: number of packets of each.

    Raises:
        CaptureError: The file cannot be read, or is not a capture.
    """
    wanted = list(connections)
    text = _read(path, lambda name: _core.capture_packets(name, wanted, most, *window))
    found: dict[str, Any] = json.loads(text)
    return found


def _read(path: str | Path, reading: Callable[[str], _Read]) -> _Read:
    name = str(path)
    try:
        return reading(name)
    except OSError as error:
        problem = str(error.strerror or error).partition(" (os error")[0]
        raise CaptureError(f"{name}: cannot be read: {problem}{_like(Path(name))}") from None
    except ValueError as error:
        raise CaptureError(f"{name}: {error}") from None


def _like(path: Path) -> str:
    """Hint at a file or folder with a similar name, if this one is missing."""
    if path.exists() or not path.parent.is_dir():
        return ""
    near = nearest_name(path.name, [one.name for one in islice(path.parent.iterdir(), 1000)])
    return "" if near is None else f"; did you mean {path.parent / near}?"
