"""Sentences about a capture: what its frames lack, whether they are of one place and in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.console.words import many, noun
from dumbbell.metrics.numbers import number

#: A file is of several places if at least this share of its packets was captured twice, with more
#: than a millisecond between. A link that duplicates packets does so with fewer.
_PLACES_SHARE = 0.1


def order_notes(file: Mapping[str, Any]) -> list[str]:
    """Sentences for the part `file` of a survey (`dumbbell.capture.survey`)."""
    notes = []
    late = file["disordered_frames"]
    if late:
        notes.append(
            f"{many(late, 'frame')} {noun(late, 'has', 'have')} an earlier time than the frame "
            "before: sort the file by time (reordercap), or packets count as reordered that the "
            "network did not reorder"
        )
    apart = file["apart_packets"]
    if apart and apart >= _PLACES_SHARE * file["packets"]:
        between_ms = file["apart_ns"] / apart / 1e6
        notes.append(
            f"{many(apart, 'packet')} captured twice, {number(between_ms)} ms apart in the mean: "
            "the file seems to have the captures of two places. RTTs in it are of neither; read "
            "each capture by itself"
        )
    return notes


def header_notes(found: Mapping[str, Any], most: int) -> list[str]:
    """Link types, at most so many protocols of frames without IP, tunnels not decoded, cut options.

    `found`: a survey (`dumbbell.capture.survey`).
    """
    file = found["file"]
    links = [f"{one['link_type']} ({one['packets']})" for one in found["link_types"]]
    if len(links) == 1:
        links = [found["link_types"][0]["link_type"]]
    words = [f"link type: {', '.join(links)}"] if links else []
    kinds = found["skipped"]
    if kinds:
        named = [f"{one['packets']} {one['what']}" for one in kinds[:most]]
        rest = ", …" if len(kinds) > most else ""
        words.append(f"without IP: {file['packets_without_ip']}: {', '.join(named)}{rest}")
    if file["tunnels_not_entered"]:
        words.append(
            many(file["tunnels_not_entered"], "packet")
            + " with more nested tunnels than are decoded"
        )
    cut = sum(row["cut_options_packets"] for row in found["connections"])
    if cut:
        words.append(
            f"the snap length cuts the TCP options of {many(cut, 'packet')}: their SACK blocks, "
            "timestamps and, in a handshake, window scale are unknown"
        )
    if file["joined_frames"]:
        words.append(
            f"{many(file['joined_frames'], 'A-MSDU')}; only the first packet of each is read"
        )
    return words
