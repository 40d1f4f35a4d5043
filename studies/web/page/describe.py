"""Says what a captured page load is like, beside study 2's: `describe.py [FOLDER]`.

Renews the tables of `docs/page-load.md` and the figures beside it, from what `load.py` left in the
folder (without one: from the capture that is kept here).
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dumbbell.capture import figures, survey
from dumbbell.figures import Figure

HERE = Path(__file__).resolve().parent
STUDY = HERE.parent
PAGE = HERE.parents[2] / "docs" / "page-load.md"
FIGURES = HERE / "figures"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
#: Study 2's Fig. 1 (Wireshark's summary).
PUBLISHED = {
    "packets": 4453,
    "bytes": 2_397_076,
    "duration_s": 8.169,
    "packets_per_s": 545.083,
    "packet_mean_bytes": 538.306,
    "bits_per_s": 2.347e6,
}
#: Conversations that are listed, as many as fit on a page.
_LISTED = 6
#: Data segments of short and of long streams; Linux acknowledges 16 at once (TCP_MAX_QUICKACKS).
_SHORT, _LONG = 16, 40
_SEGMENTS = ("one_segment", "two_segments", "more_segments")


def main(folder: Path = HERE) -> None:
    """Renews tables and figures."""
    found, curl = (survey(capture(folder, name)) for name in ("page", "curl"))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    lines = tables(folder, found, curl)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, *lines, END + after]), encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for name, figure in drawings(found).items():
        (FIGURES / f"{name}.png").write_bytes(figure.png(scale=1.2))


def capture(folder: Path, name: str) -> Path:
    """The capture as `load.py` writes it, or packed as it is kept."""
    plain = folder / f"{name}.pcap"
    return plain if plain.exists() else folder / f"{name}.pcap.gz"


def drawings(found: dict[str, Any]) -> dict[str, Figure]:
    """The figures, by name."""
    bins = rows_of(STUDY / "packet-lengths.csv")
    theirs = []
    for row in bins:
        low, _, high = row["bytes"].partition("-")
        share = float(row["percent"]) / 100
        end = int(high) if high else None
        theirs.append({"from_bytes": int(low), "to_bytes": end, "share": share})
    study = [
        {"class": row["class"], "share": float(row["percent"]) / 100}
        for row in reversed(rows_of(STUDY / "table-1.csv"))
    ]
    return {
        "rate": figures.rate(found, "Rate of all connections"),
        "lengths": figures.lengths({"study": theirs, "here": found["lengths"]}),
        "classes": figures.classes({"study": study, "here": found["classes"]}),
        "requests": figures.requests(found),
    }


def tables(folder: Path, found: dict[str, Any], curl: dict[str, Any]) -> list[str]:
    """The tables of the page, as lines of Markdown."""
    facts: dict[str, Any] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    seen, fetched = rows_of(folder / "page.csv"), rows_of(folder / "curl.csv")
    lines = [
        "",
        *_setup(facts),
        "",
        "**Totals** (the study's Fig. 1).",
        "",
        *_totals(found["file"]),
    ]
    lines += ["", "![rate over time](../studies/web/page/figures/rate.png)", ""]
    lines += ["**Lengths of frames** (Fig. 3).", "", *_lengths(found["lengths"])]
    lines += ["", "![lengths](../studies/web/page/figures/lengths.png)", ""]
    lines += ["**The largest connections** (Fig. 4).", ""]
    lines += _conversations(found["conversations"])
    lines += ["", "**Connections by size** (Table 1), bytes on the wire both ways.", ""]
    lines += _classes(found["classes"])
    lines += ["", "![classes](../studies/web/page/figures/classes.png)", ""]
    lines += ["**Round trips, requests, acknowledgements** (Fig. 6).", ""]
    lines += _together(found, seen)
    lines += ["", "![requests](../studies/web/page/figures/requests.png)", ""]
    lines += ["**curl**: some objects one after another on one connection.", ""]
    return [*lines, *_curl(curl, fetched), ""]


def rows_of(path: Path) -> list[dict[str, str]]:
    """A table of strings."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in heads[1:])]
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]


def _setup(facts: dict[str, Any]) -> list[str]:
    return [
        f"{facts['objects']} objects, {facts['object_bytes'] / 1e6:.3g} MB together, and the page"
        f" that names them, on {facts['host_names']} host names.",
        f"{facts['browser'].partition(' built')[0]}, {facts['server']},"
        f" Linux {facts['kernel']} with its defaults.",
        f"The line as tc has it: {facts['rate']} both ways, queues of {facts['buffer']};"
        f" {facts['rtt_ms']:g} ms round trip; no room for"
        f" {facts['dropped_at_bottleneck']} packets.",
    ]


def _totals(file: dict[str, Any]) -> list[str]:
    names = {
        "packets": ("packets", 1, "d"),
        "bytes": ("bytes", 1, "d"),
        "duration_s": ("between first and last (s)", 1, ".3f"),
        "packets_per_s": ("packets/s", 1, ".1f"),
        "packet_mean_bytes": ("mean packet (bytes)", 1, ".1f"),
        "bits_per_s": ("Mbit/s", 1e-6, ".3f"),
    }
    return _table(
        ("", "study", "here"),
        [
            (words, *(_number(source[key], scale, form) for source in (PUBLISHED, file)))
            for key, (words, scale, form) in names.items()
        ],
    )


def _number(value: float, scale: float, form: str) -> str:
    return format(value if form == "d" else value * scale, form)


def _lengths(bins: Sequence[dict[str, Any]]) -> list[str]:
    theirs = rows_of(STUDY / "packet-lengths.csv")
    rows = [
        (
            study["bytes"].replace("-", "–"),
            study["count"],
            study["percent"],
            str(mine["packets"]),
            f"{100 * mine['share']:.2f}",
            f"{mine['packets_per_ms']:.6f}",
        )
        for study, mine in zip(theirs, bins, strict=True)
    ]
    return _table(("bytes", "study", "%", "here", "%", "per ms"), rows)


def _conversations(rows: Sequence[dict[str, Any]]) -> list[str]:
    theirs = rows_of(STUDY / "conversations.csv")
    mine = sorted(
        (row for row in rows if row["protocol"] == "tcp"),
        key=lambda row: -(row["bytes_a_to_b"] + row["bytes_b_to_a"]),
    )
    told = [
        (
            str(place + 1),
            f"{int(study['bytes_a_to_b'])} / {int(study['bytes_b_to_a'])}",
            f"{study['packets_a_to_b']} / {study['packets_b_to_a']}",
            f"{here['bytes_a_to_b']} / {here['bytes_b_to_a']}",
            f"{here['packets_a_to_b']} / {here['packets_b_to_a']}",
        )
        for place, (study, here) in enumerate(zip(theirs[:_LISTED], mine, strict=False))
    ]
    told.append(("in all", "177 connections", "", f"{len(mine)} connections", ""))
    heads = ("", "study: bytes up / down", "packets", "here: bytes up / down", "packets")
    return _table(heads, told)


def _classes(rows: Sequence[dict[str, Any]]) -> list[str]:
    mine = {row["class"]: row for row in rows}
    told = [
        (
            f"{study['class']}, {study['from_kb']}–{study['to_kb']} kB",
            study["connections"],
            study["percent"],
            str(mine[study["class"]]["connections"]),
            f"{100 * mine[study['class']]['share']:.2f}",
        )
        for study in rows_of(STUDY / "table-1.csv")
    ]
    return _table(("class", "study", "%", "here", "%"), told)


def _together(found: dict[str, Any], seen: Sequence[dict[str, str]]) -> list[str]:
    told = found["together"]
    syn, client = told["syn_rtt_ns"], told["acknowledges"][0]
    acks = [client[f"acks_of_{n}"] for n in _SEGMENTS]
    asked = [row for row in found["connections"] if row["opened_it"] and row["turns"]]
    answered = [row for row in found["connections"] if not row["opened_it"] and row["turns"]]
    turns = {(r["to_address"], r["from_port"]): r["turns"] for r in asked}
    sent = {(r["from_address"], r["to_port"]): r["unique_bytes"] for r in answered}
    same_requests, same_bytes = (
        _agreeing(seen, *one) for one in (("requests", turns), ("response_bytes", sent))
    )
    counted = ", ".join(f"{row['requests']} in {row['connections']}" for row in told["requests"])
    streams = ", ".join(f"{way}: {number}" for way, number in client["streams"].items())
    shares = " / ".join(f"{100 * one / sum(acks):.1f} %" for one in acks)
    times = " / ".join(f"{syn[name] / 1e6:.2f}" for name in ("min", "median", "max"))
    rows = [
        ("SYN to SYN/ACK, least / median / greatest (ms)", "6.12 (one example)", times),
        ("requests: number in connections", "–", counted),
        (
            "connections with more than one",
            "seen",
            f"{told['persistent_connections']} of {told['connections']}",
        ),
        ("connections with the requests of nginx's log", "–", f"{same_requests} of {len(seen)}"),
        ("connections with the bytes of nginx's log", "–", f"{same_bytes} of {len(seen)}"),
        ("client's ACKs of one / two / more segments", "every segment", shares),
        *_one_by_one([row for row in answered if row["data_packets"]]),
        ("streams by the client's delayed ACKs", "–", streams),
    ]
    return _table(("", "study", "here"), rows)


def _one_by_one(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """How many ACKs cover one segment, in short and in long streams from the server."""
    found = []
    for words, mine in (
        (f"up to {_SHORT}", [row for row in rows if row["data_packets"] <= _SHORT]),
        (f"more than {_LONG}", [row for row in rows if row["data_packets"] > _LONG]),
    ):
        acks = [sum(row[f"acks_of_{n}"] for row in mine) for n in _SEGMENTS]
        share = f"{100 * acks[0] / sum(acks):.1f} %" if sum(acks) else "–"
        found.append((f"of one, in streams of {words} segments", "–", f"{share} of {sum(acks)}"))
    long = sorted(row["quick_acks"] for row in rows if row["data_packets"] > _LONG)
    if long:
        text = f"{long[0]} / {statistics.median(long):g} / {long[-1]}"
        words = f"one by one at first, in those of more than {_LONG}: least / median / most"
        found.append((words, "–", text))
    return found


def _agreeing(
    seen: Sequence[dict[str, str]], column: str, found: dict[tuple[str, int], int]
) -> int:
    """Connections of the server's log of which the capture says the same.

    `found` is by address of the server and port of the client.
    """
    return sum(
        found.get((row["server_address"], int(row["client_port"]))) == int(row[column])
        for row in seen
    )


def _curl(found: dict[str, Any], seen: Sequence[dict[str, str]]) -> list[str]:
    told = found["together"]
    rows = [
        ("connections", str(told["connections"]), str(len(seen))),
        (
            "requests",
            ", ".join(str(row["requests"]) for row in told["requests"]),
            ", ".join(row["requests"] for row in seen),
        ),
        (
            "bytes of responses, with headers",
            str(max(row["unique_bytes"] for row in found["connections"])),
            ", ".join(row["response_bytes"] for row in seen),
        ),
    ]
    return _table(("", "dumbbell capture", "nginx's log"), rows)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
